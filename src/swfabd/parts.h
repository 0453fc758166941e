/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The parts of a fabric that several daemons are together: one line a part,
 *
 *     part NAME ADDRESS XBAR...
 *
 * where ADDRESS is udp:A.B.C.D:PORT or ether:MAC, and XBAR a crossbar of the
 * net, or PREFIX* for all whose names begin so.  A part may have several
 * lines.  Each crossbar is in one part; a host is in that of its crossbar.
 */
#ifndef SF_SWFABD_PARTS_H
#define SF_SWFABD_PARTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "net/graph.h"

#define PARTS_NAME_MAX 64
#define PARTS_NONE UINT32_MAX

struct part {
    char name[PARTS_NAME_MAX];
    bool ether;
    struct sockaddr_in udp;
    uint8_t mac[6];
};

struct parts {
    struct part *part;
    uint32_t n;
    uint32_t *of; /* part of each node of the net, or PARTS_NONE */
};

/* Parse; `name` stands for the text in messages.  0, or -1 with errno EINVAL
 * (text names file and line), ENOMEM.  parts_free() in any case. */
int parts_parse(struct parts *parts, const char *name, const char *text,
                const struct net *net, struct errbuf *err);
void parts_free(struct parts *parts);

/* Index of a part by its name, or PARTS_NONE. */
uint32_t parts_find(const struct parts *parts, const char *name);

/* "udp:A.B.C.D:PORT" or "ether:MAC".  False: neither. */
bool parts_read_address(struct part *part, const char *text);

#endif
