/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The process's end of its connection to impid (impi/task_wire.h).  Calls
 * block; only MPI_Init and MPI_Finalize wait here.  Errors: -1 and a text
 * for the user in err.
 */
#ifndef LIBIMPI_AGENT_H
#define LIBIMPI_AGENT_H

#include <stdbool.h>

#include "base/errbuf.h"
#include "impi/task_wire.h"
#include "impi/world.h"

struct agent_conn {
    int fd; /* close-on-exec; -1: none */
    uint8_t *buf;
    size_t len;
    size_t size;
    /* The last steps of ours that have ended. */
    struct agent_ended {
        uint32_t number; /* 0: none */
        char why[SF_TASK_TEXT_MAX];
    } ended[8];
    unsigned nended;
    void (*meanwhile)(void); /* of agent_join(), while it waits */
};

int agent_connect(struct agent_conn *a, const char *path, struct errbuf *err);

/* HELLO, then wait for ENV: until every task of the step is here.  *fd is
 * the descriptor that came with it, or -1.  env: task_env_clear(). */
int agent_hello(struct agent_conn *a, const struct task_hello *hello,
                struct task_env *env, int *fd, struct errbuf *err);

/* JOIN, then wait for WORLD: the head of one, and *table, a descriptor of the
 * node's table.  *relay: the socket that all packets for other clients take, or
 * -1: processes talk to each other.  meanwhile: called again and again, some
 * milliseconds apart, until that is here. */
int agent_join(struct agent_conn *a, const struct task_join *join,
               void (*meanwhile)(void), struct impi_world *world, int *relay,
               int *table, struct errbuf *err);

/* agent_prove(): make a credential of this user that is bound to `about`, for
 * another world.  agent_check(): was this one made by a user whom this world
 * may meet?  Threads may ask at once. */
int agent_prove(struct agent_conn *a, const uint8_t about[TASK_ABOUT_SIZE],
                char credential[SF_IMPI_CREDENTIAL_MAX], struct errbuf *err);
int agent_check(struct agent_conn *a, const uint8_t about[TASK_ABOUT_SIZE],
                const char *credential, struct errbuf *err);

/* Memory of another process, which this one cannot open: a descriptor,
 * close-on-exec; -1: impid does not pass it.  Threads may ask at once. */
int agent_claim(struct agent_conn *a, const struct task_claim *claim);

/* Have a step started (impi_spawn_encode()).  Has that one ended, and why?
 * Threads may ask at once. */
int agent_spawn(struct agent_conn *a, const void *request, size_t len,
                struct errbuf *err);
bool agent_spawned(struct agent_conn *a, uint32_t number, struct errbuf *why);

/* FINISH, then wait for FINISHED. */
int agent_finish(struct agent_conn *a, struct errbuf *err);

/* Tell; no answer comes.  Never waits. */
void agent_abort(struct agent_conn *a, int code, const char *text);
/* enum task_stage_reached */
void agent_stage(struct agent_conn *a, uint32_t stage);
void agent_exiting(struct agent_conn *a, int code);

void agent_close(struct agent_conn *a);

#endif
