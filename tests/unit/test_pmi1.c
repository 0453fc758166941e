/* SPDX-License-Identifier: BSD-3-Clause
 * PMI-1: the dialogue that MPICH has from MPI_Init to MPI_Finalize, barriers
 * over nodes, limits.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/limits.h"
#include "pmi/pmi.h"
#include "pmi/pmi_mapping.h"

/* What came out of one engine. */
struct node {
    struct pmi *pmi;
    char out[4][8192]; /* per local process */
    uint8_t blob[8192];
    size_t blob_len;
    int barriers;
    int abort_code;
    int abort_local;
};

static void on_reply(void *arg, uint32_t local, const char *line, size_t len)
{
    struct node *n = arg;

    assert_in_range(local, 0, 3);
    strncat(n->out[local], line, len);
}

static void on_barrier(void *arg, const void *blob, size_t len)
{
    struct node *n = arg;

    assert_in_range(len, 0, sizeof(n->blob));
    if (len > 0)
        memcpy(n->blob, blob, len);
    n->blob_len = len;
    n->barriers++;
}

static void on_abort(void *arg, uint32_t local, int code)
{
    struct node *n = arg;

    n->abort_code = code;
    n->abort_local = (int)local;
}

static const struct pmi_ops ops = {on_reply, on_barrier, on_abort};

static void node_start(struct node *n, uint32_t size, uint32_t nlocal)
{
    struct pmi_config config = {.kvsname = "kvs_0",
                                .mapping = "(vector,(0,1,2))",
                                .size = size,
                                .nlocal = nlocal,
                                .universe = size,
                                .appnum = 3};

    memset(n, 0, sizeof(*n));
    n->pmi = pmi_create(&config, &ops, n);
    assert_non_null(n->pmi);
}

static int say(struct node *n, uint32_t local, const char *text)
{
    n->out[local][0] = '\0';
    return pmi_input(n->pmi, local, text, strlen(text), NULL);
}

/* One command and its one answer. */
static void dialogue(struct node *n, uint32_t local, const char *text,
                     const char *want)
{
    assert_int_equal(say(n, local, text), 0);
    assert_string_equal(n->out[local], want);
}

static void init_all(struct node *n, uint32_t nlocal)
{
    for (uint32_t i = 0; i < nlocal; i++)
        dialogue(n, i, "cmd=init pmi_version=1 pmi_subversion=1\n",
                 "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
}

static void finish_barrier(struct node *n)
{
    struct pmi_blob blob = {n->blob, n->blob_len};

    assert_int_equal(pmi_barrier_done(n->pmi, &blob, 1, NULL), 0);
}

static void golden_dialogue_of_mpich(void **state)
{
    struct node n;

    node_start(&n, 2, 2);
    init_all(&n, 2);
    dialogue(&n, 0, "cmd=get_maxes\n",
             "cmd=maxes rc=0 kvsname_max=256 keylen_max=64 "
             "vallen_max=1024\n");
    dialogue(&n, 0, "cmd=get_appnum\n", "cmd=appnum rc=0 appnum=3\n");
    dialogue(&n, 0, "cmd=get_my_kvsname\n",
             "cmd=my_kvsname rc=0 kvsname=kvs_0\n");
    dialogue(&n, 0, "cmd=get kvsname=kvs_0 key=PMI_process_mapping\n",
             "cmd=get_result rc=0 msg=success value=(vector,(0,1,2))\n");
    dialogue(&n, 0, "cmd=put kvsname=kvs_0 key=-bcast-1-0 value=2F64\n",
             "cmd=put_result rc=0 msg=success\n");
    dialogue(&n, 0, "cmd=barrier_in\n", "");
    assert_int_equal(n.barriers, 0);
    dialogue(&n, 1, "cmd=barrier_in\n", "");
    assert_int_equal(n.barriers, 1);
    finish_barrier(&n);
    assert_string_equal(n.out[0], "cmd=barrier_out\n");
    assert_string_equal(n.out[1], "cmd=barrier_out\n");
    dialogue(&n, 1, "cmd=get kvsname=kvs_0 key=-bcast-1-0\n",
             "cmd=get_result rc=0 msg=success value=2F64\n");
    dialogue(&n, 1, "cmd=get_universe_size\n",
             "cmd=universe_size rc=0 size=2\n");
    assert_false(pmi_finalized(n.pmi, 1));
    dialogue(&n, 1, "cmd=finalize\n", "cmd=finalize_ack rc=0\n");
    assert_true(pmi_finalized(n.pmi, 1));
    assert_false(pmi_finalized(n.pmi, 0));
    pmi_destroy(n.pmi);
}

static void missing_key_answers_rc_minus_one(void **state)
{
    struct node n;

    node_start(&n, 1, 1);
    init_all(&n, 1);
    dialogue(&n, 0, "cmd=get kvsname=kvs_0 key=nobody\n",
             "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    dialogue(&n, 0, "cmd=get kvsname=other key=PMI_process_mapping\n",
             "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
    pmi_destroy(n.pmi);
}

static void barrier_over_three_nodes_spreads_every_key(void **state)
{
    struct node n[3];
    struct pmi_blob blobs[3];
    char put[64], get[64], want[96];

    for (int i = 0; i < 3; i++) {
        node_start(&n[i], 3, 1);
        init_all(&n[i], 1);
        snprintf(put, sizeof(put), "cmd=put kvsname=kvs_0 key=k%d value=v%d\n",
                 i, i);
        assert_int_equal(say(&n[i], 0, put), 0);
        assert_int_equal(say(&n[i], 0, "cmd=barrier_in\n"), 0);
        assert_int_equal(n[i].barriers, 1);
        blobs[i] = (struct pmi_blob){n[i].blob, n[i].blob_len};
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(pmi_barrier_done(n[i].pmi, blobs, 3, NULL), 0);
    for (int i = 0; i < 9; i++) {
        snprintf(get, sizeof(get), "cmd=get kvsname=kvs_0 key=k%d\n", i % 3);
        snprintf(want, sizeof(want),
                 "cmd=get_result rc=0 msg=success value=v%d\n", i % 3);
        dialogue(&n[i / 3], 0, get, want);
    }
    assert_int_equal(say(&n[0], 0, "cmd=barrier_in\n"), 0);
    assert_int_equal(n[0].blob_len, 0); /* nothing new: nothing is sent */
    for (int i = 0; i < 3; i++)
        pmi_destroy(n[i].pmi);
}

static void lines_may_come_in_any_pieces(void **state)
{
    const char *text = "cmd=init pmi_version=1 pmi_subversion=1\n"
                       "cmd=get_appnum\ncmd=get_";
    struct node n;

    node_start(&n, 1, 1);
    for (const char *c = text; *c; c++)
        assert_int_equal(pmi_input(n.pmi, 0, c, 1, NULL), 0);
    assert_string_equal(
        n.out[0], "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
                  "cmd=appnum rc=0 appnum=3\n");
    pmi_destroy(n.pmi);
}

static void abort_gives_the_exit_code(void **state)
{
    struct node n;

    node_start(&n, 2, 2);
    init_all(&n, 2);
    dialogue(&n, 1, "cmd=abort exitcode=42\n", "");
    assert_int_equal(n.abort_code, 42);
    assert_int_equal(n.abort_local, 1);
    pmi_destroy(n.pmi);
}

/* MPICH 4.1 and later say why, in words and lines as they come. */
static void abort_may_have_a_message(void **state)
{
    static char text[4 * SF_PMI1_LINE_MAX];
    struct node n;

    node_start(&n, 3, 3);
    init_all(&n, 3);
    dialogue(&n, 1,
             "cmd=abort exitcode=42 message=application called "
             "MPI_Abort(MPI_COMM_WORLD, 42) - process 1\n",
             "");
    assert_int_equal(n.abort_code, 42);
    assert_int_equal(n.abort_local, 1);
    /* what is left of the message is no command */
    dialogue(&n, 1, "Other MPI error\ncmd=get_appnum\ncmd=abort exitcode=7\n",
             "");
    assert_int_equal(n.abort_code, 42);

    memset(text, 'x', sizeof(text) - 1);
    memcpy(text, "cmd=abort exitcode=3 message=", 29);
    dialogue(&n, 2, text, "");
    assert_int_equal(n.abort_code, 3);
    assert_int_equal(n.abort_local, 2);
    dialogue(&n, 0, "cmd=get_appnum\n", "cmd=appnum rc=0 appnum=3\n");
    pmi_destroy(n.pmi);
}

static void spawn_is_refused_and_the_program_goes_on(void **state)
{
    struct node n;

    node_start(&n, 1, 1);
    init_all(&n, 1);
    dialogue(&n, 0,
             "mcmd=spawn\nnprocs=2\nexecname=./child\nany words\nendcmd\n",
             "cmd=spawn_result rc=-1 msg=not_supported\n");
    dialogue(&n, 0, "cmd=get_appnum\n", "cmd=appnum rc=0 appnum=3\n");
    dialogue(&n, 0, "cmd=publish_name service=x port=y\n",
             "cmd=publish_result rc=-1 msg=not_supported\n");
    pmi_destroy(n.pmi);
}

static void refused(const char *text, int code)
{
    struct node n;
    struct errbuf err = {""};

    node_start(&n, 2, 2);
    init_all(&n, 1);
    assert_int_equal(pmi_input(n.pmi, 0, text, strlen(text), &err), -1);
    assert_int_equal(errno, code);
    assert_string_not_equal(err.text, "");
    pmi_destroy(n.pmi);
}

static void what_is_not_pmi_is_refused(void **state)
{
    struct node n;

    refused("hello\n", EPROTO);
    refused("\n", EPROTO);
    refused("cmd=nonsense\n", EPROTO);
    refused("key=value\n", EPROTO);
    refused("=x cmd=get_maxes\n", EPROTO);
    refused("cmd=init pmi_version=1 pmi_subversion=1\n", EPROTO);
    refused("cmd=put kvsname=kvs_0 key=a\n", EPROTO);
    refused("cmd=barrier_in\ncmd=barrier_in\n", EPROTO);
    node_start(&n, 1, 1);
    assert_int_equal(say(&n, 0, "cmd=get_maxes\n"), -1); /* before init */
    assert_int_equal(say(&n, 0, "cmd=init pmi_version=3\n"), -1);
    pmi_destroy(n.pmi);
}

static void longest_value_fits_and_one_more_does_not(void **state)
{
    char text[SF_PMI1_LINE_MAX + 64], value[SF_PMI_VALUE_MAX + 2];
    struct node n;

    memset(value, 'F', sizeof(value));
    value[SF_PMI_VALUE_MAX] = '\0';
    snprintf(text, sizeof(text), "cmd=put kvsname=kvs_0 key=k value=%s\n",
             value);
    node_start(&n, 1, 1);
    init_all(&n, 1);
    dialogue(&n, 0, text, "cmd=put_result rc=0 msg=success\n");
    pmi_destroy(n.pmi);
    value[SF_PMI_VALUE_MAX] = 'F';
    value[SF_PMI_VALUE_MAX + 1] = '\0';
    snprintf(text, sizeof(text), "cmd=put kvsname=kvs_0 key=k value=%s\n",
             value);
    refused(text, EMSGSIZE);
    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    refused(text, EMSGSIZE);
}

static void foreign_blob_is_checked(void **state)
{
    const uint8_t bad[] = {0, 1, 'k', 0, 9, 'v'};
    struct pmi_blob blob = {bad, sizeof(bad)};
    struct node n;

    node_start(&n, 1, 1);
    assert_int_equal(pmi_barrier_done(n.pmi, &blob, 1, NULL), -1);
    assert_int_equal(errno, EINVAL);
    init_all(&n, 1);
    assert_int_equal(say(&n, 0, "cmd=barrier_in\n"), 0);
    assert_int_equal(pmi_barrier_done(n.pmi, &blob, 1, NULL), -1);
    assert_int_equal(errno, EPROTO);
    pmi_destroy(n.pmi);
}

/* Also those that have not come to the barrier yet, and when the other nodes'
 * part comes after all. */
static void who_leaves_waits_for_nobody(void **state)
{
    struct pmi_blob blob = {"", 0};
    struct node n;

    node_start(&n, 4, 3);
    init_all(&n, 3);
    dialogue(&n, 0, "cmd=barrier_in\n", "");
    n.out[0][0] = n.out[1][0] = '\0';
    pmi_leave(n.pmi);
    assert_string_equal(n.out[0], "cmd=barrier_out\n");
    assert_string_equal(n.out[1], "");
    dialogue(&n, 1, "cmd=barrier_in\n", "cmd=barrier_out\n");
    dialogue(&n, 0, "cmd=barrier_in\n", "cmd=barrier_out\n");
    assert_int_equal(n.barriers, 0);
    dialogue(&n, 0, "cmd=finalize\n", "cmd=finalize_ack rc=0\n");
    pmi_destroy(n.pmi);

    node_start(&n, 4, 1);
    init_all(&n, 1);
    dialogue(&n, 0, "cmd=barrier_in\n", "");
    assert_int_equal(n.barriers, 1);
    n.out[0][0] = '\0';
    pmi_leave(n.pmi);
    assert_string_equal(n.out[0], "cmd=barrier_out\n");
    n.out[0][0] = '\0';
    assert_int_equal(pmi_barrier_done(n.pmi, &blob, 1, NULL), 0);
    assert_string_equal(n.out[0], "");
    pmi_destroy(n.pmi);
}

static void mapping_is(const uint32_t *node, uint32_t size, const char *want)
{
    char *text = pmi_mapping(node, size);

    assert_non_null(text);
    assert_string_equal(text, want);
    free(text);
}

static void mapping_of_block_cyclic_and_uneven_nodes(void **state)
{
    mapping_is((uint32_t[]){0, 0}, 2, "(vector,(0,1,2))");
    mapping_is((uint32_t[]){3, 3, 5, 5}, 4, "(vector,(0,2,2))");
    mapping_is((uint32_t[]){0, 1, 2, 0, 1}, 5, "(vector,(0,3,1),(0,2,1))");
    mapping_is((uint32_t[]){7, 7, 7, 2}, 4, "(vector,(0,1,3),(1,1,1))");
    mapping_is(NULL, 0, "(vector)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_dialogue_of_mpich),
        cmocka_unit_test(missing_key_answers_rc_minus_one),
        cmocka_unit_test(barrier_over_three_nodes_spreads_every_key),
        cmocka_unit_test(lines_may_come_in_any_pieces),
        cmocka_unit_test(abort_gives_the_exit_code),
        cmocka_unit_test(abort_may_have_a_message),
        cmocka_unit_test(spawn_is_refused_and_the_program_goes_on),
        cmocka_unit_test(what_is_not_pmi_is_refused),
        cmocka_unit_test(longest_value_fits_and_one_more_does_not),
        cmocka_unit_test(foreign_blob_is_checked),
        cmocka_unit_test(who_leaves_waits_for_nobody),
        cmocka_unit_test(mapping_of_block_cyclic_and_uneven_nodes),
    };

    return cmocka_run_group_tests_name("pmi1", tests, NULL, NULL);
}
