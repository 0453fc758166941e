/* SPDX-License-Identifier: BSD-3-Clause */
#include "impi/collect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "impi/wire.h"

#define DONE INT64_MAX /* above every label: 0 alone is reserved */

void impi_collect_init(struct impi_collect *c, uint32_t nclients)
{
    memset(c, 0, sizeof(*c));
    c->nclients = nclients;
}

void impi_collect_set_free(struct impi_collect_set *set)
{
    if (!set)
        return;
    for (int i = 0; i < SF_IMPI_CLIENTS_MAX; i++)
        free(set->piece[i].data);
    free(set);
}

void impi_collect_free(struct impi_collect *c)
{
    while (c->sets) {
        struct impi_collect_set *set = c->sets;

        c->sets = set->next;
        impi_collect_set_free(set);
    }
}

static int check(const struct impi_collect *c, uint32_t client, int32_t label,
                 uint32_t len, struct errbuf *err)
{
    char name[24], last[24];

    errno = EPROTO;
    if (label <= IMPI_NO_LABEL)
        return errprintf(err, "%s is reserved", impi_label_name(label, name));
    if (c->passed[client] == DONE)
        return errprintf(err, "%s after DONE", impi_label_name(label, name));
    if (label == c->passed[client])
        return errprintf(err, "%s sent twice", impi_label_name(label, name));
    if (label < c->passed[client])
        return errprintf(err, "%s after %s", impi_label_name(label, name),
                         impi_label_name((int32_t)c->passed[client], last));
    if (c->labels[client] == SF_IMPI_CLIENT_LABELS_MAX)
        return errprintf(err, "more than %d labels", SF_IMPI_CLIENT_LABELS_MAX);
    if (len > SF_IMPI_CLIENT_BYTES_MAX - c->bytes[client])
        return errprintf(err, "%s: payloads of more than %d bytes in all",
                         impi_label_name(label, name),
                         SF_IMPI_CLIENT_BYTES_MAX);
    return 0;
}

/* The set of a label, made when absent. */
static struct impi_collect_set *get_set(struct impi_collect *c, int32_t label)
{
    struct impi_collect_set **at = &c->sets, *set;

    while (*at && (*at)->label < label)
        at = &(*at)->next;
    if (*at && (*at)->label == label)
        return *at;
    set = calloc(1, sizeof(*set));
    if (!set)
        return NULL;
    set->label = label;
    set->next = *at;
    *at = set;
    return set;
}

int impi_collect_put(struct impi_collect *c, uint32_t client, int32_t label,
                     const void *data, uint32_t len, struct errbuf *err)
{
    struct impi_collect_set *set;
    uint8_t *copy;

    if (check(c, client, label, len, err) < 0)
        return -1;
    copy = malloc(len ? len : 1);
    set = copy ? get_set(c, label) : NULL;
    if (!set) {
        free(copy);
        errno = ENOMEM;
        return errprintf(err, "out of memory");
    }
    if (len)
        memcpy(copy, data, len);
    set->piece[client].data = copy;
    set->piece[client].len = len;
    set->mask |= 1u << client;
    set->total += len;
    c->passed[client] = label;
    c->labels[client]++;
    c->bytes[client] += len;
    return 0;
}

int impi_collect_done(struct impi_collect *c, uint32_t client,
                      struct errbuf *err)
{
    if (c->passed[client] == DONE) {
        errno = EPROTO;
        return errprintf(err, "DONE sent twice");
    }
    c->passed[client] = DONE;
    return 0;
}

static void drop_piece(struct impi_collect_set *set, uint32_t client)
{
    set->total -= set->piece[client].len;
    set->mask &= ~(1u << client);
    free(set->piece[client].data);
    set->piece[client].data = NULL;
    set->piece[client].len = 0;
}

void impi_collect_drop(struct impi_collect *c, uint32_t client)
{
    struct impi_collect_set **at = &c->sets;

    c->passed[client] = 0;
    c->bytes[client] = 0;
    c->labels[client] = 0;
    while (*at) {
        struct impi_collect_set *set = *at;

        drop_piece(set, client);
        if (set->mask) {
            at = &set->next;
            continue;
        }
        *at = set->next;
        impi_collect_set_free(set);
    }
}

struct impi_collect_set *impi_collect_next(struct impi_collect *c)
{
    struct impi_collect_set *set = c->sets;

    if (!set)
        return NULL;
    for (uint32_t i = 0; i < c->nclients; i++)
        if (c->passed[i] < set->label)
            return NULL;
    c->sets = set->next;
    return set;
}

bool impi_collect_all_done(const struct impi_collect *c)
{
    for (uint32_t i = 0; i < c->nclients; i++)
        if (c->passed[i] != DONE)
            return false;
    return true;
}
