/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The back end's side of the front: the table of calls, the library's own
 * functions, and the wrappers that calls.awk makes.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "libimpi/backend.h"
#include "libimpi/calls.h"
#include "libimpi/file.h"
#include "libimpi/manager.h"
#include "libimpi/ours.h"
#include "libimpi/span.h"
#include "libimpi/topology.h"
#include "libimpi/win.h"

#define EXPORT __attribute__((visibility("default")))

EXPORT impi_backend_open_f impi_backend_open;
EXPORT impi_backend_symbol_f impi_backend_symbol;

struct impi_real impi_real;
static const struct impi_front *impi_front;
static bool native_only;
static bool windows, files;

#define NOINLINE __attribute__((noinline))
#include "libimpi/calls_wrap.h"

/* A library has PMPI_X for nearly everything; its few other functions exist
 * as MPI_X or MPIX_X only. */
static void find_real(void *mpi, const struct impi_call *call)
{
    char name[80];

    if (!call->real)
        return;
    snprintf(name, sizeof(name), "P%s", call->name);
    *(void **)call->real = dlsym(mpi, name);
    if (!*call->real)
        *(void **)call->real = dlsym(mpi, call->name);
}

int impi_backend_open(const struct impi_front *front, void *mpi, char *err,
                      size_t errsize)
{
    if (front->version != IMPI_BACKEND_VERSION) {
        snprintf(err, errsize, "it is for front version %d, this is %d",
                 IMPI_BACKEND_VERSION, front->version);
        return -1;
    }
    impi_front = front;
    topology_of_library(mpi);
    manager_of_library(mpi);
    for (int i = 0; i < IMPI_NCALLS; i++)
        find_real(mpi, &impi_calls[i]);
    return 0;
}

/* The front asks in the order of the same list, so the next one is nearly
 * always the one after the last. */
static const struct impi_call *find_call(const char *name)
{
    static int next;

    for (int i = 0; i < IMPI_NCALLS; i++) {
        const struct impi_call *call = &impi_calls[(next + i) % IMPI_NCALLS];

        if (strcmp(call->name, name) == 0) {
            next = (next + i + 1) % IMPI_NCALLS;
            return call;
        }
    }
    return NULL;
}

static bool is_wanted(const struct impi_call *call)
{
    switch (call->from) {
    case IMPI_WITH_WINDOWS:
        return windows;
    case IMPI_WITH_FILES:
        return files;
    default:
        return true;
    }
}

void *impi_backend_symbol(const char *name)
{
    const struct impi_call *call = find_call(name);

    if (!call || !call->real || !*call->real ||
        (native_only && !call->always) || !is_wanted(call))
        return NULL;
    return *(void *const *)&call->fn;
}

void impi_calls_go_native(void)
{
    native_only = true;
    impi_front->rebind();
}

void impi_calls_go_across(void)
{
    native_only = false;
    impi_front->rebind();
}

void impi_calls_have_windows(void)
{
    if (windows)
        return;
    windows = true;
    impi_front->rebind();
}

void impi_calls_have_files(void)
{
    if (files)
        return;
    files = true;
    impi_front->rebind();
}
