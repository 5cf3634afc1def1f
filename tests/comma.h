/* SPDX-License-Identifier: MIT */
/* A locale whose decimal point is a comma: an installed one, or one that is
 * made where the system has what it takes (Debian's package locales). */
#ifndef TESTS_COMMA_H
#define TESTS_COMMA_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline bool has_comma(void)
{
    char text[8];
    snprintf(text, sizeof text, "%.1f", 0.5);
    return text[1] == ',';
}

/* Until setlocale(LC_ALL, "C"); false where there is none. */
static inline bool use_comma(void)
{
    static const char *const NAME[] = {"de_DE.UTF-8", "de_DE.utf8",
                                       "fr_FR.UTF-8"};
    char folder[] = "/tmp/test_comma_XXXXXX", command[300];
    for (size_t i = 0; i < sizeof NAME / sizeof *NAME; i++)
        if (setlocale(LC_ALL, NAME[i])) return has_comma();
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command,
             "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >%s/said 2>&1", folder,
             folder);
    bool made = !system(command) && !setenv("LOCPATH", folder, 1) &&
                setlocale(LC_ALL, NAME[0]);
    snprintf(command, sizeof command, "rm -r %s", folder);
    return !system(command) && made && has_comma();
}

#endif
