/* SPDX-License-Identifier: MIT */
#include "data/file_type.h"

#include <string.h>

#include "data/safetensors.h"

#define SHEET "save the sheet as a plain CSV file"
#define OTHER "save the data as a plain CSV file"
#define UTF_16 "save it as a plain CSV file in UTF-8"
#define BEGINS(bytes) bytes, sizeof(bytes) - 1

/* No header of a CSV file and no model begins with any of these. */
static const struct file_type TYPES[] = {
    {BEGINS("PK\x03\x04"), "a workbook or a zip archive", SHEET},
    {BEGINS("\xd0\xcf\x11\xe0"), "an old Excel workbook", SHEET},
    {BEGINS("\x1f\x8b"), "compressed", "unpack it with gunzip"},
    {BEGINS("\x28\xb5\x2f\xfd"), "compressed", "unpack it with unzstd"},
    {BEGINS("\xfd\x37zXZ"), "compressed", "unpack it with unxz"},
    {BEGINS("BZh91AY"), "compressed", "unpack it with bunzip2"},
    {BEGINS("\x93NUMPY"), "a NumPy array",
     "give it a name that ends with .npy"},
    {BEGINS("\x89HDF"), "an HDF5 file", OTHER},
    {BEGINS("PAR1\x15"), "a Parquet file", OTHER},
    {BEGINS("\x89PNG"), "a picture", OTHER},
    {BEGINS("\xff\xd8\xff"), "a picture", OTHER},
    {BEGINS("%PDF-"), "a PDF document", OTHER},
    {BEGINS("\xff\xfe"), "a text in UTF-16", UTF_16},
    {BEGINS("\xfe\xff"), "a text in UTF-16", UTF_16},
};

static const struct file_type FIT = {
    "", 0, "a fit", "the data come after the model, as a plain CSV file"};

const struct file_type *file_type_of(const char *bytes, size_t size)
{
    if (safetensors_begins((const unsigned char *)bytes, size)) return &FIT;
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (size >= TYPES[i].size &&
            !memcmp(bytes, TYPES[i].bytes, TYPES[i].size))
            return &TYPES[i];
    return NULL;
}
