/* SPDX-License-Identifier: BSD-3-Clause
 * The packet header of IMPI, section 3.5.
 */
#include <byteswap.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "impi/packet.h"

/* Every byte of the frame is its own offset. */
static const struct impi_packet distinct = {
    .type = 0x00010203,
    .len = 0x04050607,
    .src = {8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
            20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31},
    .dest = {32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
             44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55},
    .srqid = 0x38393a3b3c3d3e3f,
    .drqid = 0x4041424344454647,
    .msglen = 0x48494a4b4c4d4e4f,
    .lsrank = 0x50515253,
    .tag = 0x54555657,
    .cid = 0x58595a5b5c5d5e5f,
    .seqnum = 0x6061626364656667,
    .count = 0x68696a6b6c6d6e6f,
    .dtype = 0x7071727374757677,
    .reserved = 0x78797a7b7c7d7e7f,
};

static void header_golden_frame(void **state)
{
    uint8_t frame[IMPI_PACKET_SIZE];
    struct impi_packet back;

    impi_packet_encode(frame, &distinct);
    for (int i = 0; i < IMPI_PACKET_SIZE; i++)
        assert_int_equal(frame[i], i);
    impi_packet_decode(&back, frame);
    assert_memory_equal(&back, &distinct, sizeof(back));
}

static void proc_is_hostid_and_pid(void **state)
{
    const uint8_t hostid[16] = {0, 0, 0, 0, 0,   0, 0, 0,
                                0, 0, 0, 0, 127, 0, 0, 3};
    const uint8_t want[24] = {0,   0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,
                              127, 0, 0, 3, 1, 2, 3, 4, 0x12, 0x34, 0x56, 0x78};
    uint8_t proc[IMPI_PROC_SIZE];

    impi_proc_encode(proc, hostid, 0x0102030412345678);
    assert_memory_equal(proc, want, sizeof(want));
}

static void packet_types_are_numbered_as_written(void **state)
{
    assert_int_equal(IMPI_PK_DATA, 0);
    assert_int_equal(IMPI_PK_DATASYNC, 1);
    assert_int_equal(IMPI_PK_PROTOACK, 2);
    assert_int_equal(IMPI_PK_SYNCACK, 3);
    assert_int_equal(IMPI_PK_CANCEL, 4);
    assert_int_equal(IMPI_PK_CANCELYES, 5);
    assert_int_equal(IMPI_PK_CANCELNO, 6);
    assert_int_equal(IMPI_PK_FINI, 7);
}

static void only_data_packets_carry_data(void **state)
{
    for (uint32_t type = 0; type < 10; type++) {
        struct impi_packet pk = {.type = type, .len = 128};

        assert_int_equal(impi_packet_payload(&pk), type <= 1 ? 128 : 0);
    }
}

static void message_length_has_64_bits(void **state)
{
    struct impi_packet pk = {.msglen = UINT64_C(5) << 30}, back;
    uint8_t frame[IMPI_PACKET_SIZE];

    impi_packet_encode(frame, &pk);
    impi_packet_decode(&back, frame);
    assert_true(back.msglen == UINT64_C(5) << 30);
}

static void packet_has_a_printable_form(void **state)
{
    static const char *const want[] = {
        "DATA 7>9 len 3 of 8 rank 2 tag -1 cid 4 srqid a drqid b",
        "DATASYNC 7>9 len 3 of 8 rank 2 tag -1 cid 4 srqid a drqid b",
        "PROTOACK 7>9",
        "SYNCACK 7>9 srqid a drqid b",
        "CANCEL 7>9 srqid a",
        "CANCELYES 7>9 srqid a",
        "CANCELNO 7>9 srqid a",
        "FINI",
        "type 8?",
    };
    struct impi_packet pk = {
        .len = 3, .msglen = 8, .lsrank = 2, .tag = -1, .cid = 4};
    char text[200];

    pk.src[23] = 7;
    pk.dest[23] = 9;
    pk.srqid = 10;
    pk.drqid = 11;
    for (pk.type = 0; pk.type < 9; pk.type++) {
        int n = impi_packet_format(text, sizeof(text), &pk);

        assert_string_equal(text, want[pk.type]);
        assert_int_equal(n, strlen(text));
    }
    assert_true(impi_packet_format(text, 5, &distinct) > 5);
    assert_int_equal(strlen(text), 4);
}

static void numbers_in_another_order_are_seen(void **state)
{
    struct impi_packet pk = {.len = 5, .msglen = 5, .lsrank = 1, .tag = 3};

    assert_false(impi_packet_is_swapped(&pk, 65536, 4));
    pk.len = bswap_32(5);
    assert_true(impi_packet_is_swapped(&pk, 65536, 4));
    pk.len = 65537; /* wrong either way */
    assert_false(impi_packet_is_swapped(&pk, 65536, 4));
    pk.len = 0;
    pk.lsrank = (int32_t)bswap_32(3);
    assert_true(impi_packet_is_swapped(&pk, 65536, 4));
    assert_false(impi_packet_is_swapped(&pk, 65536, 3));
    pk.lsrank = 0;
    pk.tag = (int32_t)bswap_32(190);
    assert_true(impi_packet_is_swapped(&pk, 65536, 4));
    pk.tag = -1;
    assert_false(impi_packet_is_swapped(&pk, 65536, 4));
    pk.tag = 0;
    pk.cid = bswap_64(1);
    assert_true(impi_packet_is_swapped(&pk, 65536, 4));
    pk.cid = UINT64_MAX;
    assert_false(impi_packet_is_swapped(&pk, 65536, 4));
    pk.cid = bswap_64(1);
    pk.type = IMPI_PK_SYNCACK; /* it means nothing there */
    assert_false(impi_packet_is_swapped(&pk, 65536, 4));
    pk.type = bswap_32(IMPI_PK_FINI);
    assert_true(impi_packet_is_swapped(&pk, 65536, 4));
    pk.type = IMPI_PK_TYPES;
    assert_false(impi_packet_is_swapped(&pk, 65536, 4));
}

static void control_packets_of_the_first_generation_are_known(void **state)
{
    struct impi_packet pk = {.type = IMPI_PK_SYNCACK,
                             .len = 128,
                             .msglen = 128,
                             .lsrank = -1,
                             .tag = -1};

    assert_true(impi_packet_is_old(&pk));
    pk.type = IMPI_PK_DATA;
    assert_false(impi_packet_is_old(&pk));
    assert_false(
        impi_packet_is_old(&(struct impi_packet){.type = IMPI_PK_SYNCACK}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_in_another_order_are_seen),
        cmocka_unit_test(control_packets_of_the_first_generation_are_known),
        cmocka_unit_test(header_golden_frame),
        cmocka_unit_test(proc_is_hostid_and_pid),
        cmocka_unit_test(packet_types_are_numbered_as_written),
        cmocka_unit_test(only_data_packets_carry_data),
        cmocka_unit_test(message_length_has_64_bits),
        cmocka_unit_test(packet_has_a_printable_form),
    };

    return cmocka_run_group_tests_name("packet", tests, NULL, NULL);
}
