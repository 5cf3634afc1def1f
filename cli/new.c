/* SPDX-License-Identifier: MIT */
/* girsanov new: a first model for the columns of data. */
#include <stdlib.h>

#include "cli.h"

static int write_file(const struct args *a, const char *text)
{
    struct draft d;
    if (same_file(a->output, a->model))
        return complain(EXIT_INPUT,
                        "-o %s would overwrite the data; give another name",
                        a->output);
    int code = draft_open(&d, a->output);
    if (code) return code;
    fputs(text, d.out);
    code = draft_close(&d, true);
    if (!code && !a->quiet)
        say(stderr, "wrote %s: girsanov fit %s %s -o my.fit\n", a->output,
            a->output, a->model);
    return code;
}

static int print_new_json(const char *text)
{
    json_t *j = json_object();
    json_object_set_new(j, "model", json_string(text));
    return print_json(j);
}

static int put(const struct args *a, const char *text)
{
    int code = 0;
    if (a->output) code = write_file(a, text);
    if (!code && a->json) code = print_new_json(text);
    else if (!code && !a->output) fputs(text, stdout);
    return code;
}

int new_run(const struct args *a, gsv_model *m)
{
    (void)m; /* there is none: the file is data */
    if (a->files.count > 1)
        return complain(EXIT_INPUT,
                        "new reads one file of data; '%s' is one too many",
                        a->files.word[1]);
    gsv_series *s = gsv_series_read_words(a->model, a->time, a->series);
    if (!s) return complain_last();
    say_note(a, s);
    char *text = gsv_model_new(s);
    int code = text ? put(a, text) : complain_last();
    gsv_text_free(text);
    gsv_series_free(s);
    return code;
}
