/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "base/conf.h"
#include "fuzz.h"

struct site {
    bool on;
    long rails;
    char *name;
};

static const struct conf_key keys[] = {
    {"On", CONF_BOOL, offsetof(struct site, on), 0, 0},
    {"Rails", CONF_INT, offsetof(struct site, rails), 1, 8},
    {"Name", CONF_STRING, offsetof(struct site, name), 0, 0},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct site site = {0};
    char *text = strndup((const char *)data, size);

    if (!text)
        return 0;
    conf_parse("fuzz", text, keys, 3, &site, NULL, NULL);
    conf_free(keys, 3, &site);
    free(text);
    return 0;
}
