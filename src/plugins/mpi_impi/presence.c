/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/host_names.h"
#include "base/netaddr.h"
#include "impi/presence.h"
#include "impi/taskmap.h"
#include "impid/names.h"
#include "plugins/mpi_impi/presence.h"
#include "slurmabi/slurm_sym.h"

#define CONNECT_MS 1000 /* then it is as if it had failed */

/* Name `node` of a list. */
static void get_name(char out[IMPI_PRESENCE_NODE + 1], const char *names,
                     uint32_t node)
{
    if (!names || !host_names_nth(names, node, out, IMPI_PRESENCE_NODE + 1))
        snprintf(out, IMPI_PRESENCE_NODE + 1, "node%u", node);
}

static bool introduce(uint8_t out[IMPI_PRESENCE_SIZE], char **env,
                      uint32_t rank)
{
    const char *tasks = slurm_getenvp(env, ENV_TASKS);
    struct impi_presence who = {.rank = rank};
    uint8_t secret[IMPI_PRESENCE_SECRET];
    struct taskmap map;
    bool known;

    if (impi_presence_secret(secret, slurm_getenvp(env, ENV_SECRET)) < 0 ||
        !tasks || taskmap_parse(&map, tasks, NULL) < 0)
        return false;
    known = rank < map.ntasks;
    if (known) {
        who.agent = map.node[rank];
        get_name(who.node, slurm_getenvp(env, ENV_NODES), who.agent);
        impi_presence_encode(out, &who, secret);
    }
    explicit_bzero(secret, sizeof(secret));
    taskmap_free(&map);
    return known;
}

static bool open_line(int fd, const struct netaddr *to)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    if (netaddr_connect(fd, to) < 0 &&
        (errno != EINPROGRESS || poll(&p, 1, CONNECT_MS) != 1))
        return false;
    return !(p.revents & (POLLERR | POLLHUP));
}

int impi_presence_socket(const char *where)
{
    if (!where || strcmp(where, "none") == 0)
        return -1;
    return socket(where[0] == '[' ? AF_INET6 : AF_INET,
                  SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
}

void impi_presence_connect(int fd, char **env, uint32_t rank)
{
    const char *where = slurm_getenvp(env, ENV_PRESENCE);
    uint8_t hello[IMPI_PRESENCE_SIZE];
    struct netaddr to;

    if (fd < 0 || !where || strcmp(where, "none") == 0)
        return;
    if (netaddr_parse(&to, where) < 0 || !introduce(hello, env, rank) ||
        !open_line(fd, &to) ||
        send(fd, hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
        shutdown(fd, SHUT_RDWR);
}

void impi_presence_goodbye(char **env, uint32_t rank)
{
    int fd = impi_presence_socket(slurm_getenvp(env, ENV_PRESENCE));

    if (fd < 0)
        return;
    impi_presence_connect(fd, env, rank);
    send(fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(fd);
}

void impi_presence_goodbye_node(char **env, uint32_t first, uint32_t count,
                                uint32_t node)
{
    const char *tasks = slurm_getenvp(env, ENV_TASKS);
    struct taskmap map;
    int64_t at;

    if (!tasks || taskmap_parse(&map, tasks, NULL) < 0)
        return;
    at = taskmap_component_node(&map, first, count, node);
    for (uint32_t rank = first; at >= 0 && rank < map.ntasks; rank++)
        if (map.node[rank] == at) {
            impi_presence_goodbye(env, rank);
            break;
        }
    taskmap_free(&map);
}
