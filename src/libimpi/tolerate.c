/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What peers may do otherwise.
 */
#include "libimpi/tolerate.h"

#include <stddef.h>
#include <string.h>

#define BETWEEN " ,"

static const struct {
    const char *word;
    size_t offset;
} words[] = {
    {"bcast-master", offsetof(struct tolerated, bcast_master)},
    {"big-endian", offsetof(struct tolerated, big_endian)},
    {"linear-below", offsetof(struct tolerated, linear_below)},
    {"long8", offsetof(struct tolerated, long8)},
    {"native-order", offsetof(struct tolerated, native_order)},
    {"reduce-p2p", offsetof(struct tolerated, reduce_p2p)},
};

static bool take(struct tolerated *t, const char *word, size_t len)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strlen(words[i].word) != len ||
            memcmp(words[i].word, word, len) != 0)
            continue;
        *(bool *)((char *)t + words[i].offset) = true;
        return true;
    }
    return false;
}

int tolerate_parse(struct tolerated *t, const char *list, struct errbuf *err)
{
    *t = (struct tolerated){0};
    for (list = list ? list : ""; *list;) {
        size_t len;

        list += strspn(list, BETWEEN);
        len = strcspn(list, BETWEEN);
        if (len > 0 && !take(t, list, len))
            return errprintf(err,
                             "IMPI_TOLERATE: unknown word '%.*s'; "
                             "bcast-master, big-endian, linear-below, long8, "
                             "native-order and reduce-p2p are known",
                             (int)len, list);
        list += len;
    }
    if (t->native_order && t->big_endian)
        return errprintf(err, "IMPI_TOLERATE: native-order and big-endian "
                              "exclude each other");
    return 0;
}
