/* SPDX-License-Identifier: MIT */
/* Figures: commands for gnuplot, collected in memory, and the file, which is
 * written when the figure is complete. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "gnuplot.h"

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

int check_plot(const char *path)
{
    if (!path) return 0;
    if (format_of(path) == FORMAT_COUNT)
        return complain(EXIT_INPUT,
                        "--plot %s: expected a name that ends with .svg, .png "
                        "or .pdf",
                        path);
    if (!has_gnuplot())
        return complain(EXIT_INPUT, "--plot needs gnuplot, which is not "
                                    "installed; install the package "
                                    "gnuplot-nox");
    return check_place(path);
}

void say_plot(const struct args *a)
{
    if (a->plot && !a->quiet && !a->json) say(stderr, "wrote %s\n", a->plot);
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

int plot_close(struct plot *p, bool keep)
{
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
