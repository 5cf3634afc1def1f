/* SPDX-License-Identifier: MIT */
/* girsanov show: the page of report, beside the fit, opened in a browser. */
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

extern char **environ;

/* lorenz.fit -> lorenz.html; yours, NULL after a message. */
static char *page_name(const char *fit)
{
    size_t n = strlen(fit);
    char *name = malloc(n + 6);
    if (n > 4 && !strcmp(fit + n - 4, ".fit")) n -= 4;
    if (name) sprintf(name, "%.*s.html", (int)n, fit);
    else complain_memory();
    return name;
}

static bool has_display(void)
{
    static const char *const SCREEN[] = {"DISPLAY", "WAYLAND_DISPLAY"};
    for (size_t i = 0; i < 2; i++) {
        const char *screen = getenv(SCREEN[i]);
        if (screen && *screen) return true;
    }
    return false;
}

/* The desktop's browser; its own messages go to standard error. */
static bool opens(char *page)
{
    pid_t child;
    int status;
    char *words[] = {"xdg-open", page, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions)) return false;
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    int why = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !why && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           !WEXITSTATUS(status);
}

/* The path is printed in any case, before a browser may stay in front. */
static int show_page(const struct args *a)
{
    char page[PATH_MAX];
    if (!strcmp(a->output, "-") || !realpath(a->output, page)) return EXIT_DONE;
    if (!a->json) say(stdout, "%s\n", page);
    fflush(stdout);
    if (has_display() && !opens(page) && !a->quiet)
        say(stderr, "note: xdg-open could not open the page; give its path to "
                    "a browser\n");
    return EXIT_DONE;
}

/* The data that the fit was learned from, unless others are given. */
static int find_data(struct args *a, const gsv_model *m)
{
    const gsv_record *r = gsv_model_record(m);
    if (a->data || !r) return 0;
    a->data = r->data;
    if (!access(r->data, R_OK) && !is_stream(r->data)) return 0;
    return complain(EXIT_INPUT,
                    "the data of the fit, %s, cannot be read from here; give "
                    "them: girsanov show %s DATA",
                    r->data, a->model);
}

int show_run(const struct args *given, gsv_model *m)
{
    struct args a = *given;
    if (!a.output && is_stream(a.model))
        return complain(EXIT_INPUT, "-o FILE is missing: the file for the "
                                    "page, for example -o report.html");
    char *page = a.output ? NULL : page_name(a.model);
    if (!a.output && !page) return EXIT_NUMBERS;
    if (page) a.output = page;
    int code = find_data(&a, m);
    if (!code && a.data && same_file(a.output, a.data))
        code = complain(EXIT_INPUT,
                        "the page %s would overwrite the data; give it another "
                        "name by -o",
                        a.output);
    if (!code) code = check_place(a.output);
    if (!code) code = report_run(&a, m);
    if (!code) code = show_page(&a);
    free(page);
    return code;
}
