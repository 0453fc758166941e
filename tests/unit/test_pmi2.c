/* SPDX-License-Identifier: BSD-3-Clause
 * PMI-2: the dialogues that MPICH and Slurm's libpmi2 have from MPI_Init to
 * MPI_Finalize, fences over nodes, attributes of a node that others wait for,
 * limits.
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

static void on_reply(void *arg, uint32_t local, const char *bytes, size_t len)
{
    struct node *n = arg;

    assert_in_range(local, 0, 3);
    strncat(n->out[local], bytes, len);
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

/* Ranks first, first + 2, .. of the client are here. */
static void node_start(struct node *n, uint32_t size, uint32_t nlocal,
                       uint32_t first)
{
    uint32_t ranks[4] = {first, first + 2, first + 4, first + 6};
    struct pmi_config config = {.kvsname = "kvs_0",
                                .mapping = "(vector,(0,1,2))",
                                .size = size,
                                .nlocal = nlocal,
                                .ranks = ranks,
                                .universe = size,
                                .appnum = 3};

    memset(n, 0, sizeof(*n));
    n->pmi = pmi_create(&config, &ops, n);
    assert_non_null(n->pmi);
}

static int say(struct node *n, uint32_t local, const char *bytes)
{
    n->out[local][0] = '\0';
    return pmi_input(n->pmi, local, bytes, strlen(bytes), NULL);
}

/* With its length before it. */
static int ask(struct node *n, uint32_t local, const char *words)
{
    static char message[SF_PMI2_MESSAGE_MAX + 16];

    snprintf(message, sizeof(message), "%6zu%s", strlen(words), words);
    return say(n, local, message);
}

static void assert_answer(const struct node *n, uint32_t local,
                          const char *want)
{
    char message[8192];

    snprintf(message, sizeof(message), "%-6zu%s", strlen(want), want);
    assert_string_equal(n->out[local], message);
}

/* One request and its one answer. */
static void dialogue(struct node *n, uint32_t local, const char *words,
                     const char *want)
{
    assert_int_equal(ask(n, local, words), 0);
    assert_answer(n, local, want);
}

#define INIT "cmd=init pmi_version=2 pmi_subversion=0\n"
#define INIT_ANSWER "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"

static void init_all(struct node *n, uint32_t nlocal)
{
    for (uint32_t i = 0; i < nlocal; i++) {
        assert_int_equal(say(n, i, INIT), 0);
        assert_string_equal(n->out[i], INIT_ANSWER);
        assert_int_equal(ask(n, i, "cmd=fullinit;pmirank=0;threaded=FALSE;"),
                         0);
    }
}

static void finish_fence(struct node *n)
{
    struct pmi_blob blob = {n->blob, n->blob_len};

    assert_int_equal(pmi_barrier_done(n->pmi, &blob, 1, NULL), 0);
}

static void refused_bytes(const void *bytes, size_t len, int code)
{
    struct node n;
    struct errbuf err = {""};

    node_start(&n, 2, 2, 0);
    init_all(&n, 1);
    assert_int_equal(pmi_input(n.pmi, 0, bytes, len, &err), -1);
    assert_int_equal(errno, code);
    assert_string_not_equal(err.text, "");
    pmi_destroy(n.pmi);
}

static void refused(const char *bytes, int code)
{
    refused_bytes(bytes, strlen(bytes), code);
}

#define FENCED "cmd=kvs-fence-response;rc=0;"

/* libpmi2 puts the length to the left of its six characters, MPICH to the
 * right. */
static void golden_dialogue_of_libpmi2(void **state)
{
    struct node n;

    node_start(&n, 4, 2, 1);
    assert_int_equal(say(&n, 0, INIT), 0);
    assert_string_equal(n.out[0], INIT_ANSWER);
    assert_false(pmi_initialized(n.pmi, 0));
    assert_int_equal(say(&n, 0, "38    cmd=fullinit;pmirank=0;threaded=FALSE;"),
                     0);
    assert_answer(&n, 0,
                  "cmd=fullinit-response;rc=0;pmi-version=2;"
                  "pmi-subversion=0;rank=1;size=4;appnum=3;debugged=FALSE;"
                  "pmiverbose=FALSE;");
    assert_true(pmi_initialized(n.pmi, 0));
    assert_int_equal(say(&n, 1, INIT), 0);
    assert_int_equal(say(&n, 1, "    38cmd=fullinit;pmirank=9;threaded=FALSE;"),
                     0);
    assert_non_null(strstr(n.out[1], ";rank=3;size=4;"));
    dialogue(&n, 0, "cmd=job-getid;",
             "cmd=job-getid-response;rc=0;jobid=kvs_0;");
    dialogue(&n, 0, "cmd=info-getjobattr;key=PMI_process_mapping;",
             "cmd=info-getjobattr-response;rc=0;found=TRUE;"
             "value=(vector,(0,1,2));");
    dialogue(&n, 0, "cmd=info-getjobattr;key=universeSize;",
             "cmd=info-getjobattr-response;rc=0;found=TRUE;value=4;");
    dialogue(&n, 0, "cmd=info-getjobattr;key=hasNameServ;",
             "cmd=info-getjobattr-response;rc=0;found=FALSE;");
    dialogue(&n, 0, "cmd=kvs-put;key=P0-bc;value=2F64;",
             "cmd=kvs-put-response;rc=0;");
    dialogue(&n, 1, "cmd=kvs-put;key=P1-bc;value=;",
             "cmd=kvs-put-response;rc=0;");
    assert_int_equal(ask(&n, 0, "cmd=kvs-fence;"), 0);
    assert_string_equal(n.out[0], "");
    assert_true(pmi_waits(n.pmi, 0));
    assert_int_equal(n.barriers, 0);
    assert_int_equal(ask(&n, 1, "cmd=kvs-fence;"), 0);
    assert_int_equal(n.barriers, 1);
    finish_fence(&n);
    assert_answer(&n, 0, FENCED);
    assert_answer(&n, 1, FENCED);
    dialogue(&n, 1, "cmd=kvs-get;jobid=kvs_0;srcid=-1;key=P0-bc;",
             "cmd=kvs-get-response;rc=0;found=TRUE;value=2F64;");
    dialogue(&n, 0, "cmd=kvs-get;jobid=;srcid=3;key=P1-bc;",
             "cmd=kvs-get-response;rc=0;found=TRUE;value=;");
    dialogue(&n, 0, "cmd=kvs-get;jobid=kvs_1;srcid=-1;key=P0-bc;",
             "cmd=kvs-get-response;rc=0;found=FALSE;");
    dialogue(&n, 0, "cmd=kvs-get;srcid=-1;key=-NONEXIST-KEY;",
             "cmd=kvs-get-response;rc=0;found=FALSE;");
    assert_false(pmi_finalized(n.pmi, 1));
    dialogue(&n, 1, "cmd=finalize;", "cmd=finalize-response;rc=0;");
    assert_true(pmi_finalized(n.pmi, 1));
    assert_false(pmi_finalized(n.pmi, 0));
    pmi_destroy(n.pmi);
}

static void semicolons_are_doubled_both_ways(void **state)
{
    struct node n;

    node_start(&n, 2, 2, 0);
    init_all(&n, 2);
    dialogue(&n, 0, "cmd=kvs-put;key=k;value=;;a;;;;b=c;;;",
             "cmd=kvs-put-response;rc=0;");
    dialogue(&n, 1, "cmd=kvs-get;key=k;",
             "cmd=kvs-get-response;rc=0;found=TRUE;value=;;a;;;;b=c;;;");
    dialogue(&n, 1, "cmd=kvs-put;key=l;value=words and\nlines;",
             "cmd=kvs-put-response;rc=0;");
    dialogue(&n, 0, "cmd=kvs-get;key=l;",
             "cmd=kvs-get-response;rc=0;found=TRUE;value=words and\nlines;");
    pmi_destroy(n.pmi);
}

static void fence_over_three_nodes_spreads_every_key(void **state)
{
    struct node n[3];
    struct pmi_blob blobs[3];
    char put[64], get[64], want[96];

    for (uint32_t i = 0; i < 3; i++) {
        node_start(&n[i], 3, 1, i);
        init_all(&n[i], 1);
        snprintf(put, sizeof(put), "cmd=kvs-put;key=k%u;value=v%u;", i, i);
        assert_int_equal(ask(&n[i], 0, put), 0);
        assert_int_equal(ask(&n[i], 0, "cmd=kvs-fence;"), 0);
        assert_int_equal(n[i].barriers, 1);
        blobs[i] = (struct pmi_blob){n[i].blob, n[i].blob_len};
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(pmi_barrier_done(n[i].pmi, blobs, 3, NULL), 0);
    for (int i = 0; i < 9; i++) {
        snprintf(get, sizeof(get), "cmd=kvs-get;key=k%d;", i % 3);
        snprintf(want, sizeof(want),
                 "cmd=kvs-get-response;rc=0;found=TRUE;value=v%d;", i % 3);
        dialogue(&n[i / 3], 0, get, want);
    }
    assert_int_equal(ask(&n[0], 0, "cmd=kvs-fence;"), 0);
    assert_int_equal(n[0].blob_len, 0); /* nothing new: nothing is sent */
    for (int i = 0; i < 3; i++)
        pmi_destroy(n[i].pmi);
}

/* One client, a process of which speaks the other: MPIR_CVAR_PMI_VERSION. */
static void both_protocols_meet_in_one_barrier(void **state)
{
    struct node n;

    node_start(&n, 2, 2, 0);
    init_all(&n, 1);
    assert_int_equal(say(&n, 1, "cmd=init pmi_version=1 pmi_subversion=1\n"),
                     0);
    assert_int_equal(ask(&n, 0, "cmd=kvs-put;key=two;value=2;"), 0);
    assert_int_equal(say(&n, 1, "cmd=put kvsname=kvs_0 key=one value=1\n"), 0);
    assert_int_equal(ask(&n, 0, "cmd=kvs-fence;"), 0);
    assert_int_equal(say(&n, 1, "cmd=barrier_in\n"), 0);
    assert_int_equal(n.barriers, 1);
    finish_fence(&n);
    assert_answer(&n, 0, FENCED);
    assert_string_equal(n.out[1], "cmd=barrier_out\n");
    dialogue(&n, 0, "cmd=kvs-get;key=one;",
             "cmd=kvs-get-response;rc=0;found=TRUE;value=1;");
    assert_int_equal(say(&n, 1, "cmd=get kvsname=kvs_0 key=two\n"), 0);
    assert_string_equal(n.out[1], "cmd=get_result rc=0 msg=success value=2\n");
    pmi_destroy(n.pmi);
}

/* What PMIX_Ring of libpmi2 does, three ranks on two nodes. */
static void a_ring_gives_each_its_neighbours_values(void **state)
{
    char words[128];
    struct node n[2];
    struct pmi_blob blobs[2];

    node_start(&n[0], 3, 2, 0); /* ranks 0 and 2 */
    node_start(&n[1], 3, 1, 1);
    init_all(&n[0], 2);
    init_all(&n[1], 1);
    for (int round = 0; round < 2; round++) {
        for (uint32_t r = 0; r < 3; r++) {
            snprintf(words, sizeof(words),
                     "cmd=ring;thrid=0x%u;ring-count=1;ring-left=%c%d;;;"
                     "ring-right=%c%d;;;",
                     r, 'a' + (int)r, round, 'A' + (int)r, round);
            assert_int_equal(ask(&n[r == 1], r == 2, words), 0);
        }
        for (int i = 0; i < 2; i++)
            blobs[i] = (struct pmi_blob){n[i].blob, n[i].blob_len};
        n[0].out[0][0] = n[0].out[1][0] = n[1].out[0][0] = '\0';
        for (int i = 0; i < 2; i++)
            assert_int_equal(pmi_barrier_done(n[i].pmi, blobs, 2, NULL), 0);
        snprintf(words, sizeof(words),
                 "cmd=ring-response;thrid=0x0;rc=0;ring-count=0;"
                 "ring-left=C%d;;;ring-right=b%d;;;",
                 round, round);
        assert_answer(&n[0], 0, words);
        snprintf(words, sizeof(words),
                 "cmd=ring-response;thrid=0x1;rc=0;ring-count=1;"
                 "ring-left=A%d;;;ring-right=c%d;;;",
                 round, round);
        assert_answer(&n[1], 0, words);
        snprintf(words, sizeof(words),
                 "cmd=ring-response;thrid=0x2;rc=0;ring-count=2;"
                 "ring-left=B%d;;;ring-right=a%d;;;",
                 round, round);
        assert_answer(&n[0], 1, words);
    }
    pmi_destroy(n[0].pmi);
    pmi_destroy(n[1].pmi);
}

/* Nobody waits for ever, and the program is told. */
static void a_ring_that_is_not_closed_is_an_error(void **state)
{
    static const char open[] =
        "cmd=ring-response;rc=14;errmsg=not all are in the ring;";
    struct node n;

    node_start(&n, 2, 2, 0); /* one of the others is in a fence */
    init_all(&n, 2);
    assert_int_equal(ask(&n, 0, "cmd=ring;ring-left=a;ring-right=b;"), 0);
    assert_int_equal(ask(&n, 1, "cmd=kvs-fence;"), 0);
    n.out[0][0] = '\0';
    finish_fence(&n);
    assert_answer(&n, 0, open);
    assert_answer(&n, 1, FENCED);
    pmi_leave(n.pmi);
    dialogue(&n, 0, "cmd=ring;ring-left=a;ring-right=b;", open);
    pmi_destroy(n.pmi);
    refused("19    cmd=ring;ring-left=;", EPROTO);
}

#define GOT "cmd=info-getnodeattr-response;rc=0;found="

static void who_waits_for_an_attribute_gets_it(void **state)
{
    struct node n;

    node_start(&n, 3, 3, 0);
    init_all(&n, 3);
    dialogue(&n, 1, "cmd=info-getnodeattr;key=seg;wait=FALSE;", GOT "FALSE;");
    dialogue(&n, 1, "cmd=info-getnodeattr;key=seg;", GOT "FALSE;");
    assert_int_equal(ask(&n, 1, "cmd=info-getnodeattr;key=seg;wait=TRUE;"), 0);
    assert_string_equal(n.out[1], "");
    assert_true(pmi_waits(n.pmi, 1));
    assert_false(pmi_waits(n.pmi, 2));
    assert_int_equal(ask(&n, 2, "cmd=info-getnodeattr;key=seg;wait=TRUE;"), 0);
    dialogue(&n, 0, "cmd=info-putnodeattr;key=other;value=1;",
             "cmd=info-putnodeattr-response;rc=0;");
    assert_string_equal(n.out[1], "");
    dialogue(&n, 0, "cmd=info-putnodeattr;key=seg;value=/x;;y;",
             "cmd=info-putnodeattr-response;rc=0;");
    assert_answer(&n, 1, GOT "TRUE;value=/x;;y;");
    assert_answer(&n, 2, GOT "TRUE;value=/x;;y;");
    assert_false(pmi_waits(n.pmi, 1));
    dialogue(&n, 2, "cmd=info-getnodeattr;key=seg;wait=TRUE;",
             GOT "TRUE;value=/x;;y;");
    /* It is this node's, and no key of the job. */
    dialogue(&n, 2, "cmd=kvs-get;key=seg;",
             "cmd=kvs-get-response;rc=0;found=FALSE;");
    pmi_destroy(n.pmi);
}

/* Threads of one process ask at once; who asked stands in the answer. */
static void each_thread_gets_its_own_answer(void **state)
{
    char many[64];
    struct node n;

    node_start(&n, 2, 2, 0);
    init_all(&n, 2);
    dialogue(&n, 0, "cmd=job-getid;thrid=0x7f01;",
             "cmd=job-getid-response;thrid=0x7f01;rc=0;jobid=kvs_0;");
    assert_int_equal(ask(&n, 0, "cmd=kvs-fence;thrid=0x7f02;"), 0);
    assert_int_equal(
        ask(&n, 0, "cmd=info-getnodeattr;thrid=0x7f03;key=a;wait=TRUE;"), 0);
    assert_int_equal(
        ask(&n, 0, "cmd=info-getnodeattr;thrid=0x7f04;key=b;wait=TRUE;"), 0);
    assert_int_equal(ask(&n, 1, "cmd=info-putnodeattr;key=a;value=1;"), 0);
    assert_answer(&n, 0,
                  "cmd=info-getnodeattr-response;thrid=0x7f03;rc=0;found=TRUE;"
                  "value=1;");
    n.out[0][0] = '\0';
    assert_int_equal(ask(&n, 1, "cmd=kvs-fence;thrid=0x7f02;"), 0);
    finish_fence(&n);
    assert_answer(&n, 0, "cmd=kvs-fence-response;thrid=0x7f02;rc=0;");
    for (int i = 1; i < SF_PMI2_WAITS_MAX; i++) {
        snprintf(many, sizeof(many), "cmd=info-getnodeattr;key=k%d;wait=TRUE;",
                 i);
        assert_int_equal(ask(&n, 0, many), 0);
        assert_string_equal(n.out[0], "");
    }
    dialogue(&n, 0, "cmd=info-getnodeattr;key=l;wait=TRUE;",
             "cmd=info-getnodeattr-response;rc=2;errmsg=too many wait;");
    pmi_destroy(n.pmi);
}

static void what_a_step_has_not_is_refused_and_the_program_goes_on(void **state)
{
    static const char *const names[] = {"spawn",        "job-connect",
                                        "name-publish", "name-unpublish",
                                        "name-lookup",  "job-disconnect"};
    char words[128], want[128];
    struct node n;

    node_start(&n, 1, 1, 0);
    init_all(&n, 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(words, sizeof(words),
                 "cmd=%s;ncmds=1;preputcount=0;subcmd=./child;argc=0;",
                 names[i]);
        snprintf(want, sizeof(want),
                 "cmd=%s-response;rc=14;errmsg=not supported;", names[i]);
        dialogue(&n, 0, words, want);
    }
    dialogue(&n, 0, "cmd=job-getid;",
             "cmd=job-getid-response;rc=0;jobid=kvs_0;");
    pmi_destroy(n.pmi);
}

static void abort_gives_the_exit_code(void **state)
{
    struct node n;

    node_start(&n, 3, 3, 0);
    init_all(&n, 3);
    n.abort_local = -1;
    dialogue(&n, 0, "cmd=job-getid;",
             "cmd=job-getid-response;rc=0;jobid=kvs_0;");
    assert_int_equal(ask(&n, 0, "cmd=abort;isworld=FALSE;msg=;"), 0);
    assert_int_equal(n.abort_local, -1);
    assert_int_equal(ask(&n, 1,
                         "cmd=abort;isworld=TRUE;msg=why it, in\n"
                         "words;"),
                     0);
    assert_int_equal(n.abort_code, 1);
    assert_int_equal(n.abort_local, 1);
    /* Nothing else is listened to. */
    assert_int_equal(say(&n, 1, "rubbish"), 0);
    assert_int_equal(ask(&n, 2, "cmd=abort;exitcode=42;message=no;"), 0);
    assert_int_equal(n.abort_code, 42);
    assert_int_equal(n.abort_local, 2);
    pmi_destroy(n.pmi);
}

static void messages_may_come_in_any_pieces(void **state)
{
    const char *text = INIT "23    cmd=fullinit;pmirank=0;"
                            "    14cmd=job-getid;14    cmd=";
    struct node n;

    node_start(&n, 1, 1, 0);
    for (const char *c = text; *c; c++)
        assert_int_equal(pmi_input(n.pmi, 0, c, 1, NULL), 0);
    assert_non_null(strstr(n.out[0], ";rank=0;size=1;"));
    assert_non_null(strstr(n.out[0], "jobid=kvs_0;"));
    pmi_destroy(n.pmi);

    node_start(&n, 1, 1, 0);
    assert_int_equal(say(&n, 0, text), 0);
    assert_non_null(strstr(n.out[0], ";rank=0;size=1;"));
    assert_non_null(strstr(n.out[0], "jobid=kvs_0;"));
    pmi_destroy(n.pmi);
}

static void what_is_not_pmi_is_refused(void **state)
{
    static const char nul[] = "14    cmd=job\0getid;";
    struct node n;

    refused("hello!", EPROTO);
    refused("cmd=init pmi_version=2 pmi_subversion=0\n", EPROTO);
    refused("      ", EPROTO);
    refused("-00014cmd=job-getid;", EPROTO);
    refused("0x0014cmd=job-getid;", EPROTO);
    refused("1 4   cmd=job-getid;", EPROTO);
    refused("0     ", EPROTO);
    refused("13    cmd=job-getid;", EPROTO); /* its end is not there */
    refused("1     ;", EPROTO);
    refused("1     =", EPROTO);
    refused("3     a=b", EPROTO);
    refused("4     a=b;", EPROTO);
    refused("4     =cd;", EPROTO);
    refused("4     cmd;", EPROTO);
    refused("15    cmd=job-getid;;", EPROTO);
    refused("13    cmd=nonsense;", EPROTO);
    refused("18    cmd=job-getid;key;", EPROTO);
    refused_bytes(nul, sizeof(nul) - 1, EPROTO);
    refused("18    cmd=kvs-put;key=a;", EPROTO);
    refused("14    cmd=kvs-fence;14    cmd=kvs-fence;", EPROTO);
    refused("23    cmd=fullinit;pmirank=0;", EPROTO); /* twice */
    refused("14    cmd=finalize;=", EPROTO);
    node_start(&n, 1, 1, 0);
    assert_int_equal(say(&n, 0, INIT "14    cmd=job-getid;"), -1);
    pmi_destroy(n.pmi);
    node_start(&n, 1, 1, 0);
    assert_int_equal(say(&n, 0, "14    cmd=job-getid;\n"), -1);
    pmi_destroy(n.pmi);
    node_start(&n, 1, 1, 0);
    assert_int_equal(say(&n, 0, "cmd=init pmi_version=3 pmi_subversion=0\n"),
                     -1);
    pmi_destroy(n.pmi);
}

static void longest_of_all_fits_and_one_more_does_not(void **state)
{
    char value[SF_PMI_VALUE_MAX + 2], words[SF_PMI_VALUE_MAX + 512];
    char want[3 * SF_PMI_VALUE_MAX], key[SF_PMI_KEY_MAX + 2];
    char thread[SF_PMI2_THREAD_MAX + 2];
    static char message[SF_PMI2_MESSAGE_MAX + 1];
    struct node n;

    memset(value, 'F', sizeof(value));
    memset(key, 'k', sizeof(key));
    memset(thread, '1', sizeof(thread));
    node_start(&n, 1, 1, 0);
    init_all(&n, 1);
    snprintf(words, sizeof(words),
             "cmd=kvs-put;thrid=%.*s;key=%.*s;value=%.*s;", SF_PMI2_THREAD_MAX,
             thread, SF_PMI_KEY_MAX, key, SF_PMI_VALUE_MAX, value);
    snprintf(want, sizeof(want), "cmd=kvs-put-response;thrid=%.*s;rc=0;",
             SF_PMI2_THREAD_MAX, thread);
    dialogue(&n, 0, words, want);
    snprintf(words, sizeof(words), "cmd=kvs-get;key=%.*s;", SF_PMI_KEY_MAX,
             key);
    snprintf(want, sizeof(want),
             "cmd=kvs-get-response;rc=0;found=TRUE;value=%.*s;",
             SF_PMI_VALUE_MAX, value);
    dialogue(&n, 0, words, want);
    snprintf(words, sizeof(words), "cmd=kvs-put;key=k;value=%.*s;",
             SF_PMI_VALUE_MAX + 1, value);
    dialogue(&n, 0, words,
             "cmd=kvs-put-response;rc=7;errmsg=a value is too long;");
    snprintf(words, sizeof(words), "cmd=info-putnodeattr;key=%.*s;value=;",
             SF_PMI_KEY_MAX + 1, key);
    dialogue(&n, 0, words,
             "cmd=info-putnodeattr-response;rc=5;errmsg=a key is empty or too "
             "long;");
    snprintf(words, sizeof(words), "cmd=info-getnodeattr;key=%.*s;wait=TRUE;",
             SF_PMI_KEY_MAX + 1, key);
    dialogue(&n, 0, words, GOT "FALSE;");
    /* All of it escaped. */
    memset(message, ';', sizeof(message));
    snprintf(words, sizeof(words), "cmd=kvs-put;key=k;value=%.*s;",
             SF_PMI_VALUE_MAX, message);
    assert_int_equal(ask(&n, 0, words), 0);
    /* An abort's text is of any length, and so is all else within a message. */
    memset(message, 'x', sizeof(message));
    memcpy(message, "cmd=abort;isworld=TRUE;msg=", 27);
    message[SF_PMI2_MESSAGE_MAX - 1] = ';';
    message[SF_PMI2_MESSAGE_MAX] = '\0';
    assert_int_equal(ask(&n, 0, message), 0);
    assert_int_equal(n.abort_code, 1);
    pmi_destroy(n.pmi);

    refused("65537 ", EMSGSIZE);
    refused("999999", EMSGSIZE);
    snprintf(words, sizeof(words), "%-6dcmd=kvs-fence;thrid=%.*s;",
             22 + SF_PMI2_THREAD_MAX, SF_PMI2_THREAD_MAX + 1, thread);
    refused(words, EMSGSIZE);
}

static void the_longest_answer_is_whole(void **state)
{
    char words[2 * SF_PMI_VALUE_MAX + 256], value[2 * SF_PMI_VALUE_MAX + 1];
    char want[2 * SF_PMI_VALUE_MAX + 256];
    struct node n;

    memset(value, ';', sizeof(value) - 1);
    value[sizeof(value) - 1] = '\0';
    node_start(&n, 1, 1, 0);
    init_all(&n, 1);
    snprintf(words, sizeof(words), "cmd=kvs-put;key=k;value=%s;", value);
    dialogue(&n, 0, words, "cmd=kvs-put-response;rc=0;");
    snprintf(want, sizeof(want),
             "cmd=kvs-get-response;thrid=%032d;rc=0;found=TRUE;value=%s;", 0,
             value);
    snprintf(words, sizeof(words), "cmd=kvs-get;thrid=%032d;key=k;", 0);
    dialogue(&n, 0, words, want);
    pmi_destroy(n.pmi);
}

/* Also those that have not come to the fence yet. */
static void who_leaves_waits_for_nobody(void **state)
{
    struct node n;

    node_start(&n, 4, 3, 0);
    init_all(&n, 3);
    assert_int_equal(ask(&n, 0, "cmd=kvs-fence;"), 0);
    n.out[0][0] = n.out[1][0] = '\0';
    pmi_leave(n.pmi);
    assert_answer(&n, 0, FENCED);
    assert_string_equal(n.out[1], "");
    dialogue(&n, 1, "cmd=kvs-fence;", FENCED);
    dialogue(&n, 0, "cmd=kvs-fence;", FENCED);
    assert_int_equal(n.barriers, 0);
    dialogue(&n, 0, "cmd=finalize;", "cmd=finalize-response;rc=0;");
    pmi_destroy(n.pmi);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_dialogue_of_libpmi2),
        cmocka_unit_test(semicolons_are_doubled_both_ways),
        cmocka_unit_test(fence_over_three_nodes_spreads_every_key),
        cmocka_unit_test(both_protocols_meet_in_one_barrier),
        cmocka_unit_test(a_ring_gives_each_its_neighbours_values),
        cmocka_unit_test(a_ring_that_is_not_closed_is_an_error),
        cmocka_unit_test(who_waits_for_an_attribute_gets_it),
        cmocka_unit_test(each_thread_gets_its_own_answer),
        cmocka_unit_test(
            what_a_step_has_not_is_refused_and_the_program_goes_on),
        cmocka_unit_test(abort_gives_the_exit_code),
        cmocka_unit_test(messages_may_come_in_any_pieces),
        cmocka_unit_test(what_is_not_pmi_is_refused),
        cmocka_unit_test(longest_of_all_fits_and_one_more_does_not),
        cmocka_unit_test(the_longest_answer_is_whole),
        cmocka_unit_test(who_leaves_waits_for_nobody),
    };

    return cmocka_run_group_tests_name("pmi2", tests, NULL, NULL);
}
