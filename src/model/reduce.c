/* SPDX-License-Identifier: MIT */
#include "model/reduce.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"

/* [x, y], [x, x*z], []: the terms of every output that are left. */
static void put_lists(FILE *out, const struct terms_spec *t, const bool *kept)
{
    size_t p = 0;
    for (size_t i = 0; i < t->outputs; i++) {
        bool any = false;
        fputs(i ? ", [" : "[", out);
        for (size_t k = 0; k < t->count[i]; k++, p++) {
            if (!kept[t->param + p]) continue;
            fprintf(out, "%s%s", any ? ", " : "", t->text[p]);
            any = true;
        }
        fputc(']', out);
    }
}

static bool is_whole(const struct terms_spec *t, const bool *kept)
{
    for (size_t p = 0; p < t->params; p++)
        if (!kept[t->param + p]) return false;
    return true;
}

static int write_text(const gsv_model *m, const bool *kept, char **text)
{
    size_t size, at = 0;
    FILE *out = open_memstream(text, &size);
    if (!out) return fail(GSV_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < m->spec->libraries; i++) {
        const struct terms_spec *t = &m->spec->terms[i];
        if (is_whole(t, kept)) continue;
        fwrite(m->text + at, 1, t->from - at, out);
        put_lists(out, t, kept);
        at = t->to;
    }
    fputs(m->text + at, out);
    bool failed = ferror(out);
    if (fclose(out) || failed) return fail(GSV_NO_MEMORY, "out of memory");
    return 0;
}

gsv_model *model_reduce(const gsv_model *m, const bool *kept)
{
    char *text = NULL;
    gsv_model *made = NULL;
    if (!write_text(m, kept, &text))
        made = gsv_model_parse(text, m->spec->source_name);
    free(text);
    if (made) model_copy_values(m, made);
    if (made) externals_copy(m->spec, made->spec);
    return made;
}
