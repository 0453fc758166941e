/* SPDX-License-Identifier: BSD-3-Clause
 * An IMPI host between its processes and the hosts of other clients.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "impi/relay.h"

/* Client 0: hosts 0 and 1 with two processes each; client 1: host 2 with one;
 * client 2: host 3 with two.  World ranks follow. */
static const uint32_t host_of[] = {0, 0, 1, 1, 2, 3, 3};
#define NPROCS 7
#define NHOSTS 4

struct fixture {
    struct impi_world world;
    struct impi_relay *relay;
    uint8_t id[NPROCS][IMPI_PROC_SIZE];
};

static void make(struct fixture *f, uint32_t host)
{
    static const uint32_t client_of[NHOSTS] = {0, 0, 1, 2};

    memset(f, 0, sizeof(*f));
    f->world.maxdatalen = 1000;
    f->world.nclients = 3;
    assert_int_equal(impi_world_alloc(&f->world, NHOSTS, NPROCS), 0);
    for (uint32_t h = 0; h < NHOSTS; h++)
        f->world.hosts[h].client = client_of[h];
    for (uint32_t i = 0; i < NPROCS; i++) {
        struct impi_proc *p = &f->world.procs[i];
        uint8_t ipv4[4] = {10, 0, 0, (uint8_t)host_of[i]};

        p->host = host_of[i];
        p->client = client_of[p->host];
        p->pid = 100 + i;
        impi_hostid_set_ipv4(p->hostid, ipv4);
        f->world.hosts[p->host].nprocs++;
        impi_proc_encode(f->id[i], p->hostid, p->pid);
    }
    f->relay = impi_relay_create(&f->world, host);
    assert_non_null(f->relay);
}

static void drop(struct fixture *f)
{
    impi_relay_destroy(f->relay);
    impi_world_free(&f->world);
}

static struct impi_packet packet(const struct fixture *f, uint32_t type,
                                 uint32_t from, uint32_t to)
{
    struct impi_packet pk = {.type = type, .len = 8};

    memcpy(pk.src, f->id[from], IMPI_PROC_SIZE);
    memcpy(pk.dest, f->id[to], IMPI_PROC_SIZE);
    return pk;
}

static int64_t from_proc(struct fixture *f, uint32_t proc, uint32_t type,
                         uint32_t from, uint32_t to)
{
    struct impi_packet pk = packet(f, type, from, to);
    struct errbuf err = {""};

    return impi_relay_from_proc(f->relay, proc, &pk, &err);
}

static int64_t from_host(struct fixture *f, uint32_t host, uint32_t type,
                         uint32_t from, uint32_t to)
{
    struct impi_packet pk = packet(f, type, from, to);
    struct errbuf err = {""};

    return impi_relay_from_host(f->relay, host, &pk, &err);
}

static void the_higher_host_connects(void **state)
{
    struct fixture f;

    for (uint32_t a = 0; a < NHOSTS; a++) {
        make(&f, a);
        for (uint32_t b = 0; b < NHOSTS; b++) {
            bool other = f.world.hosts[a].client != f.world.hosts[b].client;

            assert_int_equal(impi_relay_wants(f.relay, b), other);
            assert_int_equal(impi_relay_connects(f.relay, b), other && a > b);
        }
        assert_false(impi_relay_wants(f.relay, NHOSTS));
        drop(&f);
    }
}

static void packets_find_their_way(void **state)
{
    struct fixture f;

    make(&f, 1); /* processes 2 and 3 of the world */
    assert_int_equal(impi_relay_nprocs(f.relay), 2);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_DATA, 2, 4), 2);
    assert_int_equal(from_proc(&f, 1, IMPI_PK_DATASYNC, 3, 6), 3);
    assert_int_equal(from_host(&f, 2, IMPI_PK_DATA, 4, 3), 1);
    assert_int_equal(from_host(&f, 3, IMPI_PK_PROTOACK, 5, 2), 0);
    drop(&f);
}

static void nobody_speaks_for_others(void **state)
{
    struct fixture f;

    make(&f, 1);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_DATA, 3, 4), -1);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_DATA, 4, 5), -1);
    assert_int_equal(from_host(&f, 2, IMPI_PK_DATA, 5, 2), -1);
    assert_int_equal(from_host(&f, 2, IMPI_PK_DATA, 0, 2), -1);
    drop(&f);
}

static void packets_to_nobody_are_refused(void **state)
{
    struct fixture f;
    struct errbuf err = {""};
    struct impi_packet pk;

    make(&f, 1);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_DATA, 2, 3), -1); /* own host */
    assert_int_equal(from_proc(&f, 0, IMPI_PK_DATA, 2, 0), -1); /* own client */
    assert_int_equal(from_host(&f, 2, IMPI_PK_DATA, 4, 6), -1);
    pk = packet(&f, IMPI_PK_DATA, 2, 4);
    pk.dest[IMPI_PROC_SIZE - 1] ^= 0x55;
    assert_int_equal(impi_relay_from_proc(f.relay, 0, &pk, &err), -1);
    assert_int_equal(errno, EPROTO);
    drop(&f);
}

static void lengths_and_types_are_checked(void **state)
{
    struct fixture f;
    struct errbuf err = {""};
    struct impi_packet pk;

    make(&f, 1);
    pk = packet(&f, IMPI_PK_DATA, 2, 4);
    pk.len = 1000;
    assert_int_equal(impi_relay_from_proc(f.relay, 0, &pk, &err), 2);
    pk.len = 1001;
    assert_int_equal(impi_relay_from_proc(f.relay, 0, &pk, &err), -1);
    pk.type = IMPI_PK_SYNCACK; /* what stands in len means nothing there */
    assert_int_equal(impi_relay_from_proc(f.relay, 0, &pk, &err), 2);
    pk.type = IMPI_PK_TYPES;
    assert_int_equal(impi_relay_from_proc(f.relay, 0, &pk, &err), -1);
    drop(&f);
}

static void fini_when_all_have_said_it(void **state)
{
    struct fixture f;

    make(&f, 1);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_FINI, 2, 4), IMPI_RELAY_TAKEN);
    assert_false(impi_relay_procs_done(f.relay));
    assert_int_equal(from_proc(&f, 1, IMPI_PK_FINI, 3, 4), IMPI_RELAY_TAKEN);
    assert_true(impi_relay_procs_done(f.relay));
    assert_int_equal(from_host(&f, 3, IMPI_PK_FINI, 0, 0), IMPI_RELAY_TAKEN);
    assert_true(impi_relay_host_done(f.relay, 3));
    assert_false(impi_relay_host_done(f.relay, 2));
    assert_false(impi_relay_hosts_done(f.relay));
    assert_int_equal(from_host(&f, 2, IMPI_PK_FINI, 0, 0), IMPI_RELAY_TAKEN);
    assert_true(impi_relay_hosts_done(f.relay));
    drop(&f);
}

static void only_acknowledgements_after_fini(void **state)
{
    struct fixture f;

    make(&f, 1);
    from_proc(&f, 0, IMPI_PK_FINI, 2, 4);
    from_host(&f, 2, IMPI_PK_FINI, 0, 0);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_PROTOACK, 2, 4), 2);
    assert_int_equal(from_host(&f, 2, IMPI_PK_PROTOACK, 4, 2), 0);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_DATA, 2, 4), -1);
    assert_int_equal(from_host(&f, 2, IMPI_PK_DATA, 4, 2), -1);
    assert_int_equal(from_proc(&f, 0, IMPI_PK_FINI, 2, 4), -1);
    assert_int_equal(from_host(&f, 2, IMPI_PK_FINI, 0, 0), -1);
    drop(&f);
}

static void a_host_must_exist(void **state)
{
    struct fixture f;

    make(&f, 0);
    assert_null(impi_relay_create(&f.world, NHOSTS));
    assert_int_equal(errno, EINVAL);
    drop(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_higher_host_connects),
        cmocka_unit_test(packets_find_their_way),
        cmocka_unit_test(nobody_speaks_for_others),
        cmocka_unit_test(packets_to_nobody_are_refused),
        cmocka_unit_test(lengths_and_types_are_checked),
        cmocka_unit_test(fini_when_all_have_said_it),
        cmocka_unit_test(only_acknowledgements_after_fini),
        cmocka_unit_test(a_host_must_exist),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
