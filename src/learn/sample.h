/* SPDX-License-Identifier: MIT */
/* A part of the data to look at: some gaps, spread over all of them,
 * with their ends as points that programs take. */
#ifndef LEARN_SAMPLE_H
#define LEARN_SAMPLE_H

#include "base/memory.h"
#include "graph/program.h"
#include "model/gaps.h"

/* Point 2i is the earlier end of gap i, and 2i + 1 the later one. */
struct sample {
    struct gaps gaps; /* all, without a list of them */
    struct gap *gap;
    size_t count;
    double *state, *time, *input, *slope;
    struct points ends;
    struct arena arena;
};

int sample_init(struct sample *a, const gsv_model *m, const gsv_series *s,
                size_t most);
void sample_free(struct sample *a);

#endif
