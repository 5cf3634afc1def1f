/* SPDX-License-Identifier: MIT */
#include "learn/corners.h"

#include <math.h>
#include <stdbool.h>

static size_t count_corners(size_t n)
{
    size_t rows = 1;
    while (rows < n)
        rows *= 2;
    return 2 * rows;
}

size_t corners_count(size_t n)
{
    bool axes = n > 1 && n <= CORNERS_AXES;
    return 1 + count_corners(n) + (axes ? 2 * n : 0);
}

/* Signs are those of a row of Hadamard's matrix of Sylvester, and in odd
 * corners their opposites. */
double corners_at(size_t n, size_t i, size_t j)
{
    size_t corners = count_corners(n);
    if (!i--) return 0.0;
    size_t both = i / 2 & j, odd = i & 1;
    if (i >= corners)
        return (i - corners) / 2 != j ? 0.0
               : odd                  ? -sqrt((double)n)
                                      : sqrt((double)n);
    for (; both; both &= both - 1)
        odd ^= 1;
    return odd ? -1.0 : 1.0;
}
