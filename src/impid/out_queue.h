/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What waits to be written to a socket.  A frame that goes to many is in
 * memory once: queues hold references to chunks.
 */
#ifndef SF_IMPID_OUT_QUEUE_H
#define SF_IMPID_OUT_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct chunk; /* bytes shared by several queues */

/* One reference, the caller's.  NULL: no memory. */
struct chunk *chunk_new(const void *data, size_t len);
void chunk_release(struct chunk *c);

struct out_item {
    struct chunk *chunk;
    bool urgent;
    STAILQ_ENTRY(out_item) next;
};

struct out_queue {
    STAILQ_HEAD(, out_item) items;
    size_t sent;  /* of the first item */
    size_t bytes; /* waiting in all */
    size_t max;   /* most that may */
};

void out_init(struct out_queue *q, size_t max);
/* Drop what waits; the queue is empty then and may be used again. */
void out_free(struct out_queue *q);
/* Take a reference of its own.  -1 ENOMEM, or ENOBUFS: more would wait than
 * allowed. */
int out_add(struct out_queue *q, struct chunk *c);
/* The same, ahead of all that is not urgent and not begun. */
int out_add_urgent(struct out_queue *q, struct chunk *c);
/* Write what the socket takes.  0, or -1 with errno (not out_again()). */
int out_flush(struct out_queue *q, int fd);
/* Writing failed only for now: the socket is full, or the system has no memory
 * for it.  It is tried again when the socket is writable. */
bool out_again(int error);

#endif
