/* SPDX-License-Identifier: MIT */
/* Option values that are more than a number or a word. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

double *parse_numbers(const char *what, const char *text, size_t *count)
{
    size_t most = 1;
    for (const char *c = text; *c; c++)
        most += *c == ',';
    double *value = malloc(most * sizeof *value);
    if (!value) {
        complain_memory();
        return NULL;
    }
    bool bracket = *text == '[';
    const char *at = text + bracket;
    for (*count = 0; *count < most;) {
        char *end;
        value[(*count)++] = strtod(at, &end);
        while (*end == ' ')
            end++;
        bool last = *count == most;
        bool ends = last ? !strcmp(end, bracket ? "]" : "") : *end == ',';
        if (end == at || !ends || !isfinite(value[*count - 1])) {
            complain(EXIT_INPUT,
                     "%s: '%s' is not a list of numbers such as 1,2.5,3", what,
                     text);
            free(value);
            return NULL;
        }
        at = end + 1;
    }
    return value;
}

bool parse_range(const char *text, double *low, double *high, size_t *n)
{
    double count = 0.0;
    int two = 0, three = 0;
    int found =
        sscanf(text, "%lf:%lf%n:%lf%n", low, high, &two, &count, &three);
    int used = found == 3 ? three : found == 2 ? two : 0;
    if (!used || text[used] || !(*low < *high) || !isfinite(*low) ||
        !isfinite(*high))
        return false;
    if (found == 2) return true;
    if (!(count >= 2.0 && count <= 1e9) || count != floor(count)) return false;
    *n = (size_t)count;
    return true;
}

double *parse_times(const char *text, size_t *count)
{
    double first, last;
    *count = 0;
    if (!strchr(text, ':')) return parse_numbers("--times", text, count);
    if (!parse_range(text, &first, &last, count) || !*count) {
        complain(EXIT_INPUT,
                 "--times %s: expected A:B:N with A < B and N of at least 2",
                 text);
        return NULL;
    }
    double *time = malloc(*count * sizeof *time);
    for (size_t i = 0; time && i < *count; i++)
        time[i] = first + (last - first) * (double)i / (double)(*count - 1);
    if (!time) complain_memory();
    return time;
}

int set_value(gsv_model *m, const char *option, const char *text)
{
    const char *equals = strrchr(text, '=');
    size_t count, length = equals ? (size_t)(equals - text) : 0;
    char name[300];
    if (!equals)
        return complain(EXIT_INPUT, "%s %s: expected NAME=VALUE", option, text);
    if (length >= sizeof name)
        return complain(EXIT_INPUT, "%s: the name is too long", option);
    memcpy(name, text, length);
    name[length] = 0;
    double *value = parse_numbers(option, text + length + 1, &count);
    if (!value) return EXIT_INPUT;
    int status = gsv_model_set(m, name, count, value);
    free(value);
    return status ? complain(EXIT_INPUT, "%s: %s", option, gsv_last_error())
                  : 0;
}

int parse_quantiles(const char *text, double **level, size_t *count)
{
    if (!text) return 0;
    *level = parse_numbers("--quantiles", text, count);
    if (!*level) return EXIT_INPUT;
    for (size_t q = 0; q < *count; q++)
        if (!((*level)[q] > 0.0 && (*level)[q] < 1.0) ||
            (q && !((*level)[q] > (*level)[q - 1])))
            return complain(
                EXIT_INPUT,
                "--quantiles %s: expected increasing numbers above 0 "
                "and below 1",
                text);
    return 0;
}

/* Python's frame() uses the same names. */
const char *quantile_name(double level, char room[QUANTILE_ROOM])
{
    double percent = round(1e12 * level) / 1e10;
    snprintf(room, QUANTILE_ROOM,
             percent < 10.0 && percent == floor(percent) ? "q0%g" : "q%.12g",
             percent);
    return room;
}

const char *plural(size_t n)
{
    return n == 1 ? "" : "s";
}
