/* SPDX-License-Identifier: MIT */
/* Pictures by gnuplot, which reads commands from a pipe and writes the picture
 * into a draft of the file. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

extern char **environ;

static const struct {
    const char *ending, *terminal, *unit, *look;
    double scale; /* units a pixel */
} FORMATS[] = {
    {".svg", "svg", "",
     "background '#ffffff' font 'Helvetica,Arial,sans-serif,14'", 1.0},
    {".png", "pngcairo", "", "background '#ffffff' font 'sans,11'", 1.0},
    {".pdf", "pdfcairo", "in", "font 'sans,11'", 1.0 / 96.0},
};
enum { FORMAT_COUNT = sizeof FORMATS / sizeof *FORMATS };

/* The place in FORMATS; FORMAT_COUNT for another ending. */
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

int check_plot(const char *path)
{
    if (!path) return 0;
    if (format_of(path) == FORMAT_COUNT)
        return complain(EXIT_INPUT,
                        "--plot %s: a name that ends with .svg, .png or .pdf "
                        "is wanted",
                        path);
    if (!has_gnuplot())
        return complain(EXIT_INPUT, "--plot needs gnuplot, which is not "
                                    "installed: the package gnuplot-nox has "
                                    "it");
    return check_place(path);
}

void say_plot(const struct args *a)
{
    if (a->plot && !a->quiet && !a->json)
        fprintf(stderr, "wrote %s\n", a->plot);
}

/* What all pictures have in common. */
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

/* gnuplot, from the pipe's reading end to a file. */
static int start(struct plot *p, int from, FILE *to)
{
    posix_spawn_file_actions_t actions;
    char *words[] = {"gnuplot", "-", NULL};
    pid_t child;
    if (posix_spawn_file_actions_init(&actions)) return ENOMEM;
    posix_spawn_file_actions_adddup2(&actions, from, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(to), STDOUT_FILENO);
    if (p->hushed)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null",
                                         O_WRONLY, 0);
    int why = posix_spawnp(&child, "gnuplot", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    p->child = (int)child;
    return why;
}

/* Ready for commands; 0, or a message. */
static int begin(struct plot *p, FILE *to)
{
    int end[2];
    int why = pipe(end) ? errno : 0;
    if (!why) {
        /* Without an end of its own gnuplot sees where the commands end. */
        fcntl(end[1], F_SETFD, FD_CLOEXEC);
        why = start(p, end[0], to);
        close(end[0]);
        if (!why) p->to = fdopen(end[1], "w");
        else close(end[1]);
    }
    if (!p->to)
        return complain(EXIT_NUMBERS, "cannot run gnuplot: %s", strerror(why));
    p->pipe_handler = signal(SIGPIPE, SIG_IGN);
    return 0;
}

int plot_open(struct plot *p, const char *path, int width, int height)
{
    size_t format = format_of(path);
    *p = (struct plot){0};
    if (check_plot(path) || draft_open(&p->file, path)) return EXIT_INPUT;
    if (begin(p, p->file.out)) {
        draft_close(&p->file, false);
        return EXIT_NUMBERS;
    }
    double scale = FORMATS[format].scale;
    fprintf(p->to, "set terminal %s size %g%s,%g%s noenhanced %s\n",
            FORMATS[format].terminal, width * scale, FORMATS[format].unit,
            height * scale, FORMATS[format].unit, FORMATS[format].look);
    set_style(p->to);
    return 0;
}

int plot_begin(struct plot *p, FILE *to, int width, int height)
{
    *p = (struct plot){.hushed = true};
    if (begin(p, to)) return EXIT_NUMBERS;
    fprintf(p->to,
            "set terminal svg size %d,%d noenhanced font "
            "'Helvetica,Arial,sans-serif,14'\n",
            width, height);
    set_style(p->to);
    return 0;
}

/* Whether all went well. */
static bool end(struct plot *p)
{
    int status = 0;
    bool bad = ferror(p->to) != 0;
    if (fclose(p->to)) bad = true;
    while (waitpid(p->child, &status, 0) < 0 && errno == EINTR)
        continue;
    signal(SIGPIPE, p->pipe_handler);
    return !bad && WIFEXITED(status) && !WEXITSTATUS(status);
}

int plot_end(struct plot *p)
{
    return end(p) ? 0 : complain(EXIT_NUMBERS, "gnuplot failed");
}

int plot_close(struct plot *p, bool keep)
{
    bool bad = !end(p);
    int code = draft_close(&p->file, keep && !bad);
    if (code || !keep || !bad) return code;
    return complain(EXIT_NUMBERS, "gnuplot failed; %s is not written",
                    p->file.path);
}

void plot_text(const char *text, FILE *to)
{
    putc('\'', to);
    for (; *text; text++) {
        if (*text == '\'') putc('\'', to);
        putc((unsigned char)*text < ' ' ? ' ' : *text, to);
    }
    putc('\'', to);
}
