/* SPDX-License-Identifier: BSD-3-Clause
 *
 * More processes than processors.
 */
#define _GNU_SOURCE /* sched_getaffinity, struct ucred */
#include "libimpi/crowd.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "impi/crowd.h"
#include "libimpi/state.h"

static uint32_t cpus_of(pid_t pid)
{
    cpu_set_t set;

    return sched_getaffinity(pid, sizeof(set), &set) == 0
               ? (uint32_t)CPU_COUNT(&set)
               : 0;
}

/* This process may be bound to one of many; its agent is not. */
static uint32_t processors(void)
{
    struct ucred agent = {.pid = 0};
    socklen_t len = sizeof(agent);
    uint32_t own = cpus_of(0), n = 0;

    if (getsockopt(impi_be.agent.fd, SOL_SOCKET, SO_PEERCRED, &agent, &len) ==
            0 &&
        agent.pid > 0)
        n = cpus_of(agent.pid);
    if (n == 0)
        n = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
    return own > n ? own : n;
}

uint16_t crowd_cpus_to_tell(void)
{
    const char *flat = getenv("SLURM_IMPI_FLAT");
    uint32_t n = processors();

    if (flat && strcmp(flat, "no") == 0)
        return 0; /* nobody takes this process for crowded */
    if (flat && strcmp(flat, "yes") == 0)
        return 1;
    return n < UINT16_MAX ? (uint16_t)n : UINT16_MAX;
}

/* Processes of this machine, whatever their client. */
static uint32_t count_neighbours(void)
{
    const struct impi_world *w = &impi_be.world;
    const uint8_t *own = w->procs[impi_be.rank].hostid;
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->nprocs; i++)
        n += impi_hostid_equal(w->procs[i].hostid, own);
    return n;
}

/* NULL: collective calls are never flat in this world. */
static bool *find_crowded(void)
{
    const struct impi_world *w = &impi_be.world;
    bool *crowded;

    if (!(w->flags & IMPI_WORLD_FLAT) || impi_be.relay >= 0)
        return NULL;
    crowded = malloc(w->nprocs * sizeof(*crowded));
    if (!crowded || impi_crowd_find(w, crowded) < 0)
        be_die(1, "SF-E403: no memory for the world");
    return crowded;
}

void crowd_look(void)
{
    uint32_t n = count_neighbours(), cpus = processors();

    impi_crowd_wait(&impi_be.crowd_wait, n, cpus);
    impi_be.crowded = n > cpus;
    impi_be.crowded_of = find_crowded();
}
