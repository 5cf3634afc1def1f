/* SPDX-License-Identifier: MIT */
/* Files that appear whole or not at all. Full disks, devices and standard
 * output are in test_series.c, too. */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/memory.h"
#include "data/file.h"
#include "girsanov.h"

static char folder[] = "/tmp/gsv_file_XXXXXX";
static const char *const FILE_NAME = "out";

static int enter_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    unlink(FILE_NAME);
    return chdir("/") == 0 ? rmdir(folder) : -1;
}

static void put_text(const void *context, FILE *out)
{
    fputs(context, out);
}

static void expect_text(const char *path, const char *text)
{
    char got[100] = {0};
    size_t size = 0;
    FILE *in = file_open(path, &size);
    assert_non_null(in);
    assert_int_equal(size, strlen(text));
    assert_int_equal(file_take(in, path, got, size), 0);
    assert_string_equal(got, text);
    fclose(in);
}

static mode_t mode_of(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 0777;
}

static size_t count_files(const char *path)
{
    size_t n = 0;
    DIR *d = opendir(path);
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));)
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

static void write__replaces_a_file_and_leaves_no_other(void **state)
{
    (void)state;
    assert_int_equal(file_write(FILE_NAME, put_text, "first, long"), 0);
    assert_int_equal(file_write(FILE_NAME, put_text, "second"), 0);
    expect_text(FILE_NAME, "second");
    assert_int_equal(file_write(FILE_NAME, put_text, ""), 0);
    expect_text(FILE_NAME, "");
    assert_int_equal(count_files("."), 1);
}

static void write__finds_its_way_through_folders_and_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir("deep", 0777), 0);
    assert_int_equal(file_write("deep/file", put_text, "old"), 0);
    assert_int_equal(symlink("deep/file", "link"), 0);
    assert_int_equal(file_write("link", put_text, "new"), 0);
    struct stat info;
    assert_int_equal(lstat("link", &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    expect_text("deep/file", "new");
    assert_int_equal(count_files("deep"), 1);
    unlink("link");
    unlink("deep/file");
    rmdir("deep");
}

/* The umask is for new files: what an owner opened to a group stays open. */
static void write__keeps_the_mode_of_an_old_file(void **state)
{
    (void)state;
    mode_t before = umask(027);
    unlink(FILE_NAME);
    assert_int_equal(file_write(FILE_NAME, put_text, "new"), 0);
    mode_t fresh = mode_of(FILE_NAME);
    static const mode_t MODES[] = {0600, 0666, 0755, 0644};
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        assert_int_equal(chmod(FILE_NAME, MODES[i]), 0);
        assert_int_equal(file_write(FILE_NAME, put_text, "again"), 0);
        assert_int_equal(mode_of(FILE_NAME), MODES[i]);
    }
    umask(before);
    assert_int_equal(fresh, 0640);
}

static void write__says_why_not(void **state)
{
    (void)state;
    assert_int_equal(file_write("no/where", put_text, "x"), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(),
                        "cannot write no/where: No such file or directory");
    assert_int_equal(file_write(".", put_text, "x"), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), "cannot write .: Is a directory");
    assert_int_equal(file_write("", put_text, "x"), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(),
                        "cannot write '': No such file or directory");
    mem_fail_at(1);
    assert_int_equal(file_write(FILE_NAME, put_text, "x"), GSV_NO_MEMORY);
    mem_fail_at(0);
}

/* --- What a killed process leaves -------------------------------------------
 */

/* The number of a process that is gone. */
static long dead_process(void)
{
    pid_t child = fork();
    if (!child) _exit(0);
    assert_true(child > 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return (long)child;
}

static void touch(const char *name)
{
    FILE *out = fopen(name, "wb");
    assert_non_null(out);
    fclose(out);
}

/* Files by their host, process and rest of the name; gone: after a write. */
static void
write__removes_what_a_dead_process_left_and_nothing_else(void **state)
{
    (void)state;
    char host[65] = "", name[200];
    assert_int_equal(gethostname(host, 64), 0);
    const struct {
        const char *host;
        long process;
        const char *rest;
        bool locked, gone;
    } LEFT[] = {
        {host, dead_process(), "-0.tmp", false, true},
        {host, dead_process(), "-17.tmp", false, true},
        {host, dead_process(), "-1.tmp", true, false},
        {host, getpid(), "-900.tmp", false, false},
        {host, 1, "-0.tmp", false, false},
        {"elsewhere", dead_process(), "-0.tmp", false, false},
        {host, dead_process(), "-0.tmp~", false, false},
        {host, dead_process(), "-.tmp", false, false},
        {host, dead_process(), ".tmp", false, false},
    };
    enum { COUNT = sizeof LEFT / sizeof *LEFT };
    int lock[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, ".girsanov-%s-%ld%s", LEFT[i].host,
                 LEFT[i].process, LEFT[i].rest);
        touch(name);
        lock[i] = open(name, O_RDONLY);
        if (LEFT[i].locked) assert_int_equal(flock(lock[i], LOCK_EX), 0);
    }
    assert_int_equal(file_write(FILE_NAME, put_text, "new"), 0);
    for (size_t i = 0; i < COUNT; i++) {
        snprintf(name, sizeof name, ".girsanov-%s-%ld%s", LEFT[i].host,
                 LEFT[i].process, LEFT[i].rest);
        if (access(name, F_OK) != (LEFT[i].gone ? -1 : 0)) fail_msg("%s", name);
        close(lock[i]);
        unlink(name);
    }
}

/* Two drafts of one process, one of them of a file that is let go. */
static void draft__leaves_others_alone(void **state)
{
    (void)state;
    gsv_draft *one = gsv_draft_open(FILE_NAME);
    gsv_draft *two = gsv_draft_open("two");
    assert_non_null(one);
    assert_non_null(two);
    assert_int_equal(write(gsv_draft_descriptor(one), "1", 1), 1);
    assert_int_equal(write(gsv_draft_descriptor(two), "2", 1), 1);
    assert_int_equal(gsv_draft_close(two, false), 0);
    assert_int_equal(access("two", F_OK), -1);
    assert_int_equal(gsv_draft_close(one, true), 0);
    expect_text(FILE_NAME, "1");
    assert_int_equal(gsv_draft_close(NULL, true), 0);
}

static void write__takes_the_longest_name_and_follows_a_new_link(void **state)
{
    (void)state;
    char name[257];
    memset(name, 'n', 256);
    name[255] = 0;
    assert_int_equal(file_write(name, put_text, "long"), 0);
    expect_text(name, "long");
    unlink(name);
    name[255] = 'n', name[256] = 0;
    assert_int_equal(file_write(name, put_text, "long"), GSV_BAD_INPUT);
    assert_int_equal(mkdir("deep", 0777), 0);
    assert_int_equal(symlink("deep/new", "link"), 0);
    assert_int_equal(file_write("link", put_text, "new"), 0);
    expect_text("deep/new", "new");
    unlink("link");
    unlink("deep/new");
    assert_int_equal(rmdir("deep"), 0);
}

static void open__reads_a_pipe_to_its_end(void **state)
{
    (void)state;
    assert_int_equal(mkfifo("pipe", 0666), 0);
    pid_t child = fork();
    if (!child) {
        FILE *out = fopen("pipe", "wb");
        for (int i = 0; out && i < 50000; i++)
            fputs("12345", out);
        _exit(!out || fclose(out));
    }
    size_t size = 0;
    char last[5];
    FILE *in = file_open("pipe", &size);
    assert_non_null(in);
    assert_int_equal(size, 250000);
    assert_int_equal(fseek(in, -5, SEEK_END), 0);
    assert_int_equal(file_take(in, "pipe", last, 5), 0);
    assert_memory_equal(last, "12345", 5);
    fclose(in);
    assert_int_equal(waitpid(child, NULL, 0), child);
    unlink("pipe");
}

static void open__takes_regular_files_alone(void **state)
{
    (void)state;
    size_t size = 0;
    assert_null(file_open("nowhere", &size));
    assert_string_equal(gsv_last_error(),
                        "cannot open nowhere: No such file or directory");
    assert_null(file_open(".", &size));
    assert_string_equal(gsv_last_error(),
                        "cannot read .: it is not a regular file");
    assert_null(file_open("/dev/null", &size));
    assert_int_equal(gsv_last_status(), GSV_BAD_INPUT);
}

static void take__says_when_a_file_shrank(void **state)
{
    (void)state;
    char got[10];
    size_t size = 0;
    assert_int_equal(file_write(FILE_NAME, put_text, "12345"), 0);
    FILE *in = file_open(FILE_NAME, &size);
    assert_non_null(in);
    assert_int_equal(truncate(FILE_NAME, 2), 0);
    assert_int_equal(file_take(in, FILE_NAME, got, size), GSV_BAD_INPUT);
    assert_string_equal(gsv_last_error(), "cannot read out: it became shorter");
    fclose(in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(write__replaces_a_file_and_leaves_no_other),
        cmocka_unit_test(write__finds_its_way_through_folders_and_links),
        cmocka_unit_test(write__keeps_the_mode_of_an_old_file),
        cmocka_unit_test(write__says_why_not),
        cmocka_unit_test(
            write__removes_what_a_dead_process_left_and_nothing_else),
        cmocka_unit_test(draft__leaves_others_alone),
        cmocka_unit_test(write__takes_the_longest_name_and_follows_a_new_link),
        cmocka_unit_test(open__reads_a_pipe_to_its_end),
        cmocka_unit_test(open__takes_regular_files_alone),
        cmocka_unit_test(take__says_when_a_file_shrank),
    };
    return cmocka_run_group_tests(tests, enter_folder, leave_folder);
}
