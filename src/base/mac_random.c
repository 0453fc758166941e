/* SPDX-License-Identifier: BSD-3-Clause
 * In a file of its own: a program that only needs random bytes does not link
 * the hash.
 */
#include <errno.h>
#include <sys/random.h>

#include "base/mac.h"

int mac_random(void *buf, size_t len)
{
    uint8_t *p = buf;

    while (len > 0) {
        ssize_t n = getrandom(p, len, 0);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        p += n;
        len -= (size_t)n;
    }
    return 0;
}
