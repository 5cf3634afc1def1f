/* SPDX-License-Identifier: MIT */
/* Physics in the page: what girsanov physics prints and draws. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "physics.h"
#include "report.h"

static void put_row(struct report *r, const char *name, gsv_quantity q)
{
    fputs("<tr>", r->out);
    page_name(r->out, name);
    page_number(r->out, q.value, 4);
    page_number(r->out, q.low, 4);
    page_number(r->out, q.high, 4);
    fputs("</tr>\n", r->out);
}

static void put_points(struct report *r)
{
    const gsv_physics_result *p = &r->physics;
    char name[200];
    for (size_t k = 0; k < p->points; k++) {
        const gsv_fixed_point *at = &p->point[k];
        for (size_t i = 0; i < p->dim; i++) {
            snprintf(name, sizeof name, "%s point %zu%s: %.80s",
                     STABILITY[at->stability], k + 1,
                     at->reached ? "" : " (outside the data)", p->name[i]);
            put_row(r, name, at->x[i]);
        }
        for (size_t i = 0; i < p->dim; i++) {
            snprintf(name, sizeof name, "its eigenvalue %zu%s", i + 1,
                     at->turn[i].value != 0.0 ? ", real part" : "");
            put_row(r, name, at->rate[i]);
        }
    }
}

static int draw_physics(struct report *r)
{
    struct figure f;
    if (figure_begin(&f, WIDTH, physics_height(&r->physics)))
        return EXIT_NUMBERS;
    physics_panels(&r->physics, f.to);
    return figure_end(r, &f, 0, "physics", "Stationary law and potential",
                      "The stationary law with its 95 % band and the data's "
                      "histogram, and the potential of the drift. Lines are "
                      "dashed where the data do not reach.");
}

int put_physics(struct report *r)
{
    const gsv_physics_result *p = &r->physics;
    size_t rows = 0;
    if (*r->no_physics) {
        fputs("<p>There is no physics: ", r->out);
        page_text(r->out, r->no_physics);
        fputs("</p>\n", r->out);
        return 0;
    }
    struct physics_row *row = physics_rows(p, &rows);
    int code = row ? 0 : EXIT_NUMBERS;
    if (!code && r->pictures && (p->stationary || p->dim == 1))
        code = draw_physics(r);
    if (!code && (*p->note || *p->warning)) {
        fputs("<ul>\n", r->out);
        page_lines(r->out, p->note);
        page_lines(r->out, p->warning);
        fputs("</ul>\n", r->out);
    }
    if (!code) {
        page_table(r->out, "quantity|value|2.5 %|97.5 %");
        put_points(r);
        for (size_t i = 0; i < rows; i++)
            put_row(r, row[i].name + strspn(row[i].name, " "), row[i].q);
        page_table_end(r->out);
    }
    free(row);
    return code;
}
