/* SPDX-License-Identifier: BSD-3-Clause
 * What another world says, by the first byte: the name of a port, the header of
 * a frame, a group.  What is taken comes out as it went in.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "impi/couple.h"

static void take_name(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1), again[IMPI_PORT_NAME_SIZE];
    struct impi_port p, q;
    struct errbuf err;

    if (!text)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    if (impi_port_parse(&p, text, &err) == 0) {
        impi_port_print(again, &p);
        if (impi_port_parse(&q, again, &err) < 0 ||
            memcmp(&p, &q, sizeof(p)) != 0)
            abort();
    }
    free(text);
}

static void take_side(const uint8_t *data, size_t size)
{
    struct impi_side s;
    struct errbuf err;
    uint8_t *again;
    size_t len;

    if (impi_side_decode(&s, data, size, &err) < 0)
        return;
    if (impi_side_encode(&s, &again, &len) == 0) {
        if (len != size)
            abort();
        free(again);
    }
    impi_side_free(&s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t type;

    if (size < 1)
        return 0;
    if (data[0] % 3 == 0)
        take_name(data + 1, size - 1);
    else if (data[0] % 3 == 1)
        take_side(data + 1, size - 1);
    else if (size > IMPI_COUPLE_HEADER_SIZE)
        impi_couple_header_get(&type, data + 1);
    return 0;
}
