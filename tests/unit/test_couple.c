/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What two worlds say when they meet: names of ports, frames, groups.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/be.h"
#include "impi/couple.h"

#define KEY "00112233445566778899aabbccddeeff0123456789abcdef0123456789abcdef"

static void names_of_ports_go_both_ways(void **state)
{
    static const char *const names[] = {
        "impi1/127.0.0.1:4711/0000002a/" KEY,
        "impi1/[fd00::1]:65535/ffffffff/" KEY,
    };
    char again[IMPI_PORT_NAME_SIZE];
    struct impi_port p;
    struct errbuf err;

    for (int i = 0; i < 2; i++) {
        assert_int_equal(impi_port_parse(&p, names[i], &err), 0);
        impi_port_print(again, &p);
        assert_string_equal(again, names[i]);
    }
    assert_int_equal(p.port, 65535);
    assert_int_equal(p.number, 0xffffffffu);
    assert_int_equal(p.key[1], 0x11);
}

static void wrong_names_are_refused(void **state)
{
    static const char *const names[] = {
        "",
        "impi1",
        "impi1/",
        "impi2/127.0.0.1:4711/0000002a/" KEY,
        "impi1/127.0.0.1:0/0000002a/" KEY,
        "impi1/127.0.0.1/0000002a/" KEY,
        "impi1/localhost:80/0000002a/" KEY,
        "impi1/127.0.0.1:4711/0000002/" KEY,
        "impi1/127.0.0.1:4711/0000002A/" KEY,
        "impi1/127.0.0.1:4711/0000002a/" KEY "0",
        "impi1/127.0.0.1:4711/0000002a/",
        "impi1/1111111111111111111111111111111111111111111111111111111111111"
        "11111111111111111/0000002a/" KEY,
    };
    struct impi_port p;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct errbuf err = {""};

        assert_int_equal(impi_port_parse(&p, names[i], &err), -1);
        assert_true(err.text[0]);
        assert_null(strstr(err.text, "001122"));
    }
}

static struct impi_side two_processes(void)
{
    struct impi_side s = {.number = 7,
                          .cid = 42,
                          .maxdatalen = 1000,
                          .ackmark = 2,
                          .hiwater = 4,
                          .coll_xsize = 1024,
                          .coll_maxlinear = 4,
                          .share = true,
                          .nprocs = 2};

    memset(s.nonce, 3, sizeof(s.nonce));
    s.procs = calloc(2, sizeof(*s.procs));
    assert_non_null(s.procs);
    for (uint32_t i = 0; i < 2; i++) {
        s.procs[i].port = (uint16_t)(100 + i);
        s.procs[i].pid = 1000 + i;
        s.procs[i].client = i;
        s.procs[i].addr[15] = 1;
    }
    return s;
}

static void groups_go_both_ways(void **state)
{
    struct impi_side s = two_processes(), got;
    struct errbuf err;
    uint8_t *buf;
    size_t len;

    assert_int_equal(impi_side_encode(&s, &buf, &len), 0);
    assert_int_equal(impi_side_decode(&got, buf, len, &err), 0);
    assert_int_equal(got.number, 7);
    assert_int_equal(got.cid, 42);
    assert_true(got.share);
    assert_int_equal(got.nprocs, 2);
    assert_int_equal(got.procs[1].port, 101);
    assert_int_equal(got.procs[1].pid, 1001);
    assert_int_equal(got.procs[1].client, 1);
    assert_int_equal(impi_side_fits(&s, &got, &err), 0);
    impi_side_free(&got);
    for (size_t n = 0; n < len; n++)
        assert_int_equal(impi_side_decode(&got, buf, n, &err), -1);
    free(buf);
    s.share = false;
    s.procs[1].can = IMPI_SIDE_FILES | IMPI_SIDE_WINDOWS;
    assert_int_equal(impi_side_encode(&s, &buf, &len), 0);
    assert_int_equal(impi_side_decode(&got, buf, len, &err), 0);
    assert_false(got.share);
    assert_int_equal(got.procs[0].can, 0);
    assert_int_equal(got.procs[1].can, IMPI_SIDE_FILES | IMPI_SIDE_WINDOWS);
    impi_side_free(&got);
    free(buf);
    impi_side_free(&s);
}

static void groups_that_make_no_sense_are_refused(void **state)
{
    struct impi_side s = two_processes(), got;
    struct errbuf err;
    uint8_t *buf;
    size_t len;

    s.procs[1].client = SF_IMPI_CLIENTS_MAX;
    assert_int_equal(impi_side_encode(&s, &buf, &len), 0);
    assert_int_equal(impi_side_decode(&got, buf, len, &err), -1);
    assert_null(got.procs);
    free(buf);
    s.procs[1].client = 0;
    assert_int_equal(impi_side_encode(&s, &buf, &len), 0);
    /* a number of processes that nobody could store */
    be_store32(buf + len - 2 * IMPI_SIDE_PROC_SIZE - 4, UINT32_MAX);
    assert_int_equal(impi_side_decode(&got, buf, len, &err), -1);
    free(buf);
    impi_side_free(&s);
}

static void who_cannot_listen_is_told(void **state)
{
    struct impi_side s = two_processes(), got;
    struct errbuf err;
    uint8_t *buf;
    size_t len;

    assert_int_equal(impi_side_deaf(&s), -1);
    s.procs[1].port = 0;
    assert_int_equal(impi_side_encode(&s, &buf, &len), 0);
    assert_int_equal(impi_side_decode(&got, buf, len, &err), 0);
    assert_int_equal(impi_side_deaf(&got), 1);
    impi_side_free(&got);
    free(buf);
    impi_side_free(&s);
}

static void what_differs_is_told(void **state)
{
    struct impi_side a = two_processes(), b = two_processes();
    struct errbuf err = {""};

    b.coll_xsize = 1;
    assert_int_equal(impi_side_fits(&a, &b, &err), -1);
    assert_non_null(strstr(err.text, "IMPI_COLL_XSIZE"));
    b.coll_xsize = a.coll_xsize;
    b.repr[1] = 9;
    assert_int_equal(impi_side_fits(&a, &b, &err), -1);
    assert_non_null(strstr(err.text, "represent"));
    b.repr[1] = 0;
    b.hiwater = 5;
    assert_int_equal(impi_side_fits(&a, &b, &err), -1);
    impi_side_free(&a);
    impi_side_free(&b);
}

static void headers_of_frames_are_checked(void **state)
{
    uint8_t head[IMPI_COUPLE_HEADER_SIZE];
    uint32_t type;

    impi_couple_header_put(head, IMPI_COUPLE_GO, 0);
    assert_int_equal(impi_couple_header_get(&type, head), 0);
    assert_int_equal(type, IMPI_COUPLE_GO);
    impi_couple_header_put(head, IMPI_COUPLE_GO, 1);
    assert_int_equal(impi_couple_header_get(&type, head), -1);
    impi_couple_header_put(head, IMPI_COUPLE_REFUSE, SF_IMPI_REFUSAL_MAX + 1);
    assert_int_equal(impi_couple_header_get(&type, head), -1);
    impi_couple_header_put(head, IMPI_COUPLE_SIDE, UINT32_MAX);
    assert_int_equal(impi_couple_header_get(&type, head), -1);
    impi_couple_header_put(head, 0, 0);
    assert_int_equal(impi_couple_header_get(&type, head), -1);
    impi_couple_header_put(head, IMPI_COUPLE_PROOF, SF_IMPI_CREDENTIAL_MAX);
    assert_int_equal(impi_couple_header_get(&type, head), -1);
    impi_couple_header_put(head, 5, 0);
    assert_int_equal(impi_couple_header_get(&type, head), -1);
}

/* Both sides have the same secret, each couple another one. */
static void secrets_depend_on_key_and_both_groups(void **state)
{
    struct impi_side a = two_processes(), b = two_processes();
    struct impi_port p = {.port = 1};
    uint8_t one[IMPI_CHAN_SECRET_SIZE], two[IMPI_CHAN_SECRET_SIZE];

    b.nonce[0] = 9;
    assert_int_equal(impi_couple_secret(one, &p, &a, &b), 0);
    assert_int_equal(impi_couple_secret(two, &p, &a, &b), 0);
    assert_memory_equal(one, two, sizeof(one));
    assert_int_equal(impi_couple_secret(two, &p, &b, &a), 0);
    assert_memory_not_equal(one, two, sizeof(one));
    p.key[0] = 1;
    assert_int_equal(impi_couple_secret(two, &p, &a, &b), 0);
    assert_memory_not_equal(one, two, sizeof(one));
    impi_side_free(&a);
    impi_side_free(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_ports_go_both_ways),
        cmocka_unit_test(wrong_names_are_refused),
        cmocka_unit_test(groups_go_both_ways),
        cmocka_unit_test(groups_that_make_no_sense_are_refused),
        cmocka_unit_test(who_cannot_listen_is_told),
        cmocka_unit_test(what_differs_is_told),
        cmocka_unit_test(headers_of_frames_are_checked),
        cmocka_unit_test(secrets_depend_on_key_and_both_groups),
    };

    return cmocka_run_group_tests_name("couple", tests, NULL, NULL);
}
