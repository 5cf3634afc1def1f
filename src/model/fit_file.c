/* SPDX-License-Identifier: MIT */
/* Reading a model from its text or from a fit, and writing fits: a tensor for
 * every parameter; the text, the record and, where it can be resumed, the
 * optimiser's state beside them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/file.h"
#include "data/file_type.h"
#include "model/fit_record.h"
#include "model/levels.h"
#include "model/posterior.h"

/* Raised when files can no longer be read by the versions before. */
#define FORMAT "1"

/* --- Writing ------------------------------------------------------------ */

static int put_params(const gsv_model *m, struct tensors *t)
{
    int status = 0;
    for (size_t i = 0; !status && i < m->spec->params; i++) {
        const struct param_spec *p = &m->spec->param[i];
        status =
            tensors_add(t, p->name, (size_t)p->rank,
                        (size_t[]){p->rows, p->columns}, m->value + p->offset);
    }
    return status;
}

static int put_all(const struct tensors *from, struct tensors *t)
{
    int status = 0;
    for (size_t i = 0; !status && i < from->count; i++)
        status = tensors_add(t, from->tensor[i].name, from->tensor[i].rank,
                             from->tensor[i].shape, from->tensor[i].value);
    for (size_t i = 0; !status && i < from->notes; i++)
        status = tensors_note(t, from->note[i].key, from->note[i].text);
    return status;
}

static int put_model(const gsv_model *m, struct tensors *t)
{
    int status = tensors_note(t, "format", "girsanov " FORMAT);
    if (!status) status = tensors_note(t, "version", GSV_VERSION);
    if (!status) status = tensors_note(t, "model", m->text);
    if (!status) status = levels_write(m, t);
    if (!status && m->record) status = fit_record_write(m->record, t);
    if (!status) status = put_params(m, t);
    if (!status) status = put_all(&m->posterior, t);
    return status ? status : put_all(&m->state, t);
}

enum gsv_status gsv_model_write(const gsv_model *m, const char *path)
{
    if (ANY_NULL(m, path)) return GSV_BAD_INPUT;
    struct tensors t = {0};
    int status = put_model(m, &t);
    if (!status) status = safetensors_write(&t, path);
    tensors_free(&t);
    return status;
}

/* --- Reading a fit ------------------------------------------------------ */

static int check_format(const struct tensors *t, const char *path)
{
    const char *format = tensors_text(t, "format");
    if (!format || strncmp(format, "girsanov ", 9) || !tensors_text(t, "model"))
        return fail(GSV_BAD_INPUT,
                    "%s is a safetensors file, but not a fit: it has no "
                    "model in it",
                    path);
    if (strcmp(format + 9, FORMAT))
        return fail(GSV_BAD_INPUT,
                    "%s has format %.20s, but this version of girsanov reads "
                    "format " FORMAT "; use the version that wrote it (%.20s)",
                    path, format + 9,
                    tensors_text(t, "version") ? tensors_text(t, "version")
                                               : "unknown");
    return 0;
}

static int read_param(gsv_model *m, const struct param_spec *p,
                      const struct tensors *t, const char *path)
{
    const struct tensor *from = tensors_find(t, p->name);
    size_t shape[2] = {p->rows, p->columns};
    if (!from)
        return fail(GSV_BAD_INPUT,
                    "%s is damaged: the tensor '%s' of its model is missing",
                    path, p->name);
    bool fits = from->rank == (size_t)p->rank;
    for (size_t i = 0; fits && i < from->rank; i++)
        fits = from->shape[i] == shape[i];
    if (!fits)
        return fail(GSV_BAD_INPUT,
                    "%s is damaged: the tensor '%s' does not have the shape "
                    "that its model needs",
                    path, p->name);
    if (!gsv_model_set(m, p->name, from->count, from->value)) return 0;
    char why[400];
    snprintf(why, sizeof why, "%s", gsv_last_error());
    return fail(GSV_BAD_INPUT, "%s is damaged: %s", path, why);
}

/* What is neither a parameter nor ours by its '@'. */
static int check_strangers(const gsv_model *m, const struct tensors *t,
                           const char *path)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *name = t->tensor[i].name;
        bool known = name[0] == '@';
        for (size_t j = 0; !known && j < m->spec->params; j++)
            known = !strcmp(name, m->spec->param[j].name);
        if (!known)
            return fail(GSV_BAD_INPUT,
                        "%s has a tensor '%.100s' that its model does not "
                        "have: its text and its numbers do not belong together",
                        path, name);
    }
    return 0;
}

/* What begins with "@state" goes on being the state. */
static int read_state(gsv_model *m, const struct tensors *t)
{
    const char *terms = tensors_text(t, "state");
    int status = terms ? tensors_note(&m->state, "state", terms) : 0;
    for (size_t i = 0; terms && !status && i < t->count; i++) {
        const struct tensor *from = &t->tensor[i];
        if (!strncmp(from->name, "@state", 6))
            status = tensors_add(&m->state, from->name, from->rank, from->shape,
                                 from->value);
    }
    return status;
}

static int read_all(gsv_model *m, const struct tensors *t, const char *path)
{
    int status = check_strangers(m, t, path);
    for (size_t i = 0; !status && i < m->spec->params; i++)
        status = read_param(m, &m->spec->param[i], t, path);
    if (!status) status = fit_record_read(m, t, path, &m->record);
    if (!status) status = posterior_read(m, t, path);
    return status ? status : read_state(m, t);
}

static gsv_model *read_model(const struct tensors *t, const char *path)
{
    size_t n;
    struct category_spec *level;
    if (levels_read(t, path, &n, &level)) return NULL;
    gsv_model *m = model_parse(tensors_text(t, "model"), path, n, level);
    levels_free(n, level);
    if (!m || !read_all(m, t, path)) return m;
    gsv_model_free(m);
    return NULL;
}

static gsv_model *read_tensors(FILE *file, const char *path, size_t size)
{
    struct tensors t = {0};
    gsv_model *m = NULL;
    if (!safetensors_take(&t, path, file, size) && !check_format(&t, path))
        m = read_model(&t, path);
    tensors_free(&t);
    return m;
}

/* Of a stream whose first n bytes were read already. A pipe has them only
 * once, so that all goes through a copy. */
static gsv_model *read_fit(FILE *in, const char *path, size_t n,
                           const char *head)
{
    struct stat info;
    size_t size;
    if (in != stdin && !fstat(fileno(in), &info) && S_ISREG(info.st_mode)) {
        rewind(in);
        return read_tensors(in, path, (size_t)info.st_size);
    }
    FILE *copy = file_spool(in, path, head, n, &size);
    if (!copy) return NULL;
    gsv_model *m = read_tensors(copy, path, size);
    fclose(copy);
    return m;
}

/* By the way of a file, without one. */
gsv_model *gsv_model_copy(const gsv_model *m)
{
    if (ANY_NULL(m)) return NULL;
    struct tensors t = {0};
    gsv_model *copy = put_model(m, &t) ? NULL : read_model(&t, "copy");
    tensors_free(&t);
    if (copy) externals_copy(m->spec, copy->spec);
    return copy;
}

/* --- Reading either ----------------------------------------------------- */

/* A model is a page of text: more than this is some other file. */
enum { LONGEST_FILE = 1 << 20 };

static gsv_model *parse_file(FILE *in, const char *path, size_t n,
                             const char *text)
{
    if (safetensors_begins((const unsigned char *)text, n))
        return read_fit(in, path, n, text);
    const struct file_type *type = file_type_of(text, n);
    if (type)
        return fail_null(GSV_BAD_INPUT, "%s is %s, not a model's text", path,
                         type->what);
    if (n > LONGEST_FILE)
        return fail_null(GSV_BAD_INPUT,
                         "%s is larger than 1 MiB: it is not a model", path);
    if (memchr(text, 0, n))
        return fail_null(GSV_BAD_INPUT,
                         "%s has zero bytes: it is not a model's text", path);
    return gsv_model_parse(text, path);
}

gsv_model *gsv_model_read(const char *path)
{
    if (ANY_NULL(path)) return NULL;
    bool piped = !strcmp(path, "-");
    FILE *in = piped ? stdin : fopen(path, "rbe");
    if (!in)
        return fail_null(GSV_BAD_INPUT, "cannot open the model %s: %s", path,
                         strerror(errno));
    gsv_model *m = NULL;
    char *text = mem_new(LONGEST_FILE + 1, 1);
    size_t n = text ? fread(text, 1, LONGEST_FILE + 1, in) : 0;
    if (text && ferror(in))
        fail(GSV_BAD_INPUT, "cannot read the model %s: %s", path,
             strerror(errno));
    else if (text) m = parse_file(in, piped ? "<stdin>" : path, n, text);
    mem_free(text);
    if (!piped) fclose(in);
    return m;
}
