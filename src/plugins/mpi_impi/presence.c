/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "impi/presence.h"
#include "impi/taskmap.h"
#include "impid/names.h"
#include "plugins/mpi_impi/presence.h"
#include "slurmabi/slurm_sym.h"

#define CONNECT_MS 1000 /* then it is as if it had failed */

static bool get_address(struct sockaddr_in *out, const char *text)
{
    char host[INET_ADDRSTRLEN];
    uint16_t port;

    *out = (struct sockaddr_in){.sin_family = AF_INET};
    if (!text || sscanf(text, "%15[0-9.]:%hu", host, &port) != 2)
        return false;
    out->sin_port = htons(port);
    return inet_pton(AF_INET, host, &out->sin_addr) == 1;
}

/* Item `node` of "n0,n1,...". */
static void get_name(char out[IMPI_PRESENCE_NODE + 1], const char *names,
                     uint32_t node)
{
    for (uint32_t i = 0; i < node && names; i++) {
        names = strchr(names, ',');
        names = names ? names + 1 : NULL;
    }
    if (names && *names)
        snprintf(out, IMPI_PRESENCE_NODE + 1, "%.*s", (int)strcspn(names, ","),
                 names);
    else
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

static bool open_line(int fd, const struct sockaddr_in *to)
{
    struct pollfd p = {.fd = fd, .events = POLLOUT};

    if (connect(fd, (const void *)to, sizeof(*to)) < 0 &&
        (errno != EINPROGRESS || poll(&p, 1, CONNECT_MS) != 1))
        return false;
    return !(p.revents & (POLLERR | POLLHUP));
}

void impi_presence_connect(int fd, char **env, uint32_t rank)
{
    const char *where = slurm_getenvp(env, ENV_PRESENCE);
    uint8_t hello[IMPI_PRESENCE_SIZE];
    struct sockaddr_in to;

    if (fd < 0 || !where || strcmp(where, "none") == 0)
        return;
    if (!get_address(&to, where) || !introduce(hello, env, rank) ||
        !open_line(fd, &to) ||
        send(fd, hello, sizeof(hello), MSG_NOSIGNAL) != sizeof(hello))
        shutdown(fd, SHUT_RDWR);
}
