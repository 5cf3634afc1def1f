/* SPDX-License-Identifier: MIT */
/* NumPy arrays. */
#include "data/npy.h"
#include "data/number.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const NAME[] = {"x", "y"};
    if (!size) return 0;
    const char *path = bytes_file(data + 1, size - 1);
    struct plain_locale locale;
    plain_begin(&locale);
    gsv_series_free(
        npy_read(&(struct series_request){.path = path,
                                          .columns = data[0] & 1 ? 2 : 0,
                                          .name = data[0] & 1 ? NAME : NULL}));
    plain_end(&locale);
    return 0;
}
