/* SPDX-License-Identifier: MIT */
/* Fits. A header's length would be the first thing that mutations break: where
 * the first byte is odd, the bytes up to the first 0 are the header, what
 * follows is the data, and the length is put before them. What can be read is
 * looked at, and written again. */
#include "fuzz.h"
#include "girsanov.h"

#include <string.h>

static const char *fit_file(const uint8_t *data, size_t size)
{
    static uint8_t file[(1 << 16) + 8];
    if (!(data[0] & 1)) return bytes_file(data + 1, size - 1);
    data++, size--;
    if (size > 1 << 16) size = 1 << 16;
    const uint8_t *end = memchr(data, 0, size);
    size_t header = end ? (size_t)(end - data) : size;
    size_t rest = end ? size - header - 1 : 0;
    for (int i = 0; i < 8; i++)
        file[i] = (uint8_t)((uint64_t)header >> (8 * i));
    memcpy(file + 8, data, header);
    if (rest) memcpy(file + 8 + header, end + 1, rest);
    return bytes_file(file, 8 + header + rest);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size) return 0;
    gsv_model *m = gsv_model_read(fit_file(data, size));
    if (!m) return 0;
    gsv_text_free(gsv_model_describe(m));
    const gsv_record *r = gsv_model_record(m);
    double sum = 0;
    for (size_t i = 0; r && i < r->values; i++)
        sum += r->error_of[i] + r->low[i] + r->high[i];
    (void)sum;
    if (gsv_model_has_posterior(m)) gsv_functions_free(gsv_functions_new(m));
    (void)gsv_model_write(m, "/dev/null");
    gsv_model_free(m);
    return 0;
}
