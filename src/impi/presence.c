/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/be.h"
#include "impi/presence.h"

#define MAGIC 0x53465052u /* "SFPR" */
#define SIGNED (IMPI_PRESENCE_SIZE - MAC_SIZE)

static void sign(uint8_t mac[MAC_SIZE], const uint8_t *text,
                 const uint8_t *secret)
{
    const struct mac_part parts[] = {{"presence", 8}, {text, SIGNED}};

    mac_sign(mac, secret, IMPI_PRESENCE_SECRET, parts, 2);
}

void impi_presence_encode(uint8_t out[IMPI_PRESENCE_SIZE],
                          const struct impi_presence *p,
                          const uint8_t secret[IMPI_PRESENCE_SECRET])
{
    size_t len = strnlen(p->node, IMPI_PRESENCE_NODE);

    memset(out, 0, IMPI_PRESENCE_SIZE);
    be_store32(out, MAGIC);
    be_store32(out + 4, p->agent);
    be_store32(out + 8, p->rank);
    memcpy(out + 12, p->node, len);
    sign(out + SIGNED, out, secret);
}

int impi_presence_secret(uint8_t out[IMPI_PRESENCE_SECRET], const char *text)
{
    if (!text || strlen(text) != (size_t)2 * IMPI_PRESENCE_SECRET)
        return -1;
    for (size_t i = 0; i < IMPI_PRESENCE_SECRET; i++)
        if (sscanf(text + 2 * i, "%2hhx", &out[i]) != 1)
            return -1;
    return 0;
}

int impi_presence_decode(struct impi_presence *p,
                         const uint8_t in[IMPI_PRESENCE_SIZE],
                         const uint8_t secret[IMPI_PRESENCE_SECRET])
{
    uint8_t mac[MAC_SIZE];

    if (be_load32(in) != MAGIC) {
        errno = EPROTO;
        return -1;
    }
    sign(mac, in, secret);
    if (!mac_equal(mac, in + SIGNED, MAC_SIZE)) {
        errno = EACCES;
        return -1;
    }
    p->agent = be_load32(in + 4);
    p->rank = be_load32(in + 8);
    memcpy(p->node, in + 12, IMPI_PRESENCE_NODE);
    p->node[IMPI_PRESENCE_NODE] = '\0';
    return 0;
}
