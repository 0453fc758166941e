/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames between an agent (impid) and impi-server, after the channel opening
 * (impi/chan_open.h, role "agent") has succeeded.  Every frame is
 * {u32 type, u32 length of payload, payload}, big-endian; a str is a 16-bit
 * length and that many bytes without NUL; a key is the same.  The formats are
 * described in doc/rendezvous.md.
 */
#ifndef SF_IMPI_AGENT_WIRE_H
#define SF_IMPI_AGENT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/be.h"
#include "base/bytebuf.h"
#include "base/errbuf.h"

#define AGENT_HEADER_SIZE 8

enum agent_type {
    AGENT_JOB = 1,      /* agent -> server, the first frame */
    AGENT_PUT = 2,      /* agent -> server: contribute to a key */
    AGENT_GOT = 3,      /* server -> agent: all contributions of a key */
    AGENT_WORLD = 4,    /* agent -> server: open a generation's server */
    AGENT_WORLD_AT = 5, /* server -> agent: its port */
    AGENT_ABORT = 6,    /* agent -> server: the job must end */
    AGENT_KILL = 7,     /* server -> agents: end your tasks */
    AGENT_NOTE = 9,     /* agent -> server: text for the user */
    AGENT_BYE = 10,     /* agent -> server: orderly end, no payload */
    AGENT_ERROR = 11,   /* server -> agent: request refused */
    AGENT_HOLDS = 12,   /* agent -> server: who is lost with it, in words; the
                           last one counts */
    AGENT_GATHER = 13,  /* agent -> server: as PUT, but only who contributed
                           index 0 gets them all */
    AGENT_SPAWN = 14,   /* agent -> server: start a step for a process */
    AGENT_SPAWNED = 15, /* server -> agent: what became of it */
    /* The tree, in a step of more agents than its fan-out (agent_tree.h). */
    AGENT_TREE = 16,     /* server -> agent: there is one */
    AGENT_LISTENS = 17,  /* agent -> server: where its children connect */
    AGENT_PARENT = 18,   /* server -> agent: where its parent listens */
    AGENT_ATTACHED = 19, /* agent -> server: it is connected there */
    AGENT_LEAVING = 20,  /* agent -> server: pass on nothing more by it */
    AGENT_LEAVE = 21,    /* server -> agent: after so many SPREADs; agent ->
                            server: I have had so many, and do not wait;
                            parent -> child: so many of your MERGED */
    AGENT_SPREAD = 22,   /* server -> agent -> its children: a GOT for some */
    AGENT_MERGED = 23,   /* agent -> its parent or the server: what several
                            agents contribute to a key */
};

struct agent_blob {
    const uint8_t *data;
    uint32_t len;
};

struct agent_job {
    uint32_t agent;     /* index of this agent, 0..agents-1 */
    uint32_t agents;    /* how many the step has */
    uint32_t component; /* of the heterogeneous step, 0 for a plain one */
    char node[SF_AGENT_NODE_MAX];
};

/* Keyed allgatherv: when `expected` distinct indexes (0..expected-1) of `key`
 * are in, every contributor gets them all (PUT), or the first (GATHER). */
struct agent_put {
    char key[SF_AGENT_KEY_MAX];
    uint32_t index;
    uint32_t expected;
    struct agent_blob blob; /* borrowed */
};

struct agent_got {
    char key[SF_AGENT_KEY_MAX];
    uint32_t count;
    struct agent_blob packed; /* (u32 length, bytes) * count, borrowed: walk
                                 it with agent_blobs_next() */
};

struct agent_world {
    uint32_t generation;
    uint32_t nclients;
};

struct agent_world_at {
    uint32_t generation;
    uint16_t port; /* at the server's own address */
};

/* In the place of an exit code: let the one stand that Slurm knows. */
#define AGENT_CODE_UNKNOWN INT32_MIN

struct agent_abort {
    int32_t code;   /* exit code of the job, or AGENT_CODE_UNKNOWN */
    int32_t rank;   /* world rank that caused it, or -1 */
    int32_t client; /* its client, or -1 */
    uint32_t lost;  /* 1: slurmstepd is gone, so that Slurm must kill there */
    char text[SF_AGENT_TEXT_MAX];
};

struct agent_spawn {
    uint32_t rank;          /* world rank of the process */
    struct agent_blob blob; /* borrowed: impi/spawn.h */
};

#define AGENT_ADDR_SIZE 16 /* as IMPI_HOSTID_SIZE */

struct agent_at {
    uint32_t agent; /* PARENT: who it is; LISTENS: 0 */
    uint8_t addr[AGENT_ADDR_SIZE];
    uint16_t port;
};

struct agent_spread {
    struct agent_blob set;   /* borrowed: agent_set_has() */
    struct agent_blob frame; /* borrowed: a whole frame, header and all */
};

/* PUTs, or GATHERs, of one key. */
struct agent_merged {
    char key[SF_AGENT_KEY_MAX];
    uint32_t expected;
    bool gather;
    bool last; /* the sender waits for nobody below it any more */
    struct agent_blob
        set;                  /* borrowed: who contributes to the key in all;
                                 empty: all agents, or the receiver need not know */
    uint32_t count;           /* may be 0 */
    struct agent_blob packed; /* borrowed: read it with agent_parts_next() */
};

struct agent_part {
    uint32_t agent, index;
    struct agent_blob blob;
};

/* One frame.  Strings are copied, blobs are borrowed from the buffer. */
struct agent_msg {
    enum agent_type type;
    union {
        struct agent_job job;
        struct agent_put put; /* PUT, GATHER */
        struct agent_got got;
        struct agent_world world;
        struct agent_world_at world_at;
        struct agent_abort abort; /* ABORT; KILL (code and text only) */
        struct agent_spawn spawn; /* SPAWN, SPAWNED */
        uint32_t number;          /* TREE: the fan-out; LEAVE: SPREADs */
        struct agent_at at;       /* LISTENS, PARENT */
        struct agent_spread spread;
        struct agent_merged merged;
        char text[SF_AGENT_TEXT_MAX]; /* NOTE, ERROR, HOLDS */
    };
};

/* Append the frame to out.  Texts, keys and node names longer than their
 * limit cannot occur (fixed arrays).  Returns 0, or -1 with errno ENOBUFS
 * (out is full or memory is short: out->bad). */
int agent_msg_encode(struct bytebuf *out, const struct agent_msg *msg);

/* Decode the frame at the start of buf[0..len).  Returns bytes consumed; 0:
 * not complete yet; -1 with errno EPROTO: malformed, unknown type or longer
 * than SF_AGENT_FRAME_MAX (text says which): close the connection. */
ssize_t agent_msg_decode(struct agent_msg *msg, const void *buf, size_t len,
                         struct errbuf *err);

/* Walk the blobs of a GOT: agent_blobs_init(), then agent_blobs_next() until
 * it returns false.  An agent_msg that was decoded holds exactly `count`. */
void agent_blobs_init(struct be_reader *r, const struct agent_got *got);
bool agent_blobs_next(struct be_reader *r, struct agent_blob *blob);
/* Append one blob to what will be a GOT's `packed`. */
void agent_blobs_add(struct bytebuf *packed, const void *data, uint32_t len);

/* The same for the parts of a MERGED. */
void agent_parts_init(struct be_reader *r, const struct agent_merged *m);
bool agent_parts_next(struct be_reader *r, struct agent_part *part);
void agent_parts_add(struct bytebuf *packed, const struct agent_part *part);

/* Append all of a SPREAD but the frame of frame_len bytes that ends it, which
 * many may share.  0, or -1 ENOBUFS (out->bad). */
int agent_spread_begin(struct bytebuf *out, const void *set, size_t set_len,
                       size_t frame_len);

#endif
