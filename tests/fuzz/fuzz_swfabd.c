/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything that reaches swfabd from outside: datagrams, packets of hosts,
 * requests of its control socket, its parts file.  The first byte says which.
 */
#include <stdlib.h>
#include <string.h>

#include "base/jsonx.h"
#include "fuzz.h"
#include "net/build.h"
#include "softlink_fake.h"
#include "swfabd/swfabd.h"

uint64_t clock_ns(void)
{
    static uint64_t now;

    return now += 20000000;
}

static void datagrams(struct swfabd *d, const uint8_t *data, size_t size)
{
    union swfabd_address from = {.udp = {.sin_family = AF_INET}};

    while (size >= 1) {
        size_t len = data[0] < size - 1 ? data[0] : size - 1;

        swfabd_wire_input(&d->udp, data + 1, len, &from);
        data += 1 + len;
        size -= 1 + len;
    }
}

static void request(struct swfabd *d, const uint8_t *data, size_t size)
{
    const struct ctl_peer peer = {0};
    struct errbuf err;
    struct json_object *in = jsonx_parse((const char *)data, size, &err);
    struct ctl_request q = {.in = in, .peer = &peer, .arg = d};
    const char *verb = in ? jsonx_str(in, "verb", 32) : NULL;

    for (size_t i = 0; verb && i < swfabd_nverbs; i++) {
        if (strcmp(verb, swfabd_verbs[i].name) != 0)
            continue;
        q.out = json_object_new_object();
        swfabd_verbs[i].call(&q, &err);
        json_object_put(q.out);
    }
    json_object_put(in);
}

static void parts(struct swfabd *d, const uint8_t *data, size_t size)
{
    struct errbuf err;
    struct parts p;
    char *text = strndup((const char *)data, size);

    if (text)
        parts_parse(&p, "fuzz", text, d->net, &err);
    if (text)
        parts_free(&p);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct swfabd d;
    struct fake_munge munge = {0};
    struct errbuf err;
    struct net *net = net_build_named("clos:2x2:1x1:1x1", NULL);

    memset(&d, 0, sizeof(d));
    d.udp.d = d.ether.d = &d;
    d.udp.fd = d.ether.fd = d.listen_fd = -1;
    d.conf.net = (char *)"fuzz";
    d.ops = fake_ops(&munge, 0);
    if (net && swfabd_fabric_make(&d, net, &err) == 0 &&
        swfabd_wire_open(&d, &err) == 0 && size) {
        if (data[0] % 4 == 0)
            datagrams(&d, data + 1, size - 1);
        else if (data[0] % 4 == 1)
            swfabd_forward(&d.seats[data[0] % d.nseats], data + 1, size - 1);
        else if (data[0] % 4 == 2)
            request(&d, data + 1, size - 1);
        else
            parts(&d, data + 1, size - 1);
    }
    swfabd_wire_close(&d);
    swfabd_fabric_close(&d);
    fake_forget(&munge);
    return 0;
}
