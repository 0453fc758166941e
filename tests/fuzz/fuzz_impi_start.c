/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Texts: impi-server's start line, the list of -auth, the key.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/auth.h"
#include "impid/impi_server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct impi_auth_list list;
    struct server_start start;
    struct errbuf err;
    uint64_t key;

    if (!text)
        return 0;
    server_start_parse(&start, text, &err);
    impi_auth_list_parse(&list, text, &err);
    impi_auth_key_parse(&key, text, &err);
    free(text);
    return 0;
}
