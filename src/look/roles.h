/* SPDX-License-Identifier: MIT */
/* What each column of data may be in a first model. */
#ifndef LOOK_ROLES_H
#define LOOK_ROLES_H

#include "girsanov.h"

enum role {
    ROLE_STATE,
    ROLE_POSITION, /* its velocity is another column                 */
    ROLE_INPUT,    /* linear between rows                            */
    ROLE_HELD,     /* the same for many rows                         */
    ROLE_GROUP,    /* a category                                     */
    ROLE_FLAT,     /* one value, or none                             */
    ROLE_UNNAMED,  /* a model cannot have its name                   */
    ROLE_TEXT,     /* words, nearly all of them different            */
    ROLE_MIXED,    /* numbers, and some cells that are none          */
    ROLE_SURPLUS,  /* of more columns than a first model has         */
    ROLES
};

enum { MOST_LEVELS = 50, MOST_NAME = 100 };

struct part {
    const char *name; /* borrowed from the series                       */
    enum role role;
    size_t column;
    size_t velocity;      /* of a position: the index of its part       */
    gsv_look_column seen; /* of numbers                                 */
    double noise;         /* root of squared increments over time       */
    bool whole;           /* whole numbers, none below 0                */
    size_t levels;        /* of a category                              */
    double level[MOST_LEVELS];
};

/* part is (s->columns). Fails where no column can be a state. */
int roles_find(const gsv_series *s, struct part *part);

#endif
