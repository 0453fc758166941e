/* SPDX-License-Identifier: BSD-3-Clause
 * Contexts: who may attach, and the tag of frames between them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "hsn/attach.h"
#include "hsn/port_wire.h"

/* Two processes on each of nodes 3 and 5; node 4 is not in it. */
static struct elan_capability capability(uint32_t key)
{
    struct elan_capability c = {
        .UserKey.Values = {key, 2, 3, 4},
        .Version = ELAN_CAP_VERSION_NUMBER,
        .Type = ELAN_CAP_TYPE_BLOCK,
        .LowContext = 0x400,
        .HighContext = 0x401,
        .MyContext = ELAN_CAP_UNINITIALISED,
        .LowNode = 3,
        .HighNode = 5,
        .Entries = 4,
        .RailMask = 1,
        .Bitmap = {0x33},
    };

    return c;
}

struct frame {
    uint8_t head[HSN_ELAN_HEADER];
    uint8_t data[64], header[8];
};

static struct frame seal(struct hsn_elan_sender *s)
{
    struct frame f;
    struct iovec data = {f.data, sizeof(f.data)};
    struct iovec header = {f.header, sizeof(f.header)};

    memset(&f, 7, sizeof(f));
    assert_int_equal(hsn_elan_seal(s, 5, 0x401, &data, &header, f.head), 0);
    return f;
}

static enum hsn_elan_fault check(struct hsn_elan_sources *s, struct frame *f)
{
    struct iovec data[2] = {{f->data, 40}, {f->data + 40, 24}};
    struct iovec header = {f->header, sizeof(f->header)};
    struct hsn_elan_head h;

    if (hsn_elan_head_get(&h, f->head, sizeof(f->head)) < 0)
        return HSN_ELAN_TAG_WRONG;
    return hsn_elan_check(s, &h, f->head, data, 2, &header);
}

static struct hsn_elan_sender sender(uint32_t key, uint32_t node,
                                     uint16_t context, uint64_t epoch)
{
    struct elan_capability c = capability(key);
    struct hsn_elan_sender s;

    assert_int_equal(hsn_elan_sender_init(&s, &c.UserKey, node, context, epoch),
                     0);
    return s;
}

static void frames_of_the_program_are_taken_once(void **state)
{
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);
    struct hsn_elan_sender a = sender(1, 3, 0x400, 1000);
    struct frame f[3];

    for (int i = 0; i < 3; i++)
        f[i] = seal(&a);
    assert_int_equal(check(s, &f[1]), HSN_ELAN_OK); /* order does not matter */
    assert_int_equal(check(s, &f[0]), HSN_ELAN_OK);
    assert_int_equal(check(s, &f[2]), HSN_ELAN_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(check(s, &f[i]), HSN_ELAN_REPLAYED);
    hsn_elan_sender_clear(&a);
    hsn_elan_sources_free(s);
}

static void wrong_key_is_dropped(void **state)
{
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);
    struct hsn_elan_sender other = sender(99, 3, 0x400, 1000);
    struct frame f = seal(&other);

    assert_int_equal(check(s, &f), HSN_ELAN_TAG_WRONG);
    hsn_elan_sender_clear(&other);
    hsn_elan_sources_free(s);
}

static void every_changed_bit_is_noticed(void **state)
{
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);
    struct hsn_elan_sender a = sender(1, 3, 0x400, 1000);
    struct frame f = seal(&a);
    uint8_t *p = (uint8_t *)&f;

    for (size_t bit = 0; bit < 8 * sizeof(f); bit++) {
        p[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(check(s, &f), HSN_ELAN_OK);
        p[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(check(s, &f), HSN_ELAN_OK);
    hsn_elan_sender_clear(&a);
    hsn_elan_sources_free(s);
}

static void spoofed_sources_are_dropped(void **state)
{
    static const struct {
        uint32_t node;
        uint16_t context;
    } strangers[] = {
        {4, 0x400}, {2, 0x400}, {6, 0x400}, {3, 0x402}, {3, 0x3ff}};
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);

    for (int i = 0; i < 5; i++) {
        struct hsn_elan_sender x =
            sender(1, strangers[i].node, strangers[i].context, 1000);
        struct frame f = seal(&x);

        assert_int_equal(check(s, &f), HSN_ELAN_STRANGER);
        hsn_elan_sender_clear(&x);
    }
    hsn_elan_sources_free(s);
}

static void replay_from_an_earlier_attachment(void **state)
{
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);
    struct hsn_elan_sender a = sender(1, 3, 0x400, 1000);
    struct hsn_elan_sender again = sender(1, 3, 0x400, 1001);
    struct frame old = seal(&a), unseen = seal(&a), new = seal(&again);

    assert_int_equal(check(s, &old), HSN_ELAN_OK);
    assert_int_equal(check(s, &new), HSN_ELAN_OK);
    assert_int_equal(check(s, &unseen), HSN_ELAN_REPLAYED);
    assert_int_equal(check(s, &old), HSN_ELAN_REPLAYED);
    hsn_elan_sender_clear(&a);
    hsn_elan_sender_clear(&again);
    hsn_elan_sources_free(s);
}

/* Same contexts, same nodes, another program: another key. */
/* Its counter begins anew, however far the old one had come. */
static void a_new_attachment_counts_anew(void **state)
{
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);
    struct hsn_elan_sender a = sender(1, 3, 0x400, 1000);
    struct hsn_elan_sender again = sender(1, 3, 0x400, 1001);

    for (int i = 0; i < 500; i++) {
        struct frame f = seal(&a);

        assert_int_equal(check(s, &f), HSN_ELAN_OK);
    }
    for (int i = 0; i < 3; i++) {
        struct frame f = seal(&again);

        assert_int_equal(check(s, &f), HSN_ELAN_OK);
        assert_int_equal(check(s, &f), HSN_ELAN_REPLAYED);
    }
    hsn_elan_sender_clear(&a);
    hsn_elan_sender_clear(&again);
    hsn_elan_sources_free(s);
}

/* The same bytes, but some of the data as header. */
static void where_the_header_begins_is_signed(void **state)
{
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);
    struct hsn_elan_sender a = sender(1, 3, 0x400, 1000);
    struct frame f = seal(&a);
    uint8_t bytes[sizeof(f.data) + sizeof(f.header)];
    struct hsn_elan_head h;

    memcpy(bytes, f.data, sizeof(f.data));
    memcpy(bytes + sizeof(f.data), f.header, sizeof(f.header));
    assert_int_equal(hsn_elan_head_get(&h, f.head, sizeof(f.head)), 0);
    for (size_t at = 0; at <= sizeof(bytes); at++) {
        struct iovec data = {bytes, at};
        struct iovec header = {bytes + at, sizeof(bytes) - at};

        if (at != sizeof(f.data))
            assert_int_equal(hsn_elan_check(s, &h, f.head, &data, 1, &header),
                             HSN_ELAN_TAG_WRONG);
    }
    assert_int_equal(check(s, &f), HSN_ELAN_OK);
    hsn_elan_sender_clear(&a);
    hsn_elan_sources_free(s);
}

static void replay_from_an_earlier_program(void **state)
{
    struct elan_capability now = capability(2);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&now);
    struct hsn_elan_sender earlier = sender(1, 3, 0x400, 1000);
    struct frame f = seal(&earlier);

    assert_int_equal(check(s, &f), HSN_ELAN_TAG_WRONG);
    hsn_elan_sender_clear(&earlier);
    hsn_elan_sources_free(s);
}

static void forged_frames_do_not_spoil_the_true_sender(void **state)
{
    struct elan_capability c = capability(1);
    struct hsn_elan_sources *s = hsn_elan_sources_new(&c);
    struct hsn_elan_sender a = sender(1, 3, 0x400, 1000);
    struct hsn_elan_sender forger = sender(7, 3, 0x400, UINT64_MAX);
    struct frame bad = seal(&forger), good = seal(&a);

    assert_int_equal(check(s, &bad), HSN_ELAN_TAG_WRONG);
    assert_int_equal(check(s, &good), HSN_ELAN_OK);
    assert_int_equal(check(s, &bad), HSN_ELAN_TAG_WRONG);
    good = seal(&a);
    assert_int_equal(check(s, &good), HSN_ELAN_OK);
    hsn_elan_sender_clear(&a);
    hsn_elan_sender_clear(&forger);
    hsn_elan_sources_free(s);
}

static void only_the_right_capability_is_found(void **state)
{
    static struct hsn_contexts all;
    struct elan_capability one = capability(1), two = capability(2);
    struct hsn_program *p = hsn_program_add(&all, 11, 1000, &one), *q;

    assert_non_null(p);
    assert_null(hsn_program_add(&all, 11, 1000, &two));
    assert_int_equal(errno, EEXIST);
    q = hsn_program_add(&all, 12, 1000, &two);
    one.MyContext = 0x400; /* as rms_getcap() fills it in */
    assert_ptr_equal(hsn_program_with(&all, &one), p);
    assert_ptr_equal(hsn_program_with(&all, &two), q);
    one.UserKey.Values[3] ^= 1;
    assert_null(hsn_program_with(&all, &one));
    one.UserKey.Values[3] ^= 1;
    one.HighContext++;
    assert_null(hsn_program_with(&all, &one));
    hsn_program_remove(&all, p);
    hsn_program_remove(&all, q);
    assert_int_equal(all.nprograms, 0);
}

static void uid_membership_range_and_use_are_checked(void **state)
{
    static struct hsn_contexts all;
    struct elan_capability cap = capability(1);
    struct hsn_program *p = hsn_program_add(&all, 11, 1000, &cap);
    int user;

    assert_int_equal(hsn_attach_check(&all, p, 1000, true, 0x400), 0);
    assert_int_equal(hsn_attach_check(&all, p, 1001, true, 0x400), EPERM);
    assert_int_equal(hsn_attach_check(&all, p, 0, true, 0x400), EPERM);
    assert_int_equal(hsn_attach_check(&all, p, 1000, false, 0x400), EPERM);
    assert_int_equal(hsn_attach_check(&all, p, 1000, true, 0x3ff), ERANGE);
    assert_int_equal(hsn_attach_check(&all, p, 1000, true, 0x402), ERANGE);
    assert_int_equal(hsn_attach_check(&all, p, 1000, true, UINT32_MAX), ERANGE);
    hsn_context_take(&all, 0x400, &user, 5);
    assert_int_equal(hsn_attach_check(&all, p, 1000, true, 0x400), EBUSY);
    assert_int_equal(hsn_attach_check(&all, p, 1000, true, 0x401), 0);
    hsn_context_give(&all, 0x400);
    assert_int_equal(hsn_attach_check(&all, p, 1000, true, 0x400), 0);
    hsn_program_remove(&all, p);
}

static void epochs_of_a_context_only_rise(void **state)
{
    static struct hsn_contexts all;
    int user;

    assert_int_equal(hsn_context_take(&all, 7, &user, 100), 100);
    assert_int_equal(hsn_context_take(&all, 7, &user, 50), 101);
    assert_int_equal(hsn_context_take(&all, 7, &user, 101), 102);
    assert_int_equal(hsn_context_take(&all, 8, &user, 50), 50);
}

static void requests_keep_every_member(void **state)
{
    uint8_t buf[4096];
    struct be_writer w;
    struct hsn_request r;
    struct be_reader answer;
    struct hsn_peer p = {.address = 0x123456789abc,
                         .host_type = 9,
                         .neighbour = true,
                         .nroutes = 2,
                         .route = {{2, {0x81, 0xbf}}, {0, {0}}}},
                    q;

    hsn_request_begin(&w, buf, sizeof(buf), HSN_OPEN_RAW, 0x000f, 5);
    hsn_peer_put(&w, &p);
    for (size_t len = 0; len < 16; len++)
        assert_int_equal(hsn_request_get(&r, buf, len), -1);
    assert_int_equal(hsn_request_get(&r, buf, w.len), 0);
    assert_int_equal(r.verb, HSN_OPEN_RAW);
    assert_true(r.a == 0x000f && r.b == 5);
    assert_int_equal(hsn_peer_get(&r.more, &q), 0);
    assert_memory_equal(&p, &q, sizeof(p));
    buf[5] ^= 1; /* version */
    assert_int_equal(hsn_request_get(&r, buf, w.len), -1);
    hsn_answer_begin(&w, buf, sizeof(buf), EBUSY);
    assert_int_equal(hsn_answer_open(&answer, buf, w.len), EBUSY);
    assert_int_equal(hsn_answer_open(&answer, buf, 7), EPROTO);
}

static void routes_of_a_request_have_a_longest_length(void **state)
{
    uint8_t buf[256];
    struct be_writer w;
    struct be_reader r;
    struct hsn_peer p = {.address = 1,
                         .nroutes = 1,
                         .route[0].len = HSN_ROUTE_MAX},
                    q;

    (void)state;
    memset(p.route[0].byte, 0x81, HSN_ROUTE_MAX);
    be_writer_init(&w, buf, sizeof(buf));
    hsn_peer_put(&w, &p);
    be_reader_init(&r, buf, w.len);
    assert_int_equal(hsn_peer_get(&r, &q), 0);
    assert_memory_equal(&p, &q, sizeof(p));
    buf[w.len - HSN_ROUTE_MAX - 1]++; /* its length: as much is there */
    buf[w.len++] = 0x81;
    be_reader_init(&r, buf, w.len);
    assert_int_equal(hsn_peer_get(&r, &q), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_right_capability_is_found),
        cmocka_unit_test(uid_membership_range_and_use_are_checked),
        cmocka_unit_test(frames_of_the_program_are_taken_once),
        cmocka_unit_test(wrong_key_is_dropped),
        cmocka_unit_test(every_changed_bit_is_noticed),
        cmocka_unit_test(spoofed_sources_are_dropped),
        cmocka_unit_test(replay_from_an_earlier_attachment),
        cmocka_unit_test(replay_from_an_earlier_program),
        cmocka_unit_test(a_new_attachment_counts_anew),
        cmocka_unit_test(where_the_header_begins_is_signed),
        cmocka_unit_test(forged_frames_do_not_spoil_the_true_sender),
        cmocka_unit_test(epochs_of_a_context_only_rise),
        cmocka_unit_test(requests_keep_every_member),
        cmocka_unit_test(routes_of_a_request_have_a_longest_length),
    };

    return cmocka_run_group_tests_name("hsn_elan", tests, NULL, NULL);
}
