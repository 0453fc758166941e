/* SPDX-License-Identifier: BSD-3-Clause
 * The joined world and its encoding.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/world.h"

/* Two clients, three hosts, five processes, world ranks interleaved. */
static void make(struct impi_world *w)
{
    static const uint32_t client[3] = {0, 0, 1}, nprocs[3] = {1, 2, 2};
    static const uint32_t host[5] = {0, 2, 1, 2, 1};

    memset(w, 0, sizeof(*w));
    assert_int_equal(impi_world_alloc(w, 3, 5), 0);
    w->version_minor = 1;
    w->maxdatalen = 65536;
    w->tagub = INT32_MAX;
    w->coll_xsize = 1024;
    w->coll_maxlinear = 4;
    w->ackmark = 10;
    w->hiwater = 20;
    w->flags = IMPI_WORLD_EXTENDED;
    w->nclients = 2;
    w->own_clients = 1;
    w->old_clients = 2;
    memset(w->secret, 0x5a, sizeof(w->secret));
    for (int i = 0; i < 3; i++) {
        w->hosts[i] = (struct impi_host){client[i], nprocs[i], {0}, 0};
        w->hosts[i].addr[15] = (uint8_t)(10 + i);
        w->hosts[i].port = (uint16_t)(65530 + i);
    }
    for (int i = 0; i < 5; i++) {
        w->procs[i].host = host[i];
        w->procs[i].client = client[host[i]];
        w->procs[i].pid = 0x1122334455667700ULL + (uint64_t)i;
        w->procs[i].port = (uint16_t)(5000 + i);
        w->procs[i].cpus = (uint16_t)(60000 + i);
        w->procs[i].addr[0] = 0x20;
        w->procs[i].hostid[15] = (uint8_t)i;
    }
}

static void round_trip_keeps_every_field(void **state)
{
    struct impi_world a, b;
    uint8_t *buf, *again;
    size_t len, len2;

    make(&a);
    assert_int_equal(impi_world_encode(&a, &buf, &len), 0);
    assert_int_equal(impi_world_decode(&b, buf, len, NULL), 0);
    assert_int_equal(impi_world_encode(&b, &again, &len2), 0);
    assert_int_equal(len, len2);
    assert_memory_equal(buf, again, len);
    assert_int_equal(b.own_clients, 1);
    assert_int_equal(b.old_clients, 2);
    assert_int_equal(b.procs[4].host, 1);
    assert_int_equal(b.procs[4].cpus, 60004);
    assert_int_equal(b.procs[4].port, 5004);
    assert_true(b.procs[3].pid == 0x1122334455667703ULL);
    assert_int_equal(b.hosts[2].port, 65532);
    assert_int_equal(b.tagub, INT32_MAX);
    free(buf);
    free(again);
    impi_world_free(&a);
    impi_world_free(&b);
}

static void every_truncation_is_refused(void **state)
{
    struct impi_world a, b;
    struct errbuf err;
    uint8_t *buf;
    size_t len;

    make(&a);
    assert_int_equal(impi_world_encode(&a, &buf, &len), 0);
    for (size_t cut = 0; cut < len; cut++) {
        assert_int_equal(impi_world_decode(&b, buf, cut, &err), -1);
        assert_int_equal(errno, EPROTO);
        assert_null(b.hosts);
    }
    free(buf);
    impi_world_free(&a);
}

static void refuse(struct impi_world *w, const char *text)
{
    struct errbuf err;
    struct impi_world b;
    uint8_t *buf;
    size_t len;

    assert_int_equal(impi_world_encode(w, &buf, &len), 0);
    assert_int_equal(impi_world_decode(&b, buf, len, &err), -1);
    assert_string_equal(err.text, text);
    assert_null(b.procs);
    free(buf);
    impi_world_free(w);
}

static void inconsistent_worlds_are_refused_by_reason(void **state)
{
    struct impi_world w;

    make(&w);
    w.hosts[0].nprocs = 2;
    refuse(&w, "world: host sizes do not add up");
    make(&w);
    w.procs[0].client = 1;
    refuse(&w, "world: process on a host that is not its client's");
    make(&w);
    w.procs[0].host = 3;
    refuse(&w, "world: process on a host that is not its client's");
    make(&w);
    w.nclients = 1;
    refuse(&w, "world: host of a client that does not exist");
    make(&w);
    w.ackmark = 21;
    refuse(&w, "world: ackmark is not between 1 and hiwater");
    make(&w);
    w.tagub = 32766;
    refuse(&w, "world: tag bound is below 32767");
}

static void counts_are_checked_before_allocation(void **state)
{
    struct impi_world w, b;
    uint8_t *buf;
    size_t len;

    make(&w);
    assert_int_equal(impi_world_encode(&w, &buf, &len), 0);
    memset(buf + 48, 0xff, 4); /* nprocs */
    assert_int_equal(impi_world_decode(&b, buf, len, NULL), -1);
    memset(buf + 44, 0xff, 4); /* nhosts */
    assert_int_equal(impi_world_decode(&b, buf, len, NULL), -1);
    free(buf);
    impi_world_free(&w);
}

static void ipv4_is_found_compatible_or_mapped(void **state)
{
    static const uint8_t ipv4[4] = {192, 168, 4, 7};
    static const uint8_t loopback6[16] = {[15] = 1};
    uint8_t compatible[16], mapped[16], got[4];

    impi_hostid_set_ipv4(compatible, ipv4);
    memcpy(mapped, compatible, 16);
    mapped[10] = mapped[11] = 0xff;
    assert_true(impi_hostid_get_ipv4(got, compatible));
    assert_memory_equal(got, ipv4, 4);
    memset(got, 0, sizeof(got));
    assert_true(impi_hostid_get_ipv4(got, mapped));
    assert_memory_equal(got, ipv4, 4);
    assert_false(impi_hostid_get_ipv4(got, loopback6));
}

/* What it promises is what others compare with. */
static void own_descriptor_has_the_documented_bytes(void **state)
{
#ifdef __x86_64__
    static const uint8_t want[IMPI_REPR_SIZE] = {1, 1, 2, 4,  8,  8, 8, 4,
                                                 1, 4, 8, 16, 64, 1, 8, 16};
    uint8_t repr[IMPI_REPR_SIZE];

    impi_repr_own(repr);
    assert_memory_equal(repr, want, sizeof(want));
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trip_keeps_every_field),
        cmocka_unit_test(every_truncation_is_refused),
        cmocka_unit_test(inconsistent_worlds_are_refused_by_reason),
        cmocka_unit_test(counts_are_checked_before_allocation),
        cmocka_unit_test(ipv4_is_found_compatible_or_mapped),
        cmocka_unit_test(own_descriptor_has_the_documented_bytes),
    };

    return cmocka_run_group_tests_name("impi_world", tests, NULL, NULL);
}
