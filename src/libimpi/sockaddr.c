/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Socket addresses from the 16 bytes that IMPI carries.
 */
#include "libimpi/sockaddr.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "impi/world.h"

int sockaddr_family(const uint8_t addr[16])
{
    uint8_t v4[4];

    return impi_hostid_get_ipv4(v4, addr) ? AF_INET : AF_INET6;
}

socklen_t sockaddr_set(struct sockaddr_storage *ss, const uint8_t addr[16],
                       uint16_t port)
{
    struct sockaddr_in *in = (struct sockaddr_in *)ss;
    struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)ss;
    uint8_t v4[4];

    memset(ss, 0, sizeof(*ss));
    if (impi_hostid_get_ipv4(v4, addr)) {
        in->sin_family = AF_INET;
        in->sin_port = htons(port);
        memcpy(&in->sin_addr, v4, sizeof(v4));
        return sizeof(*in);
    }
    in6->sin6_family = AF_INET6;
    in6->sin6_port = htons(port);
    memcpy(&in6->sin6_addr, addr, 16);
    return sizeof(*in6);
}

uint16_t sockaddr_port(const struct sockaddr_storage *ss)
{
    if (ss->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)ss)->sin_port);
    return ntohs(((const struct sockaddr_in6 *)ss)->sin6_port);
}

void sockaddr_print(char *dst, size_t size, const uint8_t addr[16])
{
    uint8_t v4[4];

    dst[0] = '\0';
    if (impi_hostid_get_ipv4(v4, addr))
        inet_ntop(AF_INET, v4, dst, (socklen_t)size);
    else
        inet_ntop(AF_INET6, addr, dst, (socklen_t)size);
}
