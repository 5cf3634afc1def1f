/* SPDX-License-Identifier: MIT */
#include "base/quantile.h"
#include "predict/paths.h"

int paths_normal(struct paths *p)
{
    gsv_smoothed *out = p->out;
    const struct task task = {.model = p->model,
                              .series = p->series,
                              .options = &p->options->estimator};
    const struct normal_paths to = {.rows = out->rows,
                                    .track = out->track,
                                    .time = out->time,
                                    .draws = out->draws,
                                    .mean = out->mean,
                                    .sd = out->sd,
                                    .draw = out->draw};
    int status = p->method->normal(&task, &to);
    if (status) return status;
    size_t n = p->d * out->rows;
    for (size_t q = 0; q < out->quantiles; q++) {
        double z = normal_quantile(2.0 * out->probability[q] - 1.0);
        for (size_t e = 0; e < n; e++)
            out->quantile[q * n + e] = out->mean[e] + z * out->sd[e];
    }
    out->paths = 1;
    out->ess_min = 1.0;
    return paths_tell(p, p->stops.count, p->stops.count);
}
