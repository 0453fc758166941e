/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric doctor [--no-run]: all nodes at once.  What slurmctld has of each,
 * whether its slurmd can be reached from here, and, on those that take a step
 * at once, what `sfabric verify` finds there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/netaddr.h"
#include "sfabric/findings.h"
#include "sfabric/slurm_says.h"

#define CONNECT_MS 3000 /* for all slurmds together */
#define STEP_SECONDS 60 /* of the step that runs verify */

struct patient {
    struct slurm_node node;
    int fd;    /* to its slurmd; -1: no more */
    int error; /* 0: it is there; EAI_*: below 0 */
    bool done;
};

struct ward {
    struct patient *all;
    size_t n, room;
};

static void admit(const struct slurm_node *node, void *arg)
{
    struct ward *w = arg;
    struct patient *more;

    if (w->n == w->room) {
        more = realloc(w->all, (w->room * 2 + 64) * sizeof(*more));
        if (!more)
            return;
        w->all = more;
        w->room = w->room * 2 + 64;
    }
    w->all[w->n++] = (struct patient){.node = *node, .fd = -1};
}

/* ---- can its slurmd be reached? ------------------------------------------ */

static void end_call(struct patient *p, int error)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    p->error = error;
    p->done = true;
}

static void call(struct patient *p)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *info = NULL;
    struct netaddr to;
    int rc = getaddrinfo(p->node.addr, NULL, &hints, &info);

    if (rc != 0) {
        end_call(p, rc);
        return;
    }
    to = netaddr_from_socket(info->ai_addr);
    to.port = p->node.port;
    freeaddrinfo(info);
    p->fd = netaddr_open(&to.ip);
    if (p->fd < 0)
        end_call(p, errno);
    else if (netaddr_connect(p->fd, &to) == 0)
        end_call(p, 0);
    else if (errno != EINPROGRESS)
        end_call(p, errno);
}

static void hear(struct patient *p)
{
    int error = 0;
    socklen_t len = sizeof(error);

    if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    end_call(p, error);
}

/* Those who are still to be heard, until the time is over. */
static void hear_all(struct ward *w, struct pollfd *fds)
{
    uint64_t end = clock_ns() + CONNECT_MS * 1000000ull, now;

    while ((now = clock_ns()) < end) {
        nfds_t n = 0;

        for (size_t i = 0; i < w->n; i++)
            if (!w->all[i].done)
                fds[n++] = (struct pollfd){w->all[i].fd, POLLOUT, 0};
        if (n == 0 || poll(fds, n, (int)((end - now) / 1000000) + 1) <= 0)
            break;
        for (size_t i = 0, k = 0; i < w->n && k < n; i++)
            if (!w->all[i].done && fds[k++].revents)
                hear(&w->all[i]);
    }
    for (size_t i = 0; i < w->n; i++)
        if (!w->all[i].done)
            end_call(&w->all[i], ETIMEDOUT);
}

/* As many at once as there may be descriptors. */
static void call_all(struct ward *w)
{
    long room = sysconf(_SC_OPEN_MAX) / 2;
    size_t at = 0;
    struct pollfd *fds = calloc(w->n + 1, sizeof(*fds));

    while (fds && at < w->n) {
        struct ward part = {.all = w->all + at};

        part.n = w->n - at < (size_t)room ? w->n - at : (size_t)room;
        for (size_t i = 0; i < part.n; i++)
            call(&part.all[i]);
        hear_all(&part, fds);
        at += part.n;
    }
    free(fds);
}

/* ---- what is said of each ------------------------------------------------ */

static const char *why_not(const struct patient *p)
{
    return p->error < 0 ? gai_strerror(p->error) : strerror(p->error);
}

static void say(struct findings *f, const struct patient *p)
{
    const struct slurm_node *n = &p->node;
    int status = slurm_node_status(n->state);
    const char *sep = n->reason[0] ? ": " : "";

    if (p->error != 0)
        findings_say(f, SFABRIC_DOWN, n->name,
                     "slurmd cannot be reached at %s port %u (%s): is it "
                     "running, is a firewall between?  slurmctld has the node "
                     "as %s%s%s",
                     n->addr, n->port, why_not(p), n->state, sep, n->reason);
    else if (strstr(n->state, "NOT_RESPONDING") || strchr(n->state, '*') ||
             (strstr(n->state, "DOWN") && status == SFABRIC_DOWN))
        findings_say(f, SFABRIC_DOWN, n->name,
                     "slurmd listens at %s port %u but slurmctld has the node "
                     "as %s%s%s: mostly another munge.key there, or a clock "
                     "that is off; sfabric verify on %s says which",
                     n->addr, n->port, n->state, sep, n->reason, n->name);
    else if (status == SFABRIC_OK)
        findings_say(f, SFABRIC_OK, n->name, "%s, slurmd at %s port %u",
                     n->state, n->addr, n->port);
    else
        findings_say(f, status, n->name, "%s%s%s", n->state, sep, n->reason);
}

/* ---- verify on the nodes ------------------------------------------------- */

struct step {
    struct findings *f;
    char *nodes; /* where it is to run; NULL: nowhere */
    char *busy;  /* where it is not; NULL: nowhere */
    unsigned n;
    bool ran;
};

/* "NODE: wrong: WHAT: TEXT" of verify --brief, or srun's own words. */
static void step_line(char *line, void *arg)
{
    struct step *s = arg;
    char *status = strstr(line, ": "), *what, *text;
    int code;

    if (strcmp(line, "verified") == 0) {
        s->ran = true;
        return;
    }
    if (!status || strncmp(line, "srun: ", 6) == 0 ||
        strncmp(line, "slurmstepd: ", 12) == 0)
        return;
    *status = '\0';
    status += 2;
    what = strstr(status, ": ");
    text = what ? strstr(what + 2, ": ") : NULL;
    if (!text)
        return;
    *what = *text = '\0';
    code = strcmp(status, "wrong") == 0  ? SFABRIC_DOWN
           : strcmp(status, "warn") == 0 ? SFABRIC_DEGRADED
                                         : SFABRIC_UNKNOWN;
    findings_say(s->f, code, line, "%s: %s", what + 2, text + 2);
}

static void add_name(char **list, const char *name)
{
    char *longer;

    if (asprintf(&longer, "%s%s%s", *list ? *list : "", *list ? "," : "",
                 name) < 0)
        return;
    free(*list);
    *list = longer;
}

static void choose(struct step *s, const struct ward *w)
{
    for (size_t i = 0; i < w->n; i++) {
        const struct slurm_node *n = &w->all[i].node;

        if (w->all[i].error != 0 || slurm_node_status(n->state) != SFABRIC_OK)
            continue;
        if (strncmp(n->state, "IDLE", 4) == 0 ||
            strncmp(n->state, "MIX", 3) == 0) {
            add_name(&s->nodes, n->name);
            s->n++;
        } else {
            add_name(&s->busy, n->name);
        }
    }
}

static void run_step(struct step *s)
{
    char *command, self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

    if (n <= 0)
        return;
    self[n] = '\0';
    if (asprintf(&command,
                 "srun -Q --mpi=none --overcommit --immediate=10 --chdir=/ "
                 "-N%u -n%u --ntasks-per-node=1 -w '%s' sh -c '\"%s\" verify "
                 "--brief; echo verified' 2>&1 </dev/null",
                 s->n, s->n, s->nodes, self) < 0)
        return;
    slurm_says(command, STEP_SECONDS, step_line, s);
    free(command);
}

static void run_verify(struct findings *f, const struct ward *w)
{
    struct step s = {.f = f};

    choose(&s, w);
    if (s.busy)
        findings_say(f, SFABRIC_OK, "busy",
                     "%s: sfabric verify would look there", s.busy);
    if (s.nodes)
        run_step(&s);
    if (s.ran)
        findings_say(f, SFABRIC_OK, "verify", "ran on %s", s.nodes);
    else if (s.nodes)
        findings_say(f, SFABRIC_UNKNOWN, "verify",
                     "no step could run at once on %s: run sfabric verify "
                     "there",
                     s.nodes);
    free(s.nodes);
    free(s.busy);
}

static const struct option options[] = {
    {"no-run", no_argument, NULL, SFABRIC_FLAG},
    {0},
};

static int run(int argc, char **argv, struct sfabric_options *o)
{
    struct ward w = {NULL, 0, 0};
    struct findings f;
    bool no_run = false;

    if (sfabric_parse(&cmd_doctor, argc, argv, o, &no_run) < 0)
        return SFABRIC_UNKNOWN;
    findings_begin(&f, o, false);
    if (slurm_answers(&f) && slurm_nodes(admit, &w) >= 0) {
        call_all(&w);
        for (size_t i = 0; i < w.n; i++)
            say(&f, &w.all[i]);
        if (!no_run)
            run_verify(&f, &w);
    }
    free(w.all);
    return findings_end(&f);
}

const struct sfabric_cmd cmd_doctor = {
    .name = "doctor",
    .args = "[--no-run]",
    .help = "all nodes at once: MUNGE, clocks, ports, states, verify on each",
    .options = options,
    .take = sfabric_take_flag,
    .run = run,
};
