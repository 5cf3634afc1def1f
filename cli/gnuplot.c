/* SPDX-License-Identifier: MIT */
/* gnuplot as a child process: commands go in, the figure and messages come out,
 * through pipes. The command itself writes the file, so that a full disk is an
 * error and an old file is replaced only by a complete one. */
#include "gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

bool gnuplot_run(const char *commands, size_t size, const char *mark,
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
