/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Lists of hosts in the place of libslurm's: the names, with commas.  Texts are
 * plain memory; a test has a slurm_xfree() of its own that frees them.
 */
#ifndef SF_TESTS_FAKE_HOSTLIST_H
#define SF_TESTS_FAKE_HOSTLIST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slurmabi/slurm_sym.h"

struct hostlist {
    char *text;
    size_t len;
    FILE *f;
    bool any;
};

struct hostlist *slurm_hostlist_create(const char *text)
{
    struct hostlist *h = calloc(1, sizeof(*h));

    h->f = open_memstream(&h->text, &h->len);
    return h;
}

int slurm_hostlist_push_host(struct hostlist *h, const char *name)
{
    fprintf(h->f, "%s%s", h->any ? "," : "", name);
    h->any = true;
    return 1;
}

char *slurm_hostlist_ranged_string_xmalloc(struct hostlist *h)
{
    fflush(h->f);
    return strdup(h->text);
}

void slurm_hostlist_destroy(struct hostlist *h)
{
    fclose(h->f);
    free(h->text);
    free(h);
}

#endif
