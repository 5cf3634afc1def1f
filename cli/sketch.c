/* SPDX-License-Identifier: MIT */
#include "sketch.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "glyphs.h"

enum { MOST_BLOCKS = 200, MOST_VALUES = 5, MOST_COLUMNS = 60, MOST_ITEMS = 60 };

/* Lines of numbers with a name; an empty line ends a curve. */
struct data {
    const char *name, *text, *end;
    size_t length; /* of the name */
};

/* The rows of what is drawn: n x MOST_VALUES; NaN where a curve ends. */
struct rows {
    size_t n;
    double (*value)[MOST_VALUES];
};

enum style { POINTS, LINES, BOTH, BAND, BARS, SPIKES, TICKS, ARROWS, MAP };

struct item {
    enum style style;
    bool dashed;
    char title[LABEL_ROOM];
    struct rows rows;
};

struct page {
    FILE *out;
    size_t blocks, panels, drawn;
    struct data block[MOST_BLOCKS];
    struct {
        char name[20];
        double value;
    } variable[10];
    size_t variables;
    struct extent x, y;
    double shade[2];
    bool shade_log;
    char title[LABEL_ROOM], shades[LABEL_ROOM];
};

/* --- Words ---------------------------------------------------------------- */

static bool starts(const char *text, const char *with)
{
    return !strncmp(text, with, strlen(with));
}

/* A text in quotes, or several with points between them; in double quotes there
 * are octal numbers. */
static void read_text(const char *at, char to[LABEL_ROOM])
{
    size_t n = 0;
    for (at += strspn(at, " "); *at == '"' || *at == '\'';) {
        char quote = *at++;
        for (; *at && *at != quote && *at != '\n'; at++) {
            char c = *at;
            if (c == '\\' && quote == '"' && isdigit((unsigned char)at[1])) {
                const char octal[] = {at[1], at[2], at[3], 0};
                c = (char)strtol(octal, NULL, 8);
                at += 3;
            }
            if (n + 1 < LABEL_ROOM) to[n++] = c;
        }
        at += *at == quote;
        at += *at == '.';
    }
    to[n] = 0;
}

static double variable(const struct page *p, const char *name, size_t length)
{
    for (size_t i = 0; i < p->variables; i++)
        if (strlen(p->variable[i].name) == length &&
            !strncmp(p->variable[i].name, name, length))
            return p->variable[i].value;
    return NAN;
}

/* $2 + 3 - foot: the sum of columns, numbers and variables up to a mark. */
static double read_sum(const struct page *p, const char *at, const double *row,
                       const char **end)
{
    double sum = 0.0, sign = 1.0;
    for (; *at && !strchr(":)],", *at) && *at != '\n';) {
        char *after;
        double value = NAN;
        if (*at == '+' || *at == '-' || *at == ' ') {
            if (*at != ' ') sign = *at == '-' ? -1.0 : 1.0;
            at++;
            continue;
        }
        if (*at == '$') {
            long column = strtol(at + 1, &after, 10);
            if (row && column > 0 && column <= MOST_COLUMNS)
                value = row[column - 1];
        } else if (isalpha((unsigned char)*at)) {
            size_t n = strspn(at, "abcdefghijklmnopqrstuvwxyz");
            value = variable(p, at, n);
            after = (char *)(uintptr_t)(at + n);
        } else {
            value = strtod(at, &after);
            if (after == at) break;
        }
        at = after;
        sum += sign * value;
        sign = 1.0;
    }
    if (end) *end = at;
    return sum;
}

/* --- Settings ------------------------------------------------------------- */

/* [a:b], where * is free. */
static void read_extent(const struct page *p, const char *at, double *low,
                        double *high)
{
    at = strchr(at, '[');
    if (!at) return;
    *low = at[1] == '*' ? NAN : read_sum(p, at + 1, NULL, NULL);
    at = strchr(at, ':');
    *high = !at || at[1] == '*' ? NAN : read_sum(p, at + 1, NULL, NULL);
}

static size_t count_panels(const char *layout)
{
    size_t rows = 1, columns = 1;
    if (sscanf(layout, " %zu,%zu", &rows, &columns) != 2) return 1;
    return rows * columns;
}

static void read_set(struct page *p, const char *at)
{
    if (starts(at, "xlabel ")) read_text(at + 7, p->x.label);
    else if (starts(at, "ylabel ")) read_text(at + 7, p->y.label);
    else if (starts(at, "cblabel ")) read_text(at + 8, p->shades);
    else if (starts(at, "title ")) read_text(at + 6, p->title);
    else if (starts(at, "xrange ")) read_extent(p, at, &p->x.low, &p->x.high);
    else if (starts(at, "yrange ")) read_extent(p, at, &p->y.low, &p->y.high);
    else if (starts(at, "cbrange "))
        read_extent(p, at, &p->shade[0], &p->shade[1]);
    else if (starts(at, "logscale xy")) p->x.log = p->y.log = true;
    else if (starts(at, "logscale cb")) p->shade_log = true;
    else if (starts(at, "format x")) p->x.hidden = starts(at, "format x ''");
    else if (starts(at, "xtics ")) p->x.whole = starts(at, "xtics 1\n");
    else if (starts(at, "multiplot layout")) p->panels = count_panels(at + 16);
}

static void read_variable(struct page *p, const char *line)
{
    char name[20];
    double value;
    if (p->variables < 10 &&
        sscanf(line, "%19[a-z] = %lf", name, &value) == 2) {
        strcpy(p->variable[p->variables].name, name);
        p->variable[p->variables++].value = value;
    }
}

/* --- Items ---------------------------------------------------------------- */

static const struct data *find_block(const struct page *p, const char *name)
{
    size_t n = strcspn(name, " ,\n");
    for (size_t i = p->blocks; i-- > 0;) /* the last of a name counts */
        if (p->block[i].length == n && !strncmp(p->block[i].name, name, n))
            return &p->block[i];
    return NULL;
}

/* The numbers of a line; returns how many. */
static size_t read_line(const char *at, const char *end, double *cell)
{
    size_t n = 0;
    while (at < end && n < MOST_COLUMNS) {
        char *after;
        double x = strtod(at, &after);
        if (after == at) break;
        cell[n++] = x;
        at = after + strspn(after, " ");
    }
    return n;
}

/* using 1:($2-$3):4 */
static void select_values(const struct page *p, const char *use, size_t count,
                          const double *cell, double value[MOST_VALUES])
{
    for (size_t k = 0; k < MOST_VALUES; k++)
        value[k] = NAN;
    for (size_t k = 0; k < MOST_VALUES; k++) {
        size_t column = (size_t)strtol(use, NULL, 10);
        const char *end = use + strcspn(use, ": ,\n");
        if (*use == '(') {
            value[k] = read_sum(p, use + 1, cell, &end);
            end += *end == ')';
        } else if (column && column <= count) value[k] = cell[column - 1];
        if (*end != ':') return;
        use = end + 1;
    }
}

static int read_rows(const struct page *p, const struct data *d,
                     const char *use, struct rows *r)
{
    size_t lines = 0;
    double cell[MOST_COLUMNS];
    for (const char *c = d->text; c < d->end; c++)
        lines += *c == '\n';
    r->value = calloc(lines + 1, sizeof *r->value);
    if (!r->value) return complain_memory();
    for (const char *at = d->text; at < d->end; at += strcspn(at, "\n") + 1) {
        for (size_t k = 0; k < MOST_COLUMNS; k++)
            cell[k] = NAN;
        size_t n = read_line(at, at + strcspn(at, "\n"), cell);
        select_values(p, use, *at == '\n' ? 0 : n, cell, r->value[r->n++]);
    }
    return 0;
}

/* An item begins with a block, or is a number with a style; other pieces
 * between commas belong to the item before. */
static const char *next_item(const char *at)
{
    char quote = 0;
    int depth = 0;
    for (; *at && *at != '\n'; at++) {
        if (quote) quote = *at == quote ? 0 : quote;
        else if (*at == '\'' || *at == '"') quote = *at;
        else depth += (*at == '(') - (*at == ')');
        if (quote || depth || *at != ',') continue;
        const char *rest = at + 1 + strspn(at + 1, " ");
        const char *with = strstr(rest, " with ");
        if (*rest == '$' || (with && with < rest + strcspn(rest, ",\n")))
            return rest;
    }
    return NULL;
}

/* The word within one item. */
static const char *find_word(const char *item, const char *end,
                             const char *word)
{
    const char *at = strstr(item, word);
    return at && at < end ? at + strlen(word) : NULL;
}

static enum style style_of(const char *item, const char *end, bool map)
{
    static const struct {
        const char *word;
        enum style style;
    } STYLES[] = {{"linespoints", BOTH},     {"lines", LINES},
                  {"points", POINTS},        {"filledcurves", BAND},
                  {"boxes", BARS},           {"impulses", SPIKES},
                  {"vectors nohead", TICKS}, {"vectors", ARROWS}};
    const char *with = find_word(item, end, " with ");
    for (size_t i = 0; with && i < sizeof STYLES / sizeof *STYLES; i++)
        if (starts(with, STYLES[i].word)) return STYLES[i].style;
    return map ? MAP : LINES;
}

static void title_of(const char *item, const char *end, char to[LABEL_ROOM])
{
    const char *title = find_word(item, end, " title ");
    if (title) read_text(title, to);
}

/* A number: a line across the panel. */
static int read_level(double level, struct rows *r)
{
    r->value = calloc(2, sizeof *r->value);
    if (!r->value) return complain_memory();
    r->n = 2;
    r->value[0][0] = -INFINITY;
    r->value[1][0] = INFINITY;
    r->value[0][1] = r->value[1][1] = level;
    return 0;
}

static int read_item(const struct page *p, const char *at, bool map,
                     struct item *item)
{
    const char *next = next_item(at);
    const char *end = next ? next : at + strcspn(at, "\n");
    const char *use = find_word(at, end, " using ");
    const struct data *d = *at == '$' ? find_block(p, at) : NULL;
    *item = (struct item){.style = style_of(at, end, map),
                          .dashed = find_word(at, end, " dt 2") != NULL};
    title_of(at, end, item->title);
    if (d) return read_rows(p, d, use ? use : "1:2", &item->rows);
    return *at == '$' || starts(at, "1/0")
               ? 0
               : read_level(strtod(at, NULL), &item->rows);
}

/* --- Ranges --------------------------------------------------------------- */

static void widen(double x, const struct extent *e, double *low, double *high)
{
    if (!isfinite(x) || (e->log && x <= 0.0)) return;
    *low = fmin(*low, x);
    *high = fmax(*high, x);
}

static void close_extent(struct extent *e, double low, double high)
{
    if (!(low <= high)) low = high = e->log ? 1.0 : 0.0;
    if (isfinite(e->low)) low = e->low;
    if (isfinite(e->high)) high = e->high;
    if (!(high > low)) {
        double room = low != 0.0 ? 0.5 * fabs(low) : 1.0;
        low -= e->log ? 0.5 * low : room;
        high = low + 2.0 * room;
    }
    e->low = low;
    e->high = high;
}

/* Whether a value counts for the free ends of y. */
static bool is_height(enum style style, size_t k)
{
    return k == 1 || (k == 2 && style == BAND);
}

static void find_extents(struct glyphs *g, const struct item *item, size_t n)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < item[i].rows.n; r++)
            widen(item[i].rows.value[r][0], &g->x, &low, &high);
    close_extent(&g->x, low, high);
    low = INFINITY;
    high = -INFINITY;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < item[i].rows.n; r++) {
            const double *v = item[i].rows.value[r];
            bool inside =
                isinf(v[0]) || (v[0] >= g->x.low && v[0] <= g->x.high);
            for (size_t k = 1; inside && k < 3; k++)
                if (is_height(item[i].style, k))
                    widen(v[k], &g->y, &low, &high);
            if (inside && item[i].style == BARS) widen(0.0, &g->y, &low, &high);
        }
    close_extent(&g->y, low, high);
}

/* --- Drawing -------------------------------------------------------------- */

static void draw_pair(struct glyphs *g, const struct item *item,
                      const double *a, const double *b)
{
    const double low_a[3] = {a[0], 0.0, a[1]}, low_b[3] = {b[0], 0.0, b[1]};
    if (item->style == BAND) glyphs_band(g, a, b);
    else if (item->style == BARS) glyphs_band(g, low_a, low_b);
    else if (item->style == LINES || item->style == BOTH)
        glyphs_line(g, a, b, item->dashed);
}

static void draw_row(struct glyphs *g, const struct item *item, const double *v)
{
    const double foot[2] = {v[0], 0.0};
    const double tip[2] = {v[0] + v[2], v[1] + v[3]};
    if (item->style == POINTS || item->style == BOTH)
        glyphs_point(g, v[0], v[1]);
    else if (item->style == SPIKES) glyphs_line(g, foot, v, false);
    else if (item->style == TICKS) glyphs_line(g, v, tip, false);
    else if (item->style == ARROWS)
        glyphs_arrow(g, v[0] + 0.5 * v[2], v[1] + 0.5 * v[3], v[2], v[3]);
}

/* The level across the whole panel. */
static void draw_level(struct glyphs *g, const struct item *item)
{
    double y = item->rows.value[0][1];
    const double a[2] = {g->x.low, y}, b[2] = {g->x.high, y};
    glyphs_line(g, a, b, item->dashed);
}

static void draw_item(struct glyphs *g, const struct item *item)
{
    const struct rows *r = &item->rows;
    double last = NAN, best = -INFINITY;
    if (r->n && isinf(r->value[0][0])) {
        draw_level(g, item);
        return;
    }
    for (size_t i = 0; i < r->n; i++) {
        if (i) draw_pair(g, item, r->value[i - 1], r->value[i]);
        draw_row(g, item, r->value[i]);
        bool later = r->value[i][0] >= best && isfinite(r->value[i][1]);
        if (!later || r->value[i][0] > g->x.high) continue;
        best = r->value[i][0];
        last = r->value[i][1];
    }
    if (*item->title) glyphs_label(g, last, item->title);
}

/* Shades by the fifth value of arrows, or by the third of a map. */
static int draw_shades(const struct page *p, struct glyphs *g,
                       const struct item *item)
{
    size_t n = item->rows.n, at = item->style == MAP ? 2 : 4;
    double *x = malloc(3 * (n + 1) * sizeof *x);
    if (!x) return complain_memory();
    double *y = x + n, *level = y + n;
    double low = p->shade[0], high = p->shade[1];
    if (item->style == MAP) {
        low = INFINITY;
        high = -INFINITY;
        for (size_t i = 0; i < n; i++)
            widen(item->rows.value[i][2], &(struct extent){0}, &low, &high);
    }
    for (size_t i = 0; i < n; i++) {
        const double *v = item->rows.value[i];
        bool arrow = item->style == ARROWS;
        x[i] = v[0] + (arrow ? 0.5 * v[2] : 0.0);
        y[i] = v[1] + (arrow ? 0.5 * v[3] : 0.0);
        level[i] = p->shade_log && arrow ? log(v[at] / low) / log(high / low)
                                         : (v[at] - low) / (high - low);
    }
    glyphs_shade(g, n, x, y, level);
    snprintf(g->legend, LABEL_ROOM, "shade: %.60s%s%.3g to %.3g",
             item->style == MAP ? "" : p->shades, item->style == MAP ? "" : " ",
             low, high);
    free(x);
    return 0;
}

/* Dots of data would hide shades and arrows. */
static int draw_panel(const struct page *p, struct glyphs *g,
                      const struct item *item, size_t n)
{
    bool shaded = false;
    for (size_t i = 0; i < n; i++) {
        if (item[i].style != MAP && item[i].style != ARROWS) continue;
        shaded = true;
        if (draw_shades(p, g, &item[i])) return EXIT_NUMBERS;
    }
    for (size_t i = 0; i < n; i++) {
        g->ink = n > 1 ? (unsigned char)(1 + i % 5) : 0;
        if (!shaded || item[i].style != POINTS) draw_item(g, &item[i]);
    }
    glyphs_print(g, p->out);
    return 0;
}

/* Half of the terminal for one of several panels, but no less than 9 lines. */
static int panel_height(const struct page *p)
{
    int tall = terminal_height() - 6;
    if (p->panels > 1) tall = tall / 2;
    return tall < 9 ? 9 : tall > 24 ? 24 : tall;
}

/* Columns for the labels at the right. */
static int label_room(const struct item *item, size_t n)
{
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        if (strlen(item[i].title) > most) most = strlen(item[i].title);
    return most > 20 ? 20 : (int)most;
}

static int draw(struct page *p, const struct item *item, size_t n)
{
    enum { AXIS = 10 };
    struct glyphs g = {.x = p->x, .y = p->y};
    int wide = terminal_width() - AXIS - 2 - label_room(item, n);
    memcpy(g.title, p->title, sizeof g.title);
    find_extents(&g, item, n);
    int code = glyphs_init(&g, wide < 10 ? 10 : wide, panel_height(p));
    if (!code) code = draw_panel(p, &g, item, n);
    free(g.cell);
    return code;
}

static int read_plot(struct page *p, const char *at, bool map)
{
    struct item *item = calloc(MOST_ITEMS, sizeof *item);
    size_t n = 0;
    int code = 0;
    if (!item) return complain_memory();
    for (; !code && at && n < MOST_ITEMS; at = next_item(at))
        code = read_item(p, at, map, &item[n++]);
    if (!code) code = draw(p, item, n);
    for (size_t i = 0; i < n; i++)
        free(item[i].rows.value);
    free(item);
    return code;
}

/* --- All commands --------------------------------------------------------- */

/* $NAME << END; returns the place after the block. */
static const char *read_block(struct page *p, const char *line)
{
    const char *mark = strstr(line, "<< ") + 3,
               *at = mark + strcspn(mark, "\n");
    size_t n = strcspn(mark, "\n");
    struct data d = {
        .name = line, .length = strcspn(line, " "), .text = at + 1};
    for (at++; *at && (strncmp(at, mark, n) || (at[n] && at[n] != '\n'));)
        at += strcspn(at, "\n") + 1;
    d.end = at;
    /* The oldest makes room. */
    if (p->blocks == MOST_BLOCKS)
        memmove(p->block, p->block + 1, --p->blocks * sizeof d);
    p->block[p->blocks++] = d;
    return at + n;
}

int sketch(const char *commands, FILE *out)
{
    struct page *p = calloc(1, sizeof *p);
    int code = 0;
    if (!p) return complain_memory();
    p->out = out;
    p->panels = 1;
    p->x.low = p->x.high = p->y.low = p->y.high = NAN;
    for (const char *at = commands; !code && *at;) {
        if (*at == '$') at = read_block(p, at);
        else if (starts(at, "set ")) read_set(p, at + 4);
        else if (starts(at, "unset title")) *p->title = 0;
        else if (starts(at, "plot ")) code = read_plot(p, at + 5, false);
        else if (starts(at, "splot ")) code = read_plot(p, at + 6, true);
        else read_variable(p, at);
        at += strcspn(at, "\n");
        at += *at == '\n';
    }
    free(p);
    return code;
}
