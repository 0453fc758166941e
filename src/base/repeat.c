/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/repeat.h"

#include <stdio.h>
#include <string.h>

uint64_t repeat_count(struct repeat *r, const char *text)
{
    char kept[sizeof(r->text)];

    snprintf(kept, sizeof(kept), "%s", text);
    if (r->count == 0 || strcmp(r->text, kept) != 0) {
        memcpy(r->text, kept, sizeof(kept));
        r->count = 0;
        r->next = 1;
    }
    if (++r->count < r->next)
        return 0;
    r->next *= 10;
    return r->count;
}

void repeat_over(struct repeat *r)
{
    r->count = 0;
}
