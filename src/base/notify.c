/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/notify.h"

/* A path, or with '@' for its first byte an abstract name. */
static int address_of(const char *name, struct sockaddr_un *sa, socklen_t *len)
{
    size_t n = strlen(name);

    memset(sa, 0, sizeof(*sa));
    sa->sun_family = AF_UNIX;
    if ((name[0] != '/' && name[0] != '@') || n < 2 ||
        n >= sizeof(sa->sun_path)) {
        errno = EINVAL;
        return -1;
    }
    memcpy(sa->sun_path, name, n);
    if (name[0] == '@')
        sa->sun_path[0] = '\0';
    *len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
    return 0;
}

int notify_manager(const char *state)
{
    const char *name = getenv("NOTIFY_SOCKET");
    struct sockaddr_un sa;
    socklen_t len;
    ssize_t n;
    int fd;

    if (!name || !*name)
        return 0;
    if (address_of(name, &sa, &len) < 0)
        return -1;
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    n = sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&sa,
               len);
    close(fd);
    return n < 0 ? -1 : 1;
}
