/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Arrays of requests in which ours and native ones are mixed.
 */
#include "libimpi/wait_split.h"

#include <stdlib.h>

static bool split_room(struct split *s, int count)
{
    size_t n = (size_t)count;
    char *p;

    s->memory = NULL;
    s->native = s->small.native;
    s->place = s->small.place;
    s->status = s->small.status;
    s->index = s->small.index;
    if (count <= SPLIT_SMALL)
        return true;
    p = s->memory = malloc(
        n * (sizeof(MPI_Request) + sizeof(MPI_Status) + 2 * sizeof(int)));
    if (!p)
        return false;
    s->native = (MPI_Request *)p;
    s->status = (MPI_Status *)(p += n * sizeof(MPI_Request));
    s->place = (int *)(p += n * sizeof(MPI_Status));
    s->index = s->place + n;
    return true;
}

bool split_make(struct split *s, int count, const MPI_Request req[])
{
    s->n = s->own = 0;
    if (!split_room(s, count))
        return false;
    for (int i = 0; i < count; i++) {
        if (impi_request_ours(req[i])) {
            s->own += wait_own_active(req[i]);
        } else if (req[i] != MPI_REQUEST_NULL) {
            s->native[s->n] = req[i];
            s->place[s->n++] = i;
        }
    }
    return true;
}

void split_free(struct split *s)
{
    free(s->memory);
}

void split_back(const struct split *s, MPI_Request requests[])
{
    for (int i = 0; i < s->n; i++)
        requests[s->place[i]] = s->native[i];
}

int split_failed(void)
{
    return be_raise(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
}

void split_round(const struct split *s)
{
    progress_once();
    if (s->n == 0)
        progress_native();
}
