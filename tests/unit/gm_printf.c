/* SPDX-License-Identifier: BSD-3-Clause
 *
 * gm_printf SOCKET BYTE TEXT [TIMES]: the hsnd at SOCKET sends a network printf
 * (mapperd's --printeur) along a route of one byte.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsn/libhsn.h"
#include "mapperd/mapperd.h"

int main(int argc, char **argv)
{
    uint8_t byte = argc >= 4 ? (uint8_t)strtoul(argv[2], NULL, 16) : 0;
    struct hsn_raw p = {
        .route = &byte, .route_len = 1, .subtype = MAPPERD_PRINTF};
    unsigned long times = argc == 5 ? strtoul(argv[4], NULL, 10) : 1;
    struct hsn *h;
    int rc = 0;

    if (argc != 4 && argc != 5)
        return 2;
    p.payload = argv[3];
    p.len = strlen(argv[3]);
    h = hsn_raw_open(argv[1], HSN_TYPE_MAPPER);
    if (!h) {
        perror(argv[1]);
        return 1;
    }
    for (; times > 0 && rc == 0; times--)
        while ((rc = hsn_raw_send(h, &p)) < 0 && errno == EAGAIN)
            hsn_wait_send(h, -1);
    hsn_close(h);
    return rc < 0;
}
