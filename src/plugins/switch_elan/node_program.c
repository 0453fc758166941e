/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "elan/program_client.h"
#include "plugins/switch_elan/node_program.h"

/* ---- the software's own calls ------------------------------------------- */

static int soft_addcap(const struct program_handle *h, int index,
                       const struct elan_capability *cap)
{
    return program_call_addcap(h->socket, index, cap);
}

/* Has the holder been killed? */
static bool holder_is_gone(int error)
{
    return error == ECONNREFUSED || error == ENOENT || error == ECONNRESET ||
           error == EPIPE;
}

static int soft_destroy(struct program_handle *h, struct program_stats *stats,
                        struct errbuf *err)
{
    int rc = program_call_stats(h->socket, PROGRAM_DESTROY, stats);

    if (rc < 0 && holder_is_gone(errno)) {
        memset(stats, 0, sizeof(*stats));
        program_cgroup_cpu(&h->group, &stats->user_us, &stats->system_us);
        rc = program_end_without_holder(h, err);
    } else if (rc < 0) {
        errprintf(err, "%s", strerror(errno));
    }
    program_release(h);
    return rc;
}

static int soft_suspend(const struct program_handle *h, bool stop)
{
    return program_tell(h->socket, stop ? PROGRAM_SUSPEND : PROGRAM_RESUME, 0,
                        0);
}

static int soft_setcap(const struct program_handle *h, int index, int ctx)
{
    return program_tell(h->socket, PROGRAM_SETCAP, index, ctx);
}

const struct node_rms node_rms_soft = {
    .prgcreate = program_start,
    .prgaddcap = soft_addcap,
    .prgdestroy = soft_destroy,
    .prgsuspend = soft_suspend,
    .setcap = soft_setcap,
};

/* ---- the order of things ------------------------------------------------ */

static void wipe_keys(struct elan_payload *payload)
{
    for (uint32_t i = 0; i < payload->ncaps; i++)
        explicit_bzero(&payload->caps[i].UserKey,
                       sizeof(payload->caps[i].UserKey));
}

static int create(struct node_program *p, const struct program_spec *spec,
                  struct errbuf *err)
{
    struct errbuf why = {""};
    int e;

    if (p->rms->prgcreate(&p->handle, spec, &why) == 0)
        return 0;
    e = errno;
    errprintf(err, "rms_prgcreate(%d): %s (%.300s)", spec->number, strerror(e),
              why.text);
    errno = e;
    return -1;
}

static int add_caps(struct node_program *p, const struct elan_payload *payload,
                    struct errbuf *err)
{
    for (uint32_t i = 0; i < payload->ncaps; i++) {
        if (p->rms->prgaddcap(&p->handle, (int)i, &payload->caps[i]) < 0) {
            int e = errno;

            errprintf(err, "rms_prgaddcap(%u, %u): %s", payload->prognum, i,
                      strerror(e));
            errno = e;
            return -1;
        }
    }
    p->ncaps = (int)payload->ncaps;
    return 0;
}

/* The descriptor by which tasks enter; none in Slurm's own group. */
static int open_entry(struct node_program *p, struct errbuf *err)
{
    if (p->handle.group.dir < 0 || !p->handle.group.own)
        return 0;
    p->procs = program_cgroup_open_procs(&p->handle.group, err);
    return p->procs < 0 ? -1 : 0;
}

int node_program_begin(struct node_program *p, const struct node_rms *rms,
                       const struct program_spec *spec,
                       struct elan_payload *payload, struct errbuf *err)
{
    struct program_stats stats;
    int e;

    *p = (struct node_program){.rms = rms, .procs = -1};
    if (create(p, spec, err) < 0) {
        e = errno;
        wipe_keys(payload);
        errno = e;
        return -1;
    }
    p->live = true;
    if (add_caps(p, payload, err) == 0 && open_entry(p, err) == 0) {
        wipe_keys(payload);
        return 0;
    }
    e = errno;
    wipe_keys(payload);
    node_program_end(p, &stats, NULL);
    errno = e;
    return -1;
}

/* Close at once: who has it could move any process into the program. */
static int enter_group(struct node_program *p, struct errbuf *err)
{
    ssize_t n;
    int e;

    if (p->procs < 0)
        return 0;
    n = write(p->procs, "0", 1);
    e = errno;
    close(p->procs);
    p->procs = -1;
    if (n == 1)
        return 0;
    errno = e;
    return errprintf(
        err, "entering %s: %s%s", p->handle.group.path, strerror(e),
        e == EPERM || e == EACCES ? " (needs Linux 5.16 or its stable updates)"
                                  : "");
}

int node_program_enter(struct node_program *p, int slot, struct errbuf *err)
{
    if (!p->live) {
        errno = ENOENT;
        return errprintf(err, "there is no program");
    }
    if (enter_group(p, err) < 0)
        return -1;
    /* The holder watches slurmstepd's end alone. */
    if (p->handle.lifeline >= 0)
        close(p->handle.lifeline);
    p->handle.lifeline = -1;
    for (int i = 0; i < p->ncaps; i++)
        if (p->rms->setcap(&p->handle, i, slot) < 0)
            return errprintf(err, "rms_setcap(%d, %d): %s", i, slot,
                             strerror(errno));
    return 0;
}

int node_program_end(struct node_program *p, struct program_stats *stats,
                     struct errbuf *err)
{
    memset(stats, 0, sizeof(*stats));
    if (!p->live)
        return 0;
    p->live = false;
    if (p->procs >= 0)
        close(p->procs);
    p->procs = -1;
    return p->rms->prgdestroy(&p->handle, stats, err);
}

int node_program_suspend(struct node_program *p, bool stop, struct errbuf *err)
{
    if (!p->live)
        return 0;
    if (p->rms->prgsuspend(&p->handle, stop) == 0)
        return 0;
    return errprintf(err, "%s: %s", stop ? "rms_prgsuspend" : "rms_prgresume",
                     strerror(errno));
}

int node_stop_agent(int fd, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char said = '0';

    if (send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        return 0; /* nobody keeps an agent */
    if (poll(&p, 1, wait_ms) == 1 &&
        (recv(fd, &said, 1, MSG_DONTWAIT) <= 0 || said == '0'))
        return 0;
    errno = ETIME;
    return -1;
}
