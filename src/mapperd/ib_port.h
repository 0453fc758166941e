/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A port of an InfiniBand adapter, opened to ask management questions by.
 */
#ifndef SF_MAPPERD_IB_PORT_H
#define SF_MAPPERD_IB_PORT_H

#include <stdint.h>

#include "base/errbuf.h"

/* All zero when closed. */
struct ib_port {
    int id, agent; /* libibumad's: for directed-route questions */
    int pma;       /* for those after counters; -1: they cannot be asked */
    int number;    /* of the port */
    void *umad;    /* one packet */
    uint32_t seq;  /* of questions, so that no late answer is taken for one to
                      another */
};

/* ca NULL: the first one; number 0: its first active port.  -1 with text. */
int ib_port_open(struct ib_port *port, const char *ca, int number,
                 struct errbuf *err);
void ib_port_close(struct ib_port *port);

#endif
