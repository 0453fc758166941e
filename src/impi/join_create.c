/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The joining client as an object: options in, memory.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "impi/join_priv.h"

void impi_join_defaults(struct impi_join_options *o)
{
    memset(o, 0, sizeof(*o));
    o->extensions = true;
    o->maxdatalen = IMPI_OLD_MAXDATALEN;
    o->tagub = INT32_MAX;
    o->coll_xsize = -1;
    o->coll_maxlinear = -1;
    o->ackmark = IMPI_OLD_ACKMARK;
    o->hiwater = IMPI_OLD_HIWATER;
    impi_repr_own(o->repr);
}

int impi_join_threshold(int32_t *value, const char *name, const char *text,
                        struct errbuf *err)
{
    uint32_t v;

    if (!text || !*text)
        return 0;
    if (number_parse(&v, text, 0, INT32_MAX) < 0)
        return errprintf(err, "SF-E219: %s is not a number 0..2147483647: %s",
                         name, text);
    *value = (int32_t)v;
    return 0;
}

static int copy_arrays(struct impi_join *j, const struct impi_join_options *o)
{
    struct impi_join_host *hosts = calloc(o->nhosts, sizeof(*hosts));
    struct impi_join_proc *procs = calloc(o->nprocs, sizeof(*procs));

    j->o.hosts = hosts;
    j->o.procs = procs;
    if (!hosts || !procs)
        return -1;
    memcpy(hosts, o->hosts, o->nhosts * sizeof(*hosts));
    memcpy(procs, o->procs, o->nprocs * sizeof(*procs));
    return 0;
}

static int check_options(const struct impi_join_options *o, struct errbuf *err)
{
    uint64_t sum = 0;

    errno = EINVAL;
    if (o->nmethods == 0)
        return errprintf(err, "SF-E201: %s", IMPI_AUTH_NOTHING);
    if (o->client >= SF_IMPI_CLIENTS_MAX || o->nclients > SF_IMPI_CLIENTS_MAX ||
        (o->nclients && o->client >= o->nclients))
        return errprintf(err, "SF-E207: client %u of %u: IMPI allows 1 to %d",
                         o->client, o->nclients, SF_IMPI_CLIENTS_MAX);
    if (o->nhosts < 1 || o->nhosts > SF_IMPI_HOSTS_MAX || o->nprocs < 1 ||
        o->nprocs > SF_IMPI_PROCS_MAX)
        return errprintf(err, "SF-E218: %u hosts and %u processes", o->nhosts,
                         o->nprocs);
    for (uint32_t i = 0; i < o->nhosts; i++)
        sum += o->hosts[i].nprocs;
    if (sum != o->nprocs)
        return errprintf(err, "hosts and processes do not add up");
    return 0;
}

struct impi_join *impi_join_create(const struct impi_join_options *o,
                                   struct errbuf *err)
{
    uint32_t mask[SF_IMPI_AUTH_WORDS_MAX], words;
    struct impi_join *j;

    if (check_options(o, err) < 0)
        return NULL;
    j = calloc(1, sizeof(*j));
    if (!j)
        return NULL;
    j->o = *o;
    if (copy_arrays(j, o) < 0) {
        impi_join_destroy(j);
        errno = ENOMEM;
        return NULL;
    }
    bytebuf_init(&j->in, JOIN_LABEL_MAX);
    bytebuf_init(&j->out, 4 * (size_t)SF_IMPI_CLIENT_BYTES_MAX);
    j->method = -1;
    words = impi_auth_masks(mask, o->methods, o->nmethods);
    impi_auth_encode(&j->out, mask, words);
    j->item = JOIN_CHOICE;
    j->want = IMPI_SERVER_AUTH_SIZE;
    return j;
}

void impi_join_destroy(struct impi_join *j)
{
    if (!j)
        return;
    for (int i = 0; i < IMPI_N_LABELS; i++)
        free(j->labels[i].data);
    impi_world_free(&j->world);
    bytebuf_free(&j->in);
    bytebuf_free(&j->out);
    free((void *)j->o.hosts);
    free((void *)j->o.procs);
    explicit_bzero(j, sizeof(*j));
    free(j);
}
