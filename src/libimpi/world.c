/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Init to MPI_Finalize: the process says to impid which library it uses,
 * gets the environment of its native MPI, starts that, and joins the world.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "base/identity.h"
#include "base/mac.h"
#include "base/sealed.h"
#include "impi/constants.h"
#include "libimpi/attr.h"
#include "libimpi/background.h"
#include "libimpi/coll.h"
#include "libimpi/crowd.h"
#include "libimpi/fabric.h"
#include "libimpi/foreign.h"
#include "libimpi/group.h"
#include "libimpi/conns.h"
#include "libimpi/descriptors.h"
#include "libimpi/disk_watch.h"
#include "libimpi/lives.h"
#include "libimpi/manager.h"
#include "libimpi/port.h"
#include "libimpi/progress.h"
#include "libimpi/req.h"
#include "libimpi/session.h"
#include "libimpi/share.h"
#include "libimpi/spawn.h"
#include "libimpi/state.h"
#include "libimpi/stats.h"
#include "libimpi/topology.h"
#include "libimpi/trace.h"
#include "libimpi/win_wire.h"

/* MPI_MAX_LIBRARY_VERSION_STRING is 256 to 8192, as the library was built. */
#define LIBRARY_TEXT 8192

/* ---- before the native MPI_Init ---- */

static bool is_external32_forced(void)
{
    const char *data = getenv("SLURM_IMPI_DATA");

    return data && strcmp(data, "external32") == 0;
}

/* Among our own clients there is nothing to tolerate. */
static void choose_data(void)
{
    const char *list = getenv("IMPI_TOLERATE");
    bool ours = impi_be.world.flags & IMPI_WORLD_EXTENDED;
    struct tolerated wanted;
    struct errbuf err;

    if (tolerate_parse(&wanted, list, &err) == 0)
        impi_be.tolerated = ours ? (struct tolerated){0} : wanted;
    else if (!ours)
        be_die(1, "SF-E406: %s", err.text);
    else if (impi_be.rank == 0)
        be_say("SF-E406: %s; all clients are ours, so it is ignored", err.text);
    impi_be.native = ((impi_be.world.flags & IMPI_WORLD_NATIVE) ||
                      impi_be.tolerated.native_order) &&
                     !is_external32_forced();
}

/* A library of the first generation sends data as they lie in memory where it
 * takes all machines for its own, and nothing in a message tells. */
static void warn_of_order(uint32_t client)
{
    be_say("SF-E409: client %u looks like an IMPI library of the first "
           "generation; most of them send data in the byte order of their "
           "machine, and here they are read as big-endian, so they may be "
           "wrong: set IMPI_TOLERATE=native-order if that is so, and "
           "IMPI_TOLERATE=big-endian if not",
           client);
}

static bool is_order_known(void)
{
    return (impi_be.world.flags & IMPI_WORLD_EXTENDED) ||
           impi_be.tolerated.native_order || impi_be.tolerated.big_endian;
}

/* At the start the first process of each client looks at what the others
 * declare. */
static void look_at_peers(uint32_t native_rank)
{
    if (is_order_known() || native_rank != 0)
        return;
    for (uint32_t c = 0; c < impi_be.world.nclients; c++)
        if (impi_be.world.old_clients >> c & 1)
            warn_of_order(c);
}

/* A client may declare something else, and show later by what it sends that it
 * is of the first generation. */
static void found_old(void *arg, uint32_t peer)
{
    uint32_t client = client_of((int)peer);
    uint32_t bit = UINT32_C(1) << client;

    if (is_order_known() || (impi_be.world.old_clients & bit))
        return;
    impi_be.world.old_clients |= bit;
    warn_of_order(client);
}

static int own_rank(struct errbuf *err)
{
    const char *text = getenv("SLURM_PROCID");
    char *end;
    long rank;

    if (!text || !*text)
        return errprintf(err, "SLURM_PROCID is not set");
    rank = strtol(text, &end, 10);
    if (*end || rank < 0 || rank > INT32_MAX)
        return errprintf(err, "SLURM_PROCID is not a rank: %s", text);
    return (int)rank;
}

/* What starts a native world is the library's own, also behind the standard
 * ABI. */
static uint32_t family_of(const char *library)
{
#if defined(IMPI_FAMILY_OPENMPI)
    return TASK_FAMILY_OPENMPI;
#else
#if defined(IMPI_FAMILY_ABI)
    if (strstr(library, "Open MPI"))
        return TASK_FAMILY_OPENMPI;
#endif
    return manager_is_pmix() ? TASK_FAMILY_MPICH_PMIX : TASK_FAMILY_MPICH;
#endif
}

static void fill_hello(struct task_hello *hello)
{
    char text[LIBRARY_TEXT] = "";
    const char *agent = getenv("SLURM_IMPI_AGENT");
    const char *slash = agent ? strrchr(agent, '/') : NULL;
    int len = 0;

    memset(hello, 0, sizeof(*hello));
    hello->version = TASK_WIRE_VERSION;
    hello->rank = (uint32_t)impi_be.rank;
    hello->pid = (uint32_t)getpid();
    impi_real.Get_library_version(text, &len);
    hello->family = family_of(text);
    snprintf(hello->library, sizeof(hello->library), "%.*s",
             (int)strcspn(text, "\n"), text);
    hello->build = crc32c(0, text, strnlen(text, sizeof(text)));
#ifdef IMPI_FAMILY_ABI /* a client has one back end */
    hello->build = ~hello->build;
#endif
    hello->memory = identity_of("/dev/shm");
    hello->users = identity_of("/proc/self/ns/user");
    if (getenv("SLURM_IMPI_AGENT_DIR") && slash &&
        slash - agent < (ptrdiff_t)sizeof(hello->dir) &&
        strncmp(agent, TASK_DIR_PREFIX, strlen(TASK_DIR_PREFIX)) == 0)
        memcpy(hello->dir, agent, (size_t)(slash - agent));
}

/* So that a program which this process starts does not take these for another
 * launcher's (front.c). */
static void leave_copy(const char *name, const char *value)
{
    char copy[64];

    snprintf(copy, sizeof(copy), "SLURM_IMPI_%s", name);
    setenv(copy, value, 1);
}

/* In a container the step's directory has another name than for impid
 * (front_carry.c), and so has what is in it. */
static void set_value(const char *name, const char *value)
{
    const char *dir = getenv("SLURM_IMPI_AGENT_DIR");
    const char *agent = getenv("SLURM_IMPI_AGENT");
    const char *slash = agent ? strrchr(agent, '/') : NULL;
    size_t len = dir ? strlen(dir) : 0;
    char path[4096];
    int n;

    if (len == 0 || !slash || strncmp(value, dir, len) != 0 ||
        (value[len] != '/' && value[len] != '\0')) {
        setenv(name, value, 1);
        return;
    }
    n = snprintf(path, sizeof(path), "%.*s%s", (int)(slash - agent), agent,
                 value + len);
    setenv(name, n >= 0 && n < (int)sizeof(path) ? path : value, 1);
}

static void lend_topology(const char *file)
{
    if (!topology_may_lend())
        return;
    set_value(TOPOLOGY_VARIABLE, file);
    topology_lend();
}

static void set_one(const char *name, const char *value)
{
    if (*name == '?' && getenv(name + 1))
        return;
    if (strcmp(name, TOPOLOGY_VARIABLE) == 0) {
        lend_topology(value);
        return;
    }
    set_value(*name == '?' ? name + 1 : name, value);
    if (strcmp(name, "PMIX_NAMESPACE") == 0)
        leave_copy(name, value);
}

static void set_environment(const struct task_env *env, int fd)
{
    char number[16];

    for (uint32_t i = 0; i < env->nenv; i++) {
        char *eq = strchr(env->env[i], '=');

        if (!eq)
            continue;
        *eq = '\0';
        set_one(env->env[i], eq + 1);
        *eq = '=';
    }
    if (fd < 0)
        return;
    snprintf(number, sizeof(number), "%d", fd);
    setenv("PMI_FD", number, 1);
    leave_copy("PMI_FD", number);
}

/* A world that is there for sessions (session.h), and what the program has
 * called beside them. */
static struct {
    bool world, begins, init, finalize;
    struct task_env env;
} by_session;

static void end_of_sessions(void);

static int claim(enum memory_kind kind, uint32_t pid, uint32_t fd,
                 const uint8_t token[MEMORY_TOKEN_SIZE])
{
    struct task_claim c = {.kind = kind, .pid = pid, .fd = fd};

    memcpy(c.token, token, sizeof(c.token));
    return agent_claim(&impi_be.agent, &c);
}

static void say_exit(int code, void *arg)
{
    end_of_sessions();
    if (impi_be.started && getpid() == impi_be.pid)
        agent_exiting(&impi_be.agent, code);
}

static void after_fork(void)
{
    agent_close(&impi_be.agent);
    descriptors_end();
    conns_forget();
}

/* *joining: what JOIN needs later.  Ends the process when it fails. */
static void start(struct task_env *env)
{
    const char *path = getenv("SLURM_IMPI_AGENT");
    struct task_hello hello;
    struct errbuf err;
    int fd;

    impi_be.rank = own_rank(&err);
    if (impi_be.rank < 0)
        be_die(1, "SF-E400: %s", err.text);
    fill_hello(&hello);
    if (!path || agent_connect(&impi_be.agent, path, &err) < 0 ||
        agent_hello(&impi_be.agent, &hello, env, &fd, &err) < 0)
        be_die(1, "SF-E400: %s", path ? err.text : "no SLURM_IMPI_AGENT");
    descriptors_keep();
    impi_be.started = true;
    impi_be.pid = getpid();
    impi_be.generation = env->generation;
    impi_be.client = env->client;
    memcpy(impi_be.own_addr, env->host_addr, sizeof(impi_be.own_addr));
    impi_be.port_lo = env->port_lo;
    impi_be.port_hi = env->port_hi;
    share_set_up(env->pid, env->machine, claim);
    set_environment(env, fd);
    on_exit(say_exit, NULL);
    pthread_atfork(NULL, NULL, after_fork);
}

/* ---- after it ---- */

static struct impi_p2p_ops p2p_ops = {
    .claim = req_claim, .connect = conns_connect, .old = found_old};

/* Own place in the world: among those of the client as in the native world. */
static int rank_in_world(const struct impi_table *t, const struct task_env *env)
{
    const int *native = impi_table_native(t, env->client);

    for (uint32_t i = 0; native && i < t->nprocs; i++)
        if (native[i] == (int)env->native_rank)
            return (int)i;
    return -1;
}

/* The node's table stands for what the world has of each process. */
static int take_table(int fd, struct errbuf *err)
{
    impi_be.image = sealed_map(fd, IMPI_TABLE_MAX, &impi_be.image_len, err);
    close(fd);
    if (!impi_be.image ||
        impi_table_open(&impi_be.table, &impi_be.world, impi_be.image,
                        impi_be.image_len, err) < 0)
        return -1;
    impi_be.world.table = &impi_be.table;
    return 0;
}

/* Others of this client may still be in their library's MPI_Init, and wait for
 * what this process sent them there: over libfabric it goes only when the
 * library is called. */
static void help_native_start(void)
{
    int flag;

    impi_real.Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag,
                     MPI_STATUS_IGNORE);
}

static void join(const struct task_env *env)
{
    struct task_join j = {.pid = (uint32_t)getpid()};
    struct errbuf err;
    int port, table;

    memcpy(j.addr, env->host_addr, sizeof(j.addr));
    port = conns_listen(env->host_addr, env->port_lo, env->port_hi, &err);
    if (port < 0)
        be_die(1, "SF-E401: %s", err.text);
    j.port = (uint16_t)port;
    j.cpus = crowd_cpus_to_tell();
    if (agent_join(&impi_be.agent, &j, help_native_start, &impi_be.world,
                   &impi_be.relay, &table, &err) < 0 ||
        take_table(table, &err) < 0)
        be_die(1, "SF-E401: cannot join the world: %s", err.text);
    impi_be.rank = rank_in_world(&impi_be.table, env);
    if (impi_be.rank < 0)
        be_die(1, "SF-E401: process %u of client %u is not in the world",
               env->native_rank, env->client);
}

/* As MPI_Comm_dup, but it leaves the processor to those it waits for. */
static int dup_world(MPI_Comm *out)
{
    MPI_Request request;
    int flag = 0, rc;

    rc = impi_real.Comm_idup(MPI_COMM_WORLD, out, &request);
    while (rc == MPI_SUCCESS &&
           (rc = impi_real.Test(&request, &flag, MPI_STATUS_IGNORE)) ==
               MPI_SUCCESS &&
           !flag)
        sched_yield();
    return rc;
}

static struct impi_comm *make_world_comm(void)
{
    struct comm_parts parts = {.comm = MPI_COMM_WORLD,
                               .p2p = MPI_COMM_WORLD,
                               .cid = IMPI_WORLD_CID,
                               .size = (int)impi_be.world.nprocs};

    impi_be.max_cid = IMPI_WORLD_CID + 1;
    if (dup_world(&parts.hidden) != MPI_SUCCESS)
        return NULL;
    impi_real.Comm_set_errhandler(parts.hidden, MPI_ERRORS_RETURN);
    return comm_create(&parts);
}

static void check_native_size(const struct task_env *env,
                              const struct impi_comm *c)
{
    int rank, size;

    impi_real.Comm_rank(MPI_COMM_WORLD, &rank);
    impi_real.Comm_size(MPI_COMM_WORLD, &size);
    if (rank != c->native_rank || size != c->native_size)
        be_die(1,
               "SF-E401: the native MPI started as rank %d of %d, rank %d of "
               "%d was due",
               rank, size, c->native_rank, c->native_size);
}

/* Not every world has libfabric, whatever the user wants. */
static void refuse_fabric(void)
{
    if (impi_be.relay >= 0)
        fabric_refuse("messages to other clients are relayed");
    else if (!(impi_be.world.flags & IMPI_WORLD_FABRIC))
        fabric_refuse("not every client of this world knows of it");
}

static void span_world(const struct task_env *env)
{
    struct errbuf err = {""};

    join(env);
    crowd_look();
    choose_data();
    look_at_peers(env->native_rank);
    agent_stage(&impi_be.agent, TASK_STAGE_WORLD);
    impi_be.tagub = impi_be.world.tagub;
    impi_be.home = impi_be.world.nprocs;
    p2p_ops.packet = trace_wanted() ? trace_packet : NULL;
    impi_be.p2p =
        impi_p2p_create(&impi_be.world, (uint32_t)impi_be.rank, &p2p_ops, NULL);
    impi_be.world_comm = make_world_comm();
    if (!impi_be.p2p || !impi_be.world_comm || conns_start(&err) < 0 ||
        impi_span_add(MPI_COMM_WORLD, impi_be.world_comm) < 0)
        be_die(1, "SF-E403: cannot set up the world: %s", err.text);
    if (impi_be.relay >= 0 && conns_use_relay(impi_be.relay) < 0)
        be_die(1, "SF-E403: cannot set up the relay");
    refuse_fabric();
    check_native_size(env, impi_be.world_comm);
    impi_be.pending = impi_be.crowded;
    impi_be.spanning = true;
    background_start();
}

static int finish_start(int rc, struct task_env *env)
{
    int level = MPI_THREAD_SINGLE;

    topology_take_back();
    if (rc == MPI_SUCCESS && env->nclients > 1) {
        impi_real.Query_thread(&level);
        impi_be.multiple = level == MPI_THREAD_MULTIPLE;
        impi_be.threads = impi_be.multiple;
        span_world(env);
    } else if (rc == MPI_SUCCESS) {
        impi_calls_go_native();
    }
    if (rc == MPI_SUCCESS)
        spawn_meet_parent();
    agent_stage(&impi_be.agent, TASK_STAGE_READY);
    task_env_clear(env);
    return rc;
}

/* ---- a world of one client that meets another world ---- */

/* Who its processes are the library knows; this one is all that others ask
 * for. */
static void fill_alone(struct impi_world *w, int size, uint16_t port)
{
    struct impi_proc *own;

    if (impi_world_alloc(w, 1, (uint32_t)size) < 0 ||
        mac_random(w->secret, sizeof(w->secret)) < 0)
        be_die(1, "SF-E403: cannot set up the world: %s", strerror(errno));
    w->maxdatalen = IMPI_OWN_MAXDATALEN;
    w->ackmark = IMPI_OWN_ACKMARK;
    w->hiwater = IMPI_OWN_HIWATER;
    w->tagub = INT32_MAX;
    w->coll_xsize = IMPI_COLL_XSIZE_DEFAULT;
    w->coll_maxlinear = IMPI_COLL_MAXLINEAR_DEFAULT;
    w->flags = IMPI_WORLD_EXTENDED | IMPI_WORLD_SHARE | IMPI_WORLD_FILES |
               IMPI_WORLD_RMA;
    if (!is_external32_forced())
        w->flags |= IMPI_WORLD_NATIVE;
    w->nclients = 1;
    w->hosts[0].nprocs = (uint32_t)size;
    memcpy(w->hosts[0].addr, impi_be.own_addr, IMPI_HOSTID_SIZE);
    own = &w->procs[impi_be.rank];
    memcpy(own->addr, impi_be.own_addr, IMPI_HOSTID_SIZE);
    memcpy(own->hostid, impi_be.own_addr, IMPI_HOSTID_SIZE);
    own->pid = (uint64_t)getpid();
    own->port = port;
}

/* Its members are those of the native MPI_COMM_WORLD, which stays the
 * library's own. */
static struct impi_comm *make_alone_comm(void)
{
    uint32_t n = impi_be.world.nprocs;
    int *world = malloc(n * sizeof(*world));
    struct comm_parts parts = {
        .comm = MPI_COMM_WORLD, .p2p = MPI_COMM_WORLD, .size = (int)n};
    struct impi_comm *c = NULL;

    if (world &&
        impi_real.Comm_dup(MPI_COMM_SELF, &parts.hidden) == MPI_SUCCESS) {
        for (uint32_t i = 0; i < n; i++)
            world[i] = (int)i;
        parts.world = world;
        impi_real.Comm_set_errhandler(parts.hidden, MPI_ERRORS_RETURN);
        c = comm_create(&parts);
    }
    free(world);
    return c;
}

static void start_alone(int port)
{
    int size, level = MPI_THREAD_SINGLE;
    struct errbuf err = {""};

    impi_real.Comm_size(MPI_COMM_WORLD, &size);
    impi_real.Comm_rank(MPI_COMM_WORLD, &impi_be.rank);
    impi_real.Query_thread(&level);
    impi_be.multiple = level == MPI_THREAD_MULTIPLE;
    fill_alone(&impi_be.world, size, (uint16_t)port);
    impi_be.home = (uint32_t)size;
    impi_be.relay = -1;
    choose_data();
    impi_be.tagub = impi_be.world.tagub;
    impi_be.max_cid = IMPI_WORLD_CID + 1;
    p2p_ops.packet = trace_wanted() ? trace_packet : NULL;
    impi_be.p2p =
        impi_p2p_create(&impi_be.world, (uint32_t)impi_be.rank, &p2p_ops, NULL);
    impi_be.world_comm = make_alone_comm();
    if (!impi_be.p2p || !impi_be.world_comm || conns_start(&err) < 0)
        be_die(1, "SF-E403: cannot set up the world: %s", err.text);
    impi_be.threads = impi_be.multiple;
    background_start();
    impi_calls_go_across();
}

/* Its port, 0: none yet. */
static int listen_alone(struct errbuf *err)
{
    int port =
        conns_listen(impi_be.own_addr, impi_be.port_lo, impi_be.port_hi, err);

    return port < 0 ? 0 : port;
}

/* This process cannot listen: its world is there all the same, for its group
 * has to agree that it meets nobody.  Later it may be able to. */
static int open_alone(struct errbuf *err)
{
    if (!impi_be.p2p) {
        start_alone(listen_alone(err));
    } else if (!impi_be.world.procs[impi_be.rank].port) {
        be_lock();
        impi_be.world.procs[impi_be.rank].port = (uint16_t)listen_alone(err);
        be_unlock();
        background_start();
    }
    return impi_be.world.procs[impi_be.rank].port ? 0 : -1;
}

static int open_world(struct errbuf *err)
{

    if (!impi_be.started)
        return errprintf(err, "MPI has ended");
    if (impi_be.spanning &&
        (!(impi_be.world.flags & IMPI_WORLD_EXTENDED) || impi_be.relay >= 0))
        return errprintf(err, "SF-E516: processes of this world do not take "
                              "connections: it is relayed, or has a client "
                              "that is not slurm-fabric's");
    impi_be.coupled = true;
    if (!impi_be.spanning && open_alone(err) < 0)
        return -1;
    if (!impi_be.native)
        return errprintf(err, "SF-E516: data of this world travel as "
                              "external32, so it cannot meet another one");
    return 0;
}

/* Threads may meet others at the same time. */
int world_open(struct errbuf *err)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int rc;

    pthread_mutex_lock(&lock);
    rc = open_world(err);
    pthread_mutex_unlock(&lock);
    return rc;
}

static int native_init(int *argc, char ***argv, uint32_t nclients)
{
    int level;

    if (nclients < 2 || !background_may_call())
        return impi_real.Init(argc, argv);
    return impi_real.Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &level);
}

/* A session has started the world; the program says MPI_Init as well. */
static int init_after_session(int *argc, char ***argv, int required,
                              int *provided)
{
    by_session.init = true;
    if (impi_be.spanning)
        return impi_real.Query_thread(provided);
    return impi_real.Init_thread(argc, argv, required, provided);
}

int impi_Init(int *argc, char ***argv)
{
    struct task_env env;
    int level;

    if (by_session.world && !by_session.init)
        return init_after_session(argc, argv, MPI_THREAD_SINGLE, &level);
    if (impi_be.started) /* wrong, and the native library says how */
        return impi_real.Init(argc, argv);
    start(&env);
    return finish_start(native_init(argc, argv, env.nclients), &env);
}

int impi_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    struct task_env env;

    if (by_session.world && !by_session.init)
        return init_after_session(argc, argv, required, provided);
    if (impi_be.started)
        return impi_real.Init_thread(argc, argv, required, provided);
    start(&env);
    if (background_may_call() && env.nclients > 1)
        required = MPI_THREAD_MULTIPLE;
    return finish_start(impi_real.Init_thread(argc, argv, required, provided),
                        &env);
}

int impi_Initialized(int *flag)
{
    if (!by_session.world || !impi_be.spanning)
        return impi_real.Initialized(flag);
    *flag = by_session.init;
    return MPI_SUCCESS;
}

/* ---- sessions ---- */

int world_session_begin(void)
{
    struct task_env *env = &by_session.env;
    int level;

    if (impi_be.started)
        return MPI_SUCCESS;
    start(env);
    by_session.world = by_session.begins = true;
    if (env->nclients < 2)
        return MPI_SUCCESS;
    by_session.begins = false;
    return finish_start(
        impi_real.Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &level), env);
}

void world_session_begun(void)
{
    if (!by_session.begins)
        return;
    by_session.begins = false;
    topology_take_back();
    impi_calls_go_native();
    agent_stage(&impi_be.agent, TASK_STAGE_READY);
    task_env_clear(&by_session.env);
}

/* ---- the end ---- */

/* Sends whose requests were freed still have to go out. */
static void flush_detached(void)
{
    struct waiter w = {.native = false};

    be_lock();
    while (req_detached_left())
        progress_wait(&w);
    be_unlock();
}

static void forget_world(void)
{
    req_drop_spares(impi_be.world_comm);
    comm_release(impi_be.world_comm);
    foreign_end();
    port_end();
    impi_be.world_comm = NULL;
    impi_be.spanning = impi_be.coupled = false;
    impi_world_free(&impi_be.world);
    if (impi_be.image)
        munmap((void *)impi_be.image, impi_be.image_len);
    impi_be.image = NULL;
}

static void end_engine(void)
{
    be_lock();
    stats_print();
    win_end();
    conns_finish();
    impi_p2p_destroy(impi_be.p2p);
    impi_be.p2p = NULL;
    impi_be.pending = impi_be.crowded = false;
    be_unlock();
}

static void leave_world(void)
{
    be_lock();
    lives_stop();
    be_unlock();
    flush_detached();
    coll_barrier(impi_be.world_comm);
    flush_detached();
    background_stop();
    disk_watch_stop();
    end_engine();
    impi_span_remove(MPI_COMM_WORLD);
    group_end();
    forget_world();
}

/* The others' connections end when they finalize, too. */
static void leave_alone(void)
{
    flush_detached();
    background_stop();
    end_engine();
    group_end();
    forget_world();
}

static int finalize(void)
{
    struct errbuf err;

    attr_delete_self();
    if (impi_be.spanning)
        leave_world();
    else if (impi_be.p2p)
        leave_alone();
    if (agent_finish(&impi_be.agent, &err) < 0)
        be_die(1, "SF-E404: %s", err.text);
    impi_be.started = false;
    agent_close(&impi_be.agent);
    return impi_real.Finalize();
}

int impi_Finalize(void)
{
    if (!impi_be.started)
        return impi_real.Finalize();
    if (!by_session.world)
        return finalize();
    /* The world stays for the sessions, until the process exits. */
    by_session.finalize = true;
    return impi_be.spanning ? MPI_SUCCESS : impi_real.Finalize();
}

int impi_Finalized(int *flag)
{
    if (!by_session.world || !by_session.finalize)
        return impi_real.Finalized(flag);
    *flag = 1;
    return MPI_SUCCESS;
}

/* At exit: the world that sessions made ends, if they all have. */
static void end_of_sessions(void)
{
    struct errbuf err;

    if (!by_session.world || !impi_be.started || session_count() > 0 ||
        impi_be.pid != getpid() || (by_session.init && !by_session.finalize))
        return;
    if (impi_be.spanning) {
        finalize();
        return;
    }
    agent_finish(&impi_be.agent, &err);
    impi_be.started = false;
    agent_close(&impi_be.agent);
}

int impi_Abort(MPI_Comm comm, int errorcode)
{
    /* impid says who and where. */
    if (impi_be.started)
        agent_abort(&impi_be.agent, errorcode, "");
    impi_real.Abort(comm, errorcode);
    fflush(NULL);
    _exit(errorcode);
}
