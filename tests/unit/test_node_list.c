/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The names of a step's nodes for the environment of its tasks: each node's
 * name is found in what is passed on, however many there are, and one variable
 * never grows beyond what the kernel takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/host_names.h"
#include "base/limits.h"
#include "plugins/mpi_impi/node_list.h"
#include "slurmabi/slurm_sym.h"

/* Slurm's lists of hosts, by ours. */
struct hostlist {
    struct host_names names;
    uint32_t next;
};

struct hostlist *slurm_hostlist_create(const char *text)
{
    struct hostlist *h = calloc(1, sizeof(*h));

    assert_int_equal(
        host_names_expand(&h->names, text, SF_HOST_NAMES_MAX, NULL), 0);
    return h;
}

char *slurm_hostlist_shift(struct hostlist *h)
{
    return h->next < h->names.n ? strdup(h->names.name[h->next++]) : NULL;
}

void slurm_hostlist_destroy(struct hostlist *h)
{
    host_names_free(&h->names);
    free(h);
}

static void expect_nth(const char *list, uint32_t i, const char *name)
{
    char found[64];

    assert_true(host_names_nth(list, i, found, sizeof(found)));
    assert_string_equal(found, name);
}

static void few_nodes_are_named_one_by_one(void **state)
{
    char *list = impi_node_list("n[0-2],login");

    assert_string_equal(list, "n0,n1,n2,login");
    free(list);
}

/* 12 288 names of eight bytes with their commas are the most that fit; a node
 * more, and the list stays as Slurm has it. */
static void a_list_over_96_kib_stays_as_slurm_has_it(void **state)
{
    char *list = impi_node_list("n[000001-012288]");

    assert_int_equal(strlen(list), IMPI_NODE_LIST_MAX - 1);
    expect_nth(list, 12287, "n012288");
    free(list);
    list = impi_node_list("n[000001-012289]");
    assert_string_equal(list, "n[000001-012289]");
    expect_nth(list, 0, "n000001");
    expect_nth(list, 12288, "n012289");
    free(list);
    list = impi_node_list("n[000001-065536]");
    assert_string_equal(list, "n[000001-065536]");
    expect_nth(list, 65535, "n065536");
    free(list);
}

/* Of 65 536 nodes every other one: Slurm's own list is too long, too. */
static void a_list_that_slurm_cannot_shorten_is_left_out(void **state)
{
    char *text = NULL, *list;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    fputs("n[0", f);
    for (int i = 2; i < 65536; i += 2)
        fprintf(f, ",%d", i);
    fputs("]", f);
    fclose(f);
    assert_true(len > IMPI_NODE_LIST_MAX);
    list = impi_node_list(text);
    assert_string_equal(list, "");
    free(list);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(few_nodes_are_named_one_by_one),
        cmocka_unit_test(a_list_over_96_kib_stays_as_slurm_has_it),
        cmocka_unit_test(a_list_that_slurm_cannot_shorten_is_left_out),
    };

    return cmocka_run_group_tests_name("node list", tests, NULL, NULL);
}
