/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the IMPI server does with COLL (section 2.3.5): payloads of the same
 * label are kept until every client has either sent that label or passed it
 * (by a higher one or DONE), then handed out in ascending order of labels.
 * The payloads are opaque.
 */
#ifndef SF_IMPI_COLLECT_H
#define SF_IMPI_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"

struct impi_collect_set {
    int32_t label;
    uint32_t mask; /* bit i: client i contributed piece[i] */
    uint32_t total;
    struct {
        uint8_t *data;
        uint32_t len;
    } piece[SF_IMPI_CLIENTS_MAX];
    struct impi_collect_set *next; /* ascending label */
};

struct impi_collect {
    uint32_t nclients;
    int64_t passed[SF_IMPI_CLIENTS_MAX]; /* highest label; or DONE, above all */
    uint32_t bytes[SF_IMPI_CLIENTS_MAX];
    uint32_t labels[SF_IMPI_CLIENTS_MAX];
    struct impi_collect_set *sets;
};

void impi_collect_init(struct impi_collect *c, uint32_t nclients);
void impi_collect_free(struct impi_collect *c);

/* Client's payload for label, copied.  Returns 0; or -1 with errno EPROTO:
 * label 0 or negative, not above the client's last one, after DONE, too many
 * or too much in all; ENOMEM. */
int impi_collect_put(struct impi_collect *c, uint32_t client, int32_t label,
                     const void *data, uint32_t len, struct errbuf *err);

/* No more labels from this client.  -1 EPROTO: said before. */
int impi_collect_done(struct impi_collect *c, uint32_t client,
                      struct errbuf *err);

/* Forget all that a client sent: its place is free again. */
void impi_collect_drop(struct impi_collect *c, uint32_t client);

/* The next complete set, or NULL.  The caller frees it. */
struct impi_collect_set *impi_collect_next(struct impi_collect *c);
void impi_collect_set_free(struct impi_collect_set *set);

/* True when every client said DONE. */
bool impi_collect_all_done(const struct impi_collect *c);

#endif
