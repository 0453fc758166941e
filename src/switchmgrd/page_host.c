/* SPDX-License-Identifier: BSD-3-Clause
 * See page_host.h.
 */
#include "switchmgrd/page_host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/limits.h"

/* NAME, NAME:PORT or [ADDRESS]:PORT without its port. */
static bool cut_port(const char *host, char *name, size_t size)
{
    size_t len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    const char *port;

    if (len == 0 || len > strlen(host) || len >= size)
        return false;
    port = host + len;
    if (*port &&
        (port[0] != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))
        return false;
    memcpy(name, host, len);
    name[len] = '\0';
    return true;
}

static bool is_address(char *name)
{
    unsigned char address[16];
    size_t len = strlen(name);

    if (inet_pton(AF_INET, name, address) == 1)
        return true;
    if (name[0] != '[' || name[len - 1] != ']')
        return false;
    name[len - 1] = '\0';
    return inet_pton(AF_INET6, name + 1, address) == 1;
}

static bool is_listed(const char *name, const char *list)
{
    static const char between[] = ", \t";
    size_t len = strlen(name);

    for (list += strspn(list, between); *list; list += strspn(list, between)) {
        size_t n = strcspn(list, between);

        if (n == len && strncasecmp(list, name, n) == 0)
            return true;
        list += n;
    }
    return false;
}

bool page_host_ok(const char *host, const char *own, const char *list)
{
    char name[SF_PAGE_HOST_MAX];

    if (!host)
        return true;
    if (!cut_port(host, name, sizeof(name)))
        return false;
    return strcasecmp(name, "localhost") == 0 ||
           (*own && strcasecmp(name, own) == 0) ||
           (list && is_listed(name, list)) || is_address(name);
}
