/* SPDX-License-Identifier: MIT */
/* Where grids of Gaussian-process functions are put that the text gives no
 * place: over the arguments in the data, with a margin on both sides. */
#include <math.h>

#include "learn/start.h"
#include "model/gp_rows.h"

static const double MARGIN = 0.2;

int start_grids(gsv_model *m, const gsv_series *s)
{
    for (size_t gp = 0; gp < m->spec->gps; gp++) {
        double low[GRID_AXES], high[GRID_AXES];
        size_t axes = m->spec->graph->gp[gp].axes;
        if (gp_is_placed(m, gp)) continue;
        int status = gp_range(m, s, gp, low, high);
        if (status) return status;
        for (size_t k = 0; k < axes; k++) {
            double range = high[k] - low[k], middle = 0.5 * (high[k] + low[k]);
            /* What is constant gives no range. */
            double margin = range > 1e-12 * fabs(middle)
                                ? MARGIN * range
                                : fmax(1.0, fabs(middle));
            low[k] -= margin;
            high[k] += margin;
        }
        gp_place(m, gp, low, high);
    }
    return 0;
}
