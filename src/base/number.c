/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/number.h"

int number_parse(uint32_t *out, const char *text, uint32_t lo, uint32_t hi)
{
    uint64_t v = 0;
    size_t n = 0;

    for (; text && text[n] >= '0' && text[n] <= '9' && v <= hi; n++)
        v = 10 * v + (uint64_t)(text[n] - '0');
    if (n == 0 || text[n] || v < lo || v > hi) {
        errno = EINVAL;
        return -1;
    }
    *out = (uint32_t)v;
    return 0;
}

const char *number_hex_part(uint8_t *out, size_t n, const char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < 2 * n; i++) {
        const char *d = text[i] ? strchr(digits, text[i]) : NULL;

        if (!d) {
            errno = EINVAL;
            return NULL;
        }
        out[i / 2] = (uint8_t)(out[i / 2] << 4 | (d - digits));
    }
    return text + 2 * n;
}

int number_hex(uint8_t *out, size_t n, const char *text)
{
    const char *behind = number_hex_part(out, n, text);

    if (behind && !*behind)
        return 0;
    errno = EINVAL;
    return -1;
}
