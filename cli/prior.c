/* SPDX-License-Identifier: MIT */
/* --prior NAME~law(a,b) */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const struct {
    const char *word;
    int numbers;
    const char *form;
} LAWS[] = {
    [GSV_LAW_NORMAL] = {"normal", 2, "normal(mean,sd)"},
    [GSV_LAW_LOGNORMAL] = {"lognormal", 2, "lognormal(mean,sd)"},
    [GSV_LAW_HALFNORMAL] = {"halfnormal", 1, "halfnormal(sd)"},
    [GSV_LAW_UNIFORM] = {"uniform", 2, "uniform(a,b)"},
    [GSV_LAW_GAMMA] = {"gamma", 2, "gamma(shape,rate)"},
    [GSV_LAW_EXPONENTIAL] = {"exponential", 1, "exponential(rate)"},
    [GSV_LAW_BETA] = {"beta", 2, "beta(a,b)"},
    [GSV_LAW_CAUCHY] = {"cauchy", 2, "cauchy(middle,width)"},
};
enum { LAW_COUNT = sizeof LAWS / sizeof *LAWS };

static int no_such_law(const char *text)
{
    char list[400] = "";
    size_t used = 0;
    for (size_t i = 0; i < LAW_COUNT; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 !i                   ? ""
                                 : i + 1 == LAW_COUNT ? " or "
                                                      : ", ",
                                 LAWS[i].form);
    return complain(EXIT_INPUT,
                    "--prior %s: expected NAME~LAW, where LAW is %s", text,
                    list);
}

/* The numbers in the parentheses at the beginning of text. */
static int read_numbers(const char *all, const char *text, size_t law,
                        gsv_prior *p)
{
    char *end;
    double number[2] = {0.0, 0.0};
    for (int i = 0; i < LAWS[law].numbers; i++) {
        if (*text != (i ? ',' : '(')) break;
        number[i] = strtod(text + 1, &end);
        if (end == text + 1) break;
        text = end;
        if (i + 1 == LAWS[law].numbers && !strcmp(text, ")")) {
            p->law = (enum gsv_law)law;
            p->a = number[0];
            p->b = number[1];
            return 0;
        }
    }
    return complain(EXIT_INPUT, "--prior %s: expected %s", all, LAWS[law].form);
}

/* A copy without spaces: 'k ~ normal(0, 1)' is allowed. */
static char *copy_tight(const char *text)
{
    char *copy = malloc(strlen(text) + 1), *to = copy;
    if (!copy) return NULL;
    for (; *text; text++)
        if (*text != ' ') *to++ = *text;
    *to = 0;
    return copy;
}

static int read_prior(const char *text, char **name, gsv_prior *p)
{
    char *tight = *name = copy_tight(text);
    if (!tight) return complain_memory();
    char *law = strchr(tight, '~');
    if (!law) return no_such_law(text);
    *law++ = 0;
    p->name = tight;
    size_t length = strcspn(law, "(");
    for (size_t i = 0; i < LAW_COUNT; i++)
        if (strlen(LAWS[i].word) == length &&
            !strncmp(law, LAWS[i].word, length))
            return read_numbers(text, law + length, i, p);
    return no_such_law(text);
}

int priors_read(const struct words *w, struct priors *p)
{
    p->count = 0;
    p->prior = calloc(w->count + 1, sizeof *p->prior);
    p->name = calloc(w->count + 1, sizeof *p->name);
    if (!p->prior || !p->name) return complain_memory();
    int code = 0;
    for (size_t i = 0; !code && i < w->count; i++) {
        p->count = i + 1;
        code = read_prior(w->word[i], &p->name[i], &p->prior[i]);
    }
    return code;
}

void priors_free(struct priors *p)
{
    for (size_t i = 0; p->name && i < p->count; i++)
        free(p->name[i]);
    free(p->name);
    free(p->prior);
}
