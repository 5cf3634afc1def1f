/* SPDX-License-Identifier: MIT */
/* Series that lie in one file (base/paged.h) with all their arrays and texts:
 * ranks on one machine have one copy of them, and each the pages it uses. */
#ifndef DATA_SERIES_FILE_H
#define DATA_SERIES_FILE_H

#include "data/builder.h"
#include "girsanov.h"

/* With room for the builder's rows, and all its texts. */
gsv_series *series_file_new(const struct series_builder *b, const char *note);

void series_file_free(gsv_series *s);

#endif
