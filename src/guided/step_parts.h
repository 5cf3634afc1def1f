/* SPDX-License-Identifier: MIT */
/* What steps (step.c) and observations (step_density.c) of points share. */
#ifndef GUIDED_STEP_PARTS_H
#define GUIDED_STEP_PARTS_H

#include "guided/step.h"

/* Which nodes points belong to: all to one, each to the next, or as listed. */
struct nodes {
    size_t first;
    bool each;
    const size_t *list;
};

static inline size_t node_of(struct nodes n, size_t point)
{
    if (n.list) return n.list[point];
    return n.each ? n.first + point : n.first;
}

static inline void forward(struct mover *s, enum course_part part,
                           const struct points *in)
{
    program_forward(s->course->part[part], &s->values->part[part],
                    &s->room.part[part], in);
}

static inline const double *output(const struct mover *s, enum course_part part,
                                   size_t P, size_t i)
{
    return program_output(s->course->part[part], &s->room.part[part], P, i);
}

static inline void along(struct mover *s, enum course_part part,
                         const struct points *in, const double *dot)
{
    program_jvp(s->course->part[part], &s->values->part[part],
                &s->room.part[part], in, dot);
}

static inline const double *moved(const struct mover *s, enum course_part part,
                                  size_t P, size_t i)
{
    return program_output_dot(s->course->part[part], &s->room.part[part], P, i);
}

/* Time and inputs of P points at their nodes, or in the middles after them. */
struct points mover_points_at(struct mover *s, const struct pace *p,
                              struct nodes n, bool middle, size_t P,
                              const double *x);

/* With the values of the observations, 1 where they are missing. */
struct points mover_with_values(struct mover *s, const struct pace *p,
                                struct nodes n, size_t P, const double *x);

/* Time and inputs at the ends of the steps from points x. */
struct points mover_points_at_end(struct mover *s, const struct pace *p,
                                  struct nodes n, size_t P, const double *x);

/* c_jk of step.h. */
double step_legendre(size_t j, size_t k);

#endif
