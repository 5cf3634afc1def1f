/* SPDX-License-Identifier: MIT */
/* Which noises are found to have a covariance without an inverse, and of which
 * equation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "girsanov.h"
#include "lang/spec.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

static const struct {
    const char *text;
    enum noise_kind kind;
    enum no_map why; /* of a singular one, with the line of its equation */
    size_t line, noises;
} ROW[] = {
    {"state x\ndx = -x*dt + dW", NOISE_ADDITIVE, 0, 0, 1},
    {"state x\ndx = -x*dt", NOISE_SINGULAR, NO_MAP_MISSING, 2, 1},
    {"state x[4]\ndx = -x*dt", NOISE_SINGULAR, NO_MAP_MISSING, 2, 1},
    {"state x, v\ndx = v*dt\ndv = -v*dt + dW", NOISE_SINGULAR, NO_MAP_MISSING,
     2, 1},
    {"state x, v\ndv = -v*dt + x*dW\ndx = v*dt", NOISE_SINGULAR, NO_MAP_MISSING,
     3, 1},
    {"state x[2]\nparam s = 1\ndx = -x*dt + s*[1, 0]*dW", NOISE_SINGULAR,
     NO_MAP_MISSING, 3, 2},
    {"state x[2]\nconst s[2] = [0, 2]\ndx = -x*dt - s*x*dW", NOISE_SINGULAR,
     NO_MAP_MISSING, 3, 2},
    {"state x[2]\nparam s[2] = [1, 0]\ndx = -x*dt + s*dW", NOISE_ADDITIVE, 0, 0,
     2},
    {"state x[3]\ndx = -x*dt + dW1", NOISE_SINGULAR, NO_MAP_DEPENDENT, 2, 1},
    {"state x, y\nparam s = 1\ndx = s*dW1 + dW2\ndy = -2*(s*dW1 + dW2)",
     NOISE_SINGULAR, NO_MAP_DEPENDENT, 4, 2},
    {"state x, y\nparam s = 1\ndx = s*dW1 + dW2\ndy = s*dW1 - dW2",
     NOISE_ADDITIVE, 0, 0, 2},
    {"state x, y\nparam s = 1, r = 1\ndx = s*dW1 + dW2\ndy = r*dW1 + dW2",
     NOISE_ADDITIVE, 0, 0, 2},
    {"state x[2], v\nconst M[2,2] = [1, 2, 2, 4]\ndx = -x*dt + M @ dW\n"
     "dv = -v*dt + dW",
     NOISE_SINGULAR, NO_MAP_DEPENDENT, 3, 3},
    {"state x[2], v\nconst M[2,1] = [1, 0]\ndv = -v*dt + dW\n"
     "dx = -x*dt + M @ dW",
     NOISE_SINGULAR, NO_MAP_MISSING, 4, 2},
    {"state x[2]\nparam L[2,2] lower\ndx = -x*dt + L @ dW", NOISE_ADDITIVE, 0,
     0, 2},
    {"state x[3]\nparam L[3,2]\ndx = -x*dt + x*(L @ dW)", NOISE_SINGULAR,
     NO_MAP_DEPENDENT, 3, 2},
    {"state x, y\ndx = sqrt(1 + y^2)*dW1\ndy = y*sqrt(1 + y^2)*dW1",
     NOISE_SINGULAR, NO_MAP_DEPENDENT, 3, 1},
    {"state x[2]\nparam s = 1\nconst M[2,2] = [1, 2, 2, 4]\n"
     "dx = -x*dt + (s*M) @ dW",
     NOISE_SINGULAR, NO_MAP_DEPENDENT, 4, 2},
    {"state x\nstate q = log(p)\ndx = q*dt\ndq = -x*dt + 0.1*dW",
     NOISE_SINGULAR, NO_MAP_MISSING, 3, 1},
};

static void spec__finds_noises_without_an_inverse(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ROW); i++) {
        const struct source source = {"m", ROW[i].text};
        struct spec *s = spec_new(&source);
        if (!s) fail_msg("%s\n%s", ROW[i].text, gsv_last_error());
        bool singular = ROW[i].kind == NOISE_SINGULAR;
        if (s->noise != ROW[i].kind || s->noises != ROW[i].noises ||
            (singular && (s->no_map != ROW[i].why || s->diagonal || s->sigma ||
                          s->no_map_place.line != ROW[i].line)))
            fail_msg("%s\nkind %d, why %d, line %zu, %zu noises", ROW[i].text,
                     (int)s->noise, (int)s->no_map, s->no_map_place.line,
                     s->noises);
        size_t columns = s->diagonal ? 1 : s->noises;
        assert_int_equal(graph_size(s->graph, s->diffusion), s->dim * columns);
        spec_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spec__finds_noises_without_an_inverse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
