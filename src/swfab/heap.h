/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is to happen, ordered by time and, at equal times, by the order in
 * which it was put in.
 */
#ifndef SF_SWFAB_HEAP_H
#define SF_SWFAB_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum swfab_what {
    WHAT_START,    /* packet: handed to the interface */
    WHAT_TAKE,     /* packet: the link that it waited for is its own */
    WHAT_HEAD,     /* packet: head came to the far end of a link */
    WHAT_DEADLINE, /* packet: has it waited too long? */
    WHAT_ARRIVE,   /* packet: tail came to the host */
    WHAT_TIMER,
    WHAT_FAULT,
};

struct swfab_item {
    uint64_t time, order;
    void *flight;    /* packet, or NULL */
    uint64_t cookie; /* of a timer or fault */
    uint32_t node;
    enum swfab_what what;
};

struct swfab_heap {
    struct swfab_item *items;
    size_t n, size;
    uint64_t order;
};

/* Make room for `more` items beside those in it. */
bool swfab_heap_reserve(struct swfab_heap *heap, size_t more);
/* There is room (swfab_heap_reserve()). */
void swfab_heap_push(struct swfab_heap *heap, struct swfab_item item);
/* It is not empty. */
struct swfab_item swfab_heap_pop(struct swfab_heap *heap);

#endif
