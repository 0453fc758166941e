/* SPDX-License-Identifier: BSD-3-Clause
 *
 * nicd-verbs DEVICE: opens an RDMA device by libibverbs, which is found when it
 * runs, hands the context's two descriptors over by its standard input, a
 * socket, or tells why not (nicd/verbs.h), and ends.  nicd starts it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd_pass.h"

/* The answer: descriptors, or why there are none. */
static int answer(const int fds[2], const char *why)
{
    /* A message of no bytes carries nothing. */
    if (fd_pass_send(STDIN_FILENO, why, strlen(why) + 1, fds, fds ? 2 : 0, 0) >=
        0)
        return fds ? 0 : 1;
    fprintf(stderr, "nicd-verbs: no socket to answer by: %s\n",
            strerror(errno));
    return 1;
}

static int refuse(const char *what, const char *why)
{
    char text[200];

    snprintf(text, sizeof(text), "%s: %s", what, why);
    return answer(NULL, text);
}

#if __has_include(<infiniband/verbs.h>)
#include <dlfcn.h>
#include <infiniband/verbs.h>

#define LIBRARY "libibverbs.so.1"

/* Its functions, as of the library that was found. */
struct library {
    __typeof__(ibv_get_device_list) *list;
    __typeof__(ibv_get_device_name) *name;
    __typeof__(ibv_open_device) *open;
};

static bool load(struct library *l)
{
    void *lib = dlopen(LIBRARY, RTLD_NOW);

    if (!lib)
        return false;
    *(void **)&l->list = dlsym(lib, "ibv_get_device_list");
    *(void **)&l->name = dlsym(lib, "ibv_get_device_name");
    *(void **)&l->open = dlsym(lib, "ibv_open_device");
    return l->list && l->name && l->open;
}

static int hand_over(const char *device)
{
    struct library l;
    struct ibv_device **all, *is = NULL;
    struct ibv_context *context;
    int n = 0;

    if (!load(&l))
        return refuse(device, dlerror());
    all = l.list(&n);
    for (int i = 0; all && i < n; i++)
        if (strcmp(l.name(all[i]), device) == 0)
            is = all[i];
    if (!is)
        return refuse(device,
                      "unknown to " LIBRARY ": is its provider installed?");
    errno = 0;
    context = l.open(is);
    if (!context)
        return refuse(device, errno ? strerror(errno) : "does not open");
    if (context->async_fd < 0 ||
        fcntl(context->async_fd, F_SETFL, O_NONBLOCK) < 0)
        return refuse(device, "has no events");
    return answer((int[]){context->cmd_fd, context->async_fd}, "");
}
#else
static int hand_over(const char *device)
{
    return refuse(device, "nicd-verbs was built without infiniband/verbs.h");
}
#endif

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "nicd-verbs: nicd starts it, with a device's name\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    return hand_over(argv[1]);
}
