/* SPDX-License-Identifier: BSD-3-Clause
 * The HSN header, golden frames, checksum, routes.
 */
#include "hsn_util.h"

#include "base/crc32c.h"
#include "hsn/port_record.h"
#include "net/packet.h"

static const struct hsn_frame sample = {
    .host = 0x0060dd470001,
    .to = 0x0060dd470002,
    .incarnation = 0xcafe0001,
    .sequence = 0x10,
    .module = HSN_MODULE_SERVER,
    .data_len = 4,
    .header_len = 2,
    .last = true,
};

static void crc32c_agrees_with_published_values(void **state)
{
    uint8_t zeros[32] = {0}, ones[32], rising[32];

    memset(ones, 0xff, 32);
    for (int i = 0; i < 32; i++)
        rising[i] = (uint8_t)i;
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, zeros, 32), 0x8a9136aa);
    assert_int_equal(crc32c(0, ones, 32), 0x62a8ab43);
    assert_int_equal(crc32c(0, rising, 32), 0x46dd794e);
}

static void crc32c_is_the_same_with_and_without_the_instruction(void **state)
{
    static uint8_t buf[9000];

    fill(buf, sizeof(buf), 3);
    for (size_t len = 0; len < sizeof(buf); len += len < 40 ? 1 : 509)
        assert_int_equal(
            crc32c(5, buf + len % 7, len - len % 7 * (len > 7)),
            crc32c_plain(5, buf + len % 7, len - len % 7 * (len > 7)));
    assert_int_equal(crc32c(crc32c(0, buf, 4000), buf + 4000, 5000),
                     crc32c(0, buf, 9000));
}

static void golden_frame_of_a_whole_message(void **state)
{
    static const uint8_t golden[] = {
        'p',  'a',  'g',  'e',                          /* data */
        'h',  'd',                                      /* module header */
        0x00, 0x00, 0x00, 0x60, 0xdd, 0x47, 0x00, 0x01, /* host id */
        0x00, 0x00, 0x00, 0x60, 0xdd, 0x47, 0x00, 0x02, /* to */
        0xca, 0xfe, 0x00, 0x01,                         /* incarnation */
        0x00, 0x00, 0x00, 0x10,                         /* sequence */
        0x00, 0x02,                                     /* module */
        0x00, 0x04, 0x00, 0x02,                         /* lengths */
        0x00, 0x01,                                     /* fragment, last */
        0x01, 0x00, 0x00, 0x00,                         /* version */
    };
    uint8_t packet[sizeof(golden) + 4] = "pagehd";
    struct iovec parts[2] = {{packet, 4}, {packet + 4, 2}};
    struct iovec all = {packet, sizeof(packet)};
    struct hsn_frame f;
    uint32_t crc = crc32c_plain(0, golden, sizeof(golden));

    hsn_frame_put(&sample, parts, 2, packet + 6);
    assert_memory_equal(packet, golden, sizeof(golden));
    assert_int_equal(packet[42], crc >> 24);
    assert_int_equal(packet[45], crc & 0xff);
    assert_int_equal(hsn_frame_get(&f, &all, 1), HSN_FRAME_OK);
    assert_true(f.host == sample.host && f.to == sample.to);
    assert_int_equal(f.incarnation, sample.incarnation);
    assert_int_equal(f.sequence, sample.sequence);
    assert_int_equal(f.module, sample.module);
    assert_int_equal(f.data_len, 4);
    assert_int_equal(f.header_len, 2);
    assert_int_equal(f.fragment, 0);
    assert_true(f.last);
}

static void golden_packets_of_a_split_page(void **state)
{
    struct node *n = node_new(1, 8192, &copy_module);
    struct fake_packet *a = &n->nic.out[0], *b = &n->nic.out[1];
    static uint8_t page[8192];

    fill(page, sizeof(page), 1);
    assert_int_equal(send_to(n, HSN_MODULE_SERVER, 2, page, 8192, "ctl!", 4, 0),
                     0);
    assert_int_equal(n->nic.nout, 2);
    assert_int_equal(a->len, 4096 + HSN_TRAILER);
    assert_memory_equal(a->bytes, page, 4096);
    assert_int_equal(b->len, 4096 + 4 + HSN_TRAILER);
    assert_memory_equal(b->bytes, page + 4096, 4096);
    assert_memory_equal(b->bytes + 4096, "ctl!", 4);
    assert_memory_equal(a->bytes + 4096 + 30, "\0\0", 2); /* 0, more */
    assert_memory_equal(b->bytes + 4100 + 30, "\1\1", 2); /* 1, last */
    assert_memory_equal(a->bytes + 4096, b->bytes + 4100,
                        30); /* same message */
    node_free(n);
}

static void one_packet_holds_8192_bytes_8193_are_two(void **state)
{
    assert_int_equal(hsn_fragments(8192 - HSN_TRAILER, 0), 1);
    assert_int_equal(hsn_fragments(8192 - HSN_TRAILER - 100, 100), 1);
    assert_int_equal(hsn_fragments(8192 - HSN_TRAILER - 100, 101), 2);
    assert_int_equal(hsn_fragments(8192 - HSN_TRAILER + 1, 0), 2);
    assert_int_equal(hsn_fragments(0, 0), 1);
}

static void more_than_two_fragments_are_refused(void **state)
{
    static uint8_t page[HSN_DATA_MAX + 1];
    struct node *n = node_new(1, 8192, &copy_module);

    assert_int_equal(hsn_fragments(HSN_DATA_MAX, HSN_HEADER_MAX), 2);
    assert_int_equal(hsn_fragments(HSN_DATA_MAX + 1, 0), 0);
    assert_int_equal(hsn_fragments(8000, HSN_HEADER_MAX + 1), 0);
    assert_int_equal(
        send_to(n, HSN_MODULE_CLIENT, 2, page, sizeof(page), NULL, 0, 0), -1);
    assert_int_equal(errno, EMSGSIZE);
    assert_int_equal(COUNT(n, refused_size), 1);
    assert_int_equal(n->nic.nout + n->client.ndone, 0);
    node_free(n);
}

/* A packet with these two fields; lengths fit them. */
static enum hsn_frame_fault fault_of(uint8_t fragment, bool last,
                                     uint16_t data_len)
{
    static uint8_t packet[HSN_MTU];
    struct hsn_frame f = sample, got;
    struct hsn_extent x;
    struct iovec part = {packet, 0}, all;

    f.fragment = fragment;
    f.last = last;
    f.data_len = data_len;
    x = hsn_extent(&f);
    part.iov_len = x.data_len + x.header_len;
    if (part.iov_len > HSN_MTU - HSN_TRAILER)
        part.iov_len = 0;
    hsn_frame_put(&f, &part, 1, packet + part.iov_len);
    all = (struct iovec){packet, part.iov_len + HSN_TRAILER};
    return hsn_frame_get(&got, &all, 1);
}

static void fragment_and_last_flag(void **state)
{
    assert_int_equal(fault_of(0, true, 100), HSN_FRAME_OK);
    assert_int_equal(fault_of(0, false, 8192), HSN_FRAME_OK);
    assert_int_equal(fault_of(1, true, 8192), HSN_FRAME_OK);
    assert_int_equal(fault_of(1, false, 8192), HSN_FRAME_LIES);
    assert_int_equal(fault_of(0, false, 100), HSN_FRAME_LIES);
    assert_int_equal(fault_of(1, true, 100), HSN_FRAME_LIES);
    assert_int_equal(fault_of(0, true, 8192), HSN_FRAME_LIES);
    assert_int_equal(fault_of(2, true, 8192), HSN_FRAME_LIES);
    assert_int_equal(fault_of(2, false, 8192), HSN_FRAME_LIES);
}

static void frame_every_flipped_bit_is_noticed(void **state)
{
    uint8_t packet[6 + HSN_TRAILER] = "pagehd";
    struct iovec part = {packet, 6}, all = {packet, sizeof(packet)};
    struct hsn_frame f;

    hsn_frame_put(&sample, &part, 1, packet + 6);
    for (size_t bit = 0; bit < 8 * sizeof(packet); bit++) {
        packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(hsn_frame_get(&f, &all, 1), HSN_FRAME_OK);
        packet[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t len = 0; len < sizeof(packet); len++) {
        all.iov_len = len;
        assert_int_not_equal(hsn_frame_get(&f, &all, 1), HSN_FRAME_OK);
    }
}

static void routes_file_is_read(void **state)
{
    static const char text[] = "# three\n"
                               "0060dd470001 neighbour type=3 3,-2 4,-2\n"
                               "\n 60dd470002 - # back to back\n";
    struct hsn_peer *peers;
    struct hsn_routes r;
    struct errbuf err;
    size_t n;

    assert_int_equal(
        hsn_routes_parse("r", text, strlen(text), &peers, &n, &err), 0);
    assert_int_equal(n, 2);
    assert_true(peers[0].address == 0x60dd470001 && peers[0].neighbour);
    assert_int_equal(peers[0].host_type, 3);
    assert_int_equal(peers[0].nroutes, 2);
    assert_memory_equal(peers[0].route[0].byte, "\x83\xbe", 2);
    assert_int_equal(peers[1].nroutes, 1);
    assert_int_equal(peers[1].route[0].len, 0);
    assert_int_equal(hsn_routes_make(&r, peers, n, NULL, &err), 0);
    assert_non_null(hsn_routes_find(&r, 0x60dd470002));
    assert_null(hsn_routes_find(&r, 0x60dd470003));
    hsn_routes_free(&r);
    peers[1].address = peers[0].address;
    assert_int_equal(hsn_routes_make(&r, peers, n, NULL, &err), -1);
    assert_string_equal(err.text, "board 0060dd470001 twice");
    free(peers);
}

static void routes_have_a_longest_length(void **state)
{
    struct hsn_peer peer = {
        .address = 1, .nroutes = 1, .route[0].len = HSN_ROUTE_MAX};
    char text[3 * NET_ROUTE_MAX + 8] = "1 1";
    struct hsn_peer *peers;
    struct hsn_routes r;
    struct errbuf err;
    size_t n;

    memset(peer.route[0].byte, 0x81, HSN_ROUTE_MAX);
    assert_int_equal(hsn_routes_make(&r, &peer, 1, NULL, &err), 0);
    hsn_routes_free(&r);
    peer.route[0].len++;
    peer.route[1].len = 0x81; /* a good byte, but not its */
    assert_int_equal(hsn_routes_make(&r, &peer, 1, NULL, &err), -1);
    assert_string_equal(err.text,
                        "board 000000000001: routes are not well formed");
    for (int i = 1; i < NET_ROUTE_MAX; i++)
        strcat(text, ",1");
    assert_int_equal(
        hsn_routes_parse("r", text, strlen(text), &peers, &n, &err), 0);
    assert_int_equal(peers[0].route[0].len, NET_ROUTE_MAX);
    free(peers);
    strcat(text, ",1");
    assert_int_equal(
        hsn_routes_parse("r", text, strlen(text), &peers, &n, &err), -1);
}

/* What a process put into its ring is looked at before it is believed. */
static void records_stay_within_their_limits(void **state)
{
    const struct hsn_record most = {.data_len = HSN_DATA_MAX,
                                    .header_len = HSN_HEADER_MAX,
                                    .route_len = HSN_ROUTE_MAX};
    struct hsn_record r = most;

    assert_true(hsn_record_valid(&r, HSN_RECORD_MAX));
    assert_false(hsn_record_valid(&r, HSN_RECORD_MAX - 1));
    assert_false(hsn_record_valid(&r, HSN_RECORD_MAX + 1));
    r.route_len++;
    assert_false(hsn_record_valid(&r, HSN_RECORD_MAX + 1));
    r = most;
    r.data_len++;
    assert_false(hsn_record_valid(&r, HSN_RECORD_MAX + 1));
    r = most;
    r.header_len++;
    assert_false(hsn_record_valid(&r, HSN_RECORD_MAX + 1));
}

static void routes_file_errors_name_the_line(void **state)
{
    static const char *const bad[][2] = {
        {"\nxyz 1", "r:2: xyz: not a board address"},
        {"1 99", "r:1: 99: not a route"},
        {"1 1,,2", "r:1: 1,,2: not a route"},
        {"1", "r:1: line: no route"},
        {"1 type=x 1", "r:1: type=x: not a number"},
        {"1 1 1 1 1 1 1 1 1 1", "r:1: 1: too many routes"},
    };
    struct hsn_peer *peers;
    struct errbuf err;
    size_t n;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(hsn_routes_parse("r", bad[i][0], strlen(bad[i][0]),
                                          &peers, &n, &err),
                         -1);
        assert_string_equal(err.text, bad[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crc32c_agrees_with_published_values),
        cmocka_unit_test(crc32c_is_the_same_with_and_without_the_instruction),
        cmocka_unit_test(golden_frame_of_a_whole_message),
        cmocka_unit_test(golden_packets_of_a_split_page),
        cmocka_unit_test(one_packet_holds_8192_bytes_8193_are_two),
        cmocka_unit_test(more_than_two_fragments_are_refused),
        cmocka_unit_test(fragment_and_last_flag),
        cmocka_unit_test(frame_every_flipped_bit_is_noticed),
        cmocka_unit_test(routes_file_is_read),
        cmocka_unit_test(routes_file_errors_name_the_line),
        cmocka_unit_test(routes_have_a_longest_length),
        cmocka_unit_test(records_stay_within_their_limits),
    };

    return cmocka_run_group_tests_name("hsn_frame", tests, NULL, NULL);
}
