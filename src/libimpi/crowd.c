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

void crowd_look(void)
{
    const struct impi_table *t = &impi_be.table;
    uint32_t n = impi_table_place(t, (uint32_t)impi_be.rank)->neighbours;
    uint32_t cpus = processors();

    impi_crowd_wait(&impi_be.crowd_wait, n, cpus);
    impi_be.crowded = n > cpus;
    impi_be.flat = (impi_be.world.flags & IMPI_WORLD_FLAT) && impi_be.relay < 0;
}

bool crowd_is(int rank)
{
    const struct impi_table *t = &impi_be.table;
    const struct impi_table_place *p = impi_table_place(t, (uint32_t)rank);

    return impi_crowd_is(p->neighbours, p->place.cpus);
}
