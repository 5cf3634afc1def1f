/* SPDX-License-Identifier: MIT */
/* Fits in files: everything comes back bit for bit, and a file that is damaged
 * is refused with a word about it, wherever the damage is. */
#include "learn.h"

#include "data/safetensors.h"
#include "model/model.h"

/* Every kind of shape and bound, with names that stand in several tensors. */
static const char RICH[] =
    "state x[2]\n net f(x) -> 2 : 3 tanh\n"
    "param a = 0.5, b = 2 > 1, c = -1 < 0, d = 0.25 in (-1, 2)\n"
    "param v[2] = [1, 2] > 0, A[2,2] = [-1, 0.5, 0, -1]\n"
    "param L[2,2] = [1, 0, 0.5, 2] lower\n"
    "dx = (f + a*b*c*d*x + v*(A @ x))*dt + L @ dW";

static gsv_model *fitted(const char *text, gsv_series **s, size_t rows)
{
    gsv_model *m = model_of(text);
    gsv_fit_options o = fit_options();
    *s = learn_well(m, 2, rows, 3);
    if (gsv_model_values(m) > 8) o.iterations = 20;
    o.heldout = 0.1;
    fit_must(m, *s, &o);
    return m;
}

static gsv_model *read_must(const char *path)
{
    gsv_model *m = gsv_model_read(path);
    if (!m) fail_msg("%s", gsv_last_error());
    return m;
}

static void expect_same_record(const gsv_record *p, const gsv_record *q)
{
    size_t n = p->values;
    const size_t one[] = {p->tracks, p->rows,     p->gaps,   p->heldout_gaps,
                          p->paths,  p->steps,    p->free,   p->flagged,
                          p->values, p->restarts, p->columns};
    const size_t two[] = {q->tracks, q->rows,     q->gaps,   q->heldout_gaps,
                          q->paths,  q->steps,    q->free,   q->flagged,
                          q->values, q->restarts, q->columns};
    assert_memory_equal(one, two, sizeof one);
    assert_string_equal(p->data, q->data);
    assert_string_equal(p->warning, q->warning);
    assert_int_equal(p->optimizer, q->optimizer);
    assert_int_equal(p->errors, q->errors);
    assert_true(p->seed == q->seed && p->seconds == q->seconds);
    assert_true(same_bits(p->columns, p->lowest, q->lowest));
    assert_true(same_bits(p->columns, p->highest, q->highest));
    assert_true(same_bits(n, p->low, q->low));
    assert_true(same_bits(n, p->high, q->high));
    assert_int_equal(!p->correlation, !q->correlation);
    size_t k = p->estimates;
    assert_int_equal(k, q->estimates);
    for (size_t i = 0; i < k; i++)
        assert_int_equal(p->estimate[i], q->estimate[i]);
    if (p->correlation)
        assert_true(same_bits(k * k, p->correlation, q->correlation));
    assert_true(p->points > 0 && p->points == q->points);
    assert_true(same_bits(GSV_CURVES * p->points, p->curve, q->curve));
}

/* --- And back ------------------------------------------------------------- */

static void write__keeps_every_bit(void **state)
{
    (void)state;
    static const char *const TEXTS[] = {
        LEARN_OU, LEARN_NET, RICH,
        /* Without standard errors, with words about it. */
        "state x\n param a = 1, b = 0.2, s = 1 > 0\n"
        "dx = -(a + b)*x*dt + s*dW"};
    for (size_t i = 0; i < COUNT(TEXTS); i++) {
        gsv_series *s;
        gsv_model *m = fitted(TEXTS[i], &s, 30);
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        gsv_model *again = read_must("a.fit");
        assert_same_fit(again, m);
        expect_same_record(gsv_model_record(again), gsv_model_record(m));
        assert_string_equal(gsv_model_text(again), TEXTS[i]);
        if (i == 3) assert_true(*gsv_model_record(again)->warning);
        gsv_options o = default_options();
        o.paths = 4;
        o.gradient = true;
        gsv_result a = loglik_of(m, s, &o), b = loglik_of(again, s, &o);
        assert_true(a.loglik == b.loglik);
        assert_true(same_bits(a.values, a.gradient, b.gradient));
        gsv_result_free(&a);
        gsv_result_free(&b);
        gsv_series_free(s);
        gsv_model_free(m);
        gsv_model_free(again);
    }
}

/* Every word that an option of the estimator may have. */
static void write__keeps_every_choice(void **state)
{
    (void)state;
    size_t rows, tried = 0;
    const gsv_option *row = gsv_option_table(&rows);
    gsv_series *s;
    gsv_model *m = fitted(LEARN_OU, &s, 30);
    for (size_t i = 0; i < rows; i++)
        for (size_t v = 0; row[i].word && row[i].word[v]; v++) {
            if (row[i].of != GSV_OF_ESTIMATOR || !*row[i].word[v]) continue;
            gsv_options *asked = &m->record->estimator;
            *asked = (gsv_options){0};
            gsv_option_set(&row[i], asked, (double)v);
            assert_int_equal(gsv_model_write(m, "a.fit"), 0);
            gsv_model *again = read_must("a.fit");
            const gsv_options *o = &gsv_model_record(again)->estimator;
            assert_true(gsv_option_get(&row[i], o) == (double)v);
            gsv_model_free(again);
            tried++;
        }
    assert_true(tried > 15);
    free_both(m, s);
}

/* Older files say nothing of what was asked for. */
static void write__keeps_what_was_asked_for(void **state)
{
    (void)state;
    static const gsv_options ASKED[] = {
        {0},
        {.paths = 7, .steps = 3, .random = GSV_RANDOM_IID, .joint = true},
        {.step = 0.01, .reference = GSV_REFERENCE_LNA, .wide = true},
        {.form = GSV_FORM_MIDPOINT, .richardson = true, .delta = true},
        {.points = 99, .observe = GSV_OBSERVE_VARIATIONAL}};
    gsv_series *s;
    gsv_model *m = fitted(LEARN_OU, &s, 30);
    for (size_t i = 0; i < COUNT(ASKED); i++) {
        m->record->estimator = ASKED[i];
        assert_int_equal(gsv_model_write(m, "a.fit"), 0);
        gsv_model *again = read_must("a.fit");
        const gsv_options *e = &gsv_model_record(again)->estimator;
        assert_true(e->paths == ASKED[i].paths && e->steps == ASKED[i].steps);
        assert_true(e->step == ASKED[i].step && e->wide == ASKED[i].wide);
        assert_int_equal(e->reference, ASKED[i].reference);
        assert_int_equal(e->form, ASKED[i].form);
        assert_int_equal(e->random, ASKED[i].random);
        assert_int_equal(e->observe, ASKED[i].observe);
        assert_int_equal(e->points, ASKED[i].points);
        assert_int_equal(e->richardson, ASKED[i].richardson);
        assert_int_equal(e->delta, ASKED[i].delta);
        assert_int_equal(e->joint, ASKED[i].joint);
        gsv_model_free(again);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Every key of the record's estimator with what it cannot be; and none. */
static void read__says_which_option_is_wrong(void **state)
{
    (void)state;
    static const struct {
        const char *estimator, *word; /* NULL: it can be read */
    } CASES[] = {{"", NULL},
                 {"\"estimator\": {},", NULL},
                 {"\"estimator\": {\"later\": 1},", NULL},
                 {"\"estimator\": 3,", "'estimator'"},
                 {"\"estimator\": {\"paths\": -1},", "'paths'"},
                 {"\"estimator\": {\"step\": -0.1},", "'step'"},
                 {"\"estimator\": {\"step\": \"x\"},", "'step'"},
                 {"\"estimator\": {\"observe\": \"never\"},", "'observe'"},
                 {"\"estimator\": {\"joint\": 1},", "'joint'"}};
    gsv_series *s;
    gsv_model *m = fitted(LEARN_OU, &s, 30);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct tensors t = {0};
        assert_int_equal(safetensors_read(&t, "a.fit"), 0);
        for (size_t j = 0; j < t.notes; j++) {
            if (strcmp(t.note[j].key, "fit")) continue;
            const char *key = "\"estimator\": {}, ";
            char *text = t.note[j].text, *at = strstr(text, key), all[4000];
            assert_non_null(at);
            snprintf(all, sizeof all, "%.*s%s%s", (int)(at - text), text,
                     CASES[i].estimator, at + strlen(key));
            mem_free(text);
            t.note[j].text = mem_string(all);
        }
        assert_int_equal(safetensors_write(&t, "b.fit"), 0);
        tensors_free(&t);
        gsv_model *again = gsv_model_read("b.fit");
        if (!again != !!CASES[i].word) fail_msg("case %zu", i);
        if (!again)
            expect_error(gsv_last_status(), GSV_BAD_INPUT, "b.fit",
                         CASES[i].word);
        gsv_model_free(again);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* A model that was never fitted is written, too, and has no record. */
static void write__takes_models_without_a_fit(void **state)
{
    (void)state;
    gsv_model *m = model_of(RICH);
    gsv_model_draw(m, 77);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    gsv_model *again = read_must("a.fit");
    assert_null(gsv_model_record(again));
    assert_true(same_bits(gsv_model_values(m), gsv_model_value(m),
                          gsv_model_value(again)));
    gsv_model_free(m);
    gsv_model_free(again);
}

static void expect_same_files(const gsv_model *m, const gsv_model *again)
{
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    assert_int_equal(gsv_model_write(again, "b.fit"), 0);
    FILE *a = fopen("a.fit", "rb"), *b = fopen("b.fit", "rb");
    assert_non_null(a);
    assert_non_null(b);
    int c = 0;
    while (c != EOF) {
        c = getc(a);
        assert_int_equal(c, getc(b));
    }
    fclose(a);
    fclose(b);
}

static void write__of_what_was_read_is_the_same_file(void **state)
{
    (void)state;
    gsv_series *s;
    gsv_model *m = fitted(LEARN_OU, &s, 30);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    gsv_model *again = read_must("a.fit");
    expect_same_files(m, again);
    gsv_series_free(s);
    gsv_model_free(m);
    gsv_model_free(again);
}

/* Fitted, stopped, and not fitted at all: then it is on its own. */
static void copy__has_all_that_a_file_has(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        gsv_model *m = model_of(i ? LEARN_NET : LEARN_OU);
        gsv_series *s = learn_well(m, 1, 40, 3);
        gsv_fit_options o = fit_options();
        o.iterations = 20;
        o.time_limit = i == 1 ? 1e-9 : 0.0;
        if (i < 2) fit_must(m, s, &o);
        gsv_model *copy = gsv_model_copy(m);
        assert_non_null(copy);
        assert_int_equal(!gsv_model_record(m), i == 2);
        expect_same_files(m, copy);
        double was = gsv_model_value(m)[0];
        double zero[256] = {0};
        assert_true(gsv_theta_size(copy) <= COUNT(zero));
        gsv_theta_set(copy, zero);
        assert_true(gsv_model_value(m)[0] == was);
        assert_true(gsv_model_value(copy)[0] != was);
        gsv_series_free(s);
        gsv_model_free(m);
        gsv_model_free(copy);
    }
}

static void write__says_what_is_wrong(void **state)
{
    (void)state;
    gsv_model *m = model_of(LEARN_OU);
    expect_error(gsv_model_write(m, "no/such/folder/a.fit"), GSV_BAD_INPUT,
                 "no/such/folder/a.fit");
    gsv_model_free(m);
}

/* File names are bytes; not all of them are UTF-8. */
static void write__takes_any_name_of_the_data(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"data.csv", "\xc3\xa9\"\\\n.csv",
                                        "\xff\xfe.csv"};
    for (size_t i = 0; i < COUNT(NAMES); i++) {
        gsv_model *m = model_of(LEARN_OU);
        gsv_series *s = learn_ou(m, 1, 20, 3);
        gsv_fit_options o = fit_options();
        mem_free(s->source);
        s->source = mem_string(NAMES[i]);
        const gsv_record *r = fit_must(m, s, &o);
        assert_string_equal(r->data, NAMES[i]);
        if (gsv_model_write(m, "a.fit"))
            fail_msg("name %zu: %s", i, gsv_last_error());
        gsv_model *again = read_must("a.fit");
        if (i < 2) assert_string_equal(gsv_model_record(again)->data, NAMES[i]);
        gsv_model_free(again);
        gsv_series_free(s);
        gsv_model_free(m);
    }
}

static void write__keeps_a_state_that_can_be_resumed(void **state)
{
    (void)state;
    gsv_model *whole = model_of(LEARN_NET), *m = model_of(LEARN_NET);
    gsv_series *s = learn_well(m, 1, 40, 3);
    gsv_fit_options o = fit_options();
    o.iterations = 20;
    fit_must(whole, s, &o);
    o.time_limit = 1e-9;
    fit_must(m, s, &o);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    gsv_model *again = read_must("a.fit"), *fresh = model_of(LEARN_NET);
    assert_int_equal(gsv_model_write(again, "b.fit"), 0);
    o.time_limit = 0.0;
    o.resume = "b.fit";
    fit_must(fresh, s, &o);
    assert_same_fit(fresh, whole);
    gsv_series_free(s);
    gsv_model_free(whole);
    gsv_model_free(m);
    gsv_model_free(again);
    gsv_model_free(fresh);
}

/* --- Another fit than it says --------------------------------------------- */

struct edit {
    const char *tensor;
    void (*change)(struct tensor *t);
    const char *words;
};

static void drop(struct tensor *t)
{
    memcpy(t->name, "@gone", 6);
}
static void rename_it(struct tensor *t)
{
    mem_free(t->name);
    t->name = mem_string("other");
}
static void flatten(struct tensor *t)
{
    t->rank = 1;
    t->shape[0] = t->count;
}
static void turn(struct tensor *t)
{
    t->rank = 2;
    t->shape[0] = 1;
    t->shape[1] = t->count;
}
static void shorten(struct tensor *t)
{
    t->shape[0]--;
    t->count = t->shape[0] * (t->rank > 1 ? t->shape[1] : 1);
}
static void make_nan(struct tensor *t)
{
    t->value[t->count - 1] = NAN;
}
static void make_infinite(struct tensor *t)
{
    t->value[0] = INFINITY;
}
static void make_minus(struct tensor *t)
{
    t->value[t->count - 1] = -3.0;
}
static void make_three(struct tensor *t)
{
    t->value[t->count > 1] = 3.0;
}

static const struct edit EDITS[] = {
    {"b", rename_it, "'other'"},
    {"f.0.weight", drop, "'f.0.weight' of its model is missing"},
    {"f.input_scale", rename_it, "'other'"},
    {"A", flatten, "'A' does not have the shape"},
    {"A", shorten, "'A' does not have the shape"},
    {"a", flatten, "'a' does not have the shape"},
    {"v", turn, "'v' does not have the shape"},
    {"f.1.bias", shorten, "'f.1.bias' does not have the shape"},
    {"b", make_minus, "outside of the bounds of 'b'"},
    {"c", make_three, "outside of the bounds of 'c'"},
    {"d", make_three, "outside of the bounds of 'd'"},
    {"d", make_minus, "outside of the bounds of 'd'"},
    {"v", make_minus, "outside of the bounds of 'v'"},
    {"L", make_minus, "outside of the bounds of 'L'"},
    {"L", make_three, "'L' is lower triangular"},
    {"a", make_nan, "'a' cannot be nan"},
    {"A", make_nan, "'A' cannot be nan"},
    {"f.0.weight", make_infinite, "'f.0.weight' cannot be inf"},
    {"f.input_scale", make_nan, "'f.input_scale' cannot be nan"},
    {"@lowest", shorten, "'@lowest' has 1 numbers instead of 2"},
    {"@highest", shorten, "'@highest' has 1 numbers instead of 2"}};

static struct tensor *find(struct tensors *t, const char *name)
{
    for (size_t i = 0; i < t->count; i++)
        if (!strcmp(t->tensor[i].name, name)) return &t->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void read__says_which_tensor_is_wrong(void **state)
{
    (void)state;
    gsv_series *s;
    gsv_model *m = fitted(RICH, &s, 12);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    for (size_t i = 0; i < COUNT(EDITS); i++) {
        struct tensors t = {0};
        assert_int_equal(safetensors_read(&t, "a.fit"), 0);
        EDITS[i].change(find(&t, EDITS[i].tensor));
        assert_int_equal(safetensors_write(&t, "b.fit"), 0);
        tensors_free(&t);
        gsv_model *bad = gsv_model_read("b.fit");
        if (bad) fail_msg("edit %zu of %s was taken", i, EDITS[i].tensor);
        expect_error(gsv_last_status(), GSV_BAD_INPUT, "b.fit", EDITS[i].words);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* Shapes of what standard errors are kept in. */
static void read__says_which_array_of_the_record_is_wrong(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"@stderr", "@low", "@high",
                                        "@correlation", "@curve"};
    gsv_series *s;
    gsv_model *m = fitted(LEARN_OU, &s, 30);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    for (size_t i = 0; i < COUNT(NAMES); i++) {
        struct tensors t = {0};
        assert_int_equal(safetensors_read(&t, "a.fit"), 0);
        shorten(find(&t, NAMES[i]));
        assert_int_equal(safetensors_write(&t, "b.fit"), 0);
        tensors_free(&t);
        assert_null(gsv_model_read("b.fit"));
        expect_error(gsv_last_status(), GSV_BAD_INPUT, "b.fit", NAMES[i]);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* The texts beside the tensors: by key, what it becomes (NULL: nothing). */
static const struct {
    const char *key, *text, *words;
} NOTES[] = {{"format", "girsanov 2", "has format 2, but this version"},
             {"format", "girsanov ", "has format"},
             {"format", "pt", "not a fit"},
             {"format", NULL, "not a fit"},
             {"model", NULL, "not a fit"},
             {"model", "", "no state"},
             {"model", "state x\n dx = -q*x*dt + dW", "unknown name 'q'"},
             {"model", "state x\n param z = 1\n dx = -z*x*dt + dW", "'k'"},
             {"fit", "", "of its record"},
             {"fit", "[1]", "of its record"},
             {"fit", "{\"data\": 3}", "of its record"},
             {"fit", "not json", "of its record"}};

static void read__says_which_text_is_wrong(void **state)
{
    (void)state;
    gsv_series *s;
    gsv_model *m = fitted(LEARN_OU, &s, 30);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    for (size_t i = 0; i < COUNT(NOTES); i++) {
        struct tensors t = {0};
        assert_int_equal(safetensors_read(&t, "a.fit"), 0);
        for (size_t j = 0; j < t.notes; j++) {
            if (strcmp(t.note[j].key, NOTES[i].key)) continue;
            char **where = NOTES[i].text ? &t.note[j].text : &t.note[j].key;
            mem_free(*where);
            *where = mem_string(NOTES[i].text ? NOTES[i].text : "gone");
        }
        assert_int_equal(safetensors_write(&t, "b.fit"), 0);
        tensors_free(&t);
        gsv_model *bad = gsv_model_read("b.fit");
        if (bad) fail_msg("note %zu was taken", i);
        expect_error(gsv_last_status(), GSV_BAD_INPUT, "b.fit", NOTES[i].words);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

/* --- Any byte ------------------------------------------------------------- */

struct bytes {
    unsigned char *at;
    size_t n, header; /* the length in 8 bytes, and the JSON after it */
};

/* A small fit that can be resumed. */
static struct bytes small_fit(void)
{
    static const char TEXT[] = "state x\n param k = 1 > 0\n dx = -k*x*dt + dW";
    gsv_model *m = model_of(TEXT);
    gsv_series *s = learn_well(m, 1, 5, 3);
    gsv_fit_options o = fit_options();
    struct bytes b;
    o.optimizer = GSV_OPTIMIZER_ADAM;
    o.iterations = 5;
    o.time_limit = 1e-9;
    o.estimator.paths = o.estimator.steps = 2;
    fit_must(m, s, &o);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    FILE *in = fopen("a.fit", "rb");
    assert_non_null(in);
    b.at = NEW(unsigned char, 1 << 16);
    b.n = fread(b.at, 1, 1 << 16, in);
    fclose(in);
    b.header = 8u + b.at[0] + 256u * b.at[1];
    assert_true(b.header < b.n && b.n < 1 << 16);
    gsv_series_free(s);
    gsv_model_free(m);
    return b;
}

/* Read back: a model, or a refusal that names the file. */
static void expect_no_harm(const unsigned char *at, size_t n)
{
    FILE *out = fopen("b.fit", "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(at, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
    gsv_model *m = gsv_model_read("b.fit");
    if (!m) {
        assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
        assert_non_null(strstr(gsv_last_error(), "b.fit"));
    }
    gsv_model_free(m);
}

static void read__of_a_part_of_a_file_is_refused(void **state)
{
    (void)state;
    struct bytes b = small_fit();
    for (size_t n = 0; n < b.n; n++) {
        expect_no_harm(b.at, n);
        gsv_model *m = gsv_model_read("b.fit");
        if (m) fail_msg("%zu of %zu bytes were taken", n, b.n);
    }
    expect_no_harm(b.at, b.n);
    gsv_model *m = read_must("b.fit");
    gsv_model_free(m);
    mem_free(b.at);
}

static void read__survives_any_byte_of_the_header(void **state)
{
    (void)state;
    static const unsigned char FLIPS[] = {0x01, 0x10, 0x80};
    struct bytes b = small_fit();
    for (size_t i = 0; i < b.header; i++)
        for (size_t f = i % (SLOWER > 1 ? COUNT(FLIPS) : 1); f < COUNT(FLIPS);
             f += SLOWER) {
            b.at[i] ^= FLIPS[f];
            expect_no_harm(b.at, b.n);
            b.at[i] ^= FLIPS[f];
        }
    mem_free(b.at);
}

static void memory__may_run_out_in_files(void **state)
{
    (void)state;
    gsv_series *s;
    gsv_model *m = fitted(LEARN_OU, &s, 12);
    for (int i = 0; i < 3; i++) {
        int status = GSV_NO_MEMORY;
        size_t n = 0;
        while (status) {
            assert_int_equal(status, GSV_NO_MEMORY);
            gsv_model *again = NULL;
            mem_fail_at(++n);
            if (i) again = i == 1 ? gsv_model_read("a.fit") : gsv_model_copy(m);
            status = i ? again ? 0 : (int)gsv_last_status()
                       : gsv_model_write(m, "a.fit");
            mem_fail_at(0);
            gsv_model_free(again);
        }
        assert_true(n > 20);
    }
    gsv_series_free(s);
    gsv_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write__keeps_every_bit),
        cmocka_unit_test(write__takes_models_without_a_fit),
        cmocka_unit_test(write__of_what_was_read_is_the_same_file),
        cmocka_unit_test(copy__has_all_that_a_file_has),
        cmocka_unit_test(write__says_what_is_wrong),
        cmocka_unit_test(write__takes_any_name_of_the_data),
        cmocka_unit_test(write__keeps_a_state_that_can_be_resumed),
        cmocka_unit_test(read__says_which_tensor_is_wrong),
        cmocka_unit_test(write__keeps_every_choice),
        cmocka_unit_test(write__keeps_what_was_asked_for),
        cmocka_unit_test(read__says_which_option_is_wrong),
        cmocka_unit_test(read__says_which_array_of_the_record_is_wrong),
        cmocka_unit_test(read__says_which_text_is_wrong),
        cmocka_unit_test(read__of_a_part_of_a_file_is_refused),
        cmocka_unit_test(read__survives_any_byte_of_the_header),
        cmocka_unit_test(memory__may_run_out_in_files),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
