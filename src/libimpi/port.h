/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ports (MPI-3.1 chapter 10.4): how a group of this world meets one of another,
 * or of its own, world.  doc/impi-processes.md.
 */
#ifndef LIBIMPI_PORT_H
#define LIBIMPI_PORT_H

#include "impi/couple.h"
#include "libimpi/state.h"

/* As MPI_Comm_accept, at a port of its own, of processes that the root has
 * started. */
struct port_children {
    /* The root's: start them, to connect there; has that failed? */
    int (*start)(void *arg, const char *port, struct errbuf *err);
    bool (*has_failed)(void *arg, struct errbuf *why);
    void *arg;
    uint32_t wanted; /* how many; the root's, then known to all */
};
int port_meet_children(struct port_children *children, int root, MPI_Comm comm,
                       MPI_Comm *newcomm);

/* Two processes that can already talk agree which of them accepts, and at which
 * port, which that one opens.  swap() sends len bytes to the other and receives
 * as many; 0 or -1.  An empty name: it could open none.  -1: swap() failed, and
 * no port is left open. */
typedef int port_swap_f(void *arg, const void *out, void *in, size_t len);
int port_agree(port_swap_f *swap, void *arg, char name[IMPI_PORT_NAME_SIZE],
               bool *acceptor);

/* Then, with their groups: as MPI_Comm_accept or MPI_Comm_connect.  All of comm
 * know who accepts, the root the port, which is closed and wiped. */
int port_meet(char name[IMPI_PORT_NAME_SIZE], bool acceptor, int root,
              MPI_Comm comm, MPI_Comm *newcomm);

/* At MPI_Finalize: close what is open, take back what is published. */
void port_end(void);
/* The same for names alone (names.c). */
void names_end(void);

#endif
