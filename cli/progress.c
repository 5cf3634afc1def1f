/* SPDX-License-Identifier: MIT */
#include "progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

/* Seconds between two lines, on a terminal and in a log. */
static const double REDRAW = 0.1, LOG = 5.0;

/* The weight of an iteration in the running averages. */
static const double FRESH = 0.2;

int progress_begin(struct progress *p, const gsv_model *m, bool quiet)
{
    *p = (struct progress){.quiet = quiet,
                           .terminal = isatty(STDERR_FILENO),
                           .heldout = NAN,
                           .waits = clock_now()};
    size_t count;
    struct number *list = model_numbers(m, &count);
    if (!list) return EXIT_NUMBERS;
    for (size_t i = 0; i < count && p->noises < 3; i++)
        if (list[i].noise) p->noise[p->noises++] = list[i];
    free(list);
    return 0;
}

/* --- The parts of the line ---------------------------------------------- */

enum { PARTS = 7 };

/* If the line is too long, the part with the highest rank is removed first;
 * rank 0 stays. */
struct part {
    int rank;
    char text[160];
};

/* Running averages, which are easier to read. */
static void average(struct progress *p, const gsv_progress *now)
{
    if (p->restart != now->restart) p->averaged = 0;
    p->restart = now->restart;
    double share = fmax(FRESH, 1.0 / (double)++p->averaged);
    if (!isfinite(p->loglik) || !isfinite(now->loglik)) share = 1.0;
    p->loglik += share * (now->loglik - p->loglik);
    if (share == 1.0) p->loglik = now->loglik, p->error = now->error;
    else if (isfinite(now->error)) p->error += share * (now->error - p->error);
    if (isfinite(now->heldout)) p->heldout = now->heldout;
}

void write_duration(double seconds, char *text, size_t size)
{
    double s = ceil(seconds);
    if (s < 100.0) snprintf(text, size, "%.0f s", s);
    else if (s < 3600.0)
        snprintf(text, size, "%.0f:%02.0f min", floor(s / 60.0), fmod(s, 60.0));
    else
        snprintf(text, size, "%.0f:%02.0f h", floor(s / 3600.0),
                 floor(fmod(s, 3600.0) / 60.0));
}

static void write_pace(const struct progress *p, const gsv_progress *now,
                       struct part *speed, struct part *left)
{
    double took = now->seconds - p->started;
    if (!(took > 0.0) || !p->done) return;
    double pace = (double)p->done / took;
    double rest = (double)(now->restarts - now->restart + 1) * now->expected -
                  (double)now->iteration;
    char text[40];
    snprintf(speed->text, sizeof speed->text, "%.*f it/s", pace < 10.0 ? 1 : 0,
             pace);
    if (isnan(rest)) return;
    write_duration(rest / pace, text, sizeof text);
    snprintf(left->text, sizeof left->text, "ETA %s", text);
}

static void write_noise(const struct progress *p, const gsv_model *m,
                        struct part *part)
{
    char name[NAME_ROOM];
    size_t n = 0;
    for (size_t i = 0; i < p->noises; i++)
        n += (size_t)snprintf(part->text + n, sizeof part->text - n,
                              "%s%.16s %.3g", i ? " " : "",
                              number_name(&p->noise[i], name),
                              gsv_model_value(m)[p->noise[i].at]);
}

/* The name and the sign of each objective. */
static const struct {
    const char *word;
    double sign;
} WHAT[] = {
    [GSV_OBJECTIVE_LIKELIHOOD] = {"loglik/gap", 1.0},
    [GSV_OBJECTIVE_MSE_BACKPROP] = {"mse", -1.0},
    [GSV_OBJECTIVE_MSE_ADJOINT] = {"mse", -1.0},
    [GSV_OBJECTIVE_MSE_FORWARD] = {"mse", -1.0},
    [GSV_OBJECTIVE_GRADIENT_MATCHING] = {"pseudo-loglik/gap", 1.0},
    [GSV_OBJECTIVE_EM_LINEAR] = {"bound/gap", 1.0},
    [GSV_OBJECTIVE_SLOPES] = {"density/gap", 1.0},
};

static void write_parts(const struct progress *p, const gsv_progress *now,
                        struct part part[PARTS])
{
    int n = digits(p->error) < 2   ? 2
            : digits(p->error) > 5 ? 5
                                   : digits(p->error);
    size_t room = sizeof part->text;
    memset(part, 0, PARTS * sizeof *part);
    int wide = snprintf(NULL, 0, "%zu", now->iterations);
    if (!p->terminal) wide = 0;
    size_t done = 0;
    if (now->restarts > 1)
        done = (size_t)snprintf(part[0].text, room,
                                "start %zu/%zu: ", now->restart, now->restarts);
    done += (size_t)snprintf(part[0].text + done, room - done, "%*zu", wide,
                             now->iteration);
    if (now->expected == (double)now->iterations)
        snprintf(part[0].text + done, room - done, "/%zu", now->iterations);
    else if (now->expected > (double)now->iteration)
        snprintf(part[0].text + done, room - done, " of about %.0f",
                 now->expected);
    const char *what = WHAT[now->objective].word;
    double sign = WHAT[now->objective].sign;
    if (isfinite(p->error))
        snprintf(part[1].text, room, "%s %.*f +- %.*f", what, n,
                 sign * p->loglik, n, p->error);
    else snprintf(part[1].text, room, "%s %.*f", what, n, sign * p->loglik);
    if (isfinite(p->heldout))
        snprintf(part[2].text, room, "held out %.*f", n, sign * p->heldout);
    write_noise(p, now->model, &part[3]);
    if (isfinite(now->rate))
        snprintf(part[4].text, room, "rate %.2g", now->rate);
    write_pace(p, now, &part[5], &part[6]);
    static const int rank[PARTS] = {0, 0, 2, 3, 5, 4, 1};
    for (size_t i = 0; i < PARTS; i++)
        part[i].rank = rank[i];
}

/* --- The line ------------------------------------------------------------ */

static size_t length_of(const struct part *part)
{
    size_t n = 0;
    for (size_t i = 0; i < PARTS; i++)
        if (part[i].text[0]) n += strlen(part[i].text) + 2;
    return n;
}

/* Removes parts until the rest fits. */
static void shorten(struct part *part, size_t width)
{
    while (length_of(part) > width) {
        struct part *last = part;
        for (size_t i = 1; i < PARTS; i++)
            if (part[i].text[0] && part[i].rank > last->rank) last = &part[i];
        if (!last->rank) return;
        last->text[0] = 0;
    }
}

static void join(const struct part *part, const char *between, char *line,
                 size_t size)
{
    size_t n = strlen(line);
    for (size_t i = 0; i < PARTS && n < size; i++)
        if (part[i].text[0])
            n += (size_t)snprintf(line + n, size - n, "%s%s",
                                  n && i ? between : "", part[i].text);
}

static size_t terminal_width(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || !size.ws_col) return 80;
    return size.ws_col;
}

/* "[=====>    ] " */
static void write_bar(const gsv_progress *now, size_t inside, char *line)
{
    if (!inside || isnan(now->expected)) return;
    double share = fmin((double)now->iteration / now->expected, 1.0);
    size_t full = (size_t)(share * (double)inside);
    line[0] = '[';
    for (size_t i = 0; i < inside; i++)
        line[1 + i] = i < full ? '=' : i == full ? '>' : ' ';
    memcpy(line + 1 + inside, "] ", 3);
}

static void write_line(struct progress *p, const gsv_progress *now)
{
    struct part part[PARTS];
    write_parts(p, now, part);
    p->line[0] = 0;
    if (!p->terminal) {
        snprintf(p->line, sizeof p->line, "iteration ");
        join(part, ", ", p->line, sizeof p->line);
        return;
    }
    size_t width = terminal_width() - 1;
    if (width >= sizeof p->line) width = sizeof p->line - 1;
    size_t bar = width > 110 ? 24 : width > 60 ? 12 : 0;
    shorten(part, width - (bar ? bar + 3 : 0));
    write_bar(now, bar, p->line);
    join(part, "  ", p->line, sizeof p->line);
    p->line[width] = 0;
}

double clock_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void draw(struct progress *p, const char *line)
{
    p->seen = clock_now();
    if (p->terminal) redraw("%s", line);
    else say(stderr, "%s\n", line);
}

void progress_show(struct progress *p, const gsv_progress *now)
{
    if (p->quiet) return;
    if (p->iterations != now->iterations) { /* a new search */
        p->begun = false;
        p->averaged = 0;
        p->heldout = NAN;
        p->iterations = now->iterations;
    }
    average(p, now);
    if (!p->begun) {
        p->started = now->seconds;
        p->done = 0;
        p->drawn = -INFINITY;
        p->begun = true;
    } else p->done++;
    write_line(p, now);
    p->late = true;
    if (now->seconds - p->drawn < (p->terminal ? REDRAW : LOG)) return;
    p->drawn = now->seconds;
    draw(p, p->line);
    p->late = false;
}

void progress_phase(struct progress *p, enum gsv_phase phase)
{
    p->phase = phase;
    p->waits = clock_now();
}

void progress_wait(struct progress *p)
{
    static const char *const WORDS[] = {[GSV_PHASE_START] = "start values",
                                        [GSV_PHASE_SEARCH] = "search",
                                        [GSV_PHASE_EFFORT] =
                                            "choice of paths and steps",
                                        [GSV_PHASE_ESTIMATE] = "last estimate",
                                        [GSV_PHASE_ERRORS] = "standard errors",
                                        [GSV_PHASE_BOOTSTRAP] = "bootstrap"};
    char since[40], line[80];
    double now = clock_now();
    /* During the search iterations have their own lines. */
    double least = p->phase == GSV_PHASE_SEARCH ? 2.0 * LOG
                   : p->terminal                ? 1.0
                                                : LOG;
    if (p->quiet || now - fmax(p->waits, p->seen) < least) return;
    p->waited = true;
    write_duration(now - p->waits, since, sizeof since);
    snprintf(line, sizeof line, "%s, %s", WORDS[p->phase], since);
    draw(p, p->refits[0] ? p->refits : line);
}

void progress_refit(struct progress *p, size_t done, size_t all)
{
    char left[40];
    double now = clock_now();
    if (p->quiet) return;
    write_duration((now - p->waits) / (double)done * (double)(all - done), left,
                   sizeof left);
    snprintf(p->refits, sizeof p->refits, "%s %zu/%zu, ETA %s",
             p->task ? p->task : "bootstrap", done, all, left);
    if (now - fmax(p->waits, p->seen) < (p->terminal ? REDRAW : LOG)) return;
    p->waited = true;
    draw(p, p->refits);
}

void progress_end(struct progress *p)
{
    if (p->quiet || !(p->begun || p->waited) || !p->terminal) return;
    if (p->late) draw(p, p->line);
    fputc('\n', stderr);
}
