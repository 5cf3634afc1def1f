/* SPDX-License-Identifier: MIT */
/* Files of many shapes: the text that is written for them is read, fitted and
 * simulated on the same file, also with each alternative of its comments. */
#include "learn.h"

enum { ROWS = 60, MOST = 24 };

/* What a column has in row i of a track. */
enum kind {
    PATH = 1,
    GAPS,     /* a path of which a quarter is missing */
    COUNTS,   /* a path in whole numbers              */
    POSITION, /* the integral of the next column      */
    NOISY,    /* a path and an error of each row      */
    STEPPED,  /* new every 12 rows                    */
    OF_TRACK,
    CLOCK,
    ONE,
    NONE,
    LEVELS,
    NOTES, /* different words */
    STRAY  /* a word among numbers */
};

static const struct shape {
    const char *what;
    size_t tracks;
    struct {
        const char *name;
        enum kind kind;
    } column[MOST + 1];
    const char *said[6];
} SHAPE[] = {
    {"one column",
     1,
     {{"x", PATH}},
     {"state x\n", "terms f(x) -> 1 : poly 1", "dx = f*dt + s_x*dW",
      "gp f(x) -> 1 : grid 32 matern52"}},
    {"two",
     1,
     {{"x", PATH}, {"y", PATH}},
     {"terms f(x, y) -> 2 : poly 1", "dy = f[2]*dt + s_y*dW",
      "gp f(x, y) -> 2 : grid 24 24"}},
    {"ten",
     1,
     {{"a", PATH},
      {"b", PATH},
      {"c", PATH},
      {"d", PATH},
      {"e", PATH},
      {"f", PATH},
      {"g", PATH},
      {"h", PATH},
      {"i", PATH},
      {"j", PATH}},
     {"terms f_(a, b, c, d, e, f, g, h) -> 8", "# i: left out of a first",
      "# j: left out"}},
    {"gaps",
     2,
     {{"x", PATH}, {"y", GAPS}},
     {"cells are missing", "Some rows have", "state true_y\n",
      "obs y ~ normal(true_y, e_y)", "dtrue_x = f[1]*dt",
      "Series that differ"}},
    {"empty rows", 1, {{"x", GAPS}}, {"cells are missing", "state x\n"}},
    {"inputs",
     1,
     {{"x", PATH}, {"dose", STEPPED}, {"index", CLOCK}},
     {"input dose hold\n", "input index\n", "terms f(x, dose, index) -> 1"}},
    {"series",
     6,
     {{"x", PATH}, {"age", OF_TRACK}},
     {"6 series", "input age\n", "terms f(x, age) -> 1", "param k[series]"}},
    {"words",
     4,
     {{"x", PATH}, {"arm", LEVELS}, {"y", PATH}},
     {"# arm: category, 2 levels: drug, control", "param b_x[arm] = 0",
      "terms f(x, y) -> 2 : x, y\n", "dy = (f[2] + b_y[arm])*dt",
      "(these have a constant of their own"}},
    {"two categories",
     4,
     {{"arm", LEVELS}, {"x", PATH}, {"sex", LEVELS}},
     {"b_x[arm]", "`param c[sex]` has a number for each"}},
    {"useless columns",
     1,
     {{"flat", ONE},
      {"x", PATH},
      {"empty", NONE},
      {"note", NOTES},
      {"broken", STRAY}},
     {"# flat: left out: it has one value", "# empty: left out: it has one",
      "# note: left out: words, most", "# broken: left out: some cells",
      "terms f(x) -> 1"}},
    {"odd names",
     1,
     {{"x", PATH},
      {"my x", PATH},
      {"2nd", PATH},
      {"exp", PATH},
      {"a-b", STEPPED},
      {"\xc2\xb5", PATH}},
     {"example to my_x", "example to x2nd", "example to exp_", "example to a_b",
      "example to x__", "terms f(x) -> 1"}},
    {"names of ours",
     1,
     {{"f", PATH},
      {"s_f", PATH},
      {"true_f", PATH},
      {"e_", PATH},
      {"f_", STEPPED},
      {"s__", PATH}},
     {"terms f__(f, s_f, true_f, e_, f_, s__)", "s___f = ", "true__f", "e__f"}},
    {"names like differentials",
     1,
     {{"x", PATH}, {"dx", PATH}, {"ddx", PATH}, {"W", PATH}, {"id", PATH}},
     {"state dx\n", "ddx = f[2]*dt"}},
    {"velocity",
     2,
     {{"x", POSITION}, {"v", PATH}},
     {"# x: a position with the velocity v", "terms f(x, v) -> 1 : poly 1",
      "dx = v*dt\ndv = f*dt + s_v*dW"}},
    {"two velocities",
     1,
     {{"x", POSITION}, {"vx", PATH}, {"y", POSITION}, {"vy", PATH}},
     {"terms f(x, vx, y, vy) -> 2", "dy = vy*dt\ndvy = f[2]*dt"}},
    {"counts", 1, {{"n", COUNTS}}, {"obs n ~ poisson(exp(true_n))"}},
    {"noise",
     1,
     {{"x", NOISY}},
     {"signs of measurement noise", "obs x ~ normal(true_x, e_x)"}},
    {"only a held column", 1, {{"x", STEPPED}}, {"state x\n"}},
    {"only a clock", 1, {{"u", STEPPED}, {"k", CLOCK}}, {"state k", "input u"}},
};

/* --- Files ---------------------------------------------------------------- */

static void put_cell(FILE *out, const struct shape *h, size_t c, size_t track,
                     size_t i, const double *path, const double *z)
{
    double x = path[c], sum = path[MOST + c];
    switch (h->column[c].kind) {
    case PATH: fprintf(out, ",%.8f", x); break;
    case GAPS: fprintf(out, i % 4 ? ",%.8f" : ",", x); break;
    case COUNTS: fprintf(out, ",%.0f", floor(20.0 * fabs(x))); break;
    case POSITION: fprintf(out, ",%.8f", sum); break;
    case NOISY: fprintf(out, ",%.8f", x + z[c]); break;
    case STEPPED: fprintf(out, ",%zu", (i / 12 + c) % 5); break;
    case OF_TRACK: fprintf(out, ",%zu", 20 + 7 * track * track); break;
    case CLOCK: fprintf(out, ",%.6f", 3.0 + 0.25 * (double)i); break;
    case ONE: fputs(",4.5", out); break;
    case NONE: fputs(",", out); break;
    case LEVELS: fputs((track + c) / 2 % 2 ? ",control" : ",drug", out); break;
    case NOTES: fprintf(out, ",note %zu", i); break;
    case STRAY: fprintf(out, i % 9 ? ",%.3f" : ",n/a", x); break;
    }
}

/* Every path is dx = -x dt + 0.5 dW by Euler; a position is the integral of
 * the path of the column after it, by trapezoids. */
static void step(const struct shape *h, double *path, const double *z)
{
    const double dt = 0.1;
    double old[MOST];
    memcpy(old, path, sizeof old);
    for (size_t c = 0; h->column[c].name; c++)
        path[c] += -path[c] * dt + 0.5 * sqrt(dt) * z[MOST + c];
    for (size_t c = 0; h->column[c].name; c++)
        if (h->column[c].kind == POSITION)
            path[MOST + c] += 0.5 * dt * (old[c + 1] + path[c + 1]);
}

static void write_shape(const struct shape *h, const char *file)
{
    FILE *out = fopen(file, "w");
    assert_non_null(out);
    fputs("series,time", out);
    for (size_t c = 0; h->column[c].name; c++)
        fprintf(out, ",%s", h->column[c].name);
    for (size_t track = 0; track < h->tracks; track++) {
        double path[2 * MOST] = {0}, *z = normals(2 * MOST * ROWS, 5 + track);
        for (size_t i = 0; i < ROWS; i++) {
            if (i) step(h, path, z + 2 * MOST * i);
            fprintf(out, "\nsubject %zu,%.1f", track, 0.1 * (double)i);
            for (size_t c = 0; h->column[c].name; c++)
                put_cell(out, h, c, track, i, path, z + 2 * MOST * i);
        }
        mem_free(z);
    }
    fputs("\n", out);
    assert_int_equal(fclose(out), 0);
}

/* --- Texts ---------------------------------------------------------------- */

static char *text_for(const char *file)
{
    gsv_series *s = gsv_series_read_words(file, NULL, NULL);
    if (!s) fail_msg("%s", gsv_last_error());
    char *text = gsv_model_new(s);
    if (!text) fail_msg("%s", gsv_last_error());
    gsv_series_free(s);
    return text;
}

static gsv_model *read_text(const char *what, const char *text)
{
    gsv_model *m = gsv_model_parse(text, what);
    if (!m) fail_msg("%s: %s\n%s", what, gsv_last_error(), text);
    return m;
}

static gsv_series *read_data(const gsv_model *m, const char *file)
{
    gsv_series *s = gsv_series_read_for(m, NULL, file, NULL, NULL);
    if (!s) fail_msg("%s", gsv_last_error());
    return s;
}

static void check_fit(const char *what, const char *text, const char *file)
{
    gsv_model *m = read_text(what, text);
    gsv_series *s = read_data(m, file);
    gsv_fit_options o = gsv_fit_options_default();
    char *unused = gsv_model_unused(m);
    if (*unused) fail_msg("%s: %s\n%s", what, unused, text);
    o.iterations = 20;
    o.errors = GSV_ERRORS_NONE;
    if (gsv_fit(m, s, &o)) fail_msg("%s: %s\n%s", what, gsv_last_error(), text);
    if (!isfinite(gsv_model_record(m)->loglik)) fail_msg("%s", what);
    gsv_text_free(unused);
    gsv_series_free(s);
    gsv_model_free(m);
}

static char *file_name(void)
{
    static char file[] = "test_new.csv";
    return file;
}

static void new__writes_what_fit_accepts(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(SHAPE); k++) {
        const struct shape *h = SHAPE + k;
        write_shape(h, file_name());
        char *text = text_for(file_name());
        for (size_t i = 0; i < COUNT(h->said) && h->said[i]; i++)
            if (!strstr(text, h->said[i]))
                fail_msg("%s lacks '%s':\n%s", h->what, h->said[i], text);
        check_fit(h->what, text, file_name());
        gsv_text_free(text);
    }
}

/* --- Alternatives --------------------------------------------------------- */

static bool begins(const char *line, const char *word)
{
    return !strncmp(line, word, strlen(word));
}

static bool is_drift(const char *line)
{
    return begins(line, "terms ") || begins(line, "net ") ||
           begins(line, "gp ");
}

/* The text with comment number `k` that is a drift or a prior in use: a drift
 * replaces that of the text. NULL where there are fewer. */
static char *with_line(const char *text, size_t k)
{
    char *made = NULL;
    size_t size = 0, seen = 0;
    bool drift = false, noisy = false;
    FILE *out = open_memstream(&made, &size);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        const char *inside = begins(line, "# ") ? line + 2 : "";
        noisy = noisy || begins(inside, "Measurement noise");
        bool may = !noisy && (is_drift(inside) || begins(inside, "prior "));
        bool use = may && seen++ == k;
        if (use) drift = is_drift(inside);
        const char *from = use ? inside : line;
        fprintf(out, "%.*s", (int)strcspn(from, "\n") + 1, from);
    }
    assert_int_equal(fclose(out), 0);
    char *plain = drift ? strstr(made, "\nterms ") + 1 : made;
    if (drift) *plain = '#';
    if (seen > k) return made;
    free(made);
    return NULL;
}

/* The block at the end instead of all states, terms and equations. */
static char *with_noise(const char *text)
{
    char *made = NULL;
    size_t size = 0;
    bool noisy = false;
    FILE *out = open_memstream(&made, &size);
    for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
        int n = (int)strcspn(line, "\n") + 1;
        const char *inside = begins(line, "# ") ? line + 2 : "";
        if (begins(inside, "replace all lines")) noisy = true;
        else if (noisy && !begins(inside, "or, of counts"))
            fprintf(out, "%.*s", n - 2, inside);
        else if (begins(line, "input ") || begins(line, "param "))
            fprintf(out, "%.*s", n, line);
    }
    assert_int_equal(fclose(out), 0);
    return made;
}

static void new__has_alternatives_that_are_read(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(SHAPE); k++) {
        write_shape(SHAPE + k, file_name());
        char *text = text_for(file_name()), *other;
        size_t n = 0;
        for (; (other = with_line(text, n)); n++) {
            gsv_model *m = read_text(SHAPE[k].what, other);
            gsv_series_free(read_data(m, file_name()));
            gsv_model_free(m);
            free(other);
        }
        assert_true(n >= 3); /* two drifts and a prior */
        gsv_text_free(text);
    }
}

static void new__is_fitted_with_measurement_noise(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(SHAPE); k++) {
        const struct shape *h = SHAPE + k;
        if (strcmp(h->what, "noise") && strcmp(h->what, "words") &&
            strcmp(h->what, "velocity") && strcmp(h->what, "inputs"))
            continue;
        write_shape(h, file_name());
        char *text = text_for(file_name()), *noisy = with_noise(text);
        check_fit(h->what, noisy, file_name());
        free(noisy);
        gsv_text_free(text);
    }
}

/* --- Refusals ------------------------------------------------------------- */

static void new__says_why_there_is_no_model(void **state)
{
    (void)state;
    static const struct {
        const char *csv, *message;
    } CASE[] = {
        {"time,my x\n0,1\n1,2\n2,1.5\n", "the name 'my x'; rename it"},
        {"time,x\n0,1\n1,1\n2,1\n", "no column of numbers that change"},
        {"time,x\n0,1\n1,2\n", "of three rows or more"},
        {"time,x\n0,1\n1,2\n2,1\n3,5\n4,1;2\n", "of 'x' are not numbers"},
        {"time,x\n0,a\n1,b\n2,c\n3,d\n", "no column of numbers that change"},
        {"series,time,x\na,0,1\nb,0,2\n", "no column of numbers that change"},
    };
    for (size_t k = 0; k < COUNT(CASE); k++) {
        FILE *out = fopen(file_name(), "w");
        assert_non_null(out);
        fputs(CASE[k].csv, out);
        assert_int_equal(fclose(out), 0);
        gsv_series *s = gsv_series_read_words(file_name(), NULL, NULL);
        if (!s) fail_msg("%s", gsv_last_error());
        assert_null(gsv_model_new(s));
        expect_error(gsv_last_status(), GSV_BAD_INPUT, CASE[k].message);
        gsv_series_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new__writes_what_fit_accepts),
        cmocka_unit_test(new__has_alternatives_that_are_read),
        cmocka_unit_test(new__is_fitted_with_measurement_noise),
        cmocka_unit_test(new__says_why_there_is_no_model),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    remove(file_name());
    return failed;
}
