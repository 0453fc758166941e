/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The joined world: what every process knows about every other one after the
 * start-up of an IMPI job, and its encoding for the way from the agent that
 * joined to the client's other agents.
 *
 * Ranks are MPI_COMM_WORLD ranks.  A client's processes need not be
 * neighbours in it; the native rank of a process is its place among its
 * client's processes in world rank order.
 *
 * A struct impi_world owns its two arrays: impi_world_free().  In a process
 * the node's table stands for both (table.h), which is not the world's own.
 */
#ifndef SF_IMPI_WORLD_H
#define SF_IMPI_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/errbuf.h"

#define IMPI_HOSTID_SIZE 16 /* an IPv6 address, or IPv4 inside one (1.2.3) */
#define IMPI_SECRET_SIZE 32
#define IMPI_REPR_SIZE 16

enum impi_world_flag {
    /* All clients said X_EXT: processes talk straight to each other. */
    IMPI_WORLD_EXTENDED = 1u << 0,
    /* All clients have the same data representation: user data travel as
     * they are in memory.  Else external32. */
    IMPI_WORLD_NATIVE = 1u << 1,
    /* All clients speak version 2 of the extensions: channels between
     * processes begin with an offer of shared memory. */
    IMPI_WORLD_SHARE = 1u << 2,
    /* All clients speak version 3: it is known of every process how many
     * processors it has, and all may meet, those of one client, too. */
    IMPI_WORLD_FLAT = 1u << 3,
    /* All clients speak version 4: windows may span them. */
    IMPI_WORLD_RMA = 1u << 4,
    /* All clients speak version 5: members of a window tell each other of
     * memory that they share. */
    IMPI_WORLD_RMA_SHARE = 1u << 5,
    /* All clients speak version 6: channels between processes that do not
     * share memory begin with a word about libfabric. */
    IMPI_WORLD_FABRIC = 1u << 6,
    /* All clients speak version 7: files may span them. */
    IMPI_WORLD_FILES = 1u << 7,
    /* All clients speak version 8: members of a window tell each other of
     * memory that the network may read and write. */
    IMPI_WORLD_RMA_FABRIC = 1u << 8,
    /* All clients speak version 9: collective calls take few rounds. */
    IMPI_WORLD_FEW_ROUNDS = 1u << 9,
    /* All clients speak version 10: operations bring their locks along. */
    IMPI_WORLD_RMA_EARLY = 1u << 10,
    /* All clients speak version 11: long vectors go between clients by parts.
     */
    IMPI_WORLD_FEW_BYTES = 1u << 11,
    /* All of these: a world of this release alone, on machines of one kind. */
    IMPI_WORLD_ALL = (1u << 12) - 1,
};

struct impi_host {
    uint32_t client;
    uint32_t nprocs;
    uint8_t addr[IMPI_HOSTID_SIZE];
    uint16_t port; /* the agent's, for the dance of 2.3.8 */
};

struct impi_proc {
    uint32_t client;
    uint32_t host;                    /* index into hosts, the host rank */
    uint8_t hostid[IMPI_HOSTID_SIZE]; /* with pid the IMPI_Proc of packets */
    uint64_t pid;
    uint8_t addr[IMPI_HOSTID_SIZE]; /* where the process itself listens; */
    uint16_t port;                  /* 0: it does not */
    uint16_t cpus; /* processors of it and its neighbours; 0: not known */
};

/* What our own agents propose where all clients are ours and processes are
 * connected to each other (doc/impi-data.md). */
#define IMPI_OWN_MAXDATALEN (1024 * 1024)
#define IMPI_OWN_ACKMARK 64
#define IMPI_OWN_HIWATER 256

/* What clients of the first generation of IMPI libraries declare.  Ours
 * declare longer packets where they meet others, so they can be told apart;
 * the minimum counts (doc/impi-peers.md). */
#define IMPI_OLD_MAXDATALEN 65536
#define IMPI_OLD_ACKMARK 10
#define IMPI_OLD_HIWATER 20
#define IMPI_STRICT_MAXDATALEN (IMPI_OLD_MAXDATALEN + 4096)

struct impi_table;

struct impi_world {
    uint32_t version_major, version_minor;
    uint32_t maxdatalen; /* bytes of user data in a packet */
    int32_t tagub;
    int32_t coll_xsize;     /* bytes from which collectives go "long" */
    int32_t coll_maxlinear; /* masters up to which they go linear */
    uint32_t ackmark, hiwater;
    uint32_t flags; /* enum impi_world_flag */
    uint32_t nclients, nhosts, nprocs;
    /* Bits of clients, by what they declare where the extensions are not
     * agreed: ours; those of the first generation. */
    uint32_t own_clients, old_clients;
    struct impi_host *hosts;        /* by host rank */
    struct impi_proc *procs;        /* by world rank */
    const struct impi_table *table; /* or this, and the arrays are NULL */
    /* Processes of other worlds (libimpi/foreign.h): their ranks follow those
     * of this one, which are `home` then; of their hosts likewise.  Owned. */
    uint32_t home, home_hosts;
    struct impi_proc *foreign;
    struct impi_host *foreign_hosts;
    uint8_t secret[IMPI_SECRET_SIZE]; /* key of the channel opening */
};

/* What is known of a rank, which is in range; where it is in both forms. */
struct impi_proc impi_world_proc(const struct impi_world *w, uint32_t rank);
uint32_t impi_world_client(const struct impi_world *w, uint32_t rank);
const struct impi_host *impi_world_host(const struct impi_world *w,
                                        uint32_t host);

/* What processes of one place have in common. */
struct impi_place {
    uint32_t client;
    uint32_t host;
    uint8_t hostid[IMPI_HOSTID_SIZE];
    uint8_t addr[IMPI_HOSTID_SIZE];
    uint32_t pid_high; /* upper half of the pid: a foreign one may be long */
    uint32_t cpus;
};

/* The places of a world with procs, numbered in the order of their first
 * ranks: place[nprocs] becomes each rank's, first[nprocs] the first rank of
 * each place.  Returns how many; 0 with errno ENOMEM. */
uint32_t impi_world_places(const struct impi_world *w, uint32_t *place,
                           uint32_t *first);
void impi_world_get_place(const struct impi_world *w, uint32_t rank,
                          struct impi_place *out);

/* Encode into *buf (free() it).  Returns 0, or -1 with errno ENOMEM. */
int impi_world_encode(const struct impi_world *w, uint8_t **buf, size_t *len);

/* Decode exactly len bytes and check them (impi_world_check).
 * Returns 0, or -1 with errno: EPROTO cut short, too long, over a limit or
 * inconsistent (text says which); ENOMEM.  On failure *w is empty. */
int impi_world_decode(struct impi_world *w, const void *buf, size_t len,
                      struct errbuf *err);

/* The same for a reader that already has the table: only the numbers of hosts
 * and processes, not the entries.  The buffer has IMPI_WORLD_HEAD_SIZE bytes.
 */
#define IMPI_WORLD_HEAD_SIZE (15 * 4 + IMPI_SECRET_SIZE)
void impi_world_encode_head(const struct impi_world *w, uint8_t *buf);
int impi_world_decode_head(struct impi_world *w, const void *buf, size_t len,
                           struct errbuf *err);

/* 1 <= clients <= hosts <= procs, indexes in range, host sizes add up, and
 * the mandated properties of section 3.9.  Returns 0, or -1 EPROTO. */
int impi_world_check(const struct impi_world *w, struct errbuf *err);

/* Allocate zeroed arrays for nhosts and nprocs.  0, or -1 ENOMEM. */
int impi_world_alloc(struct impi_world *w, uint32_t nhosts, uint32_t nprocs);

/* Free the arrays and zero everything, the secret included. */
void impi_world_free(struct impi_world *w);

/* Descriptor of this build's representation of basic types; equal
 * descriptors mean that no conversion is needed. */
void impi_repr_own(uint8_t repr[IMPI_REPR_SIZE]);

/* The IPv4 address inside, in network order as four bytes, in its compatible
 * or its mapped form (1.2.3); false: none. */
bool impi_hostid_get_ipv4(uint8_t ipv4[4], const uint8_t id[IMPI_HOSTID_SIZE]);
/* The form we send: IPv4-compatible (12 zero bytes). */
void impi_hostid_set_ipv4(uint8_t id[IMPI_HOSTID_SIZE], const uint8_t ipv4[4]);

#endif
