/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Credentials for tests: hexadecimal text of uid and payload; one that was
 * opened before counts as replayed.
 */
#ifndef SF_TESTS_SOFTLINK_FAKE_H
#define SF_TESTS_SOFTLINK_FAKE_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/softlink.h"

struct fake_munge {
    uid_t uid;       /* whose credentials it makes */
    bool late;       /* those that it opens are too old */
    unsigned serial; /* no two are alike */
    char *opened[64];
    unsigned nopened;
    bool gone;      /* munged is dead */
    unsigned asked; /* to open one */
    uid_t reader;   /* who may open the last one */
    uint64_t rng;
};

static inline int fake_seal(void *arg, char **cred, const void *payload,
                            size_t len, uid_t reader, struct errbuf *err)
{
    struct fake_munge *m = arg;
    const uint8_t *p = payload;
    char *at;

    if (m->gone) {
        errno = EIO;
        return errprintf(err, "munge: gone");
    }
    m->reader = reader;
    at = *cred = malloc(2 * len + 17);
    if (!at)
        return errprintf(err, "out of memory");
    at += sprintf(at, "%08x%08x", (unsigned)m->uid, ++m->serial);
    for (size_t i = 0; i < len; i++)
        at += sprintf(at, "%02x", p[i]);
    return 0;
}

static inline bool fake_was_opened(struct fake_munge *m, const char *cred)
{
    for (unsigned i = 0; i < m->nopened && i < 64; i++)
        if (strcmp(m->opened[i], cred) == 0)
            return true;
    if (m->nopened < 64 && (m->opened[m->nopened] = strdup(cred)))
        m->nopened++;
    return false;
}

static inline int fake_open(void *arg, void **payload, size_t *len,
                            struct softlink_origin *origin, const char *cred,
                            struct errbuf *err)
{
    struct fake_munge *m = arg;
    size_t n = strlen(cred);
    unsigned uid, serial, byte;
    uint8_t *p;

    m->asked++;
    errno = EBADMSG;
    if (n < 16 || n % 2 || sscanf(cred, "%8x%8x", &uid, &serial) != 2)
        return errprintf(err, "not a credential");
    p = malloc(n / 2);
    if (!p)
        return errprintf(err, "out of memory");
    *len = n / 2 - 8;
    for (size_t i = 0; i < *len; i++) {
        if (sscanf(cred + 16 + 2 * i, "%2x", &byte) != 1) {
            free(p);
            errno = EBADMSG;
            return errprintf(err, "not a credential");
        }
        p[i] = (uint8_t)byte;
    }
    *payload = p;
    origin->uid = uid;
    origin->replayed = fake_was_opened(m, cred);
    origin->expired = m->late;
    return 0;
}

static inline int fake_random(void *arg, void *buf, size_t len)
{
    struct fake_munge *m = arg;

    for (size_t i = 0; i < len; i++) {
        m->rng = m->rng * 6364136223846793005ULL + 1442695040888963407ULL;
        ((uint8_t *)buf)[i] = (uint8_t)(m->rng >> 56);
    }
    return 0;
}

static inline void fake_forget(struct fake_munge *m)
{
    for (unsigned i = 0; i < m->nopened; i++)
        free(m->opened[i]);
    m->nopened = 0;
}

static inline struct softlink_ops fake_ops(struct fake_munge *m, uid_t service)
{
    return (struct softlink_ops){.seal = fake_seal,
                                 .open = fake_open,
                                 .random = fake_random,
                                 .arg = m,
                                 .service = service,
                                 .reader = service};
}

#endif
