/* SPDX-License-Identifier: MIT */
/* girsanov --man [VERB]: pages for man(1), from the tables that --help
 * prints. */
#include <ctype.h>
#include <string.h>

#include "options.h"

/* The characters that roff reads as commands. */
static const struct {
    char letter;
    const char *roff;
} ESCAPES[] = {{'\\', "\\e"},  {'-', "\\-"},   {'\'', "\\(aq"},
               {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};

static void put_part(const char *text, size_t length, FILE *out)
{
    for (size_t at = 0; at < length; at++) {
        const char *roff = NULL;
        for (size_t i = 0; i < sizeof ESCAPES / sizeof *ESCAPES; i++)
            if (text[at] == ESCAPES[i].letter) roff = ESCAPES[i].roff;
        /* A dot that begins a line would begin a request. */
        if (text[at] == '.' && (!at || text[at - 1] == '\n')) fputs("\\&", out);
        if (roff) fputs(roff, out);
        else fputc(text[at], out);
    }
}

static void put(const char *text, FILE *out)
{
    put_part(text, strlen(text), out);
}

static void title(const char *verb, const char *summary, FILE *out)
{
    const char *dash = verb ? "\\-" : "", *name = verb ? verb : "";
    fprintf(out, ".TH GIRSANOV%s", dash);
    for (const char *c = name; *c; c++)
        fputc(toupper((unsigned char)*c), out);
    fprintf(out,
            " 1 \"\" \"girsanov %s\" \"User Commands\"\n"
            ".SH NAME\ngirsanov%s%s \\- ",
            gsv_version(), dash, name);
    put(summary, out);
    fprintf(out, "\n.SH SYNOPSIS\n.B girsanov%s%s\n", verb ? " " : "", name);
}

/* Lines of shell, without their indentation. */
static void examples(const char *text, FILE *out)
{
    fputs(".SH EXAMPLES\n.EX\n", out);
    for (const char *at = text; *at;) {
        at += strspn(at, " ");
        size_t length = strcspn(at, "\n");
        put_part(at, length, out);
        fputs("\n", out);
        at += length + (at[length] == '\n');
    }
    fputs(".EE\n", out);
}

static void page_of_verb(const struct verb *verb, FILE *out)
{
    char usage[OPTION_ROOM], help[HELP_ROOM];
    title(verb->name, verb->summary, out);
    put(verb->arguments, out);
    fputs(" [options]\n.SH DESCRIPTION\n", out);
    put(verb->text, out);
    fputs(".SH OPTIONS\n", out);
    for (struct option o = {0}; next_option(verb, &o);) {
        fputs(".TP\n.B ", out);
        put(option_usage(&o, usage), out);
        fputs("\n", out);
        put(option_help(&o, help), out);
        fputs("\n", out);
    }
    examples(verb->examples, out);
    fputs(".SH SEE ALSO\n.BR girsanov (1)\n", out);
}

static const char DESCRIPTION[] =
    "Girsanov learns stochastic differential equations from time series,\n"
    "without integrating them.\n"
    "MODEL is a text with the equations, or a fit, which is a model with its\n"
    "learned values.\n"
    "DATA is a CSV file with a header, or a .npy array; - is standard input.\n"
    "Results go to standard output, notes and warnings to standard error.\n"
    "girsanov VERB --help prints the page of a verb.\n";

static const struct {
    const char *code, *meaning;
} EXITS[] = {
    {"0", "done"},
    {"1", "an option, the model, the data or an output file is wrong"},
    {"2", "a value was not finite, memory ran out, or a gradient is wrong"},
    {"3", "diagnose --strict: a gap cannot be trusted"},
    {"130", "fit was interrupted; its state is saved"},
};

static void page_of_command(FILE *out)
{
    title(NULL, "learn stochastic differential equations from time series",
          out);
    fputs("VERB MODEL [DATA] [options]\n.SH DESCRIPTION\n", out);
    put(DESCRIPTION, out);
    fputs(".SH VERBS\n", out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        fprintf(out, ".TP\n.BR girsanov\\-%s (1)\n", VERBS[i].name);
        put(VERBS[i].summary, out);
        fputs("\n", out);
    }
    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof EXITS / sizeof *EXITS; i++) {
        fprintf(out, ".TP\n.B %s\n", EXITS[i].code);
        put(EXITS[i].meaning, out);
        fputs("\n", out);
    }
}

void manual_page(const struct verb *verb, FILE *out)
{
    if (verb) page_of_verb(verb, out);
    else page_of_command(out);
}
