/* SPDX-License-Identifier: MIT */
/* Fits that were cut off or changed on their way: a file is read whole, or
 * refused with a sentence. */
#include "learn.h"

#include <string.h>

struct bytes {
    unsigned char data[1 << 16];
    size_t size, header; /* the header ends there */
};

static void take(struct bytes *b, const char *path)
{
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    b->size = fread(b->data, 1, sizeof b->data, in);
    fclose(in);
    assert_true(b->size > 8 && b->size < sizeof b->data);
    b->header = 8 + b->data[0] + 256U * b->data[1];
    assert_true(b->header < b->size);
}

static void put(const struct bytes *b, size_t size, const char *path)
{
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(b->data, 1, size, out), size);
    fclose(out);
}

/* A fit with a network, a fixed number of iterations and all parts of a
 * record. */
static void make(struct bytes *b)
{
    gsv_model *m = model_of(LEARN_OU);
    gsv_fit_options o = fit_options();
    gsv_series *s = learn_well(m, 2, 30, 3);
    fit_must(m, s, &o);
    assert_int_equal(gsv_model_write(m, "a.fit"), 0);
    take(b, "a.fit");
    gsv_series_free(s);
    gsv_model_free(m);
}

static void read__refuses_every_shorter_file(void **state)
{
    (void)state;
    static struct bytes b;
    make(&b);
    for (size_t n = 0; n < b.size; n++) {
        put(&b, n, "a.fit");
        gsv_model *m = gsv_model_read("a.fit");
        if (m) fail_msg("%zu of %zu bytes were enough", n, b.size);
        assert_true(strlen(gsv_last_error()) > 10);
    }
}

/* One byte of the header is another one: most are noticed; those inside of a
 * text or a number may stand for something else, which is then a model. */
static void read__survives_every_changed_byte(void **state)
{
    (void)state;
    static struct bytes b;
    static const unsigned char CHANGES[] = {0x01, 0x10, 0x80, 0xff};
    make(&b);
    size_t refused = 0, tried = 0;
    for (size_t at = 0; at < b.header; at++)
        for (size_t i = 0; i < COUNT(CHANGES); i++, tried++) {
            b.data[at] ^= CHANGES[i];
            put(&b, b.size, "a.fit");
            b.data[at] ^= CHANGES[i];
            gsv_model *m = gsv_model_read("a.fit");
            if (!m) assert_true(strlen(gsv_last_error()) > 10);
            refused += !m;
            gsv_model_free(m);
        }
    /* All that breaks UTF-8, at least: 0x80 and 0xff of a letter. */
    assert_true(2 * refused >= tried);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(read__refuses_every_shorter_file),
        cmocka_unit_test(read__survives_every_changed_byte),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
