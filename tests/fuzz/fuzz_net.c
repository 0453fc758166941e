/* SPDX-License-Identifier: BSD-3-Clause
 * Net files of both formats; what is read is written and read again. */
#include <stdlib.h>

#include "fuzz.h"
#include "net/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct errbuf err;
    struct net *net = net_parse("fuzz", (const char *)data, size, &err);
    struct net *again;
    struct bytebuf b;

    if (!net)
        return 0;
    bytebuf_init(&b, SF_NET_FILE_MAX);
    net_write_json(net, &b);
    bytebuf_consume(&b, bytebuf_len(&b));
    net_write_text(net, &b);
    again = net_parse_text("again", (const char *)bytebuf_data(&b),
                           bytebuf_len(&b), &err);
    if (again && again->ncables != net->ncables)
        abort();
    net_free(again);
    bytebuf_consume(&b, bytebuf_len(&b));
    net_write_ib(net, &b);
    net_free(net_parse_ib("ib", (const char *)bytebuf_data(&b), bytebuf_len(&b),
                          &err));
    bytebuf_free(&b);
    net_free(net);
    return 0;
}
