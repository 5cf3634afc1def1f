/* SPDX-License-Identifier: MIT */
/* Priors from the command line. */
#ifndef PRIOR_H
#define PRIOR_H

#include "cli.h"

struct priors {
    gsv_prior *prior;
    char **name; /* (count) what their names point to */
    size_t count;
};

/* 0, or a message. Either way priors_free() it. */
int priors_read(const struct words *w, struct priors *p);
void priors_free(struct priors *p);

#endif
