/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every fuzz target defines (libFuzzer's interface).
 */
#ifndef SF_TESTS_FUZZ_H
#define SF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* An input that begins with this is no message but what it changes in one that
 * our own writer wrote: so what lies behind heads, sums and sizes is reached,
 * and no seed grows old when a format changes. */
#define FUZZ_EDITS '='

/* Each edit: u16 place, u8 xor; a place past the end cuts there, at place
 * modulo (len + 1).  A block of just that size (a sanitizer sees overruns), to
 * be freed; *len becomes its length. */
static inline uint8_t *fuzz_edit(const uint8_t *ours, size_t *len,
                                 const uint8_t *data, size_t size)
{
    size_t n = *len;
    uint8_t *buf = malloc(n ? n : 1);

    if (!buf)
        abort();
    memcpy(buf, ours, n);
    for (size_t i = 0; i + 3 <= size; i += 3) {
        size_t place = (size_t)data[i] << 8 | data[i + 1];

        if (place < n)
            buf[place] ^= data[i + 2];
        else
            n = place % (n + 1);
    }
    buf = realloc(buf, n ? n : 1);
    if (!buf)
        abort();
    *len = n;
    return buf;
}

#endif
