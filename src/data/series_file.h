/* SPDX-License-Identifier: MIT */
/* Series that lie in one file (base/paged.h) with all their arrays and texts:
 * ranks on one machine have one copy of them, and each the pages it uses. */
#ifndef DATA_SERIES_FILE_H
#define DATA_SERIES_FILE_H

#include "data/words.h"
#include "girsanov.h"

/* With room for so many rows, and all texts. */
gsv_series *series_file_new(size_t rows, const struct words *name,
                            const struct words *label, const char *source,
                            const char *note);

void series_file_free(gsv_series *s);

#endif
