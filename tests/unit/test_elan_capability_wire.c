/* SPDX-License-Identifier: BSD-3-Clause
 * Elan capabilities as bytes, and what is wrong with one.
 */
#include "capability_util.h"

static size_t encode(const struct elan_capability *cap, uint8_t *buf,
                     size_t size)
{
    struct be_writer w;

    be_writer_init(&w, buf, size);
    elan_capability_put(&w, cap);
    assert_false(w.bad);
    assert_int_equal(w.len, elan_capability_size(cap));
    return w.len;
}

static int decode(struct elan_capability *cap, const uint8_t *buf, size_t len)
{
    struct be_reader r;
    struct errbuf err;
    int rc;

    be_reader_init(&r, buf, len);
    errno = 0;
    rc = elan_capability_get(&r, cap, &err);
    if (rc < 0)
        assert_int_equal(errno, EPROTO);
    return rc;
}

static void codec_keeps_every_member(void **state)
{
    const uint32_t ids[] = {10, 12, 15};
    const uint16_t tasks[] = {2, 1, 2};
    struct elan_capability cap = build_of(3, ids, tasks, true), got;
    uint8_t buf[256];
    size_t len;

    cap.MyContext = 0x401;
    len = encode(&cap, buf, sizeof(buf));
    assert_int_equal(decode(&got, buf, len), 0);
    assert_int_equal(got.MyContext, 0x401);
    assert_true(elan_capability_equal(&got, &cap));
    assert_memory_equal(&got, &cap, sizeof(cap));
    got.UserKey.Values[3] ^= 1;
    assert_false(elan_capability_equal(&got, &cap));
    cap.RailMask = 4; /* of the third rail */
    cap.Type |= ELAN_CAP_TYPE_MAPPED;
    len = encode(&cap, buf, sizeof(buf));
    assert_int_equal(decode(&got, buf, len), 0);
    assert_memory_equal(&got, &cap, sizeof(cap));
}

/* What one changed bit does not show, because another lie hides it. */
static void bitmap_and_counts_belong_together(void **state)
{
    struct elan_layout l = even_layout(8, 4, 4, false); /* 32 slots */
    struct elan_capability good = build(&l, 4), cap = good, got;
    uint8_t buf[256];
    size_t len;

    memset(cap.Bitmap, 0, sizeof(cap.Bitmap));
    cap.Entries = 0;
    assert_int_equal(elan_capability_validate(&cap, NULL), -1);
    cap = good; /* a process past the last word instead of the last one */
    cap.Bitmap[0] &= ~(1u << 31);
    cap.Bitmap[2] |= 1;
    assert_int_equal(elan_capability_validate(&cap, NULL), -1);
    cap = good; /* past the last slot within a word: 28 slots */
    cap.HighNode--;
    cap.Entries = 28;
    cap.Bitmap[0] = 0x1ffffffe;
    assert_int_equal(elan_capability_validate(&cap, NULL), -1);
    len = encode(&good, buf, sizeof(buf)); /* one word too many, and clear */
    memset(buf + len, 0, 4);
    buf[len - 5]++;
    assert_int_equal(decode(&got, buf, len + 4), -1);
    elan_layout_free(&l);
}

static void capability_codec_refuses_cuts_and_lies(void **state)
{
    const uint32_t ids[] = {10, 12, 15};
    const uint16_t tasks[] = {2, 1, 2};
    struct elan_capability cap = build_of(3, ids, tasks, false), got;
    uint8_t buf[256], bent[256];
    size_t len = encode(&cap, buf, sizeof(buf));
    int accepted = 0;

    for (size_t cut = 0; cut < len; cut++)
        assert_int_equal(decode(&got, buf, cut), -1);
    for (size_t bit = 0; bit < len * 8; bit++) {
        memcpy(bent, buf, len);
        bent[bit / 8] ^= 1 << (bit % 8);
        if (decode(&got, bent, len) == 0) {
            assert_int_equal(elan_capability_validate(&got, NULL), 0);
            accepted++;
        }
    }
    /* Key, own context, spare flags: free values.  All else is tied up. */
    assert_in_range(accepted, 128 + 32, 300);
}

static void expect_invalid(struct elan_capability cap, const char *text)
{
    struct errbuf err = {""};

    assert_int_equal(elan_capability_validate(&cap, &err), -1);
    assert_int_equal(errno, EPROTO);
    assert_string_equal(err.text, text);
}

static void validate_names_what_is_wrong(void **state)
{
    struct elan_layout l = even_layout(3, 4, 2, false);
    struct elan_capability good = build(&l, 2), cap = good;

    cap.Version = 3;
    expect_invalid(cap, "capability: version 0x3 is not 0x10002");
    cap = good;
    cap.Type = 7;
    expect_invalid(cap, "capability: type 0x7");
    cap = good;
    cap.HighContext = 4096;
    expect_invalid(cap, "capability: contexts 1024 to 4096");
    cap = good;
    cap.LowNode = -1;
    expect_invalid(cap, "capability: nodes -1 to 6");
    cap = good;
    cap.RailMask = 0;
    expect_invalid(cap, "capability: rail mask 0x0");
    cap = good;
    cap.HighNode = 60000;
    expect_invalid(cap, "capability: 119994 possible processes, limit 16384");
    cap = good;
    cap.Bitmap[0] |= 1u << 6;
    expect_invalid(cap, "capability: bitmap is not that of 6 processes");
    cap = good;
    cap.Entries = 5;
    expect_invalid(cap, "capability: bitmap is not that of 5 processes");
    elan_layout_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codec_keeps_every_member),
        cmocka_unit_test(bitmap_and_counts_belong_together),
        cmocka_unit_test(capability_codec_refuses_cuts_and_lies),
        cmocka_unit_test(validate_names_what_is_wrong),
    };

    return cmocka_run_group_tests_name("elan_capability_wire", tests, NULL,
                                       NULL);
}
