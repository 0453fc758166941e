/* SPDX-License-Identifier: BSD-3-Clause
 * The input as impid's records, and its lines as lines of impi-server.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impid/impid_conf.h"
#include "impid/server_proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct impid_conf conf;
    struct server_line line;

    if (impid_conf_parse(&conf, (const char *)data, size, NULL) == 0)
        impid_conf_free(&conf);
    if (text)
        server_line_parse(&line, text);
    free(text);
    return 0;
}
