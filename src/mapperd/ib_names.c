/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <uthash.h>

#include "mapper/prober.h"
#include "mapperd/ib_names.h"

struct ib_name {
    uint64_t guid;
    char text[PROBE_NAME_MAX];
    UT_hash_handle hh;
};

bool ib_names_must_ask(struct ib_names *n, uint64_t guid, uint32_t now_ms)
{
    uint32_t asked;

    if (guid == 0)
        return true;
    asked = idmap_get(&n->asked, guid);
    if (asked != IDMAP_NONE && now_ms - asked < IB_NAME_WAIT_MS)
        return false;
    idmap_put(&n->asked, guid, now_ms);
    return true;
}

static struct ib_name *find(const struct ib_names *n, uint64_t guid)
{
    struct ib_name *name;

    HASH_FIND(hh, n->names, &guid, sizeof(guid), name);
    return name;
}

void ib_names_put(struct ib_names *n, uint64_t guid, const char *text)
{
    struct ib_name *name = find(n, guid);

    if (name || !(name = calloc(1, sizeof(*name))))
        return;
    name->guid = guid;
    snprintf(name->text, sizeof(name->text), "%s", text);
    HASH_ADD(hh, n->names, guid, sizeof(name->guid), name);
}

const char *ib_names_get(const struct ib_names *n, uint64_t guid)
{
    const struct ib_name *name = find(n, guid);

    return name ? name->text : NULL;
}

void ib_names_free(struct ib_names *n)
{
    struct ib_name *name, *next;

    HASH_ITER(hh, n->names, name, next)
    {
        HASH_DEL(n->names, name);
        free(name);
    }
    idmap_clear(&n->asked);
}
