/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One who has called at a port, until the acceptor can choose it: it proves
 * that it knows the port's key, is told of the acceptor's group, and tells of
 * its own, and who its user is (couple.h).  Callers are served side by side,
 * so one that stands still holds up nobody.  A pure engine:
 *
 *   while (!impi_couple_guest_ready(g)) {
 *       send what impi_couple_guest_output() gives, impi_couple_guest_sent();
 *       read at most impi_couple_guest_want(), impi_couple_guest_input();
 *   }
 */
#ifndef SF_IMPI_COUPLE_GUEST_H
#define SF_IMPI_COUPLE_GUEST_H

#include "impi/couple.h"

#define IMPI_COUPLE_GUEST_READ 4096 /* most that is wanted at once */

struct impi_couple_guest {
    struct impi_chan_open open;
    const uint8_t *say; /* the acceptor's SIDE, borrowed */
    size_t say_len, said;
    uint8_t head[IMPI_COUPLE_HEADER_SIZE];
    size_t head_len;
    uint32_t type;
    size_t due; /* payload of this frame */
    uint8_t *in;
    size_t len, size;
    uint8_t *side; /* payload of its SIDE, NULL: not here yet */
    size_t side_len;
    char *credential; /* of its PROOF; NULL: not here yet */
};

/* key, nonce and check are as in impi_chan_open_accept(); say[0..say_len) is a
 * whole frame that outlives the guest. */
void impi_couple_guest_init(struct impi_couple_guest *g,
                            const uint8_t key[IMPI_CHAN_SECRET_SIZE],
                            const uint8_t nonce[IMPI_CHAN_NONCE_SIZE],
                            impi_chan_check_f *check, void *check_arg,
                            const uint8_t *say, size_t say_len);
void impi_couple_guest_free(struct impi_couple_guest *g);

/* It has proved to know the key. */
bool impi_couple_guest_proved(const struct impi_couple_guest *g);
/* All is here and all is said. */
bool impi_couple_guest_ready(const struct impi_couple_guest *g);

size_t impi_couple_guest_want(const struct impi_couple_guest *g);
/* 0, or -1: send it away (text; EPROTO, EACCES, ENOMEM). */
int impi_couple_guest_input(struct impi_couple_guest *g, const void *data,
                            size_t len, struct errbuf *err);
size_t impi_couple_guest_output(const struct impi_couple_guest *g,
                                const uint8_t **data);
void impi_couple_guest_sent(struct impi_couple_guest *g, size_t n);

#endif
