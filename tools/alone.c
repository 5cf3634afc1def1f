// SPDX-License-Identifier: MIT
// For the library that carries what it needs (alone.cmake): what the archives
// inside it want from outside.
#include <string.h>

// Jansson's archive is compiled for programs, and reaches stdin in a way that
// a shared object must not; there the name stands for this. json_loadf() alone
// uses it, which the library does not call.
extern void *alone_stdin;
__attribute__((visibility("hidden"))) void *alone_stdin;

// The one function of Fortran's own library that LAPACK calls: to = a // b,
// cut or filled with blanks. It makes the keys of ilaenv().
void _gfortran_concat_string(size_t size, char *to, size_t size_a,
                             const char *a, size_t size_b, const char *b);

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

void _gfortran_concat_string(size_t size, char *to, size_t size_a,
                             const char *a, size_t size_b, const char *b)
{
    size_t first = least(size_a, size), second = least(size_b, size - first);
    memcpy(to, a, first);
    memcpy(to + first, b, second);
    memset(to + first + second, ' ', size - first - second);
}
