/* SPDX-License-Identifier: BSD-3-Clause
 * See auth_info.h.
 */
#include "base/auth_info.h"

#include <string.h>

#define KEY "socket="

const char *auth_info_munge_socket(const char *auth_info, char *buf,
                                   size_t size)
{
    const char *at = auth_info ? strstr(auth_info, KEY) : NULL;
    size_t len = at ? strcspn(at += strlen(KEY), ",; \t\n") : 0;

    buf[0] = '\0';
    if (len == 0 || len >= size)
        return NULL;
    memcpy(buf, at, len);
    buf[len] = '\0';
    return buf;
}
