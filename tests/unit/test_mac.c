/* SPDX-License-Identifier: BSD-3-Clause
 * Keyed MACs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mac.h"

/* RFC 4231, test case 2. */
static void mac_matches_rfc4231(void **state)
{
    static const uint8_t want[MAC_SIZE] = {
        0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
        0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
        0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    const struct mac_part parts[] = {{"what do ya want ", 16},
                                     {"for nothing?", 12}};
    uint8_t got[MAC_SIZE];

    assert_int_equal(mac_sign(got, "Jefe", 4, parts, 2), 0);
    assert_memory_equal(got, want, MAC_SIZE);
    assert_true(mac_equal(got, want, MAC_SIZE));
    got[31] ^= 1;
    assert_false(mac_equal(got, want, MAC_SIZE));
}

static void mac_hashes_a_long_key_first(void **state)
{
    static const uint8_t want[MAC_SIZE] = {
        0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26,
        0xaa, 0xcb, 0xf5, 0xb7, 0x7f, 0x8e, 0x0b, 0xc6, 0x21, 0x37, 0x28,
        0xc5, 0x14, 0x05, 0x46, 0x04, 0x0f, 0x0e, 0xe3, 0x7f, 0x54};
    static const char text[] =
        "Test Using Larger Than Block-Size Key - Hash Key First";
    const struct mac_part part = {text, sizeof(text) - 1};
    uint8_t key[131], got[MAC_SIZE];

    memset(key, 0xaa, sizeof(key));
    assert_int_equal(mac_sign(got, key, sizeof(key), &part, 1), 0);
    assert_memory_equal(got, want, MAC_SIZE);
}

static void a_prepared_key_makes_the_same_tags(void **state)
{
    uint8_t key[80], text[200], want[MAC_SIZE], got[MAC_SIZE];
    struct mac_key ready;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (uint8_t)(i * 7);
    for (size_t k = 0; k <= sizeof(key); k += 16) {
        memset(key, (int)k, sizeof(key));
        mac_key_set(&ready, key, k);
        for (size_t len = 0; len <= sizeof(text); len += 5) {
            const struct mac_part parts[] = {{text, len / 3},
                                             {text + len / 3, len - len / 3}};

            mac_sign(want, key, k, parts, 2);
            mac_key_sign(&ready, got, parts, 2);
            assert_memory_equal(got, want, MAC_SIZE);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mac_matches_rfc4231),
        cmocka_unit_test(mac_hashes_a_long_key_first),
        cmocka_unit_test(a_prepared_key_makes_the_same_tags),
    };

    return cmocka_run_group_tests_name("mac", tests, NULL, NULL);
}
