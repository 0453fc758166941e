/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory that two processes of one machine share: a byte stream each way.
 * One makes it, the other opens it through /proc and proves by a token that
 * it is the same memory; doc/impi-shm.md.  Nothing here is an error to the
 * user: without shared memory the socket serves.
 */
#ifndef LIBIMPI_SHARE_H
#define LIBIMPI_SHARE_H

#include "base/memory.h"
#include "base/netaddr.h"
#include "base/ring_stream.h"
#include "impi/chan_share.h"

struct share {
    struct ring_stream stream;
    uint8_t token[IMPI_SHARE_TOKEN_SIZE];
    int fd_out, fd_in; /* the maker's, until the peer has answered; or -1 */
};

/* Who opens for us what we may not (impid): a descriptor, close-on-exec, of
 * memory with this token, or -1. */
typedef int share_ask(enum memory_kind kind, uint32_t pid, uint32_t fd,
                      const uint8_t token[MEMORY_TOKEN_SIZE]);

/* By which pid others of the machine know this process, 0: by its own; who they
 * are, as memory_machine(), 0: as it sees itself.  ask NULL: nobody. */
void share_set_up(uint32_t pid, uint64_t machine, share_ask *ask);
/* The pid; and whether those of others mean the same here. */
uint32_t share_pid(void);
bool share_sees_others(void);
uint64_t share_machine(void);

/* IMPI_SHM=0 is set. */
bool share_is_off(void);

/* Are two addresses, or the two ends of this connection, on one machine, as far
 * as addresses tell? */
bool share_is_one_machine(const struct netaddr *own,
                          const struct netaddr *peer);
bool share_is_near(int socket);

/* Make it, and what to offer.  NULL with errno: it cannot be had. */
struct share *share_create(struct impi_chan_offer *offer);

/* The maker, when the peer says that it uses it: false when it does not. */
bool share_confirm(struct share *s);

/* Open what a peer offers.  NULL: it cannot be opened from here. */
struct share *share_open(const struct impi_chan_offer *offer);

/* NULL is fine; keeps errno. */
void share_free(struct share *s);

/* ---- an area of memory for any number of processes ---- */

/* One makes it; others open it as long as the maker keeps its descriptor.
 * Nobody can change its size. */
struct share_area {
    uint8_t *at; /* NULL: none */
    size_t len;
    int fd; /* the maker's, until share_area_close(); or -1 */
};
#define SHARE_NO_AREA ((struct share_area){.fd = -1})

/* len bytes, all zero.  0, or -1 with errno: it cannot be had. */
int share_area_make(struct share_area *a, size_t len);
/* The area of len bytes behind a descriptor of process pid (0: none), if it is
 * one.  token: with it impid is asked for what we may not open; NULL: it is
 * not.  0, or -1. */
int share_area_open(struct share_area *a, uint32_t pid, uint32_t fd, size_t len,
                    const uint8_t *token);
/* From here on nobody else opens it. */
void share_area_close(struct share_area *a);
void share_area_free(struct share_area *a);

/* Has this process of our machine ended, with all its threads, or is about to
 * be forgotten? */
bool share_is_gone(uint32_t pid);

#endif
