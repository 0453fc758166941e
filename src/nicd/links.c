/* SPDX-License-Identifier: BSD-3-Clause */
#include "nicd/links.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define AT_A_TIME 64 /* messages */

int links_open(struct errbuf *err)
{
    struct sockaddr_nl all = {.nl_family = AF_NETLINK,
                              .nl_groups = RTMGRP_LINK};
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    NETLINK_ROUTE);

    if (fd >= 0 && bind(fd, (struct sockaddr *)&all, sizeof(all)) == 0)
        return fd;
    errprintf(err, "no notices of links from the kernel: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    return -1;
}

/* That some were lost (ENOBUFS) says no more than that there were some. */
void links_drain(int fd)
{
    char some[8192];

    for (int i = 0; i < AT_A_TIME; i++)
        if (recv(fd, some, sizeof(some), 0) < 0 && errno != ENOBUFS)
            return;
}
