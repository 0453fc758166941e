/* SPDX-License-Identifier: BSD-3-Clause
 * GM-1 messages, byte for byte as the document lays them out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

#include <cmocka.h>

#include "mapper/gm1_wire.h"
#include "mapper/gm_address.h"

#define PORT 0x11121314
#define PHASE 0x21222324

/* Bytes at one offset of a golden frame. */
struct piece {
    size_t at;
    size_t len;
    const char *bytes;
};

static void expect_pieces(const uint8_t *body, size_t len,
                          const struct piece *pieces, size_t n)
{
    uint8_t want[GM1_MESSAGE_MAX] = {0};

    for (size_t i = 0; i < n; i++)
        memcpy(want + pieces[i].at, pieces[i].bytes, pieces[i].len);
    assert_memory_equal(body, want, len);
}
#define EXPECT(body, len, ...)                                                 \
    do {                                                                       \
        const struct piece pieces_[] = {__VA_ARGS__};                          \
        expect_pieces(body, len, pieces_, sizeof(pieces_) / sizeof(*pieces_)); \
    } while (0)
#define HEAD(subtype)                                                          \
    {0, 4, "\x00\x0f\x00" subtype}, {4, 4, "\x11\x12\x13\x14"},                \
    {                                                                          \
        8, 4, "\x21\x22\x23\x24"                                               \
    }

static struct gm1_message scout(void)
{
    return (struct gm1_message){
        .subtype = GM1_SCOUT,
        .port = PORT,
        .phase = PHASE,
        .scout = {{3, {0x81, 0x80, 0xbf}}, 0x0060dd010203, 1, 0x31323334}};
}

static void scout_golden_frame(void **state)
{
    const struct gm1_message msg = scout();
    struct gm1_message back;
    uint8_t body[100], again[100];

    assert_int_equal(gm1_encode(body, sizeof(body), &msg), 60);
    EXPECT(body, 60, HEAD("\x00"), {12, 4, "\0\0\0\3"}, {16, 3, "\x81\x80\xbf"},
           {48, 6, "\x00\x60\xdd\x01\x02\x03"}, {54, 2, "\0\1"},
           {56, 4, "\x31\x32\x33\x34"});
    assert_int_equal(gm1_decode(&back, body, 60), 0);
    assert_int_equal(gm1_encode(again, sizeof(again), &back), 60);
    assert_memory_equal(again, body, 60);
    assert_int_equal(back.port, PORT);
    assert_int_equal(back.phase, PHASE);
}

static struct gm1_message reply(void)
{
    struct gm1_message msg = {
        .subtype = GM1_REPLY, .port = PORT, .phase = PHASE};

    msg.reply = (struct gm1_reply){0x0060dd040506,
                                   0x0060dd010203,
                                   0x4142,
                                   0x51525354,
                                   "node-7",
                                   0x61626364,
                                   77,
                                   0,
                                   0};
    return msg;
}

static void gm1_reply_golden_frame(void **state)
{
    const struct gm1_message msg = reply();
    struct gm1_message back;
    uint8_t body[100], again[100];

    assert_int_equal(gm1_encode(body, sizeof(body), &msg), 72);
    EXPECT(body, 72, HEAD("\x02"), {12, 6, "\x00\x60\xdd\x04\x05\x06"},
           {18, 6, "\x00\x60\xdd\x01\x02\x03"}, {24, 2, "\x41\x42"},
           {28, 4, "\x51\x52\x53\x54"}, {32, 6, "node-7"},
           {64, 4, "\x61\x62\x63\x64"}, {68, 2, "\0\x4d"});
    assert_int_equal(gm1_decode(&back, body, 72), 0);
    assert_int_equal(gm1_encode(again, sizeof(again), &back), 72);
    assert_memory_equal(again, body, 72);
}

static void names_are_cut_at_31_and_never_read_past(void **state)
{
    static const char *const names[] = {"", "0123456789012345678901234567890",
                                        ("01234567890123456789012345678901"
                                         "23456789")};
    struct gm1_message msg = reply(), back;
    uint8_t body[72];

    for (int i = 0; i < 2; i++) {
        strcpy(msg.reply.name, names[i]);
        assert_int_equal(gm1_encode(body, sizeof(body), &msg), 72);
        assert_int_equal(gm1_decode(&back, body, 72), 0);
        assert_string_equal(back.reply.name, names[i]);
    }
    memcpy(body + 32, names[2], 32); /* no NUL in the field */
    assert_int_equal(gm1_decode(&back, body, 72), 0);
    assert_string_equal(back.reply.name, names[1]);
}

static void fill_members(struct gm1_member *members, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        members[i] =
            (struct gm1_member){0x020000000000 + i, (uint16_t)(0xbe00 + i)};
}

static void cloud_reply_golden_frame(void **state)
{
    struct gm1_message msg = reply(), back;
    struct gm1_member members[176], got;
    uint8_t body[2000];

    fill_members(members, 176);
    msg.reply.option = GM1_OPTION_CLOUD;
    msg.reply.nhosts = 176;
    assert_int_equal(gm1_encode_members(body, sizeof(body), &msg, members, 176),
                     1476);
    assert_memory_equal(body, "\x00\x0f\x00\x02", 4);
    assert_memory_equal(body + 70, "\0\1\0\0\0\xb0", 6);
    assert_memory_equal(body + 76, "\x02\0\0\0\0\0\xbe\0\x02\0\0\0\0\1\xbe\1",
                        16);
    assert_int_equal(gm1_decode(&back, body, 1476), 0);
    assert_int_equal(back.reply.nhosts, 176);
    assert_int_equal(back.nrows, 175);
    gm1_member_at(&back, 174, &got);
    assert_int_equal(got.address, members[174].address);
    assert_int_equal(got.control, 0xbe00 + 174);
}

static void rows_are_those_present_not_those_announced(void **state)
{
    struct gm1_message msg = reply(), back;
    struct gm1_member members[3];
    uint8_t body[200];
    size_t len;

    fill_members(members, 3);
    msg.reply.option = GM1_OPTION_CLOUD;
    msg.reply.nhosts = 500;
    len = gm1_encode_members(body, sizeof(body), &msg, members, 3);
    assert_int_equal(gm1_decode(&back, body, len), 0);
    assert_int_equal(back.nrows, 3);
    assert_int_equal(gm1_decode(&back, body, len - 1), 0);
    assert_int_equal(back.nrows, 2);
    assert_int_equal(gm1_decode(&back, body, 75), -1); /* no numHosts */
    body[75] = 2; /* nor more than were announced */
    body[74] = 0;
    assert_int_equal(gm1_decode(&back, body, len), 0);
    assert_int_equal(back.nrows, 2);
}

static void cloud_query_golden_frame(void **state)
{
    const struct gm1_message msg = {.subtype = GM1_CLOUD_QUERY,
                                    .port = PORT,
                                    .phase = PHASE,
                                    .query = {175, 150}};
    struct gm1_message back;
    uint8_t body[40];

    assert_int_equal(gm1_encode(body, sizeof(body), &msg), 20);
    EXPECT(body, 20, HEAD("\x07"), {12, 4, "\0\0\0\xaf"},
           {16, 4, "\0\0\0\x96"});
    assert_int_equal(gm1_decode(&back, body, 20), 0);
    assert_int_equal(back.query.first, 175);
    assert_int_equal(back.query.nhosts, 150);
}

static void cloud_query_reply_golden_frame(void **state)
{
    struct gm1_message msg = {.subtype = GM1_CLOUD_QUERY_REPLY,
                              .port = PORT,
                              .phase = PHASE},
                       back;
    struct gm1_member members[2];
    uint8_t body[GM1_CLOUD_QUERY_REPLY_SIZE + 176 * GM1_MEMBER_SIZE] = {0};

    fill_members(members, 2);
    msg.query_reply.address = 0x0060dd040506;
    assert_int_equal(gm1_encode_members(body, sizeof(body), &msg, members, 2),
                     40);
    EXPECT(body, 40, HEAD("\x08"), {12, 6, "\x00\x60\xdd\x04\x05\x06"},
           {20, 4, "\0\0\0\2"}, {24, 8, "\x02\0\0\0\0\0\xbe\0"},
           {32, 8, "\x02\0\0\0\0\1\xbe\1"});
    assert_int_equal(gm1_decode(&back, body, 40), 0);
    assert_int_equal(back.nrows, 2);
    assert_int_equal(gm1_decode(&back, body, 39), -1);
    assert_int_equal(errno, EPROTO);
    body[23] = 175;
    assert_int_equal(gm1_decode(&back, body, sizeof(body)), 0);
    body[23] = 176; /* all there, but more than a message may have */
    assert_int_equal(gm1_decode(&back, body, sizeof(body)), -1);
    assert_int_equal(errno, EPROTO);
}

static struct gm1_message config(void)
{
    struct gm1_message msg = {
        .subtype = GM1_CONFIG, .port = PORT, .phase = PHASE};

    msg.config = (struct gm1_config){
        0x71727374, {2, {0x82, 0xbe}}, 0x0060dd040506, 0x0060dd010203, 0x4142,
        0x0203,     0x51525354};
    return msg;
}

static void config_golden_frame(void **state)
{
    const struct gm1_message msg = config();
    const struct gm1_entry entry = {0x0060dd070809,    0x8182,   0x0001,
                                    {2, {0x81, 0x83}}, "node-9", 0xbeef};
    struct gm1_message back;
    struct gm1_entry got;
    uint8_t body[200], again[200];

    assert_int_equal(gm1_encode_entries(body, sizeof(body), &msg, &entry, 1),
                     156);
    EXPECT(body, 156, HEAD("\x01"), {12, 4, "\x71\x72\x73\x74"},
           {16, 4, "\0\0\0\2"}, {20, 2, "\x82\xbe"},
           {52, 6, "\x00\x60\xdd\x04\x05\x06"},
           {58, 6, "\x00\x60\xdd\x01\x02\x03"}, {64, 2, "\x41\x42"},
           {66, 2, "\x02\x03"}, {68, 4, "\x51\x52\x53\x54"},
           {72, 4, "\0\0\0\1"}, {76, 6, "\x00\x60\xdd\x07\x08\x09"},
           {82, 2, "\x81\x82"}, {84, 2, "\0\1"}, {86, 2, "\0\2"},
           {88, 2, "\x81\x83"}, {120, 6, "node-9"}, {152, 2, "\xbe\xef"});
    assert_int_equal(gm1_decode(&back, body, 156), 0);
    assert_int_equal(gm1_entry_at(&back, 0, &got), 0);
    assert_int_equal(gm1_encode_entries(again, sizeof(again), &back, &got, 1),
                     156);
    assert_memory_equal(again, body, 156);
    assert_int_equal(gm1_decode(&back, body, 155), -1);
    assert_int_equal(errno, EPROTO);
}

static void switch_messages_golden_frames(void **state)
{
    struct gm1_message msg = {
        .subtype = GM1_PROBE, .port = PORT, .phase = PHASE};
    uint8_t body[20];

    assert_int_equal(gm1_encode(body, sizeof(body), &msg), 12);
    EXPECT(body, 12, HEAD("\x03"));
    msg.subtype = GM1_VERIFY;
    assert_int_equal(gm1_encode(body, sizeof(body), &msg), 12);
    EXPECT(body, 12, HEAD("\x04"));
}

static void route_longer_than_32_is_refused(void **state)
{
    struct gm1_message msg = scout(), back;
    uint8_t body[60];

    msg.scout.back.len = 32;
    assert_int_equal(gm1_encode(body, sizeof(body), &msg), 60);
    assert_int_equal(gm1_decode(&back, body, 60), 0);
    msg.scout.back.len = 33;
    assert_int_equal(gm1_encode(body, sizeof(body), &msg), 0);
    body[15] = 33;
    assert_int_equal(gm1_decode(&back, body, 60), -1);
    assert_int_equal(errno, EPROTO);
}

static void entry_with_a_long_route_is_refused(void **state)
{
    const struct gm1_message msg = config();
    const struct gm1_entry entry = {.route = {32, {0}}};
    struct gm1_message back;
    struct gm1_entry got;
    uint8_t body[156];

    gm1_encode_entries(body, sizeof(body), &msg, &entry, 1);
    assert_int_equal(gm1_decode(&back, body, 156), 0);
    assert_int_equal(gm1_entry_at(&back, 0, &got), 0); /* 32 are not too many */
    assert_int_equal(got.route.len, 32);
    body[87] = 33;
    assert_int_equal(gm1_decode(&back, body, 156), 0);
    assert_int_equal(gm1_entry_at(&back, 0, &got), -1);
    assert_int_equal(errno, EPROTO);
}

static void other_types_and_subtypes_are_not_ours(void **state)
{
    static const uint8_t subtypes[] = {5, 6, 9, 0xf0, 0xff};
    const struct gm1_message msg = scout();
    struct gm1_message back;
    uint8_t body[60];

    gm1_encode(body, sizeof(body), &msg);
    for (unsigned i = 0; i < sizeof(subtypes); i++) {
        body[3] = subtypes[i];
        assert_int_equal(gm1_decode(&back, body, 60), -1);
        assert_int_equal(errno, ENOMSG);
    }
    body[3] = 0;
    body[1] = 0x10;
    assert_int_equal(gm1_decode(&back, body, 60), -1);
    assert_int_equal(errno, ENOMSG);
}

static void every_cut_is_refused(void **state)
{
    const struct gm1_message msgs[] = {scout(), reply(), config()};
    struct gm1_message back;
    uint8_t body[100];

    for (int i = 0; i < 3; i++) {
        size_t len = gm1_encode(body, sizeof(body), &msgs[i]);

        for (size_t cut = 0; cut < len; cut++) {
            uint8_t *exact = malloc(cut + 1);

            memcpy(exact, body, cut);
            assert_int_equal(gm1_decode(&back, exact, cut), -1);
            assert_int_equal(errno, EPROTO);
            free(exact);
        }
    }
}

static void rank_is_level_then_unsigned_address(void **state)
{
    for (int byte = 0; byte < 6; byte++) {
        uint64_t low = 0x0060dd7f7f7fULL & ~(0xffULL << 8 * byte);
        uint64_t high = low | 0x80ULL << 8 * byte;

        assert_true(gm_outranks(1, high, 1, low));
        assert_false(gm_outranks(1, low, 1, high));
        assert_true(gm_outranks(2, low, 1, high));
    }
    assert_false(gm_outranks(1, 5, 1, 5));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scout_golden_frame),
        cmocka_unit_test(gm1_reply_golden_frame),
        cmocka_unit_test(names_are_cut_at_31_and_never_read_past),
        cmocka_unit_test(cloud_reply_golden_frame),
        cmocka_unit_test(rows_are_those_present_not_those_announced),
        cmocka_unit_test(cloud_query_golden_frame),
        cmocka_unit_test(cloud_query_reply_golden_frame),
        cmocka_unit_test(config_golden_frame),
        cmocka_unit_test(switch_messages_golden_frames),
        cmocka_unit_test(route_longer_than_32_is_refused),
        cmocka_unit_test(entry_with_a_long_route_is_refused),
        cmocka_unit_test(other_types_and_subtypes_are_not_ours),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(rank_is_level_then_unsigned_address),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
