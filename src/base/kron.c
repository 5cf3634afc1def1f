/* SPDX-License-Identifier: MIT */
/* X is an array (before, here, after) around the axis that is taken next, with
 * the right-hand sides inside `after`; each slice (here, after) is one product
 * with that axis' factor. The last axis of one right-hand side has after = 1:
 * there all slices together are one product with the factor's transpose. */
#include "base/kron.h"

#include <string.h>

#include "base/linalg.h"

static size_t product_of(size_t n, const size_t *size)
{
    size_t all = 1;
    for (size_t i = 0; i < n; i++)
        all *= size[i];
    return all;
}

size_t kron_columns(const struct kron *k)
{
    return product_of(k->axes, k->columns);
}

/* Half-way arrays are a product of rows here and columns there. */
static size_t largest(const struct kron *k)
{
    size_t all = 1;
    for (size_t i = 0; i < k->axes; i++)
        all *= k->rows[i] > k->columns[i] ? k->rows[i] : k->columns[i];
    return all;
}

size_t kron_room(const struct kron *k, size_t m)
{
    return 2 * largest(k) * m;
}

/* Y (before, to, after) from X (before, from, after). */
static void along(size_t before, size_t from, size_t to, size_t after,
                  const double *A, bool transposed, const double *X, double *Y)
{
    if (after == 1) {
        linalg_product(before, from, to, X, false, A, !transposed, Y);
        return;
    }
    for (size_t i = 0; i < before; i++)
        linalg_product(to, from, after, A, transposed, X + i * from * after,
                       false, Y + i * to * after);
}

void kron_product(const struct kron *k, bool transposed, size_t m,
                  const double *X, double *Y, double *room)
{
    const size_t *in = transposed ? k->rows : k->columns;
    const size_t *out = transposed ? k->columns : k->rows;
    double *half[2] = {room, room + largest(k) * m};
    size_t before = product_of(k->axes, in), after = m;
    const double *from = X;
    for (size_t s = 0; s < k->axes; s++) {
        size_t axis = k->axes - 1 - s;
        double *to = axis ? half[s % 2] : Y;
        before /= in[axis];
        along(before, in[axis], out[axis], after, k->factor[axis], transposed,
              from, to);
        after *= out[axis];
        from = to;
    }
}
