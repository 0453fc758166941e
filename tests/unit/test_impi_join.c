/* SPDX-License-Identifier: BSD-3-Clause
 * The joining client against the server engine.
 */
#define _GNU_SOURCE /* memmem */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi_job.h"

static const uint32_t three_hosts[] = {3, 2, 2}, three_per[] = {2, 3, 4};

/* Everybody joined: move each client's world out and compare. */
static void take_worlds(struct job *job, struct impi_world *w)
{
    for (uint32_t c = 0; c < job->nclients; c++) {
        if (job->clients[c].failed)
            print_error("client %u: %s\n", c, job->clients[c].err.text);
        assert_false(job->clients[c].failed);
        assert_true(impi_join_done(job->clients[c].join));
        impi_join_take_world(job->clients[c].join, &w[c]);
    }
    for (uint32_t c = 1; c < job->nclients; c++) {
        uint8_t *a, *b;
        size_t la, lb;

        assert_int_equal(impi_world_encode(&w[0], &a, &la), 0);
        assert_int_equal(impi_world_encode(&w[c], &b, &lb), 0);
        assert_int_equal(la, lb);
        assert_memory_equal(a, b, la);
        free(a);
        free(b);
    }
}

static void free_worlds(struct job *job, struct impi_world *w)
{
    for (uint32_t c = 0; c < job->nclients; c++)
        impi_world_free(&w[c]);
}

static void three_clients_join_and_leave(void **state)
{
    struct impi_world w[3];
    struct job job;

    for (unsigned seed = 0; seed < 50; seed++) {
        job_init(&job, 3, three_hosts, three_per);
        job.seed = seed;
        job_start(&job);
        job_run(&job);
        take_worlds(&job, w);
        assert_int_equal(w[0].nhosts, 7);
        assert_int_equal(w[0].nprocs, 20);
        assert_int_equal(w[0].flags, IMPI_WORLD_ALL);
        assert_int_equal(w[0].maxdatalen, 65536);
        assert_int_equal(w[0].coll_xsize, 1024);
        assert_int_equal(w[0].coll_maxlinear, 4);
        for (uint32_t c = 0; c < 3; c++)
            impi_join_fini(job.clients[c].join);
        job_run(&job);
        assert_true(impi_server_finished(job.server));
        for (uint32_t c = 0; c < 3; c++)
            assert_false(job.clients[c].failed);
        assert_int_equal(job_count(&job, IMPI_SERVER_LOST, NULL), 0);
        free_worlds(&job, w);
        job_free(&job);
    }
}

/* ---- many ---- */

static void thirty_two_clients_join(void **state)
{
    static struct impi_world w[32];
    static struct job job;
    uint32_t one[32];

    for (int i = 0; i < 32; i++)
        one[i] = 1;
    job_init(&job, 32, one, one);
    job.methods[0] = impi_auth_key(5678);
    job.seed = 4;
    job_start(&job);
    job_run(&job);
    take_worlds(&job, w);
    assert_int_equal(w[0].nclients, 32);
    assert_int_equal(w[31].procs[31].client, 31);
    free_worlds(&job, w);
    job_free(&job);
}

static void key_and_none_authenticate_clients_of_one_job(void **state)
{
    static struct impi_world w[3];
    static struct job job;
    struct impi_auth_method none = impi_auth_none();

    job_init(&job, 3, three_hosts, three_per);
    job.methods[0] = impi_auth_key(5678);
    job.methods[1] = none;
    job.nmethods = 2;
    job.clients[2].o.methods = &none;
    job.clients[2].o.nmethods = 1;
    job_start(&job);
    job_run(&job);
    take_worlds(&job, w);
    assert_int_equal(job_count(&job, IMPI_SERVER_WARNING, NULL), 1);
    free_worlds(&job, w);
    job_free(&job);
}

/* ---- what is negotiated ---- */

static struct job job;
static struct impi_world world[3];

static void three(void)
{
    job_init(&job, 3, three_hosts, three_per);
}

static void run(void)
{
    job_start(&job);
    job_run(&job);
}

static void expect_world(void)
{
    run();
    take_worlds(&job, world);
}

static void end_world(void)
{
    free_worlds(&job, world);
    job_free(&job);
}

/* All clients see the same mistake, in one of these words each. */
static void expect_error(const char *text)
{
    run();
    for (uint32_t c = 0; c < job.nclients; c++) {
        assert_true(job.clients[c].failed);
        if (!strstr(job.clients[c].err.text, text))
            print_error("client %u: %s\n", c, job.clients[c].err.text);
        assert_non_null(strstr(job.clients[c].err.text, text));
    }
    job_free(&job);
}

static void hosts_are_indexed_by_client_then_host(void **state)
{
    static const uint32_t client[] = {0, 0, 0, 1, 1, 2, 2};
    static const uint32_t nprocs[] = {2, 2, 2, 3, 3, 4, 4};
    static const uint16_t port[] = {5001, 5002, 5003, 6001, 6002, 7001, 7002};

    three();
    expect_world();
    for (int h = 0; h < 7; h++) {
        const uint8_t want[16] = {[12] = 127,
                                  [14] = (uint8_t)(client[h] + 1),
                                  [15] = (uint8_t)(port[h] % 10)};

        assert_int_equal(world[1].hosts[h].client, client[h]);
        assert_int_equal(world[1].hosts[h].nprocs, nprocs[h]);
        assert_int_equal(world[1].hosts[h].port, port[h]);
        assert_memory_equal(world[1].hosts[h].addr, want, 16);
    }
    end_world();
}

static void procs_are_indexed_by_client_then_host(void **state)
{
    uint32_t rank = 0;

    three();
    expect_world();
    for (uint32_t h = 0; h < 7; h++)
        for (uint32_t k = 0; k < world[0].hosts[h].nprocs; k++, rank++) {
            assert_int_equal(world[0].procs[rank].host, h);
            assert_int_equal(world[0].procs[rank].client,
                             world[0].hosts[h].client);
        }
    assert_int_equal(rank, 20);
    end_world();
    /* The hosts of a client have three, two and one. */
    three();
    job.clients[0].hosts[0].nprocs = 3;
    job.clients[0].hosts[2].nprocs = 1;
    expect_world();
    for (uint32_t k = 0; k < 6; k++) {
        assert_int_equal(world[2].procs[k].host, k < 3 ? 0 : k < 5 ? 1 : 2);
        assert_true(world[2].procs[k].pid == 100 + k);
    }
    end_world();
}

/* Plain tasks dealt out cyclically: ranks 0,3 1,4 2,5 on three clients. */
static void extensions_carry_a_permutation(void **state)
{
    static const uint32_t one[] = {1, 1, 1}, two[] = {2, 2, 2};

    job_init(&job, 3, one, two);
    for (uint32_t c = 0; c < 3; c++)
        for (uint32_t k = 0; k < 2; k++)
            job.clients[c].procs[k].rank = k * 3 + c;
    expect_world();
    for (uint32_t r = 0; r < 6; r++) {
        assert_int_equal(world[2].procs[r].client, r % 3);
        assert_true(world[2].procs[r].pid == 100 + r / 3);
        assert_int_equal(world[2].procs[r].port, 40000 + r / 3);
        assert_int_equal(world[2].procs[r].cpus, 1 + r % 3);
    }
    end_world();
}

static void strict_order_differs_from_the_wanted_one(void **state)
{
    static const uint32_t one[] = {1, 1, 1}, two[] = {2, 2, 2};

    job_init(&job, 3, one, two);
    for (uint32_t c = 0; c < 3; c++) {
        for (uint32_t k = 0; k < 2; k++)
            job.clients[c].procs[k].rank = k * 3 + c;
        job.clients[c].o.extensions = false;
    }
    expect_error("set SLURM_IMPI_REORDER=1 to accept that");
    job_init(&job, 3, one, two);
    for (uint32_t c = 0; c < 3; c++) {
        job.clients[c].procs[0].rank = c;
        job.clients[c].procs[1].rank = c + 3;
        job.clients[c].o.extensions = false;
        job.clients[c].o.reorder = true;
    }
    expect_world();
    assert_int_equal(world[0].procs[1].client, 0);
    end_world();
}

static void bad_permutations_name_the_client(void **state)
{
    three();
    job.clients[1].procs[2].rank = 20;
    expect_error("SF-E217: client 1: X_RANK: rank 20 is not in the world");
    three();
    job.clients[2].procs[0].rank = 3;
    expect_error("SF-E217: client 2: X_RANK: rank 3 is taken twice");
}

static void extensions_need_every_client(void **state)
{
    three();
    job.clients[1].o.extensions = false;
    expect_world();
    assert_int_equal(world[0].flags, 0);
    assert_int_equal(world[0].procs[3].port, 0);
    end_world();
}

static void native_data_need_equal_representations(void **state)
{
    three();
    job.clients[2].o.repr[1] ^= 3; /* the other byte order */
    expect_world();
    assert_int_equal(world[0].flags, IMPI_WORLD_ALL & ~IMPI_WORLD_NATIVE);
    end_world();
}

static void secret_is_our_own_and_never_sent(void **state)
{
    three();
    memset(job.clients[0].o.secret, 0x77, 32);
    memset(job.clients[1].o.secret, 0x77, 32);
    memset(job.clients[2].o.secret, 0x77, 32);
    expect_world();
    assert_int_equal(world[1].secret[31], 0x77);
    end_world();
}

/* The table of the specification: {0.0, 0.1}, {0.0, 0.1, 2.0} and
 * {0.0, 0.1, 0.2} agree on 0.1. */
static const struct impi_version versions[3][3] = {{{0, 0}, {0, 1}, {0, 0}},
                                                   {{0, 0}, {0, 1}, {2, 0}},
                                                   {{0, 0}, {0, 1}, {0, 2}}};
static const uint32_t nversions[3] = {2, 3, 3};

static void highest_common_version(void **state)
{
    three();
    for (int c = 0; c < 3; c++) {
        job.clients[c].o.versions = versions[c];
        job.clients[c].o.nversions = nversions[c];
    }
    expect_world();
    assert_int_equal(world[0].version_major, 0);
    assert_int_equal(world[0].version_minor, 1);
    end_world();
}

/* Ours say 0.0 alone, so that nothing is above it that could be capped. */
static void higher_versions_of_a_peer_are_not_chosen(void **state)
{
    three();
    job.clients[1].o.versions = versions[1];
    job.clients[1].o.nversions = nversions[1];
    expect_world();
    assert_int_equal(world[0].version_major, 0);
    assert_int_equal(world[0].version_minor, 0);
    end_world();
}

static void version_arrays_are_checked(void **state)
{
    static const struct impi_version no_zero[] = {{0, 1}, {0, 2}};
    static const struct impi_version falling[] = {{0, 0}, {2, 0}, {1, 0}};
    static const struct impi_version twice[] = {{0, 0}, {1, 0}, {1, 0}};
    static const struct impi_version zeros[] = {{0, 0}, {0, 0}};

    three();
    job.clients[0].o.versions = no_zero;
    job.clients[0].o.nversions = 2;
    expect_error("SF-E214: client 0: IMPI_C_VERSION: 0.1 is out of order, or "
                 "0.0 is missing");
    three();
    job.clients[1].o.versions = falling;
    job.clients[1].o.nversions = 3;
    expect_error("SF-E214: client 1: IMPI_C_VERSION: 1.0 is out of order");
    three();
    job.clients[1].o.versions = twice;
    job.clients[1].o.nversions = 3;
    expect_error("SF-E214: client 1: IMPI_C_VERSION: 1.0 is out of order");
    three();
    job.clients[2].o.versions = zeros;
    job.clients[2].o.nversions = 2;
    expect_error("SF-E214: IMPI_C_VERSION: version 0.0 is not listed exactly "
                 "once by each of 3 clients");
    three();
    job.clients[2].o.versions = no_zero;
    job.clients[2].o.nversions = 2;
    expect_error("SF-E214: IMPI_C_VERSION: version 0.0 is not listed exactly "
                 "once by each of 3 clients");
}

static void smallest_datalen_rules(void **state)
{
    three();
    job.clients[0].o.maxdatalen = 8000;
    job.clients[1].o.maxdatalen = 4000;
    job.clients[2].o.maxdatalen = 4000;
    expect_world();
    assert_int_equal(world[0].maxdatalen, 4000);
    end_world();
    three();
    job.clients[2].o.maxdatalen = 1;
    expect_world();
    assert_int_equal(world[0].maxdatalen, 1);
    end_world();
    three();
    job.clients[2].o.maxdatalen = 0;
    expect_error("SF-E213: client 2: IMPI_C_DATALEN is 0");
}

static void smallest_tagub_rules(void **state)
{
    three();
    job.clients[1].o.tagub = 32767;
    expect_world();
    assert_int_equal(world[2].tagub, 32767);
    end_world();
    three();
    job.clients[1].o.tagub = 32766;
    expect_error("SF-E213: client 1: IMPI_C_TAGUB is 32766");
}

static void collective_thresholds_must_agree(void **state)
{
    three();
    job.clients[0].o.coll_xsize = 1024; /* what -1 means */
    job.clients[2].o.coll_maxlinear = 4;
    expect_world();
    assert_int_equal(world[1].coll_xsize, 1024);
    assert_int_equal(world[1].coll_maxlinear, 4);
    end_world();
    three();
    job.clients[1].o.coll_xsize = 512;
    expect_error("SF-E215: clients disagree: IMPI_C_COLL_XSIZE is 1024 at "
                 "client 0 and 512 at client 1");
    three();
    job.clients[2].o.coll_maxlinear = 0;
    expect_error("IMPI_C_COLL_MAXLINEAR is 4 at client 1 and 0 at client 2");
    three();
    job.clients[0].o.coll_xsize = -2;
    expect_error("SF-E213: client 0: IMPI_C_COLL_XSIZE is -2");
}

static void thresholds_can_be_chosen(void **state)
{
    three();
    for (int c = 0; c < 3; c++) {
        job.clients[c].o.coll_xsize = 0;
        job.clients[c].o.coll_maxlinear = 9;
    }
    expect_world();
    assert_int_equal(world[0].coll_xsize, 0);
    assert_int_equal(world[0].coll_maxlinear, 9);
    end_world();
}

static void the_user_chooses_thresholds(void **state)
{
    static const char *const bad[] = {
        "-1", "x", "1x", " 1", "2147483648", "99999999999999999999"};
    struct errbuf err;
    int32_t v = -1;

    assert_int_equal(impi_join_threshold(&v, "N", NULL, &err), 0);
    assert_int_equal(impi_join_threshold(&v, "N", "", &err), 0);
    assert_int_equal(v, -1);
    assert_int_equal(impi_join_threshold(&v, "N", "0", &err), 0);
    assert_int_equal(v, 0);
    assert_int_equal(impi_join_threshold(&v, "N", "2147483647", &err), 0);
    assert_int_equal(v, INT32_MAX);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(impi_join_threshold(&v, "N", bad[i], &err), -1);
    assert_int_equal(v, INT32_MAX);
}

static void flow_control_takes_minima_over_hosts(void **state)
{
    three();
    job.clients[0].o.ackmark = 30;
    job.clients[0].o.hiwater = 40;
    job.clients[1].o.ackmark = 5;
    job.clients[1].o.hiwater = 100;
    expect_world();
    assert_int_equal(world[2].ackmark, 5);
    assert_int_equal(world[2].hiwater, 20);
    end_world();
    three();
    job.clients[1].o.ackmark = 21;
    expect_error("SF-E213: client 1: IMPI_H_ACKMARK is 21 and IMPI_H_HIWATER "
                 "20 at its host 0");
    three();
    job.clients[2].o.ackmark = 0;
    expect_error("SF-E213: client 2: IMPI_H_ACKMARK is 0");
}

static void one_host_each(void)
{
    static const uint32_t one[] = {1, 1, 1}, per[] = {2, 1, 3};

    job_init(&job, 3, one, per);
    for (uint32_t c = 0; c < 3; c++)
        job.clients[c].o.extensions = false;
}

/* Ours and those of the first generation, where no extensions are agreed. */
static void clients_are_recognised_by_what_they_declare(void **state)
{
    three();
    expect_world();
    assert_int_equal(world[0].own_clients | world[0].old_clients, 0);
    end_world();
    one_host_each();
    job.clients[0].o.maxdatalen = IMPI_STRICT_MAXDATALEN;
    expect_world();
    assert_int_equal(world[1].own_clients, 1);
    assert_int_equal(world[1].old_clients, 2 + 4);
    end_world();
    one_host_each();
    job.clients[0].o.tagub--;
    job.clients[1].o.ackmark = 9;
    job.clients[2].o.hiwater = 21;
    expect_world();
    assert_int_equal(world[0].own_clients | world[0].old_clients, 0);
    end_world();
    one_host_each(); /* an IPv6 address */
    memset(job.clients[0].hosts[0].addr, 0x20, IMPI_HOSTID_SIZE);
    expect_world();
    assert_int_equal(world[0].old_clients, 2 + 4);
    end_world();
    three(); /* with three, two and two hosts */
    for (uint32_t c = 0; c < 3; c++)
        job.clients[c].o.extensions = false;
    expect_world();
    assert_int_equal(world[0].old_clients, 0);
    end_world();
}

static void proc_address_may_differ_from_the_hosts(void **state)
{
    three();
    memset(job.clients[1].procs[0].hostid, 0x20, 16);
    expect_world();
    assert_int_equal(world[0].procs[6].hostid[0], 0x20);
    assert_int_equal(world[0].procs[6].host, 3);
    end_world();
}

static void identities_are_unique_over_all_clients(void **state)
{
    three();
    /* the same machine and pid, once mapped and once compatible */
    memcpy(job.clients[2].procs[1].hostid, job.clients[0].procs[0].hostid, 16);
    job.clients[2].procs[1].hostid[10] = 0xff;
    job.clients[2].procs[1].hostid[11] = 0xff;
    job.clients[2].procs[1].pid = 100;
    expect_error("SF-E216: ranks 0 (client 0) and 13 (client 2) have the same "
                 "IMPI_P_IPV6 and IMPI_P_PID");
    /* pids differ in all their 64 bits */
    three();
    memcpy(job.clients[1].procs[0].hostid, job.clients[0].procs[0].hostid, 16);
    job.clients[1].procs[0].pid = 100 + (UINT64_C(1) << 32);
    expect_world();
    end_world();
}

static void ipv4_is_sent_in_compatible_form(void **state)
{
    three();
    job.clients[0].hosts[1].addr[10] = 0xff;
    job.clients[0].hosts[1].addr[11] = 0xff;
    expect_world();
    assert_int_equal(world[1].hosts[1].addr[10], 0);
    assert_int_equal(world[1].hosts[1].addr[12], 127);
    end_world();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(three_clients_join_and_leave),
        cmocka_unit_test(thirty_two_clients_join),
        cmocka_unit_test(key_and_none_authenticate_clients_of_one_job),
        cmocka_unit_test(hosts_are_indexed_by_client_then_host),
        cmocka_unit_test(procs_are_indexed_by_client_then_host),
        cmocka_unit_test(extensions_carry_a_permutation),
        cmocka_unit_test(strict_order_differs_from_the_wanted_one),
        cmocka_unit_test(bad_permutations_name_the_client),
        cmocka_unit_test(extensions_need_every_client),
        cmocka_unit_test(native_data_need_equal_representations),
        cmocka_unit_test(secret_is_our_own_and_never_sent),
        cmocka_unit_test(highest_common_version),
        cmocka_unit_test(higher_versions_of_a_peer_are_not_chosen),
        cmocka_unit_test(version_arrays_are_checked),
        cmocka_unit_test(smallest_datalen_rules),
        cmocka_unit_test(smallest_tagub_rules),
        cmocka_unit_test(collective_thresholds_must_agree),
        cmocka_unit_test(thresholds_can_be_chosen),
        cmocka_unit_test(the_user_chooses_thresholds),
        cmocka_unit_test(flow_control_takes_minima_over_hosts),
        cmocka_unit_test(clients_are_recognised_by_what_they_declare),
        cmocka_unit_test(proc_address_may_differ_from_the_hosts),
        cmocka_unit_test(identities_are_unique_over_all_clients),
        cmocka_unit_test(ipv4_is_sent_in_compatible_form),
    };

    return cmocka_run_group_tests_name("impi_join", tests, NULL, NULL);
}
