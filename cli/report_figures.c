/* SPDX-License-Identifier: MIT */
/* Figures in the page. gnuplot writes SVG with numbers as colours, which are
 * replaced by the names of the page's colours, so that they follow the light or
 * dark theme. Ids get the prefix of the figure, because a page has several. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

/* A colour as gnuplot writes it, and its name in the page. */
static const struct {
    const char *from, *to;
} COLOURS[] = {
    {"rgb( 31,  95, 168)", "var(--c1)"},
    {"rgb(200,  72,  46)", "var(--c2)"},
    {"rgb( 58, 143,  77)", "var(--c3)"},
    {"rgb(138,  90, 168)", "var(--c4)"},
    {"rgb(184, 134,  11)", "var(--c5)"},
    {"rgb( 74,  74,  74)", "var(--c6)"},
    {"rgb( 85,  85,  85)", "var(--axis)"},
    {"rgb(136, 136, 136)", "var(--axis)"},
    {"rgb(153, 153, 153)", "var(--dot)"},
    {"rgb(196, 196, 196)", "var(--dot)"},
    {"rgb(232, 232, 232)", "var(--line)"},
    {"rgb( 51,  51,  51)", "var(--ink)"},
    {"rgb(51,51,51)", "var(--soft)"},
    {"rgb(213, 227, 242)", "var(--b1)"},
    {"rgb(169, 199, 228)", "var(--b2)"},
    {"rgb(122, 168, 211)", "var(--b3)"},
    {"color=\"black\"", "color=\"currentColor\""},
    {"fill=\"black\"", "fill=\"var(--soft)\""},
    {"rgb(  0,   0,   0)", "var(--soft)"},
    {"rgb(0,0,0)", "var(--soft)"},
};

/* Texts before an id. */
static const char *const NAMES[] = {" id='", " id=\"", "href='#", "url(#"};

enum {
    COLOUR_COUNT = sizeof COLOURS / sizeof *COLOURS,
    NAME_COUNT = sizeof NAMES / sizeof *NAMES
};

int figure_begin(struct figure *f, int width, int height)
{
    *f = (struct figure){0};
    if (plot_begin(&f->plot, width, height)) return EXIT_NUMBERS;
    f->to = f->plot.to;
    /* Neither very dark nor very light, for both backgrounds. */
    fputs("set palette defined (0 '#3f6fd1', 1 '#2a93a8', 2 '#4f9a52', "
          "3 '#b98a1d', 4 '#d0552f')\n"
          "set xtics offset 0,0.35\nset xlabel offset 0,0.8\n"
          "set linetype 1 lw 1.6\nset linetype 2 lw 1.6\n"
          "set linetype 3 lw 1.6\nset linetype 4 lw 1.6\n",
          f->to);
    return 0;
}

/* The length of text that is left out, or 0: empty groups, of which gnuplot
 * writes thousands, and titles of curves, which would appear as hints. */
static size_t omitted(const char *s)
{
    static const char EMPTY[] = "\n</g>", TITLE[] = "</title>";
    const char *end = NULL;
    if (!strncmp(s, "<g ", 3)) {
        end = strchr(s, '>');
        if (end && strncmp(++end, EMPTY, strlen(EMPTY))) end = NULL;
        if (end) end += strlen(EMPTY);
    } else if (!strncmp(s, "<title>", 7)) {
        end = strstr(s, TITLE);
        if (end) end += strlen(TITLE);
    }
    return end ? (size_t)(end - s) : 0;
}

/* The length of text that was replaced, or 0. */
static size_t replace(const char *s, const char *id, FILE *out)
{
    if (!strchr("rcf hu", *s)) return 0;
    for (size_t i = 0; i < COLOUR_COUNT; i++) {
        size_t n = strlen(COLOURS[i].from);
        if (strncmp(s, COLOURS[i].from, n)) continue;
        fputs(COLOURS[i].to, out);
        return n;
    }
    for (size_t i = 0; i < NAME_COUNT; i++) {
        size_t n = strlen(NAMES[i]);
        if (strncmp(s, NAMES[i], n)) continue;
        fprintf(out, "%s%s-", NAMES[i], id);
        return n;
    }
    return 0;
}

/* The drawing without its title, which names gnuplot. */
static void embed(const char *svg, const char *id, const char *label, FILE *out)
{
    const char *box = strstr(svg, "viewBox="), *body = strstr(svg, "</desc>");
    if (!box || !body) return;
    fprintf(out,
            "<svg %.*s xmlns=\"http://www.w3.org/2000/svg\" "
            "xmlns:xlink=\"http://www.w3.org/1999/xlink\" role=\"img\" "
            "aria-label=\"",
            (int)strcspn(box, "\n"), box);
    page_text(out, label);
    fputs("\">", out);
    for (const char *s = body + strlen("</desc>"); *s;) {
        size_t n = *s == '<' ? omitted(s) : replace(s, id, out);
        if (!n) putc(*s, out);
        s += n ? n : 1;
    }
}

/* The page has the reason in place of a figure that cannot be drawn. */
static void put_missing(struct report *r, const char *id, const char *label,
                        const char *why)
{
    fprintf(r->out,
            "<p id=\"figure-%s\">The figure &ldquo;%s&rdquo; could not be "
            "drawn: ",
            id, label);
    page_text(r->out, why);
    fputs("</p>\n", r->out);
    r->missing++;
}

int figure_end(struct report *r, struct figure *f, int code, const char *id,
               const char *label, const char *caption)
{
    struct picture made;
    bool good = plot_end(&f->plot, &made) && !code;
    if (good) {
        fprintf(r->out, "<figure id=\"figure-%s\">\n<div class=\"scroll\">",
                id);
        embed(made.bytes, id, label, r->out);
        fprintf(r->out, "</div>\n<figcaption>%s</figcaption>\n</figure>\n",
                caption);
        r->figures++;
    } else
        put_missing(r, id, label,
                    code ? "its numbers could not be computed" : made.why);
    free(made.bytes);
    return 0;
}

/* Five marks, at midnight if they are far enough apart. */
void figure_dates(const struct report *r, double low, double high, FILE *to)
{
    char text[TIME_ROOM];
    if (!r->dates || !(high > low)) return;
    fputs("set xtics (", to);
    for (int i = 0; i < 5; i++) {
        double at = low + (high - low) * (i + 0.5) / 5.0;
        if (high - low > 10.0) at = floor(at);
        fputs(i ? ", " : "", to);
        plot_text(time_text(r, at, text), to);
        fprintf(to, " %.17g", at);
    }
    fputs(")\n", to);
}
