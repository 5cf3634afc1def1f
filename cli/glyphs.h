/* SPDX-License-Identifier: MIT */
/* Pictures of characters: a frame with braille dots, or plain ASCII where the
 * locale is not UTF-8. Figures for the terminal (--plot -). */
#ifndef GLYPHS_H
#define GLYPHS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { LABEL_ROOM = 120, MOST_LABELS = 12 };

/* An axis: NaN ends are free. */
struct extent {
    double low, high;
    bool log, hidden; /* hidden: no numbers              */
    bool whole;       /* no numbers between whole ones */
    char label[LABEL_ROOM];
};

struct glyph {
    unsigned char dots;  /* bits of braille                    */
    unsigned char shade; /* 0, or 1 to 4                       */
    unsigned char arrow; /* 0, or 1 to 8, from east, leftwards */
    unsigned char ink;   /* of the dots: 0, or 1 to 5          */
};

/* A panel while it is drawn: cells of 2 x 4 dots. */
struct glyphs {
    int wide, tall;
    struct extent x, y;
    char title[LABEL_ROOM], legend[LABEL_ROOM];
    struct glyph *cell; /* (tall, wide), yours */
    unsigned char ink; /* of the next shapes; shown on terminals with colours */
    int labels;        /* at the right */
    struct {
        int row;
        unsigned char ink;
        char text[LABEL_ROOM];
    } label[MOST_LABELS];
};

/* The size of the terminal, by COLUMNS and LINES if they are set. */
int terminal_width(void);
int terminal_height(void);

/* `wide` and `tall` cells between the axes; 0, or a message. */
int glyphs_init(struct glyphs *g, int wide, int tall);

/* In units of the axes; what is outside, or is not finite, is left out. */
void glyphs_point(struct glyphs *g, double x, double y);
void glyphs_line(struct glyphs *g, const double from[2], const double to[2],
                 bool dashed);
void glyphs_band(struct glyphs *g, const double from[3], const double to[3]);

/* Shades of the nearest of n points (x, y, level from 0 to 1); an arrow. */
void glyphs_shade(struct glyphs *g, size_t n, const double *x, const double *y,
                  const double *level);
void glyphs_arrow(struct glyphs *g, double x, double y, double dx, double dy);

/* A text at the right, at the height of y. */
void glyphs_label(struct glyphs *g, double y, const char *text);

void glyphs_print(const struct glyphs *g, FILE *out);

#endif
