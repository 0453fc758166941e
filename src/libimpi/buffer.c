/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether a byte can be read is asked from the kernel by a call that copies
 * eight bytes in and then refuses its first argument.
 */
#define _GNU_SOURCE
#include "libimpi/buffer.h"

#include <errno.h>
#include <link.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "libimpi/state.h"

#define NO_SUCH_HOW (-1)
#define KERNEL_SIGSET_SIZE 8

static const char *const drivers[] = {"libcuda.so", "libamdhip64.so",
                                      "libhsa-runtime64.so", "libze_loader.so"};

static struct {
    uint64_t looked; /* ticks */
    unsigned long long adds;
    bool devices; /* never taken back: the driver's memory may stay */
} seen;

static int own_class, own_code;

/* Nearly free where the processor has a counter, else nanoseconds. */
static uint64_t now(void)
{
#ifdef __x86_64__
    return __builtin_ia32_rdtsc();
#else
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
#endif
}

static bool is_driver(const char *path)
{
    const char *name = strrchr(path, '/');

    name = name ? name + 1 : path;
    for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++)
        if (strncmp(name, drivers[i], strlen(drivers[i])) == 0)
            return true;
    return false;
}

/* Stops at the first object when none was loaded since the last time. */
static int look_at_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    unsigned long long *adds = arg;

    if (info->dlpi_adds == __atomic_load_n(&seen.adds, __ATOMIC_RELAXED))
        return 1;
    *adds = info->dlpi_adds;
    if (is_driver(info->dlpi_name))
        __atomic_store_n(&seen.devices, true, __ATOMIC_RELAXED);
    return 0;
}

bool buffer_devices(void)
{
    unsigned long long adds = 0;
    uint64_t ticks;

    if (__atomic_load_n(&seen.devices, __ATOMIC_RELAXED))
        return true;
    ticks = now();
    if (likely(ticks - __atomic_load_n(&seen.looked, __ATOMIC_RELAXED) <
               BUFFER_LOOK_TICKS))
        return false;
    dl_iterate_phdr(look_at_object, &adds);
    if (adds > 0)
        __atomic_store_n(&seen.adds, adds, __ATOMIC_RELAXED);
    __atomic_store_n(&seen.looked, ticks, __ATOMIC_RELAXED);
    return __atomic_load_n(&seen.devices, __ATOMIC_RELAXED);
}

/* errno stays as the program has it. */
static bool is_readable(uintptr_t address)
{
    int before = errno, rc;

    address &= ~(uintptr_t)(KERNEL_SIGSET_SIZE - 1);
    rc = (int)syscall(SYS_rt_sigprocmask, NO_SUCH_HOW, address, NULL,
                      KERNEL_SIGSET_SIZE);
    rc = rc < 0 && errno == EFAULT;
    errno = before;
    return !rc;
}

static int make_code(void)
{
    int code;

    if (!own_class && impi_real.Add_error_class(&own_class) != MPI_SUCCESS)
        return MPI_ERR_BUFFER;
    if (impi_real.Add_error_code(own_class, &code) != MPI_SUCCESS)
        return MPI_ERR_BUFFER;
    impi_real.Add_error_string(
        code, "SF-E511: this process cannot read the buffer (memory of an "
              "accelerator?); what crosses between IMPI clients must lie in "
              "the host's memory");
    return code;
}

/* Two threads may make a code each; both are right, one is kept. */
static int error_code(void)
{
    int code = __atomic_load_n(&own_code, __ATOMIC_ACQUIRE);

    if (!code) {
        code = make_code();
        __atomic_store_n(&own_code, code, __ATOMIC_RELEASE);
    }
    return code;
}

int buffer_error_class(int class)
{
    return own_class && class == own_class ? MPI_ERR_BUFFER : class;
}

int buffer_missing(int count, MPI_Datatype type)
{
    MPI_Aint first, length;

    if (count <= 0 || type == MPI_DATATYPE_NULL ||
        buffer_span(type, &first, &length) != MPI_SUCCESS)
        return MPI_SUCCESS;
    return length > 0 && first >= 0 && first < BUFFER_PAGE ? MPI_ERR_BUFFER
                                                           : MPI_SUCCESS;
}

int buffer_look(const void *buf, int count, MPI_Datatype type)
{
    MPI_Aint lb, extent, first, length;
    uintptr_t from = (uintptr_t)buf, last;

    if (count <= 0 || buf == MPI_IN_PLACE || type == MPI_DATATYPE_NULL ||
        impi_real.Type_get_extent(type, &lb, &extent) != MPI_SUCCESS ||
        buffer_span(type, &first, &length) != MPI_SUCCESS || length == 0)
        return MPI_SUCCESS;
    last = from + (uintptr_t)((count - 1) * extent + first + length - 1);
    if (is_readable(from + (uintptr_t)first) && is_readable(last))
        return MPI_SUCCESS;
    return error_code();
}
