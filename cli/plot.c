/* SPDX-License-Identifier: MIT */
/* Figures: commands for gnuplot are collected in memory. gnuplot runs as a
 * child process; the figure and its messages come back through pipes. The
 * command itself writes the file, so that a full disk is an error and an old
 * file is replaced only by a complete one. Figures for the terminal are drawn
 * from the same commands, without gnuplot. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"
#include "sketch.h"

extern char **environ;

enum { BLOCK = 1 << 16, MOST_WORDS = 1 << 16 };

/* Bytes from a pipe; those above `most` are read and dropped. */
struct stream {
    int from;
    char *bytes;
    size_t size, room, most;
};

/* --- Pipes --------------------------------------------------------------- */

static void close_end(int *end)
{
    if (*end >= 0) close(*end);
    *end = -1;
}

/* The child inherits only the ends that spawn() gives it. */
static int open_pipes(int end[3][2])
{
    for (int i = 0; i < 3; i++)
        if (pipe(end[i])) return errno;
    for (int i = 0; i < 6; i++)
        fcntl(end[i / 2][i % 2], F_SETFD, FD_CLOEXEC);
    return 0;
}

static int spawn(int end[3][2], pid_t *child)
{
    posix_spawn_file_actions_t actions;
    char *words[] = {"gnuplot", "-", NULL};
    if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
    posix_spawn_file_actions_adddup2(&actions, end[0][0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, end[1][1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, end[2][1], STDERR_FILENO);
    int why = posix_spawnp(child, "gnuplot", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return why;
}

/* --- Both directions at once --------------------------------------------- */

/* Memory for a block and a zero. */
static int make_room(struct stream *s)
{
    if (s->room >= s->size + BLOCK + 1) return 0;
    size_t room = 2 * (s->size + BLOCK + 1);
    char *bytes = realloc(s->bytes, room);
    if (!bytes) return ENOMEM;
    s->bytes = bytes;
    s->room = room;
    return 0;
}

static int receive(struct stream *s)
{
    int why = make_room(s);
    if (why) return why;
    ssize_t n = read(s->from, s->bytes + s->size, BLOCK);
    if (n < 0) return errno == EINTR ? 0 : errno;
    if (n == 0) close_end(&s->from);
    s->size += (size_t)n;
    if (s->size > s->most) s->size = s->most;
    s->bytes[s->size] = 0;
    return 0;
}

/* A child that has ended reads no more commands; its exit code is the reason.
 */
static void hand_over(int *to, const char **rest, size_t *left)
{
    ssize_t n = write(*to, *rest, *left < BLOCK ? *left : BLOCK);
    if (n < 0 && errno != EAGAIN && errno != EINTR) *left = 0;
    if (n > 0) *rest += n, *left -= (size_t)n;
    if (!*left) close_end(to);
}

static int talk(int *to, const char *rest, size_t left, struct stream out[2])
{
    fcntl(*to, F_SETFL, O_NONBLOCK);
    while (out[0].from >= 0 || out[1].from >= 0) {
        struct pollfd ask[] = {{out[0].from, POLLIN, 0},
                               {out[1].from, POLLIN, 0},
                               {*to, POLLOUT, 0}};
        if (poll(ask, 3, -1) < 0) {
            if (errno != EINTR) return errno;
            continue;
        }
        for (int i = 0; i < 2; i++) {
            int why = ask[i].revents ? receive(&out[i]) : 0;
            if (why) return why;
        }
        if (ask[2].revents) hand_over(to, &rest, &left);
    }
    return 0;
}

/* --- The result ---------------------------------------------------------- */

/* The last line that gnuplot wrote names the mistake. */
static const char *last_line(char *text)
{
    size_t n = text ? strlen(text) : 0;
    while (n && strchr(" \t\r\n", text[n - 1]))
        text[--n] = 0;
    const char *line = n ? strrchr(text, '\n') : NULL;
    return line ? line + 1 : n ? text : "nothing";
}

static void explain(int status, char *words, char *why, size_t room)
{
    if (WIFSIGNALED(status))
        snprintf(why, room, "gnuplot was ended by a signal: %s",
                 strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        snprintf(why, room, "gnuplot says: %.300s", last_line(words));
}

/* A few bytes may follow the mark. */
static bool ends_with(const struct picture *made, const char *mark)
{
    enum { TAIL = 64 };
    size_t n = strlen(mark), from = made->size > TAIL ? made->size - TAIL : 0;
    for (size_t i = from; i + n <= made->size; i++)
        if (!memcmp(made->bytes + i, mark, n)) return true;
    return false;
}

/* Runs it; 0, or why the pipes failed. */
static int converse(const char *commands, size_t size, struct stream out[2],
                    int *status)
{
    int end[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
    pid_t child = -1;
    int why = open_pipes(end);
    if (!why) why = spawn(end, &child);
    close_end(&end[0][0]);
    close_end(&end[1][1]);
    close_end(&end[2][1]);
    out[0].from = end[1][0];
    out[1].from = end[2][0];
    void (*before)(int) = signal(SIGPIPE, SIG_IGN);
    if (!why) why = talk(&end[0][1], commands, size, out);
    close_end(&end[0][1]);
    close_end(&out[0].from);
    close_end(&out[1].from);
    while (child > 0 && waitpid(child, status, 0) < 0 && errno == EINTR)
        continue;
    signal(SIGPIPE, before);
    return why;
}

/* Runs gnuplot: the figure, whose end contains the mark, and its messages on
 * standard error, both yours to free(). False, and made->why, if it failed. */
static bool gnuplot_run(const char *commands, size_t size, const char *mark,
                        struct picture *made, char **words)
{
    struct stream out[2] = {{.from = -1, .most = (size_t)-1},
                            {.from = -1, .most = MOST_WORDS}};
    int status = 0;
    *made = (struct picture){0};
    int why = converse(commands, size, out, &status);
    made->bytes = out[0].bytes;
    made->size = out[0].size;
    *words = out[1].bytes;
    if (why)
        snprintf(made->why, sizeof made->why, "gnuplot cannot be run: %s",
                 strerror(why));
    else explain(status, *words, made->why, sizeof made->why);
    if (!*made->why && !ends_with(made, mark))
        snprintf(made->why, sizeof made->why,
                 "gnuplot wrote an incomplete figure");
    return !*made->why;
}

/* --- The file ------------------------------------------------------------- */

/* mark: the text at the end of a complete file. */
static const struct {
    const char *ending, *terminal, *unit, *look, *mark;
    double scale; /* units per pixel */
} FORMATS[] = {
    {".svg", "svg", "",
     "background '#ffffff' font 'Helvetica,Arial,sans-serif,14'", "</svg>",
     1.0},
    {".png", "pngcairo", "", "background '#ffffff' font 'sans,11'", "IEND",
     1.0},
    {".pdf", "pdfcairo", "in", "font 'sans,11'", "%%EOF", 1.0 / 96.0},
};
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

/* The index in FORMATS; FORMAT_COUNT for another ending. */
static size_t format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    size_t i = 0;
    while (i < FORMAT_COUNT && (!dot || strcasecmp(dot, FORMATS[i].ending)))
        i++;
    return i;
}

bool has_gnuplot(void)
{
    const char *path = getenv("PATH");
    char name[4096];
    while (path && *path) {
        size_t n = strcspn(path, ":");
        snprintf(name, sizeof name, "%.*s/gnuplot", (int)n, path);
        if (!access(name, X_OK)) return true;
        path += n + (path[n] == ':');
    }
    return false;
}

bool is_terminal_plot(const char *path)
{
    return path && !strcmp(path, "-");
}

int check_plot(const char *path)
{
    if (!path || is_terminal_plot(path)) return 0;
    if (format_of(path) == FORMAT_COUNT)
        return complain(EXIT_INPUT,
                        "--plot %s: expected a name that ends with .svg, .png "
                        "or .pdf, or - for the terminal",
                        path);
    if (!has_gnuplot())
        return complain(EXIT_INPUT, "--plot needs gnuplot, which is not "
                                    "installed; install the package "
                                    "gnuplot-nox, or draw in the terminal: "
                                    "--plot -");
    return check_place(path);
}

void say_plot(const struct args *a)
{
    if (a->plot && !is_terminal_plot(a->plot) && !a->quiet && !a->json)
        say(stderr, "wrote %s\n", a->plot);
}

/* The common style of all figures. */
static void set_style(FILE *to)
{
    fputs("set border 3 lw 1 lc rgb '#555555'\n"
          "set tics nomirror out scale 0.6 textcolor rgb '#333333'\n"
          "set grid lw 0.8 dt 1 lc rgb '#e8e8e8'\n"
          "set key top right reverse Left samplen 2 textcolor rgb '#333333'\n"
          "set linetype 1 lw 2.2 lc rgb '#1f5fa8'\n"
          "set linetype 2 lw 2.2 lc rgb '#c8482e'\n"
          "set linetype 3 lw 2.2 lc rgb '#3a8f4d'\n"
          "set linetype 4 lw 2.2 lc rgb '#8a5aa8'\n"
          "set linetype 5 lw 2.2 lc rgb '#b8860b'\n"
          "set linetype 6 lw 2.2 lc rgb '#4a4a4a'\n"
          "set palette defined (0 '#440154', 1 '#472d7b', 2 '#3b528b', "
          "3 '#2c728e', 4 '#21918c', 5 '#28ae80', 6 '#5ec962', 7 '#addc30', "
          "8 '#f0d020')\n",
          to);
}

static int begin(struct plot *p)
{
    p->to = open_memstream(&p->commands, &p->size);
    if (!p->to) return complain_memory();
    return 0;
}

int plot_open(struct plot *p, const char *path, int width, int height)
{
    size_t format = format_of(path);
    *p = (struct plot){.path = path};
    if (check_plot(path)) return EXIT_INPUT;
    if (begin(p)) return EXIT_NUMBERS;
    if (is_terminal_plot(path)) return 0;
    double scale = FORMATS[format].scale;
    fprintf(p->to, "set terminal %s size %g%s,%g%s noenhanced %s\n",
            FORMATS[format].terminal, width * scale, FORMATS[format].unit,
            height * scale, FORMATS[format].unit, FORMATS[format].look);
    set_style(p->to);
    return 0;
}

int plot_begin(struct plot *p, int width, int height)
{
    *p = (struct plot){0};
    if (begin(p)) return EXIT_NUMBERS;
    fprintf(p->to,
            "set terminal svg size %d,%d noenhanced font "
            "'Helvetica,Arial,sans-serif,14'\n",
            width, height);
    set_style(p->to);
    return 0;
}

/* Runs gnuplot if `made` is not NULL, and frees the commands. */
static bool finish(struct plot *p, const char *mark, struct picture *made,
                   char **words)
{
    bool bad = ferror(p->to) != 0;
    if (fclose(p->to)) bad = true;
    if (made && bad) snprintf(made->why, sizeof made->why, "out of memory");
    else if (made) bad = !gnuplot_run(p->commands, p->size, mark, made, words);
    free(p->commands);
    return !bad;
}

bool plot_end(struct plot *p, struct picture *made)
{
    char *words = NULL;
    *made = (struct picture){0};
    bool good = finish(p, FORMATS[0].mark, made, &words);
    free(words);
    return good;
}

static int write_picture(const char *path, const struct picture *made)
{
    struct draft d;
    if (draft_open(&d, path)) return EXIT_INPUT;
    fwrite(made->bytes, 1, made->size, d.out);
    return draft_close(&d, true);
}

/* The figure in the terminal, after what was printed. */
static int close_terminal(struct plot *p, bool keep)
{
    int code = fclose(p->to) ? complain_memory() : 0;
    if (!code && keep) code = sketch(p->commands, stdout);
    free(p->commands);
    return code;
}

int plot_close(struct plot *p, bool keep)
{
    if (is_terminal_plot(p->path)) return close_terminal(p, keep);
    struct picture made = {0};
    char *words = NULL;
    const char *mark = FORMATS[format_of(p->path)].mark;
    bool good = finish(p, mark, keep ? &made : NULL, &words);
    int code = 0;
    if (good && keep) code = write_picture(p->path, &made);
    if (good && words) say_lines(words, stderr);
    if (!good && keep)
        code =
            complain(EXIT_NUMBERS, "%s; %s is not written", made.why, p->path);
    free(made.bytes);
    free(words);
    return code;
}

/* In double quotes every character can be an octal number; single quotes cannot
 * begin with a quote. A digit after such a number is also written as a number.
 */
void plot_text(const char *text, FILE *to)
{
    enum { MOST = 60 };
    char shown[GSV_VISIBLE];
    int count = 0;
    bool plain = true;
    putc('"', to);
    for (size_t n; count < MOST && (n = gsv_visible(text, shown)); text += n) {
        for (const char *c = shown; *c; c++) {
            unsigned char byte = (unsigned char)*c;
            plain = byte >= 0x80 || isalpha(byte) ||
                    (isdigit(byte) ? plain : strchr(" .,:-=", byte) != NULL);
            fprintf(to, plain ? "%c" : "\\%03o", byte);
        }
        count++;
    }
    fputs(*text ? "...\"" : "\"", to);
}
