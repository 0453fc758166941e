/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Frames between impid and the processes of a step (doc/task-wire.md): codec
 * only, no I/O.  Every frame is u32 type, u32 payload length, payload, all
 * big-endian.  One connection carries one MPI program of one task.
 *
 *   process                                impid
 *     HELLO   -------------------------->
 *             <--------------------------   ENV (+ one fd for MPICH) or ERROR
 *     JOIN    -------------------------->         only when nclients > 1
 *             <--------------------------   RELAY + one fd, when only hosts
 *                                           are connected
 *             <--------------------------   WORLD (head, impi/world.h) + one
 *                                           fd (impi/table.h), or ERROR
 *     STAGE   -------------------------->         how far MPI_Init has come
 *     ABORT   -------------------------->         MPI_Abort
 *     PROVE   -------------------------->         a credential about this
 *             <--------------------------   PROOF
 *     CHECK   -------------------------->         whose credential is it?
 *             <--------------------------   CHECKED
 *     SPAWN   -------------------------->         MPI_Comm_spawn
 *             <--------------------------   SPAWNED, whenever its step ends
 *     CLAIM   -------------------------->         memory that it cannot open
 *             <--------------------------   CLAIMED (+ one fd, or none)
 *     FINISH  -------------------------->         MPI_Finalize
 *             <--------------------------   FINISHED
 *     EXITING -------------------------->         exit() without MPI_Finalize
 *
 * REGISTER comes on a connection of its own from the task before exec.
 *
 * Decoded strings are copied into the struct, NUL terminated.  Encoders
 * write a whole frame, header included, and return its length; or -1 with
 * errno EMSGSIZE when it does not fit.  Decoders take the payload of a frame
 * and return 0; or -1 with errno EPROTO (malformed) or ENOMEM.
 */
#ifndef SF_IMPI_TASK_WIRE_H
#define SF_IMPI_TASK_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "base/memory.h"

#define TASK_WIRE_VERSION 9
#define TASK_HEADER_SIZE 8
#define TASK_DIR_PREFIX "/proc/self/fd/"
#define TASK_DIR_MAX 32

enum task_frame_type {
    TASK_HELLO = 1,    /* struct task_hello */
    TASK_ENV = 2,      /* struct task_env */
    TASK_ERROR = 3,    /* struct task_text: print it, exit(1) */
    TASK_JOIN = 4,     /* struct task_join */
    TASK_WORLD = 5,    /* impi_world_encode_head(), and one fd: the table */
    TASK_FINISH = 6,   /* empty */
    TASK_FINISHED = 7, /* empty */
    TASK_ABORT = 8,    /* struct task_abort */
    TASK_REGISTER = 9, /* struct task_register */
    TASK_EXITING = 10, /* struct task_exiting */
    TASK_RELAY = 11,   /* empty, and one fd: packets go that way */
    TASK_STAGE = 12,   /* struct task_stage */
    TASK_PROVE = 13,   /* struct task_proof: about */
    TASK_PROOF = 14,   /* struct task_proof: credential, or text */
    TASK_CHECK = 15,   /* struct task_proof: about and credential */
    TASK_CHECKED = 16, /* struct task_proof: text; "": it is good */
    TASK_SPAWN = 17,   /* impi_spawn_encode() (impi/spawn.h) */
    TASK_SPAWNED = 18, /* impi_spawned_encode() */
    TASK_CLAIM = 19,   /* struct task_claim */
    TASK_CLAIMED = 20, /* empty, and one fd: the memory; or none: no */
};

/* The MPI library families; an IMPI client has one. */
enum task_family {
    TASK_FAMILY_NONE = 0, /* never said HELLO */
    TASK_FAMILY_MPICH = 1,
    TASK_FAMILY_OPENMPI = 2,
    TASK_FAMILY_MPICH_PMIX = 3, /* an MPICH that knows nothing but PMIx */
};

/* "MPICH", "Open MPI" or "no MPI"; never NULL. */
const char *task_family_name(uint32_t family);

struct task_hello {
    uint32_t version; /* TASK_WIRE_VERSION */
    uint32_t family;  /* enum task_family */
    uint32_t rank;    /* in MPI_COMM_WORLD of the step: SLURM_PROCID */
    uint32_t pid;     /* own pid, for messages only: impid asks the kernel */
    uint32_t build;   /* of the library: two texts of MPI_Get_library_version
                         that differ have another number */
    char library[SF_TASK_TEXT_MAX]; /* its first line, may be cut */
    char dir[TASK_DIR_MAX]; /* "/proc/self/fd/N" by which it knows the step's
                               directory, "": by its path */
    /* Containers: processes for whom these are equal see the same /dev/shm, and
     * are in one user namespace.  0: not known. */
    uint64_t memory, users;
};

struct task_env {
    uint32_t generation;  /* which MPI program of the tasks, from 0 */
    uint32_t nclients;    /* 1: nothing to join */
    uint32_t client;      /* own client number */
    uint32_t native_rank; /* rank in the native MPI_COMM_WORLD */
    uint32_t native_size;
    uint32_t world_size;   /* ranks in all clients */
    uint8_t host_addr[16]; /* listen here; IPv4 mapped as ::ffff:a.b.c.d */
    uint16_t port_lo;      /* listen in this range; 0,0: any */
    uint16_t port_hi;
    /* Containers: by which pid others on the machine know it, 0: by its own;
     * and which processes can have its memory, 0: as it sees by itself (base/
     * memory.h). */
    uint32_t pid;
    uint64_t machine;
    uint32_t nenv;
    /* nenv strings "NAME=value", then NULL; "?NAME=value" applies only if the
     * process has no value of its own. */
    char **env;
};

struct task_join {
    uint32_t pid;
    uint8_t addr[16]; /* as host_addr */
    uint16_t port;
    uint16_t cpus; /* processors that it and its neighbours may use */
};

struct task_abort {
    int32_t code;
    char text[SF_TASK_TEXT_MAX];
};

struct task_text {
    char text[SF_TASK_TEXT_MAX];
};

struct task_register {
    uint32_t rank;  /* SLURM_PROCID */
    uint32_t local; /* SLURM_LOCALID */
};

struct task_exiting {
    int32_t code; /* the argument of exit() */
};

/* How far MPI_Init has come, to tell where it hangs. */
enum task_stage_reached {
    TASK_STAGE_WORLD = 1, /* WORLD is read */
    TASK_STAGE_READY = 2  /* MPI_Init is about to return */
};

/* Memory of another process of this user and machine, who has told the token.
 * The process itself may not open it. */
struct task_claim {
    uint32_t kind; /* enum memory_kind */
    uint32_t pid, fd;
    uint8_t token[MEMORY_TOKEN_SIZE];
};

struct task_stage {
    uint32_t stage; /* enum task_stage_reached */
};

#define TASK_ABOUT_SIZE 32

/* Of a user, by MUNGE: images of containers have no munged.  Where the site
 * lets any user meet, a credential may be empty. */
struct task_proof {
    uint8_t about[TASK_ABOUT_SIZE]; /* what it is about */
    char credential[SF_IMPI_CREDENTIAL_MAX];
    char text[SF_TASK_TEXT_MAX]; /* why not */
};

/* One frame at the front of a stream; payload borrows from the buffer. */
struct task_frame {
    uint32_t type;
    uint32_t len;
    const uint8_t *payload;
};

/* Look at buf[0..len).  Returns the bytes of the whole frame; or -1 with
 * errno EAGAIN (more bytes needed), EMSGSIZE (payload longer than max: the
 * peer is broken, close).  Use SF_TASK_REQUEST_MAX for what a process sends
 * and SF_TASK_REPLY_MAX for what impid sends. */
ssize_t task_frame_parse(struct task_frame *frame, const void *buf, size_t len,
                         size_t max);

/* Frames without or with ready-made payload.  Returns the frame's length. */
ssize_t task_frame_encode(void *buf, size_t size, uint32_t type,
                          const void *payload, size_t len);

ssize_t task_hello_encode(void *buf, size_t size, const struct task_hello *h);
int task_hello_decode(struct task_hello *h, const void *payload, size_t len);

/* Bytes that task_env_encode() needs for e. */
size_t task_env_size(const struct task_env *e);
ssize_t task_env_encode(void *buf, size_t size, const struct task_env *e);
/* Allocates e->env; task_env_clear() frees it. */
int task_env_decode(struct task_env *e, const void *payload, size_t len);
void task_env_clear(struct task_env *e);

ssize_t task_join_encode(void *buf, size_t size, const struct task_join *j);
int task_join_decode(struct task_join *j, const void *payload, size_t len);

ssize_t task_abort_encode(void *buf, size_t size, const struct task_abort *a);
int task_abort_decode(struct task_abort *a, const void *payload, size_t len);

/* TASK_ERROR */
ssize_t task_error_encode(void *buf, size_t size, const char *text);
int task_error_decode(struct task_text *t, const void *payload, size_t len);

ssize_t task_register_encode(void *buf, size_t size,
                             const struct task_register *r);
int task_register_decode(struct task_register *r, const void *payload,
                         size_t len);

ssize_t task_exiting_encode(void *buf, size_t size,
                            const struct task_exiting *x);
int task_exiting_decode(struct task_exiting *x, const void *payload,
                        size_t len);

ssize_t task_stage_encode(void *buf, size_t size, const struct task_stage *s);
int task_stage_decode(struct task_stage *s, const void *payload, size_t len);

ssize_t task_claim_encode(void *buf, size_t size, const struct task_claim *c);
int task_claim_decode(struct task_claim *c, const void *payload, size_t len);

/* type: PROVE, PROOF, CHECK or CHECKED, which are alike. */
ssize_t task_proof_encode(void *buf, size_t size, uint32_t type,
                          const struct task_proof *p);
int task_proof_decode(struct task_proof *p, const void *payload, size_t len);
#define TASK_PROOF_SIZE (TASK_HEADER_SIZE + sizeof(struct task_proof) + 4)

#endif
