/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The health table: what is written is read, and what is torn, truncated or
 * absent is told apart.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "health/table.h"

static struct health_table_node nodes[] = {
    {"n7", HEALTH_FLAPPING, 1700000000001, 9, 1, 0, "echo losses"},
    {"n10", HEALTH_DOWN, 1700000000000, 1, 3, 2, "mute"},
    {"n2", HEALTH_UNKNOWN, 0, 0, 1, 0, ""},
};

static struct health_table sample(void)
{
    return (struct health_table){1700000005000, 100, 97, nodes, 3};
}

static void a_table_comes_back_as_it_went(void **state)
{
    struct health_table in = sample(), out;
    const struct health_table_node *n;
    struct errbuf err;
    size_t len;
    char *text = health_table_encode(&in, &len);

    assert_non_null(text);
    assert_int_equal(health_table_decode(&out, text, len, &err), 0);
    assert_int_equal(out.written, 1700000005000);
    assert_int_equal(out.nodes, 100);
    assert_int_equal(out.healthy, 97);
    assert_int_equal(out.n, 3);
    n = health_table_find(&out, "n10");
    assert_non_null(n);
    assert_int_equal(n->state, HEALTH_DOWN);
    assert_int_equal(n->refuse, 2);
    assert_string_equal(n->why, "mute");
    assert_string_equal(health_table_find(&out, "n7")->why, "echo losses");
    assert_null(health_table_find(&out, "n1"));
    health_table_free(&out);
    free(text);
}

static void every_cut_is_noticed(void **state)
{
    struct health_table in = sample(), out;
    struct errbuf err;
    size_t len;
    char *text = health_table_encode(&in, &len);

    for (size_t cut = 0; cut < len; cut++) {
        assert_int_equal(health_table_decode(&out, text, cut, &err), -1);
        assert_int_equal(errno, EBADMSG);
        assert_null(out.list);
    }
    /* the NUL behind it is no part of it */
    assert_int_equal(health_table_decode(&out, text, len + 1, &err), -1);
    assert_string_equal(err.text, "health table: truncated, or longer than its "
                                  "header says");
    free(text);
}

static void every_changed_byte_is_noticed(void **state)
{
    struct health_table in = sample(), out;
    struct errbuf err;
    size_t len;
    char *text = health_table_encode(&in, &len);

    for (size_t at = 0; at < len; at++) {
        text[at] ^= 0x11;
        assert_int_equal(health_table_decode(&out, text, len, &err), -1);
        text[at] ^= 0x11;
    }
    free(text);
}

static void another_version_is_told(void **state)
{
    static const char text[] = "SFHEALTH 2 0000000000 00000000\n";
    struct health_table out;
    struct errbuf err;

    assert_int_equal(health_table_decode(&out, text, sizeof(text) - 1, &err),
                     -1);
    assert_int_equal(errno, EPROTO);
}

struct place {
    char dir[64], path[96];
    struct health_table_reader reader;
};

static int up(void **state)
{
    struct place *p = calloc(1, sizeof(*p));

    strcpy(p->dir, "/tmp/tableXXXXXX");
    assert_non_null(mkdtemp(p->dir));
    snprintf(p->path, sizeof(p->path), "%s/health", p->dir);
    *state = p;
    return 0;
}

static int down(void **state)
{
    struct place *p = *state;

    health_table_reader_free(&p->reader);
    unlink(p->path);
    rmdir(p->dir);
    free(p);
    return 0;
}

static void put(const char *path, const char *text, size_t len)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    assert_int_equal(write(fd, text, len), len);
    close(fd);
}

static void read_only_when_changed(void **state)
{
    struct place *p = *state;
    struct health_table t = sample();
    struct errbuf err;

    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_ABSENT);
    assert_int_equal(health_table_write(p->path, &t, &err), 0);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_NEW);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_SAME);
    t.n = 1;
    assert_int_equal(health_table_write(p->path, &t, &err), 0);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_NEW);
    assert_int_equal(p->reader.table.n, 1);
}

static void a_bad_file_keeps_the_last_good_table(void **state)
{
    struct place *p = *state;
    struct health_table t = sample();
    struct errbuf err;

    health_table_write(p->path, &t, &err);
    health_table_look(&p->reader, p->path, &err);
    put(p->path, "SFHEALTH 1 00000", 16);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_BAD);
    assert_ptr_equal(strstr(err.text, p->path), err.text);
    assert_non_null(strstr(err.text, ": health table: cut off in its header"));
    assert_true(p->reader.known);
    assert_int_equal(p->reader.table.n, 3);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_SAME); /* and is not read again */
    unlink(p->path);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_ABSENT);
    assert_int_equal(p->reader.table.n, 3);
}

static void a_name_that_is_no_file_does_not_block(void **state)
{
    struct place *p = *state;
    struct errbuf err;

    assert_int_equal(mkfifo(p->path, 0644), 0);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_BAD);
    unlink(p->path);
    assert_int_equal(mkdir(p->path, 0755), 0);
    assert_int_equal(health_table_look(&p->reader, p->path, &err),
                     HEALTH_TABLE_BAD);
    rmdir(p->path);
}

static void a_directory_that_is_not_there_is_told(void **state)
{
    struct health_table t = sample();
    struct errbuf err;

    assert_int_equal(health_table_write("/nonexistent/t", &t, &err), -1);
    assert_int_equal(errno, ENOENT);
}

#define T(f) cmocka_unit_test_setup_teardown(f, up, down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_comes_back_as_it_went),
        cmocka_unit_test(every_cut_is_noticed),
        cmocka_unit_test(every_changed_byte_is_noticed),
        cmocka_unit_test(another_version_is_told),
        T(read_only_when_changed),
        T(a_bad_file_keeps_the_last_good_table),
        T(a_name_that_is_no_file_does_not_block),
        cmocka_unit_test(a_directory_that_is_not_there_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
