/* SPDX-License-Identifier: BSD-3-Clause
 * What a process asks to be started.  What is taken comes out as it went in,
 * but for bits that mean nothing.
 */
#include <stdlib.h>

#include "fuzz.h"
#include "impi/spawn.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct impi_spawn s;
    struct errbuf err;
    struct bytebuf b;
    char why[64];
    uint32_t number;
    char **argv;

    impi_spawned_decode(&number, why, sizeof(why), data, size);
    if (impi_spawn_decode(&s, data, size, &err) < 0)
        return 0;
    bytebuf_init(&b, 16 * 1024 * 1024);
    impi_spawn_encode(&b, &s);
    if (!b.bad && bytebuf_len(&b) != size)
        abort();
    bytebuf_free(&b);
    argv = impi_spawn_argv(&s, 1, &err);
    impi_strings_free(argv);
    impi_spawn_free(&s);
    return 0;
}
