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
    .prgcreate = program_begin,
    .prgaddcap = program_give_cap,
    .prgready = program_await,
    .prgrelease = program_release,
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

/* Name the call that failed, with its errno and what it said; -1. */
static int failed(const char *call, uint32_t number, const struct errbuf *why,
                  struct errbuf *err)
{
    int e = errno;

    errprintf(err, "%s(%u): %s (%.300s)", call, number, strerror(e), why->text);
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
            p->rms->prgrelease(&p->handle);
            errno = e;
            return -1;
        }
    }
    p->ncaps = (int)payload->ncaps;
    return 0;
}

int node_program_begin(struct node_program *p, const struct node_rms *rms,
                       const struct program_spec *spec,
                       struct elan_payload *payload, struct errbuf *err)
{
    struct program_spec with = *spec;
    struct errbuf why = {""};
    int rc, e;

    *p = (struct node_program){
        .rms = rms, .number = payload->prognum, .handle = PROGRAM_HANDLE_NONE};
    with.ncaps = (int)payload->ncaps;
    rc = rms->prgcreate(&p->handle, &with, &why);
    if (rc < 0)
        failed("rms_prgcreate", p->number, &why, err);
    else
        rc = add_caps(p, payload, err);
    e = errno;
    wipe_keys(payload);
    errno = e;
    p->coming = rc == 0;
    return rc;
}

int node_program_ready(struct node_program *p, struct errbuf *err)
{
    struct errbuf why = {""};

    if (!p->coming)
        return 0;
    p->coming = false;
    if (p->rms->prgready(&p->handle, &why) < 0)
        return failed("rms_prgcreate", p->number, &why, err);
    p->live = true;
    return 0;
}

/* Close at once: who has it could move any process into the program. */
static int enter_group(struct node_program *p, struct errbuf *err)
{
    ssize_t n;
    int e;

    if (p->handle.procs < 0)
        return 0;
    n = write(p->handle.procs, "0", 1);
    e = errno;
    close(p->handle.procs);
    p->handle.procs = -1;
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
    if (node_program_ready(p, err) < 0)
        return -1;
    if (!p->live)
        return 0;
    p->live = false;
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
