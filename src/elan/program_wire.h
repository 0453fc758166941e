/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What is said on a program's socket (SOCK_SEQPACKET, one request and one
 * reply a message).  Numbers are big-endian:
 *
 *     request  u32 magic, u32 verb, i32 a, i32 b, [capability]
 *     reply    u32 magic, u32 errno, [what the verb answers]
 */
#ifndef SF_ELAN_PROGRAM_WIRE_H
#define SF_ELAN_PROGRAM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/be.h"
#include "elan/elanvp.h"
#include "elan/program.h"

enum program_verb {
    PROGRAM_NCAPS,   /* -> u32 */
    PROGRAM_GETCAP,  /* a: index -> capability */
    PROGRAM_SETCAP,  /* a: index, b: context */
    PROGRAM_PRGID,   /* a: pid, 0 the asking process -> u32 number */
    PROGRAM_INFO,    /* a: most pids -> u32 members, u32 pids ... */
    PROGRAM_STATS,   /* -> struct program_stats */
    PROGRAM_SIGNAL,  /* a: signal */
    PROGRAM_SUSPEND, /* stop all members */
    PROGRAM_RESUME,
    PROGRAM_ADDCAP,  /* a: index; capability */
    PROGRAM_DESTROY, /* kill what lives, wait for it, end the program -> struct
                        program_stats */
    PROGRAM_VERBS
};

/* Who may say it. */
enum program_right {
    PROGRAM_MEMBER, /* a member, with the program's uid */
    PROGRAM_OWNER,  /* the program's uid, or root */
    PROGRAM_ROOT
};

struct program_request {
    uint32_t verb;
    int32_t a, b;
    struct elan_capability *cap; /* PROGRAM_ADDCAP: where it is or goes */
};

struct program_stats {
    uint64_t user_us, system_us; /* all members that ever were */
    uint64_t memory_peak;        /* bytes, the program's; see exact */
    uint64_t process_peak;       /* bytes, of the largest process seen */
    uint32_t now;                /* members that live */
    uint32_t most;               /* most seen at a time */
    uint32_t seen;               /* different processes seen */
    uint32_t exact;              /* memory_peak is the kernel's own count */
};

#define PROGRAM_REQUEST_MAX (16 + 64 + ELAN_BITMAPSIZE * 4)
#define PROGRAM_REPLY_MAX (16 + SF_PROGRAM_PIDS_MAX * 4)

enum program_right program_verb_right(uint32_t verb);

/* Of a request that may be anything; PROGRAM_VERBS: it has none. */
uint32_t program_request_verb(const void *buf, size_t len);

/* Returns the length written into buf[PROGRAM_REQUEST_MAX]. */
size_t program_request_put(void *buf, const struct program_request *r);
/* r->cap must point to room for a capability.  0, or -1: malformed. */
int program_request_get(struct program_request *r, const void *buf, size_t len);

/* A reply: begin, put what the verb answers, take w->len. */
void program_reply_begin(struct be_writer *w, void *buf, size_t size,
                         int error);
/* Returns the errno of the reply, or EPROTO; *r then is at the answer. */
int program_reply_open(struct be_reader *r, const void *buf, size_t len);

void program_stats_put(struct be_writer *w, const struct program_stats *s);
void program_stats_get(struct be_reader *r, struct program_stats *s);

#endif
