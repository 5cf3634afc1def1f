/* SPDX-License-Identifier: MIT */
/* Messages about mistakes in a model: file, line, column, the line itself, a
 * caret under the wrong part, and what to write instead.
 *
 *     lorenz.sde:4:9: unknown name 'sgima'; did you mean 'sigma'?
 *         dx = s*(y - x)*dt + sgima*dW
 *                             ^~~~~
 */
#ifndef LANG_MESSAGE_H
#define LANG_MESSAGE_H

#include "lang/ast.h"

/* Fails with GSV_BAD_INPUT and returns it. The format is the sentence alone. */
int complain(const struct source *source, struct place place,
             const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The text without its byte order mark, where it has one: columns of the first
 * line are counted from here. */
const char *text_start(const char *text);

/* The line break at s, \n, \r\n or \r alone, in bytes; 0 when none is there. */
size_t break_length(const char *s);

#endif
