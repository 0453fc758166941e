/* SPDX-License-Identifier: BSD-3-Clause
 * Whole files: what is read, what is refused, what a failed write leaves.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

static char dir[] = "/tmp/test_file.XXXXXX";
static struct errbuf err;

static char *in(const char *name)
{
    static char path[4][128];
    static int turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
    return p;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in(name), "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static void expect_text(const char *name, const char *expected)
{
    size_t len;
    char *text = file_read(in(name), 100000, 0, &len, &err);

    assert_non_null(text);
    assert_string_equal(text, expected);
    assert_int_equal(len, strlen(expected));
    free(text);
}

static void expect_refused(const char *name, size_t max, unsigned flags,
                           int why)
{
    size_t len = 1;

    err.text[0] = '\0';
    errno = 0;
    assert_null(file_read(in(name), max, flags, &len, &err));
    assert_int_equal(errno, why);
    assert_int_equal(len, 0);
    assert_non_null(strstr(err.text, in(name)));
}

static void the_whole_of_a_file_is_read(void **state)
{
    put("some", "a\nb\n");
    expect_text("some", "a\nb\n");
    put("empty", "");
    expect_text("empty", "");
}

static void a_file_may_be_as_long_as_the_limit(void **state)
{
    char *text;

    put("eight", "12345678");
    text = file_read(in("eight"), 8, 0, NULL, NULL);
    assert_string_equal(text, "12345678");
    free(text);
    expect_refused("eight", 7, 0, EFBIG);
    expect_refused("eight", 7, FILE_ANY, EFBIG);
}

/* Files of /proc say that they are empty. */
static void a_file_that_does_not_say_its_size_is_read(void **state)
{
    size_t len;
    char *text = file_read("/proc/self/status", 100000, 0, &len, &err);

    assert_non_null(text);
    assert_non_null(strstr(text, "Name:\ttest_file"));
    assert_int_equal(len, strlen(text));
    free(text);
}

static void what_is_no_file_is_not_waited_for(void **state)
{
    assert_int_equal(mkfifo(in("fifo"), 0600), 0);
    expect_refused("fifo", 100, 0, EINVAL);
    expect_refused("", 100, 0, EINVAL); /* the directory */
    expect_refused("", 100, FILE_ANY, EISDIR);
    expect_refused("nothing", 100, 0, ENOENT);
}

static void a_pipe_is_read_where_that_is_asked_for(void **state)
{
    static char big[70000];
    char path[32], *text;
    size_t len;
    int fd[2];

    assert_int_equal(pipe(fd), 0);
    memset(big, 'x', sizeof(big) - 1);
    if (fork() == 0) {
        close(fd[0]);
        _exit(write(fd[1], big, sizeof(big) - 1) == sizeof(big) - 1 ? 0 : 1);
    }
    close(fd[1]);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd[0]);
    text = file_read(path, sizeof(big), FILE_ANY, &len, &err);
    assert_non_null(text);
    assert_int_equal(len, sizeof(big) - 1);
    assert_string_equal(text, big);
    free(text);
    close(fd[0]);
}

static void a_link_is_followed_unless_it_is_refused(void **state)
{
    put("target", "here");
    assert_int_equal(symlink("target", in("link")), 0);
    expect_text("link", "here");
    expect_refused("link", 100, FILE_NO_LINK, ELOOP);
}

static mode_t mode_of(const char *name)
{
    struct stat st;

    assert_int_equal(stat(in(name), &st), 0);
    return st.st_mode & 07777;
}

static void a_file_is_replaced_whole_with_its_mode(void **state)
{
    mode_t old = umask(077);

    assert_int_equal(file_replace(in("f"), "one", 3, 0644, 0, &err), 0);
    assert_int_equal(mode_of("f"), 0644);
    assert_int_equal(
        file_replace(in("f"), "two, longer", 11, 0666, FILE_UMASK, &err), 0);
    assert_int_equal(mode_of("f"), 0600);
    expect_text("f", "two, longer");
    assert_int_equal(file_replace(in("f"), "", 0, 0600, FILE_DURABLE, &err), 0);
    expect_text("f", "");
    assert_int_equal(access(in("f.new"), F_OK), -1);
    umask(old);
}

/* Who may write there may have put a link to somewhere else. */
static void what_stands_beside_it_is_not_written_to(void **state)
{
    put("victim", "mine");
    assert_int_equal(symlink("victim", in("g.new")), 0);
    assert_int_equal(file_replace(in("g"), "new", 3, 0644, 0, &err), 0);
    expect_text("victim", "mine");
    expect_text("g", "new");
}

static void a_write_that_fails_leaves_the_old_file(void **state)
{
    assert_int_equal(file_replace(in("no/h"), "x", 1, 0644, 0, &err), -1);
    assert_int_equal(errno, ENOENT);
    assert_non_null(strstr(err.text, in("no/h")));
    assert_int_equal(mkdir(in("full"), 0755), 0); /* cannot be replaced */
    assert_int_equal(file_replace(in("full"), "x", 1, 0644, 0, &err), -1);
    assert_int_equal(errno, EISDIR);
    assert_int_equal(access(in("full.new"), F_OK), -1);
}

static int make_dir(void **state)
{
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_of_a_file_is_read),
        cmocka_unit_test(a_file_may_be_as_long_as_the_limit),
        cmocka_unit_test(a_file_that_does_not_say_its_size_is_read),
        cmocka_unit_test(what_is_no_file_is_not_waited_for),
        cmocka_unit_test(a_pipe_is_read_where_that_is_asked_for),
        cmocka_unit_test(a_link_is_followed_unless_it_is_refused),
        cmocka_unit_test(a_file_is_replaced_whole_with_its_mode),
        cmocka_unit_test(what_stands_beside_it_is_not_written_to),
        cmocka_unit_test(a_write_that_fails_leaves_the_old_file),
    };

    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
