/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is decided before all labels are there: the version, and whether
 * everybody has the extensions.  And the small helpers of the other checks.
 */
#include <errno.h>

#include "base/be.h"
#include "impi/join_priv.h"

const struct join_label *join_label(const struct impi_join *j, int32_t label)
{
    return &j->labels[impi_label_find(label)];
}

const char *join_label_name(int32_t label)
{
    return impi_labels[impi_label_find(label)].name;
}

int join_fail(void)
{
    errno = EPROTO;
    return -1;
}

int join_need(const struct impi_join *j, int32_t label, struct errbuf *err)
{
    const struct join_label *l = join_label(j, label);

    for (uint32_t c = 0; c < j->nclients; c++)
        if (!l->got || !(l->mask >> c & 1)) {
            errprintf(err, "SF-E211: client %u did not send %s", c,
                      join_label_name(label));
            return join_fail();
        }
    return 0;
}

uint32_t join_get32(const struct impi_join *j, int32_t label, uint32_t i)
{
    return be_load32(join_label(j, label)->data + (size_t)i * 4);
}

int join_bad_value(struct errbuf *err, uint32_t client, int32_t label,
                   long long value)
{
    errprintf(err, "SF-E213: client %u: %s is %lld", client,
              join_label_name(label), value);
    return join_fail();
}

uint32_t join_client_of(const uint32_t *first, uint32_t i)
{
    uint32_t c = 0;

    while (i >= first[c + 1])
        c++;
    return c;
}

/* ---- VERSION ---- */

/* Each client's array is strictly ascending and holds 0.0, the lowest there
 * is: so each 0.0 begins the part of the next client. */
static int split_versions(const struct impi_join *j, uint32_t *first,
                          struct errbuf *err)
{
    const struct join_label *l = join_label(j, IMPI_C_VERSION);
    uint32_t n = l->len / IMPI_VERSION_SIZE, client = 0;
    struct impi_version last = {0, 0};

    if (l->len % IMPI_VERSION_SIZE) {
        errprintf(err, "SF-E212: IMPI_C_VERSION: %u bytes in all", l->len);
        return join_fail();
    }
    for (uint32_t i = 0; i < n; i++) {
        struct impi_version v =
            impi_version_decode(l->data + (size_t)i * IMPI_VERSION_SIZE);

        if (v.major == 0 && v.minor == 0) {
            if (client == j->nclients)
                goto count;
            first[client++] = i;
        } else if (i == 0 || impi_version_compare(&v, &last) <= 0) {
            errprintf(err,
                      "SF-E214: client %u: IMPI_C_VERSION: %u.%u is out of "
                      "order, or 0.0 is missing",
                      i == 0 ? 0 : client - 1, v.major, v.minor);
            return join_fail();
        }
        last = v;
    }
    first[client] = n;
    if (client == j->nclients)
        return 0;
count:
    errprintf(err,
              "SF-E214: IMPI_C_VERSION: version 0.0 is not listed exactly "
              "once by each of %u clients",
              j->nclients);
    return join_fail();
}

static bool has_version(const struct impi_join *j, uint32_t from, uint32_t to,
                        const struct impi_version *want)
{
    const uint8_t *data = join_label(j, IMPI_C_VERSION)->data;

    for (uint32_t i = from; i < to; i++) {
        struct impi_version v =
            impi_version_decode(data + (size_t)i * IMPI_VERSION_SIZE);

        if (impi_version_compare(&v, want) == 0)
            return true;
    }
    return false;
}

int join_pick_version(struct impi_join *j, struct errbuf *err)
{
    uint32_t first[SF_IMPI_CLIENTS_MAX + 1], own;
    const uint8_t *data = join_label(j, IMPI_C_VERSION)->data;

    if (join_need(j, IMPI_C_VERSION, err) < 0 ||
        split_versions(j, first, err) < 0)
        return -1;
    own = j->o.client;
    for (uint32_t i = first[own + 1]; i-- > first[own];) {
        struct impi_version v =
            impi_version_decode(data + (size_t)i * IMPI_VERSION_SIZE);
        uint32_t c = 0;

        while (c < j->nclients && has_version(j, first[c], first[c + 1], &v))
            c++;
        if (c == j->nclients) {
            j->version = v;
            return 0;
        }
    }
    errprintf(err, "SF-E214: no IMPI version that all clients have");
    return join_fail();
}

bool join_agree_extended(const struct impi_join *j, uint32_t version)
{
    const struct join_label *l = join_label(j, IMPI_X_EXT);

    if (join_need(j, IMPI_X_EXT, NULL) < 0 || l->len != j->nclients * 4)
        return false;
    for (uint32_t c = 0; c < j->nclients; c++)
        if (join_get32(j, IMPI_X_EXT, c) < version)
            return false;
    return true;
}
