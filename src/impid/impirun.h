/* SPDX-License-Identifier: BSD-3-Clause
 *
 * impirun: an IMPI job started by hand (section 2.2), without Slurm or over
 * several clusters.
 *
 *   impirun.c         options, help
 *   impirun_server.c  -server N: the IMPI server of a job
 *   impirun_client.c  -client RANK HOST:PORT: one client on this machine
 *   impirun_file.c    -server N -file APPFILE: all of it by one command
 */
#ifndef SF_IMPID_IMPIRUN_H
#define SF_IMPID_IMPIRUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "impid/server_words.h"

/* Exit codes beside those of the job. */
#define IMPIRUN_FAILED 1
#define IMPIRUN_USAGE 2

struct impirun {
    uint32_t nclients;    /* -server */
    uint16_t port;        /* -port, 0: any */
    const char *auth;     /* -auth, or NULL */
    bool withhold;        /* -withhold */
    const char *file;     /* -file, or NULL */
    const char *launcher; /* -launcher, or NULL: ssh */
    bool is_client;
    uint32_t client;   /* -client */
    const char *where; /* HOST:PORT */
    uint32_t np;
    char **command;
};

int impirun_server(const struct impirun *run);
int impirun_client(const struct impirun *run);

/* Run APPFILE against the server at `address`, whose words come by c; returns
 * the worst status. */
int impirun_file(const struct impirun *run, struct server_words *c,
                 const char *address);

/* ---- impirun_client.c: its processes ---- */

/* A descriptor (nonblocking) that tells the signals that end a job by hand or
 * one of its processes; they are blocked from now on.  -1 with errno. */
int impirun_signals(void);

/* Of a wait status: the exit code, or 128 + the signal. */
int impirun_exit_code(int status);

#endif
