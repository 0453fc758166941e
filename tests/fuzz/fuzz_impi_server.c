/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Input of the IMPI server: the bytes are dealt out to three connections.
 * Each round: one byte connection, one byte length, that many bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/server.h"

#define CONNS 3

static void drain(struct impi_server *s, int *conn)
{
    for (int i = 0; i < CONNS; i++) {
        const uint8_t *data;
        size_t n = impi_server_output(s, conn[i], &data);

        impi_server_sent(s, conn[i], n);
        if (conn[i] >= 0 && !impi_server_open(s, conn[i])) {
            impi_server_close(s, conn[i]);
            conn[i] = -1;
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct impi_auth_method methods[] = {impi_auth_key(1),
                                               impi_auth_none()};
    struct impi_server_options o = {.nclients = 2,
                                    .methods = methods,
                                    .nmethods = 2,
                                    .auth_timeout_ms = 50000};
    struct impi_server *s = impi_server_create(&o, NULL);
    const uint8_t nonce[IMPI_AUTH_NONCE_SIZE] = {0};
    int conn[CONNS];
    uint64_t now = 0;

    if (!s)
        return 0;
    for (int i = 0; i < CONNS; i++)
        conn[i] = impi_server_connect(s, "fuzz", nonce);
    while (size > 2) {
        size_t n = data[1] < size - 2 ? data[1] : size - 2;

        impi_server_input(s, conn[data[0] % CONNS], data + 2, n);
        drain(s, conn);
        impi_server_tick(s, now += 1000);
        data += 2 + n;
        size -= 2 + n;
    }
    impi_server_destroy(s);
    return 0;
}
