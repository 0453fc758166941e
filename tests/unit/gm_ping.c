/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gm_ping [-q] SOCKET..: opens a datagram endpoint at each hsnd and sends from
 * each board to each other one, along the routes that are loaded there.
 * Prints "all N pairs", or the pairs that failed, and ends with 0 or 1.  -q:
 * quickly, for pairs that are not to reach each other.
 */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsn/libhsn.h"

#define MODULE (HSN_MODULE_FREE + 7)
#define TRIES 300 /* of 0.1 s */
#define TRIES_QUICK 20

struct end {
    struct hsn *h;
    uint64_t board;
};

/* One message from a to b; text is different each time. */
static int ping(const struct end *a, const struct end *b, int number, int tries)
{
    struct hsn_message out = {.board = b->board, .module = MODULE}, in;
    char text[32];

    snprintf(text, sizeof(text), "ping %d", number);
    out.data = text;
    out.data_len = sizeof(text);
    for (int i = 0; i < tries; i++) {
        if (hsn_send(a->h, &out) < 0 && errno != EAGAIN)
            return -1;
        while (hsn_wait(b->h, 100) == 1)
            while (hsn_recv(b->h, &in) == 0)
                if (in.board == a->board && in.data_len == sizeof(text) &&
                    memcmp(in.data, text, sizeof(text)) == 0)
                    return 0;
    }
    return -1;
}

static int open_end(struct end *end, const char *path)
{
    struct hsn_board_info info;

    end->h = hsn_dgram_open(path, MODULE);
    if (!end->h || hsn_board(end->h, &info) < 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return -1;
    }
    end->board = info.address;
    return 0;
}

int main(int argc, char **argv)
{
    bool quick = argc > 1 && strcmp(argv[1], "-q") == 0;
    int first = quick ? 2 : 1, n = argc - first, failed = 0;
    int tries = quick ? TRIES_QUICK : TRIES;
    struct end *ends = calloc((size_t)argc, sizeof(*ends));

    for (int i = 0; i < n; i++)
        if (!ends || open_end(&ends[i], argv[first + i]) < 0)
            return 2;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n; k++) {
            if (i == k || ping(&ends[i], &ends[k], i * n + k, tries) == 0)
                continue;
            printf("no way from %012llx to %012llx\n",
                   (unsigned long long)ends[i].board,
                   (unsigned long long)ends[k].board);
            failed++;
        }
    }
    for (int i = 0; i < n; i++)
        hsn_close(ends[i].h);
    free(ends);
    if (!failed)
        printf("all %d pairs\n", n * (n - 1));
    return failed != 0;
}
