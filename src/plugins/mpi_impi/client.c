/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/auth_info.h"
#include "base/sitedir.h"
#include "base/quiet_thread.h"
#include "impi/agent_wire.h"
#include "impi/site.h"
#include "impi/taskmap.h"
#include "plugins/mpi_impi/address.h"
#include "plugins/mpi_impi/client.h"
#include "plugins/mpi_impi/node_list.h"
#include "impid/names.h"
#include "impid/server_words.h"
#include "impid/user_env.h"

#define COMPONENTS_MAX 128
#define END_WAIT 5         /* s, for the server's last word */
#define LINES_REST_MS 1000 /* how long a step may be that pays nothing */

struct step {
    uint32_t job, step;
};

/* The launch of this srun.  The server is started when somebody connects: a
 * step whose tasks never call MPI needs none.  All is set before the thread
 * runs, but what is below `lock`. */
static struct {
    bool tried, started;
    struct server_options server;
    char bind[NETADDR_IP_MAX], advertise[NETADDR_IP_MAX], munge[256];
    int listener;
    int presence; /* -1: none; several nodes start their agents at once */
    bool lazy;
    struct server_lines lines; /* the thread's */
    char address[SERVER_ADDRESS_MAX];
    char presence_address[SERVER_ADDRESS_MAX];
    char secret[SERVER_SECRET_SIZE];
    char step[32];
    char *tasks;
    char *nodes;
    struct step steps[COMPONENTS_MAX];
    uint32_t nsteps;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int fd;     /* the server's control socket; -1: not yet started */
    bool ended; /* the server has said all it will */
    bool aborted;
    int code;
} launch = {.lock = PTHREAD_MUTEX_INITIALIZER,
            .changed = PTHREAD_COND_INITIALIZER,
            .listener = -1,
            .presence = -1,
            .fd = -1};

/* ---- what the server says ------------------------------------------------*/

/* Nobody on a lost agent's node can kill there, so Slurm does. */
static void kill_steps(void)
{
    struct step steps[COMPONENTS_MAX];
    uint32_t n;

    pthread_mutex_lock(&launch.lock);
    n = launch.nsteps;
    memcpy(steps, launch.steps, sizeof(steps));
    pthread_mutex_unlock(&launch.lock);
    for (uint32_t i = 0; i < n; i++)
        slurmabi_kill_step(steps[i].job, steps[i].step, SIGKILL);
}

/* 0 leaves it to srun, which takes the highest code of a task. */
static int exit_code(int32_t code)
{
    if (code == AGENT_CODE_UNKNOWN)
        return 0;
    return code & 0xff ? code & 0xff : 1;
}

static void on_abort(const struct server_line *line)
{
    if (line->client >= 0)
        slurm_error("mpi/impi: %s, client %d: the job ends", line->text,
                    line->client);
    else
        slurm_error("mpi/impi: %s: the job ends", line->text);
    pthread_mutex_lock(&launch.lock);
    launch.aborted = true;
    launch.code = exit_code(line->code);
    pthread_cond_broadcast(&launch.changed);
    pthread_mutex_unlock(&launch.lock);
    if (line->lost)
        kill_steps();
}

static void on_end(void)
{
    pthread_mutex_lock(&launch.lock);
    launch.ended = true;
    pthread_cond_broadcast(&launch.changed);
    pthread_mutex_unlock(&launch.lock);
}

static void on_line(const struct server_line *line)
{
    switch (line->kind) {
    case SERVER_LINE_ABORT:
        on_abort(line);
        break;
    case SERVER_LINE_NOTE:
        slurm_info("mpi/impi: %s", line->text);
        break;
    case SERVER_LINE_END:
        on_end();
        break;
    case SERVER_LINE_READY:
    case SERVER_LINE_UNKNOWN:
        break;
    }
}

/* The server has its own of these now, or never will. */
static void close_listeners(void)
{
    close(launch.listener);
    if (launch.presence >= 0)
        close(launch.presence);
    server_lines_close(&launch.lines);
}

/* Slurm does not notice: srun would wait for that node's tasks for ever. */
static void node_is_lost(const struct impi_presence *who)
{
    struct errbuf text;

    errprintf(&text, "SF-E316: " IMPI_LOST_NODE, who->node);
    if (!launch.aborted)
        on_abort(&(struct server_line){.code = 1,
                                       .rank = -1,
                                       .client = -1,
                                       .lost = true,
                                       .text = text.text});
}

/* Wait for the first agent; agents wait in the listener meanwhile. */
static int serve(void)
{
    struct errbuf err = {""}, text;
    struct impi_presence lost;
    int fd;

    while (launch.lazy &&
           !server_lines_wait(&launch.lines, launch.listener, &lost))
        node_is_lost(&lost);
    pthread_mutex_lock(&launch.lock);
    fd = server_spawn(&launch.server, launch.listener, launch.presence,
                      &launch.lines, &err);
    launch.fd = fd;
    close_listeners();
    pthread_mutex_unlock(&launch.lock);
    if (fd < 0) {
        errprintf(&text, "SF-E304: %.400s", err.text);
        on_abort(&(struct server_line){.code = 1,
                                       .rank = -1,
                                       .client = -1,
                                       .lost = true,
                                       .text = text.text});
    }
    return fd;
}

/* A server that is gone without a word takes the job along: its agents have
 * lost it and kill their tasks.  The socket stays: others write to it. */
static void *reader(void *arg)
{
    struct server_words words;
    struct server_line line;

    server_words_init(&words, serve());
    while (words.fd >= 0 && server_words_await(&words))
        while (server_words_next(&words, &line))
            on_line(&line);
    words.fd = -1;
    server_words_close(&words);
    if (!launch.aborted && !launch.ended)
        on_abort(&(struct server_line){.code = 1,
                                       .rank = -1,
                                       .client = -1,
                                       .lost = true,
                                       .text = "SF-E303: lost impi-server"});
    on_end();
    return NULL;
}

static int start_reader(struct errbuf *err)
{
    pthread_t thread;
    int rc = quiet_thread(&thread, reader, NULL);

    if (rc)
        return errprintf(err, "thread: %s", strerror(rc));
    pthread_detach(thread);
    return 0;
}

/* ---- start ---------------------------------------------------------------*/

/* The variables as they are now: the thread may not look at them later. */
static char **copy_env(void)
{
    size_t n = 0;
    char **copy;

    while (environ[n])
        n++;
    copy = calloc(n + 1, sizeof(*copy));
    for (size_t i = 0; copy && i < n; i++)
        if (!(copy[i] = strdup(environ[i])))
            return NULL; /* srun has no memory and will end */
    return copy;
}

static void set_options(const struct slurmabi_mpi_client *client,
                        const struct impi_site *site)
{
    const slurm_step_layout_t *layout = client->step_layout;
    const char *log = getenv(ENV_LOG);

    launch.server = (struct server_options){.path = PATH_SERVER,
                                            .secret = launch.secret,
                                            .job = client->step_id.job_id,
                                            .step = client->step_id.step_id,
                                            .agents = layout->node_cnt,
                                            .tasks = layout->task_cnt,
                                            .bind = launch.bind,
                                            .advertise = launch.advertise,
                                            .port_lo = site->port_lo,
                                            .port_hi = site->port_hi,
                                            .munge = launch.munge,
                                            .fanout = (uint32_t)site->fanout,
                                            .log = log ? strdup(log) : NULL,
                                            .env = copy_env(),
                                            .stdio = true};
}

/* In impi-server each node has a connection of its agent and up to two lines;
 * here srun has its own of each. */
static bool lines_fit(uint32_t nodes)
{
    struct rlimit r;

    if (nodes <= SF_IMPI_LINES_WAIT_MAX)
        return true;
    return nodes <= SF_IMPI_LINES_MAX / 2 &&
           getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur >= 4 * (rlim_t)nodes;
}

/* The nodes start their agents when a task calls MPI; if they are several and
 * one does, the others must be told, by a line of their own.  Where that
 * cannot be had all agents and the server start with the step.  By its line it
 * is also seen that a node is lost. */
static void choose_laziness(uint32_t nodes)
{
    struct errbuf err;

    snprintf(launch.presence_address, sizeof(launch.presence_address), "none");
    if (lines_fit(nodes))
        launch.presence =
            server_listen(&launch.server, launch.presence_address, &err);
    launch.lazy = nodes == 1 || launch.presence >= 0;
    launch.lines.listener = launch.presence;
    launch.lines.nodes = nodes;
    launch.lines.rest_ms = nodes > SF_IMPI_LINES_WAIT_MAX ? 0 : LINES_REST_MS;
    impi_presence_secret(launch.lines.secret, launch.secret);
}

static int start_server(const struct slurmabi_mpi_client *client,
                        const struct impi_site *site, struct errbuf *err)
{
    const slurm_step_layout_t *layout = client->step_layout;

    auth_info_munge_socket(slurm_conf.authinfo, launch.munge,
                           sizeof(launch.munge));
    if (impi_server_address(launch.bind, launch.advertise, site,
                            layout->node_list, err) < 0)
        return -1;
    set_options(client, site);
    launch.listener = server_listen(&launch.server, launch.address, err);
    if (launch.listener < 0)
        return -1;
    choose_laziness(layout->node_cnt);
    return start_reader(err);
}

/* Called once, under the lock. */
static int start(const struct slurmabi_mpi_client *client, struct errbuf *err)
{
    const slurm_step_layout_t *layout = client->step_layout;
    struct impi_site site;
    int rc = -1;

    if (impi_site_read(&site, SITEDIR_CONF(CONF_NAME), err) < 0)
        return -1;
    snprintf(launch.step, sizeof(launch.step), "%u.%u", client->step_id.job_id,
             client->step_id.step_id);
    launch.tasks =
        taskmap_format(layout->node_cnt, layout->tasks, layout->tids);
    launch.nodes = impi_node_list(layout->node_list);
    if (!launch.tasks || !launch.nodes || server_secret(launch.secret) < 0)
        errprintf(err, "%s", strerror(errno));
    else
        rc = start_server(client, &site, err);
    impi_site_free(&site);
    return rc;
}

static void tell_ignored(void)
{
    struct errbuf text;
    size_t at = 0;

    while (user_env_ignored(&at, &text))
        slurm_error("mpi/impi: %s", text.text);
}

int impi_client_check(struct errbuf *err)
{
    struct impi_site site;

    if (user_env_check(err) < 0 ||
        impi_site_read(&site, SITEDIR_CONF(CONF_NAME), err) < 0)
        return -1;
    impi_site_free(&site);
    return 0;
}

/* For the first component; what came of it is that of all. */
static void start_once(const struct slurmabi_mpi_client *client)
{
    struct errbuf err = {""};

    launch.tried = true;
    tell_ignored();
    launch.started = user_env_check(&err) == 0 && start(client, &err) == 0;
    if (!launch.started)
        slurm_error("mpi/impi: SF-E304: %s", err.text);
}

static bool ensure_started(const struct slurmabi_mpi_client *client)
{
    bool started;

    pthread_mutex_lock(&launch.lock);
    if (!launch.tried)
        start_once(client);
    started = launch.started;
    if (started && launch.nsteps < COMPONENTS_MAX)
        launch.steps[launch.nsteps++] =
            (struct step){client->step_id.job_id, client->step_id.step_id};
    pthread_mutex_unlock(&launch.lock);
    return started;
}

void *impi_client_launch(const struct slurmabi_mpi_client *client, char ***env)
{
    if (!ensure_started(client)) {
        slurm_setenvpf(env, ENV_REFUSED, "1");
        return &launch;
    }
    slurm_setenvpf(env, ENV_SERVER, "%s", launch.address);
    slurm_setenvpf(env, ENV_SECRET, "%s", launch.secret);
    slurm_setenvpf(env, ENV_TASKS, "%s", launch.tasks);
    slurm_setenvpf(env, ENV_NODES, "%s", launch.nodes);
    slurm_setenvpf(env, ENV_STEP, "%s", launch.step);
    if (launch.lazy)
        slurm_setenvpf(env, ENV_PRESENCE, "%s", launch.presence_address);
    return &launch;
}

/* ---- end -----------------------------------------------------------------*/

/* Under the lock: is there a server that has something to say?  An agent
 * may have come just now. */
static bool somebody_came(void)
{
    struct pollfd p = {.fd = launch.listener, .events = POLLIN};

    if (launch.fd < 0 && !launch.ended)
        return poll(&p, 1, 0) > 0;
    if (launch.fd >= 0)
        send(launch.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    return true;
}

/* The tasks are gone; what an agent had to say about it is on its way. */
int impi_client_end(void *handle)
{
    struct timespec until;
    int code;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_WAIT;
    pthread_mutex_lock(&launch.lock);
    while (somebody_came() && !launch.ended && !launch.aborted &&
           pthread_cond_timedwait(&launch.changed, &launch.lock, &until) == 0)
        ;
    code = launch.aborted ? launch.code : !launch.started;
    pthread_mutex_unlock(&launch.lock);
    return code;
}
