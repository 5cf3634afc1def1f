/* SPDX-License-Identifier: MIT */
#include "glyphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli.h"

enum { MARGIN = 10, TICKS = 5 };

/* --- The terminal --------------------------------------------------------- */

static int size_of(const char *name, int from_terminal, int preset, int least)
{
    const char *text = getenv(name);
    long n = text ? strtol(text, NULL, 10) : 0;
    if (n <= 0) n = from_terminal > 0 ? from_terminal : preset;
    if (n < least) n = least;
    return n < 300 ? (int)n : 300;
}

int terminal_width(void)
{
    struct winsize size = {0};
    bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return size_of("COLUMNS", known ? size.ws_col : 0, 80, 30);
}

int terminal_height(void)
{
    struct winsize size = {0};
    bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
    return size_of("LINES", known ? size.ws_row : 0, 24, 10);
}

/* As the C library chooses the locale. */
static bool is_utf8(void)
{
    static const char *const NAMES[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *text = NULL;
    for (size_t i = 0; i < 3 && !(text && *text); i++)
        text = getenv(NAMES[i]);
    const char *set = text ? strchr(text, '.') : NULL;
    return set &&
           (!strncasecmp(set, ".utf-8", 6) || !strncasecmp(set, ".utf8", 5));
}

/* https://no-color.org */
static bool has_colours(void)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no && *no) && term &&
           strcmp(term, "dumb") != 0;
}

/* --- Places --------------------------------------------------------------- */

int glyphs_init(struct glyphs *g, int wide, int tall)
{
    g->wide = wide;
    g->tall = tall;
    g->cell = calloc((size_t)wide * (size_t)tall, sizeof *g->cell);
    return g->cell ? 0 : complain_memory();
}

/* From 0 to 1 on the axis. */
static double share(const struct extent *e, double x)
{
    return e->log ? log(x / e->low) / log(e->high / e->low)
                  : (x - e->low) / (e->high - e->low);
}

static double unshare(const struct extent *e, double s)
{
    return e->log ? e->low * pow(e->high / e->low, s)
                  : e->low + s * (e->high - e->low);
}

/* The dot of a place; y from above. */
static void dot_of(const struct glyphs *g, double x, double y, double at[2])
{
    at[0] = share(&g->x, x) * (2.0 * g->wide - 1.0);
    at[1] = (1.0 - share(&g->y, y)) * (4.0 * g->tall - 1.0);
}

static struct glyph *cell_at(const struct glyphs *g, double column, double row)
{
    if (!(column > -0.5 && column < 2.0 * g->wide - 0.5 && row > -0.5 &&
          row < 4.0 * g->tall - 0.5))
        return NULL;
    long i = lround(column) / 2, j = lround(row) / 4;
    return &g->cell[j * g->wide + i];
}

static void set_dot(struct glyphs *g, double column, double row)
{
    static const unsigned char BIT[4][2] = {
        {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    struct glyph *c = cell_at(g, column, row);
    if (!c) return;
    c->dots |= BIT[lround(row) % 4][lround(column) % 2];
    c->ink = g->ink;
}

/* --- Shapes --------------------------------------------------------------- */

void glyphs_point(struct glyphs *g, double x, double y)
{
    double at[2];
    dot_of(g, x, y, at);
    set_dot(g, at[0], at[1]);
}

/* The part of a line from a to b that the picture can have, as shares of it. */
static bool clip(const double a[2], const double b[2], const double room[2],
                 double *from, double *to)
{
    *from = 0.0;
    *to = 1.0;
    for (int k = 0; k < 2; k++) {
        double d = b[k] - a[k];
        double s = (-1.0 - a[k]) / d, t = (room[k] + 1.0 - a[k]) / d;
        if (d == 0.0 && (a[k] < -1.0 || a[k] > room[k] + 1.0)) return false;
        if (d == 0.0) continue;
        *from = fmax(*from, fmin(s, t));
        *to = fmin(*to, fmax(s, t));
    }
    return *from <= *to;
}

void glyphs_line(struct glyphs *g, const double from[2], const double to[2],
                 bool dashed)
{
    double a[2], b[2], first, last;
    const double room[2] = {2.0 * g->wide, 4.0 * g->tall};
    dot_of(g, from[0], from[1], a);
    dot_of(g, to[0], to[1], b);
    if (!isfinite(a[0] + a[1] + b[0] + b[1])) return;
    if (!clip(a, b, room, &first, &last)) return;
    double length = fmax(fabs(b[0] - a[0]), fabs(b[1] - a[1])) * (last - first);
    long steps = 1 + lround(length);
    for (long i = 0; i <= steps; i++) {
        double s = first + (last - first) * (double)i / (double)steps;
        double column = a[0] + s * (b[0] - a[0]);
        if (!dashed || lround(column) % 6 < 3)
            set_dot(g, column, a[1] + s * (b[1] - a[1]));
    }
}

/* From (x, low, high) to the next. */
void glyphs_band(struct glyphs *g, const double from[3], const double to[3])
{
    double a[2], b[2], c[2], d[2];
    dot_of(g, from[0], from[1], a);
    dot_of(g, from[0], from[2], b);
    dot_of(g, to[0], to[1], c);
    dot_of(g, to[0], to[2], d);
    if (!isfinite(a[0] + a[1] + b[1] + c[0] + c[1] + d[1])) return;
    for (int i = 0; i < g->wide; i++) {
        double column = 2.0 * i + 0.5, wide = c[0] - a[0];
        double s = wide > 0.0 ? (column - a[0]) / wide : 0.0;
        if (column < a[0] - 1.0 || column > c[0] + 1.0) continue;
        s = fmin(fmax(s, 0.0), 1.0);
        double low = a[1] + s * (c[1] - a[1]), high = b[1] + s * (d[1] - b[1]);
        for (int j = 0; j < g->tall; j++) {
            double row = 4.0 * j + 1.5;
            if (row > fmin(low, high) && row < fmax(low, high))
                g->cell[j * g->wide + i].shade = 1;
        }
    }
}

void glyphs_shade(struct glyphs *g, size_t n, const double *x, const double *y,
                  const double *level)
{
    for (int j = 0; j < g->tall; j++)
        for (int i = 0; i < g->wide; i++) {
            double nearest = INFINITY, at = NAN;
            double u = (i + 0.5) / g->wide, v = 1.0 - (j + 0.5) / g->tall;
            for (size_t k = 0; k < n; k++) {
                double far =
                    hypot(share(&g->x, x[k]) - u, share(&g->y, y[k]) - v);
                if (!(far < nearest)) continue;
                nearest = far;
                at = level[k];
            }
            if (isfinite(at))
                g->cell[j * g->wide + i].shade =
                    (unsigned char)fmin(fmax(floor(5.0 * at), 0.0), 4.0);
        }
}

void glyphs_arrow(struct glyphs *g, double x, double y, double dx, double dy)
{
    double at[2];
    dot_of(g, x, y, at);
    struct glyph *c = cell_at(g, at[0], at[1]);
    double turn =
        atan2(dy / (g->y.high - g->y.low), dx / (g->x.high - g->x.low));
    if (c && isfinite(turn))
        c->arrow = (unsigned char)(1 + (lround(turn * 4.0 / M_PI) + 8) % 8);
}

void glyphs_label(struct glyphs *g, double y, const char *text)
{
    double at[2];
    dot_of(g, g->x.low, y, at);
    if (!isfinite(at[1]) || g->labels == MOST_LABELS) return;
    int row = (int)fmin(fmax(at[1] / 4.0, 0.0), g->tall - 1.0);
    for (int tries = 0; tries < g->tall; tries++, row = (row + 1) % g->tall) {
        bool taken = false;
        for (int i = 0; i < g->labels; i++)
            taken = taken || g->label[i].row == row;
        if (taken) continue;
        g->label[g->labels].row = row;
        g->label[g->labels].ink = g->ink;
        snprintf(g->label[g->labels++].text, LABEL_ROOM, "%s", text);
        return;
    }
}

/* --- Text ----------------------------------------------------------------- */

static void put_utf8(unsigned code, FILE *out)
{
    putc((int)(0xe0u | code >> 12), out);
    putc((int)(0x80u | (code >> 6 & 0x3fu)), out);
    putc((int)(0x80u | (code & 0x3fu)), out);
}

/* A label; without UTF-8 other characters are question marks. */
static void put_label(const char *text, FILE *out)
{
    bool utf8 = is_utf8();
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x80 || utf8) putc(c, out);
        else if (c >= 0xc0) putc('?', out);
    }
}

/* Ink 0 is the terminal's own colour. Blue, red, green, magenta and yellow, as
 * the lines of other figures. */
static void put_ink(unsigned char ink, bool colours, FILE *out)
{
    static const int COLOUR[] = {34, 31, 32, 35, 33};
    if (colours) fprintf(out, "\033[%dm", ink ? COLOUR[(ink - 1) % 5] : 0);
}

static void put_glyph(const struct glyph *c, bool utf8, FILE *out)
{
    static const unsigned ARROW[] = {0x2192, 0x2197, 0x2191, 0x2196,
                                     0x2190, 0x2199, 0x2193, 0x2198};
    static const unsigned SHADE[] = {0x20, 0x2591, 0x2592, 0x2593, 0x2588};
    if (!utf8)
        putc(c->arrow  ? ">/^\\</v\\"[c->arrow - 1]
             : c->dots ? '*'
                       : " .:+#"[c->shade],
             out);
    else if (c->arrow) put_utf8(ARROW[c->arrow - 1], out);
    else if (c->dots) put_utf8(0x2800u + c->dots, out);
    else if (c->shade) put_utf8(SHADE[c->shade], out);
    else putc(' ', out);
}

/* 1, 2 or 5 times a power of 10. */
static double nice_step(double span, int most)
{
    static const double NICE[] = {1.0, 2.0, 5.0, 10.0};
    double power = pow(10.0, floor(log10(span / most)));
    for (size_t i = 0; i < 3; i++)
        if (span / (NICE[i] * power) <= most) return NICE[i] * power;
    return 10.0 * power;
}

/* The number to print in a part [low, high) of the axis, or false. */
static bool tick_in(const struct extent *e, int most, double low, double high,
                    double *tick)
{
    double a = e->log ? log10(low) : low, b = e->log ? log10(high) : high;
    double span = e->log ? log10(e->high / e->low) : e->high - e->low;
    double step = nice_step(span, most);
    if (e->log || e->whole) step = fmax(step, 1.0);
    double at = ceil(a / step - 1e-9) * step;
    if (!(at < b - 1e-9 * step)) return false;
    if (fabs(at) < 1e-9 * step) at = 0.0;
    *tick = e->log ? pow(10.0, at) : at;
    return true;
}

static void put_row(const struct glyphs *g, int j, bool utf8, FILE *out)
{
    int most = g->tall / 3 < TICKS ? g->tall / 3 + 1 : TICKS;
    double high = unshare(&g->y, 1.0 - (double)j / g->tall), tick;
    double low = unshare(&g->y, 1.0 - (j + 1.0) / g->tall);
    bool ticked = tick_in(&g->y, most, low, high, &tick);
    if (ticked) fprintf(out, "%*.4g ", MARGIN - 2, tick);
    else fprintf(out, "%*s", MARGIN - 1, "");
    if (utf8) put_utf8(ticked ? 0x2524 : 0x2502, out);
    else putc(ticked ? '+' : '|', out);
    int last = g->wide - 1;
    const struct glyph *row = g->cell + j * g->wide;
    int label = 0;
    while (label < g->labels && g->label[label].row != j)
        label++;
    while (last >= 0 && label == g->labels && !row[last].dots &&
           !row[last].shade && !row[last].arrow)
        last--;
    unsigned char ink = 0;
    bool colours = has_colours();
    for (int i = 0; i <= last; i++) {
        if (row[i].ink != ink) put_ink(ink = row[i].ink, colours, out);
        put_glyph(&row[i], utf8, out);
    }
    if (ink) put_ink(0, colours, out);
    if (label < g->labels) {
        putc(' ', out);
        put_ink(g->label[label].ink, colours, out);
        put_label(g->label[label].text, out);
        put_ink(0, colours, out);
    }
    putc('\n', out);
}

/* The line below, with marks where put_numbers() has numbers. */
static void put_floor(const struct glyphs *g, bool utf8, FILE *out)
{
    double tick;
    fprintf(out, "%*s", MARGIN - 1, "");
    if (utf8) put_utf8(0x2514, out);
    else putc('+', out);
    for (int i = 0; i < g->wide; i++) {
        bool ticked = tick_in(&g->x, g->wide / 12 + 1,
                              unshare(&g->x, (double)i / g->wide),
                              unshare(&g->x, (i + 1.0) / g->wide), &tick);
        if (utf8) put_utf8(ticked ? 0x252c : 0x2500, out);
        else putc(ticked ? '+' : '-', out);
    }
    putc('\n', out);
}

static void put_numbers(const struct glyphs *g, FILE *out)
{
    char line[2 * LABEL_ROOM + 400], text[40];
    int room = MARGIN + g->wide + 4, used = 0;
    double tick;
    memset(line, ' ', sizeof line);
    for (int i = 0; i < g->wide; i++) {
        if (!tick_in(&g->x, g->wide / 12 + 1,
                     unshare(&g->x, (double)i / g->wide),
                     unshare(&g->x, (i + 1.0) / g->wide), &tick))
            continue;
        int n = snprintf(text, sizeof text, "%.5g", tick);
        int at = MARGIN + i - n / 2;
        if (at <= used || at + n > room) continue;
        memcpy(line + at, text, (size_t)n);
        used = at + n;
    }
    line[used] = 0;
    fputs(line, out);
    if (*g->x.label) fputs("  ", out);
    put_label(g->x.label, out);
    putc('\n', out);
}

void glyphs_print(const struct glyphs *g, FILE *out)
{
    bool utf8 = is_utf8();
    fprintf(out, "%*s", *g->title || *g->y.label ? MARGIN : 0, "");
    put_label(g->y.label, out);
    if (*g->title && *g->y.label) fputs("   ", out);
    put_label(g->title, out);
    if (*g->legend) fputs("   ", out);
    put_label(g->legend, out);
    putc('\n', out);
    for (int j = 0; j < g->tall; j++)
        put_row(g, j, utf8, out);
    put_floor(g, utf8, out);
    if (!g->x.hidden) put_numbers(g, out);
}
