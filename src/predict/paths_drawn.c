/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/error.h"
#include "predict/paths.h"

/* Rows of one track: bands from all paths, draws by their weights, the same
 * path in all rows. */
static int see_track(void *user, size_t first, size_t rows, size_t K,
                     const double *x, const double *weight, double ess)
{
    struct paths *p = user;
    struct ranked *room = NEW(struct ranked, K);
    double *share = NEW(double, p->options->draws);
    int status = room && share ? 0 : GSV_NO_MEMORY;
    const struct random_key key = {.seed = p->options->estimator.seed,
                                   .purpose = RANDOM_PATHS,
                                   .iteration = p->options->estimator.iteration,
                                   .item = first};
    if (!status) random_uniforms(&key, 0, 1, 0, p->options->draws, share);
    for (size_t r = 0; !status && r < rows; r++)
        for (size_t i = 0; i < p->d; i++) {
            const double *at = x + (r * p->d + i) * K;
            bands_set(p, first + r, i, K, at, weight, room);
            for (size_t n = 0; n < p->options->draws; n++)
                *draw_at(p, n, i, first + r) =
                    at[pick_one(K, weight, share[n])];
        }
    p->out->ess_min = fmin(p->out->ess_min, ess);
    p->out->paths = K;
    MEM_FREE(room, share);
    return status ? status : paths_tell(p, first + rows, p->out->rows);
}

int paths_drawn(struct paths *p)
{
    const struct task task = {.model = p->model,
                              .series = p->series,
                              .options = &p->options->estimator};
    const struct drawn_paths to = {.rows = p->out->rows,
                                   .track = p->out->track,
                                   .time = p->out->time,
                                   .user = p,
                                   .visit = see_track};
    return p->method->drawn(&task, &to);
}
