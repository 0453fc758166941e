/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An IMPI job in memory: a server engine, joining clients, and wires between
 * them that deliver bytes in random pieces.
 */
#ifndef TEST_IMPI_JOB_H
#define TEST_IMPI_JOB_H

#include "impi/join.h"
#include "impi/server.h"

#define JOB_MAX_EVENTS 64

struct job_client {
    struct impi_join_options o;
    struct impi_join_host hosts[8];
    struct impi_join_proc procs[32];
    struct impi_join *join;
    int conn;
    bool failed;
    struct errbuf err;
};

struct job {
    struct impi_server *server;
    struct impi_auth_method methods[4];
    size_t nmethods;
    uint32_t nclients;
    struct job_client clients[SF_IMPI_CLIENTS_MAX];
    unsigned seed; /* of the pieces; 0: all at once */
    int nevents;
    struct {
        enum impi_server_event_type type;
        int client;
        char text[SF_ERRBUF_SIZE];
    } events[JOB_MAX_EVENTS];
};

/* nclients clients with the hosts and processes of each: hosts[c] hosts of
 * per_host[c] processes; method NONE; ranks in IMPI's order. */
void job_init(struct job *job, uint32_t nclients, const uint32_t *hosts,
              const uint32_t *per_host);
/* Make the server and all clients from their options; connect them. */
void job_start(struct job *job);
/* Move bytes until nothing moves any more. */
void job_run(struct job *job);
void job_free(struct job *job);
/* Number of events of a type; *text of the last one. */
int job_count(const struct job *job, enum impi_server_event_type type,
              const char **text);
void job_event(void *arg, const struct impi_server_event *e);

#endif
