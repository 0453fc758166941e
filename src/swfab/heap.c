/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdlib.h>

#include "swfab/heap.h"

enum { WIDTH = 4 }; /* children of an item */

static bool earlier(const struct swfab_item *a, const struct swfab_item *b)
{
    return a->time != b->time ? a->time < b->time : a->order < b->order;
}

bool swfab_heap_reserve(struct swfab_heap *heap, size_t more)
{
    struct swfab_item *items;
    size_t size = heap->size ? heap->size : 64;

    if (heap->n + more <= heap->size)
        return true;
    while (size < heap->n + more)
        size *= 2;
    items = realloc(heap->items, size * sizeof(*items));
    if (!items)
        return false;
    heap->items = items;
    heap->size = size;
    return true;
}

void swfab_heap_push(struct swfab_heap *heap, struct swfab_item item)
{
    size_t at = heap->n++;

    assert(heap->n <= heap->size);
    item.order = heap->order++;
    while (at && earlier(&item, &heap->items[(at - 1) / WIDTH])) {
        heap->items[at] = heap->items[(at - 1) / WIDTH];
        at = (at - 1) / WIDTH;
    }
    heap->items[at] = item;
}

/* The earliest of the children of `at`, or n when it has none. */
static size_t first_child(const struct swfab_heap *heap, size_t at)
{
    size_t first = at * WIDTH + 1, best = first;

    if (first >= heap->n)
        return heap->n;
    for (size_t c = first + 1; c < first + WIDTH && c < heap->n; c++)
        if (earlier(&heap->items[c], &heap->items[best]))
            best = c;
    return best;
}

struct swfab_item swfab_heap_pop(struct swfab_heap *heap)
{
    struct swfab_item top = heap->items[0];
    struct swfab_item last = heap->items[--heap->n];
    size_t at = 0, child = first_child(heap, 0);

    while (child < heap->n && earlier(&heap->items[child], &last)) {
        heap->items[at] = heap->items[child];
        at = child;
        child = first_child(heap, at);
    }
    heap->items[at] = last;
    return top;
}
