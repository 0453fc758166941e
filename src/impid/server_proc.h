/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The impi-server process, as srun and impirun start it, and what it says on
 * its control socket.
 */
#ifndef SF_IMPID_SERVER_PROC_H
#define SF_IMPID_SERVER_PROC_H

#include <stdbool.h>
#include <stdint.h>

#include "base/errbuf.h"
#include "base/netaddr.h"
#include "impid/server_lines.h"

struct server_options {
    const char *path;   /* the program */
    const char *secret; /* 64 hexadecimal digits */
    uint32_t job, step;
    uint32_t agents, tasks;
    const char *bind;      /* address or "any" */
    const char *advertise; /* address */
    uint16_t port_lo, port_hi;
    const char *munge; /* munged's socket, or "" */
    const char *log;   /* directory for its log, or NULL */
    uint32_t fanout;   /* of the tree of agents; 0: the usual */
    uint32_t world;    /* not for agents: an IMPI server for so many clients */
    const char *auth;  /* preference list for these, or NULL */
    bool withhold;     /* labels beyond 0.0 from those that do not say them */
    char *const *env;  /* its environment; NULL: ours */
    bool stdio;        /* it may write where we do, for steps that it starts */
};

#define SERVER_ADDRESS_MAX NETADDR_TEXT_MAX
#define SERVER_SECRET_SIZE 65

/* Make the secret of a job: 64 hexadecimal digits.  0, or -1 with errno. */
int server_secret(char secret[SERVER_SECRET_SIZE]);

/* Start the server.  It is not waited for: we listen in its place and hand the
 * socket over.  address gets "ADDR:PORT" or
 * "[ADDR]:PORT".  Returns the control socket, or -1
 * with text.  The server is nobody's concern after that: it ends when the
 * socket does; what goes wrong at its start is an "error" line there.  Whoever
 * expects nothing more writes a byte: "end" follows as soon as no agent is
 * connected. */
int server_start(const struct server_options *o,
                 char address[SERVER_ADDRESS_MAX], struct errbuf *err);

/* The same in two steps, for a server that may never be needed: whoever
 * connects to the listener waits until the server has it.  Both descriptors are
 * above 9; server_spawn() leaves them open.  presence: another listener for it,
 * or -1 (impi/presence.h); lines: what has come there, or NULL. */
int server_listen(const struct server_options *o,
                  char address[SERVER_ADDRESS_MAX], struct errbuf *err);
int server_spawn(const struct server_options *o, int listener, int presence,
                 const struct server_lines *lines, struct errbuf *err);

/* One line that the server says, without newline; parsed in place. */
enum server_line_kind {
    SERVER_LINE_UNKNOWN,
    SERVER_LINE_READY,
    SERVER_LINE_ABORT,
    SERVER_LINE_NOTE,
    SERVER_LINE_END
};

struct server_line {
    enum server_line_kind kind;
    int32_t code;
    int32_t rank;
    int32_t client;
    bool lost;        /* no agent can kill there: Slurm must */
    const char *node; /* borrowed from the line; "" */
    const char *text; /* likewise */
};

void server_line_parse(struct server_line *out, char *line);

#endif
