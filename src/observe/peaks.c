/* SPDX-License-Identifier: MIT */
#include "observe/peaks.h"

#include <math.h>

/* Points of the finer grids, and how many of these there are. */
enum { MIDDLE = PEAKS_MIDDLE, GRID = PEAKS_GRID, FINE = 17, FINER = 12 };

/* Points of the grid are the closer together the nearer they are to the mean,
 * down to this part of its range. */
static const double NEAREST = 1e-5;

/* The top of a mode is found where the points beside it are as high. */
static const double FLAT = 0.01;

/* A mode near the end of the range has points on both of its sides. */
static const double FURTHER = 1.5;

/* The density between two modes falls at least so much, in nats. */
static const double LEAST_VALLEY = 0.5;

/* A mean whose density is so much below the top of its own mode is not there.
 */
static const double ASIDE = 4.0;

bool peaks_look(struct peaks *l, size_t n, double mean)
{
    double range = FURTHER * fmax(l->high - mean, mean - l->low);
    l->place[MIDDLE] = mean;
    for (size_t p = 1; p <= MIDDLE; p++) {
        double share = (double)(MIDDLE - p) / (MIDDLE - 1);
        double far = range * pow(NEAREST, share);
        l->place[MIDDLE + p] = mean + far;
        l->place[MIDDLE - p] = mean - far;
    }
    return l->look(l->user, n, GRID, l->place, l->value);
}

double peaks_top(const struct peaks *l, size_t n, size_t p, double *top_at)
{
    double low = l->place[p - 1], high = l->place[p + 1], top = -INFINITY;
    for (int i = 0; i < FINER; i++) {
        double place[FINE], value[FINE];
        size_t best = 1;
        for (size_t k = 0; k < FINE; k++)
            place[k] = low + (high - low) * (double)k / (FINE - 1);
        l->look(l->user, n, FINE, place, value);
        for (size_t k = 2; k + 1 < FINE; k++)
            if (value[k] > value[best]) best = k;
        /* The same point may be the best of a finer grid, by chance. */
        double beside = fmin(value[best - 1], value[best + 1]);
        bool done = value[best] - beside < FLAT;
        top = fmax(top, value[best]);
        *top_at = place[best];
        if (done) break;
        low = place[best - 1];
        high = place[best + 1];
    }
    return top;
}

/* The point of the grid on top of the mode that the mean is on the side of. */
static size_t climb(const double *value)
{
    size_t p = MIDDLE;
    while (p + 2 < GRID && value[p + 1] > value[p])
        p++;
    while (p > 1 && value[p - 1] > value[p])
        p--;
    return p;
}

/* From point p, on top of the mean's own mode, to the next one above or below
 * that counts: how far it is from the mean, or 0. */
static double next_mode(const struct peaks *l, size_t n, size_t p, int side)
{
    const double *value = l->value;
    double at, top = NAN, lowest = INFINITY;
    for (size_t k = p + (size_t)side; k > 0 && k + 1 < GRID;
         k += (size_t)side) {
        lowest = fmin(lowest, value[k]);
        bool is_top = value[k] >= value[k - 1] && value[k] >= value[k + 1];
        if (!is_top || value[k] <= lowest) continue;
        if (isnan(top)) top = peaks_top(l, n, p, &at);
        double place, other = peaks_top(l, n, k, &place);
        if (other < top - PEAKS_DEFICIT) continue;
        if (lowest > fmin(top, other) - LEAST_VALLEY) continue;
        return place - l->place[MIDDLE];
    }
    return 0.0;
}

void peaks_shift(const struct peaks *l, size_t n, double *above, double *below)
{
    size_t p = climb(l->value);
    double at;
    *above = next_mode(l, n, p, 1);
    *below = next_mode(l, n, p, -1);
    if (l->value[p] - l->value[MIDDLE] < ASIDE) return;
    peaks_top(l, n, p, &at);
    *(p > MIDDLE ? above : below) = at - l->place[MIDDLE];
}

void peaks_fill(size_t N, const double *time, double *shift)
{
    size_t last = N;
    for (size_t n = 0; n < N; n++) {
        if (isnan(shift[n])) continue;
        for (size_t k = last == N ? 0 : last + 1; k < n; k++) {
            double share =
                last == N ? 1.0
                          : (time[k] - time[last]) / (time[n] - time[last]);
            double from = last == N ? 0.0 : shift[last];
            shift[k] = from + share * (shift[n] - from);
        }
        last = n;
    }
    for (size_t k = last == N ? 0 : last + 1; k < N; k++)
        shift[k] = last == N ? 0.0 : shift[last];
}
