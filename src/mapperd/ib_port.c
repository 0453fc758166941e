/* SPDX-License-Identifier: BSD-3-Clause */
#include "mapperd/ib_port.h"

#include <infiniband/umad.h>
#include <string.h>

#include "mapperd/pma.h"
#include "mapperd/smp.h"

int ib_port_open(struct ib_port *p, const char *ca, int number,
                 struct errbuf *err)
{
    umad_port_t port;

    if (umad_init() < 0)
        return errprintf(err, "no InfiniBand on this host");
    if (umad_get_port(ca, number, &port) < 0)
        return errprintf(err, "no such adapter or port: %s port %d",
                         ca ? ca : "any", number);
    p->number = port.portnum;
    umad_release_port(&port);
    p->id = umad_open_port(ca, number);
    if (p->id < 0)
        return errprintf(err, "cannot open the adapter: %s", strerror(-p->id));
    p->agent = umad_register(p->id, 0x81, 1, 0, NULL);
    if (p->agent < 0)
        return errprintf(err, "cannot ask directed-route questions: %s",
                         strerror(-p->agent));
    p->pma = umad_register(p->id, PMA_CLASS, 1, 0, NULL);
    p->umad = umad_alloc(1, umad_size() + SMP_SIZE);
    return p->umad ? 0 : errprintf(err, "no memory");
}

/* The port itself stays open: one that was used is closed by the end of the
 * process alone, which umad2sim can take. */
void ib_port_close(struct ib_port *p)
{
    if (p->umad)
        umad_free(p->umad);
    memset(p, 0, sizeof(*p));
}
