/* SPDX-License-Identifier: MIT */
/* What is said of equations without noise: how noise reaches their states, and
 * where exact data have no density. */
#include "trial.h"

#include "base/memory.h"
#include "girsanov.h"

#define HIDE(x) "init " x " ~ normal(0, 1)\n"
#define LONG                                                                   \
    "state a, b, c, d, e, f\nda = b*dt\ndb = c*dt\ndc = d*dt\ndd = e*dt\n"     \
    "de = f*dt\ndf = -f^3*dt + dW\n"

static const struct said {
    const char *text;
    const char *words[3]; /* of the description                   */
    const char *refused;  /* in the likelihood's refusal, or NULL */
} SAID[] = {
    {"state x, v\ndx = v*dt\ndv = -x^3*dt + dW\n" HIDE("v"),
     {"  x gets its noise by v, integrated once\n"},
     NULL},
    {"state x, v\ndx = v*dt\ndv = -x^3*dt + dW\n" HIDE("x")
         HIDE("v") "obs y ~ normal(x, 0.1)\n",
     {"  x gets its noise by v, integrated once\n"},
     NULL},
    {"state x, v, a\ndx = v*dt\ndv = a*dt\nda = -a^3*dt + dW\n" HIDE("v")
         HIDE("a"),
     {"  x gets its noise by v, integrated twice\n",
      "  v gets its noise by a, integrated once\n"},
     NULL},
    {"state x[2], v[2]\ndx = v*dt\ndv = -x*dt + dW\n" HIDE("v"),
     {"  x1 gets its noise by v1, integrated once\n",
      "  x2 gets its noise by v2, integrated once\n"},
     NULL},
    {"state x, u, v\ndx = (u + v)*dt\ndu = -u*dt + dW\ndv = -v^3*dt + "
     "dW\n" HIDE("u") HIDE("v"),
     {"  x gets its noise by u, v, integrated once\n"},
     NULL},
    /* Constants, clocks, blocks that no noise reaches. */
    {"state x, k\ndx = -k*x*dt + dW\ndk = 0*dt\n" HIDE("k"),
     {"  k never changes: a constant"},
     NULL},
    {"state x, k\ndx = -k*x*dt + dW\ndk = 0*dt\n",
     {"  k never changes: a constant"},
     "make it a 'param'"},
    {"state x, c\ndx = (sin(c) - x)*dt + dW\ndc = 1*dt\n" HIDE("c"),
     {"  c depends on time alone: a clock\n"},
     NULL},
    {"state x, c\ndx = (sin(c) - x)*dt + dW\ndc = 1*dt\n",
     {"  c depends on time alone: a clock\n"},
     "write it as a function of t"},
    {"state x, p, q\ndx = (p - x)*dt + dW\ndp = q*dt\ndq = -p*dt\n" HIDE("p")
         HIDE("q"),
     {"  p is reached by no noise", "  q is reached by no noise"},
     NULL},
    {"state x, p, q\ndx = (p - x)*dt + dW\ndp = q*dt\ndq = -p*dt\n",
     {"  p is reached by no noise"},
     "no noise gets to this state"},
    {"state x, p, q\ndx = (p - x)*dt + dW\ndp = q*dt\ndq = -p*dt\n" HIDE("q"),
     {"  p is reached by no noise"},
     "no noise ever reaches the state 'p'"},
    {"state x\ndx = -x*dt\n" HIDE("x") "obs y ~ normal(x, 0.1)\n",
     {"  x is reached by no noise"},
     NULL},
    /* Integrals that follow the same noise, and rates that are no lines. */
    {"state x, a, b\ndx = -x*dt + dW\nda = x*dt\ndb = (x - b)*dt\n",
     {"  a gets its noise by x, integrated once\n",
      "  no chains, by the equation of b: this state has no noise, and follows "
      "the same noise"},
     NULL},
    {"state x, v\ndx = (v + v^3)*dt\ndv = -v*dt + dW\n",
     {"  x gets its noise by v, integrated once\n",
      "  no chains, by the equation of x: "},
     NULL},
    /* More integrals than can be told apart. */
    {LONG,
     {"  a gets its noise by b, integrated 5 times: more than 4"},
     "this state is an integral of a state"},
    {LONG HIDE("b") HIDE("c") HIDE("d") HIDE("e") HIDE("f"),
     {"  e gets its noise by f, integrated once\n"},
     "only after 5 integrations"},
};

static void check_said(const struct said *c)
{
    gsv_model *m = gsv_model_parse(c->text, "model");
    if (!m) fail_msg("%s: %s", c->text, gsv_last_error());
    char *said = gsv_model_describe(m);
    assert_non_null(said);
    for (size_t i = 0; i < COUNT(c->words) && c->words[i]; i++)
        if (!strstr(said, c->words[i]))
            fail_msg("%s lacks '%s':\n%s", c->text, c->words[i], said);
    int status = gsv_check_likelihood(m);
    if (!c->refused && status) fail_msg("%s: %s", c->text, gsv_last_error());
    if (c->refused && (!status || !strstr(gsv_last_error(), c->refused)))
        fail_msg("%s: '%s', not '%s'", c->text, gsv_last_error(), c->refused);
    gsv_text_free(said);
    gsv_model_free(m);
}

static void describe__says_how_noise_reaches_states(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(SAID); i++)
        check_said(&SAID[i]);
}

/* Chains are described as such; with noise everywhere nothing is said. */
static void describe__is_silent_where_chains_say_more(void **state)
{
    static const char *const TEXT[] = {
        "state x, v\ndx = v*dt\ndv = -x^3*dt + dW\n",
        "state x, v\ndx = v*dt + dW\ndv = -x^3*dt + dW\n"};
    (void)state;
    for (size_t i = 0; i < COUNT(TEXT); i++) {
        gsv_model *m = gsv_model_parse(TEXT[i], "model");
        char *said = gsv_model_describe(m);
        assert_non_null(said);
        assert_null(strstr(said, "without noise"));
        assert_true(!strstr(said, "chains") == (i == 1));
        gsv_text_free(said);
        gsv_model_free(m);
    }
}

static void describe__may_run_out_of_memory(void **state)
{
    (void)state;
    gsv_model *m = gsv_model_parse(SAID[0].text, "model");
    char *said = NULL;
    size_t n = 0;
    for (; !said; n++) {
        mem_fail_at(n + 1);
        said = gsv_model_describe(m);
        mem_fail_at(0);
    }
    assert_true(n > 3);
    assert_non_null(strstr(said, SAID[0].words[0]));
    gsv_text_free(said);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describe__says_how_noise_reaches_states),
        cmocka_unit_test(describe__is_silent_where_chains_say_more),
        cmocka_unit_test(describe__may_run_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
