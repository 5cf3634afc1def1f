/* SPDX-License-Identifier: MIT */
/* From the text to the spec: declarations that stand by themselves first, in
 * any order; then what states are of the data; then expressions; then
 * observations and equations. */
#include "lang/spec.h"

#include "base/error.h"
#include "base/memory.h"
#include "lang/scope.h"

static int declare_all(struct builder *b, const struct ast *ast, bool leaves)
{
    for (size_t i = 0; i < ast->statements; i++) {
        const struct statement *s = &ast->statement[i];
        bool leaf = s->kind != LET && !is_function_kind(s->kind) &&
                    declares_name(s->kind);
        int status = leaf == leaves ? declare(b, s) : 0;
        if (status) return status;
    }
    return 0;
}

/* States are views of one leaf, whose size is known only now. */
static void bind_states(struct builder *b, const struct ast *ast)
{
    struct graph *g = b->spec->graph;
    node state = graph_leaf(g, OP_STATE, 0, b->spec->dim, 1);
    for (size_t i = 0; i < ast->statements; i++) {
        const struct statement *s = &ast->statement[i];
        if (s->kind != STATE) continue;
        struct symbol *y =
            (struct symbol *)(size_t)scope_find(b, s->declared.name);
        y->value = graph_slice(g, state, y->offset, s->declared.rows, 1);
    }
}

static int build(struct builder *b, const struct ast *ast)
{
    int status = check_declared(b);
    if (!status) status = declare_all(b, ast, true);
    if (status) return status;
    if (!b->spec->dim)
        return complain(b->source, (struct place){1, 1, 0},
                        "the model has no state; begin with a line such as "
                        "'state x'");
    bind_states(b, ast);
    status = build_maps(b);
    if (b->spec->graph->failed) return GSV_NO_MEMORY;
    if (!status) status = declare_all(b, ast, false);
    if (!status) status = build_effects(b);
    if (!status) status = build_priors(b);
    if (!status) status = build_observations(b);
    if (!status) status = build_equations(b, ast);
    if (!status && b->spec->graph->failed) status = GSV_NO_MEMORY;
    return status;
}

struct spec *spec_new(const struct source *source)
{
    return spec_new_levels(source, 0, NULL);
}

struct spec *spec_new_levels(const struct source *source, size_t levels,
                             const struct category_spec *level)
{
    struct builder b = {.source = source, .level = level, .levels = levels};
    struct ast *ast = ast_parse(source);
    if (!ast) return NULL;
    b.ast = ast;
    b.spec = NEW(struct spec, 1);
    if (b.spec) b.spec->graph = graph_new();
    if (b.spec) b.spec->source_name = mem_string(source->name);
    if (!b.spec || !b.spec->graph || !b.spec->source_name || build(&b, ast)) {
        spec_free(b.spec);
        b.spec = NULL;
    }
    mem_free(b.symbol);
    mem_free(b.flow);
    ast_free(ast);
    return b.spec;
}

size_t spec_param_at(const struct spec *s, size_t number)
{
    size_t p = 0;
    while (p + 1 < s->params && s->param[p + 1].offset <= number)
        p++;
    return p;
}

node spec_noise(const struct spec *s)
{
    return s->noise == NOISE_SINGULAR ? s->diffusion : s->sigma;
}

size_t spec_latent(const struct spec *s)
{
    size_t latent = 0;
    for (size_t i = 0; i < s->dim; i++)
        latent += s->latent[i];
    return latent;
}

bool spec_is_latent(const struct spec *s)
{
    return spec_latent(s) > 0;
}

bool spec_has_weights(const struct spec *s)
{
    bool any = s->nets > 0;
    for (size_t i = 0; i < s->externals; i++)
        any = any || s->external[i].weights;
    return any;
}

bool spec_has_functions(const struct spec *s)
{
    return s->nets || s->gps || s->externals;
}

void spec_free(struct spec *spec)
{
    if (!spec) return;
    for (size_t i = 0; i < spec->params; i++) {
        mem_free(spec->param[i].name);
        mem_free(spec->param[i].start);
    }
    for (size_t i = 0; i < spec->dim; i++)
        mem_free(spec->column[i]);
    for (size_t i = 0; i < spec->inputs; i++)
        mem_free(spec->input[i].name);
    for (size_t i = 0; i < spec->values; i++)
        mem_free(spec->value_column[i]);
    for (size_t i = 0; i < spec->categories; i++) {
        for (size_t k = 0; k < spec->category[i].levels; k++)
            mem_free(spec->category[i].label[k]);
        MEM_FREE(spec->category[i].name, spec->category[i].label);
    }
    mem_free(spec->category);
    for (size_t i = 0; i < spec->priors; i++)
        mem_free(spec->prior[i].name);
    mem_free(spec->prior);
    mem_free(spec->source_name);
    mem_free(spec->equation_place);
    mem_free(spec->param);
    mem_free(spec->column);
    mem_free(spec->input);
    for (size_t i = 0; i < spec->libraries; i++)
        terms_free(&spec->terms[i]);
    mem_free(spec->terms);
    mem_free(spec->net);
    mem_free(spec->flow);
    mem_free(spec->gp);
    for (size_t i = 0; i < spec->externals; i++) {
        callback_drop(spec->external[i].given);
        mem_free(spec->external[i].name);
    }
    mem_free(spec->external);
    mem_free(spec->latent);
    mem_free(spec->obs);
    mem_free(spec->event);
    mem_free(spec->effect);
    mem_free(spec->first);
    mem_free(spec->integral);
    mem_free(spec->value_column);
    for (size_t i = 0; i < spec->reactions; i++)
        MEM_FREE(spec->reaction[i].change, spec->reaction[i].text);
    mem_free(spec->reaction);
    graph_free(spec->graph);
    mem_free(spec);
}
