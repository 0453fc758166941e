/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A container runtime begins again.  Podman and Apptainer are told of the step
 * by their environment, but what they are written in (Go) has read that before
 * a library could change it.
 */
#define _GNU_SOURCE
#include "libimpi/front.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARGUMENTS_MAX (2 * 1024 * 1024 + 1)

/* What a program in the container may ask for: Slurm's, ours and what users
 * tune their libraries by. */
static const char *const passed[] = {
    "SLURM_",    "RMS_", "IMPI_",  "OMPI_",       "PRTE_MCA_",
    "PMIX_MCA_", "UCX_", "MPICH_", "MPIR_CVAR_",  "FI_",
    "I_MPI_",    "MV2_", "OMP_",   "HYDRA_TOPO_", "HWLOC_"};

bool front_passes(const char *setting)
{
    for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
        if (strncmp(setting, passed[i], strlen(passed[i])) == 0)
            return true;
    return false;
}

bool front_file_has(const char *path, const char *words)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    void *p = MAP_FAILED;
    bool found = false;

    if (size > 0)
        p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p != MAP_FAILED) {
        found = memmem(p, (size_t)size, words, strlen(words)) != NULL;
        munmap(p, (size_t)size);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

static ssize_t read_arguments(char *buf, size_t size)
{
    int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    size_t len = 0;
    ssize_t n = -1;

    while (fd >= 0 && len < size && (n = read(fd, buf + len, size - len)) > 0)
        len += (size_t)n;
    if (fd >= 0)
        close(fd);
    if (n == 0 && (len == 0 || buf[len - 1] != '\0'))
        n = -1;
    return n == 0 ? (ssize_t)len : -1;
}

void front_begin_again(void)
{
    char *buf = malloc(ARGUMENTS_MAX), **argv;
    ssize_t len = buf ? read_arguments(buf, ARGUMENTS_MAX) : -1;
    size_t n = 0, at = 0;

    for (ssize_t i = 0; i < len; i++)
        n += buf[i] == '\0';
    argv = len > 0 ? calloc(n + 1, sizeof(*argv)) : NULL;
    for (size_t i = 0; argv && i < n; i++) {
        argv[i] = buf + at;
        at += strlen(buf + at) + 1;
    }
    if (argv)
        execv("/proc/self/exe", argv);
    free(argv);
    free(buf);
}

void front_complain(const char *runtime, const char *fmt, ...)
{
    va_list ap;

    fprintf(stderr,
            "libimpi: SF-E507: %s cannot be told of this step, so "
            "MPI programs in its containers run alone: ",
            runtime);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
}
