/* SPDX-License-Identifier: BSD-3-Clause
 * Input: messages with a 16-bit length in front, to one host. */
#include "base/be.h"
#include "fuzz.h"
#include "mapper/hostside.h"

static void ignore(const uint8_t *route, size_t nroute, const void *body,
                   size_t len, void *arg)
{
}

static void read_rows(const void *body, size_t len)
{
    struct gm1_message msg;
    struct gm1_member member;
    struct gm1_entry entry;
    char text[200];

    if (gm1_decode(&msg, body, len) < 0)
        return;
    gm1_describe(text, sizeof(text), &msg);
    for (uint32_t i = 0; i < msg.nrows; i++) {
        if (msg.subtype == GM1_CONFIG)
            gm1_entry_at(&msg, i, &entry);
        else
            gm1_member_at(&msg, i, &member);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct hostside_config config = {0x0060dd000001, "n1",         0, 0,
                                           false,          size % 2 == 0};
    const struct hostside_ops ops = {.send = ignore};
    struct hostside *host = hostside_new(&config, &ops, NULL);
    struct be_reader r;

    be_reader_init(&r, data, size);
    while (host && r.left > 2) {
        uint16_t len = be_get16(&r);
        const uint8_t *body;

        if (len > r.left)
            len = (uint16_t)r.left;
        body = be_get_bytes(&r, len);
        read_rows(body, len);
        hostside_input(host, body, len);
    }
    hostside_free(host);
    return 0;
}
