/* SPDX-License-Identifier: MIT */
/* --prior NAME~law(a, b), as in a model's text. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

int priors_read(const struct words *w, struct priors *p)
{
    p->count = 0;
    p->prior = calloc(w->count + 1, sizeof *p->prior);
    p->name = calloc(w->count + 1, sizeof *p->name);
    if (!p->prior || !p->name) return complain_memory();
    for (size_t i = 0; i < w->count; i++) {
        p->name[i] = gsv_prior_parse(w->word[i], &p->prior[i]);
        if (!p->name[i]) return complain_last();
        p->count = i + 1;
    }
    return 0;
}

void priors_free(struct priors *p)
{
    for (size_t i = 0; p->name && i < p->count; i++)
        gsv_text_free(p->name[i]);
    free(p->name);
    free(p->prior);
}
