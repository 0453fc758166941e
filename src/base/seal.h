/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MUNGE sealing: a payload that only a given uid can open and whose maker's
 * uid is vouched for by munged.  Both calls make one round trip to the local
 * munged (about 80 us) and may block for its time limit when it is gone.
 */
#ifndef SF_BASE_SEAL_H
#define SF_BASE_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"

#define SEAL_ANY_UID ((uid_t)-1)

struct seal_info {
    uid_t uid; /* who sealed it, by munged's word */
    gid_t gid;
    time_t encoded;   /* when, by the sealing node's clock */
    time_t decoded;   /* now, by this node's munged */
    uint32_t addr_be; /* IPv4 address of the sealing node, network order */
    bool replayed;    /* this munged has seen it before (several daemons
                         that share one munged: normal) */
    bool expired;     /* older than its time to live */
};

/* Seal payload[0..len) so that only `reader` can open it (SEAL_ANY_UID: any).
 * ttl: seconds, 0 = munged's default; munged itself cuts at 3600.  socket:
 * munged's socket or NULL for the default.  On success *cred is a
 * NUL-terminated string that the caller frees with free().
 * Returns 0, or -1 with errno: EMSGSIZE longer than SF_SEAL_PAYLOAD_MAX,
 * EIO munged refused or is gone (text says which). */
int seal_make(char **cred, const void *payload, size_t len, uid_t reader,
              int ttl, const char *socket, struct errbuf *err);

/* Open a sealed credential.  On success *payload (free() it; never NULL) and
 * *len are set and *info tells who made it.  A replayed or expired credential
 * is opened too and marked in *info: the caller decides.
 * Returns 0, or -1 with errno: EPERM not for this uid, EBADMSG not a
 * credential or not authentic, EIO munged is gone, ENOMEM. */
int seal_open(void **payload, size_t *len, struct seal_info *info,
              const char *cred, const char *socket, struct errbuf *err);

/* The same of what is secret: libmunge (0.5.15) frees what it got from munged
 * without clearing it, and so that is done here.  For the first thread of a
 * process; costs a look at its whole heap. */
int seal_open_secret(void **payload, size_t *len, struct seal_info *info,
                     const char *cred, const char *socket, struct errbuf *err);

#endif
