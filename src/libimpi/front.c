/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Filling the slots: see front.h.
 */
#define _GNU_SOURCE
#include "libimpi/front.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libimpi/backend.h"

#define PATH_SIZE 4096

static const char *const names[FRONT_NCALLS] = {
#define F(n, name) #name,
#include "libimpi/front_list.h"
#undef F
};

static struct front_mpi mpi;
static impi_backend_symbol_f *backend_symbol;
static impi_fortran_attr_f *fortran_attr;
static pthread_mutex_t bind_lock = PTHREAD_MUTEX_INITIALIZER;
static bool bound;

static __attribute__((noreturn, format(printf, 1, 2))) void
give_up(const char *fmt, ...)
{
    va_list ap;
    char text[2 * PATH_SIZE];

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(stderr, "libimpi: %s\n", text);
    fflush(NULL);
    /* Not exit(): handlers that call MPI would come back here. */
    _exit(1);
}

/* What a slot gets whose function neither the back end nor the library has.
 * Only a program that looked it up by name can come here. */
static void missing(void)
{
    give_up("SF-E504: a function was called that %s does not have", mpi.path);
}

static void *library_symbol(int n, bool profiling)
{
    char name[80];
    void *sym;

    snprintf(name, sizeof(name), "P%s", names[n]);
    sym = dlsym(mpi.handle, profiling ? name : names[n]);
    return sym ? sym : dlsym(mpi.handle, profiling ? names[n] : name);
}

static void fill_slot(int slot, void *sym)
{
    void (*f)(void) = missing;

    if (!sym)
        memcpy(&sym, &f, sizeof(sym));
    __atomic_store_n(&front_slots[slot], sym, __ATOMIC_RELEASE);
}

static void fill_slots(void)
{
    for (int n = 0; n < FRONT_NCALLS; n++) {
        void *ours = backend_symbol ? backend_symbol(names[n]) : NULL;
        void *tool = front_find_tool(&mpi, names[n]);

        fill_slot(2 * n, tool ? tool : ours ? ours : library_symbol(n, false));
        fill_slot(2 * n + 1, ours ? ours : library_symbol(n, true));
    }
}

static const struct impi_front front = {
    .version = IMPI_BACKEND_VERSION,
    .rebind = fill_slots,
};

static bool try_file(const char *dir, size_t len, const char *before,
                     const char *name, const char *after, char *path)
{
    int n = snprintf(path, PATH_SIZE, "%.*s/%s%s%s", (int)len, dir, before,
                     name, after);

    return len > 0 && n < PATH_SIZE && access(path, R_OK) == 0;
}

/* dir/backend-SONAME, which a site has built, or dir/libimpi-FAMILY.so. */
static bool try_dir(const char *dir, size_t len, char *path)
{
    const char *family;

    if (try_file(dir, len, "backend-", mpi.soname, "", path))
        return true;
    family = front_family(&mpi);
    if (family && try_file(dir, len, "libimpi-", family, ".so", path))
        return true;
    /* What is missing. */
    try_file(dir, len, "backend-", mpi.soname, "", path);
    return false;
}

/* The directories of SLURM_IMPI_BACKENDS (colons between), then the front's
 * own.  On failure path names the last one tried. */
static bool find_backend(char *path)
{
    const char *dirs = getenv("SLURM_IMPI_BACKENDS");
    const char *slash;
    Dl_info info;

    while (dirs && *dirs) {
        size_t len = strcspn(dirs, ":");

        if (try_dir(dirs, len, path))
            return true;
        dirs += len + (dirs[len] == ':');
    }
    if (!dladdr(front_slots, &info) || !(slash = strrchr(info.dli_fname, '/')))
        give_up("SF-E502: cannot tell my own directory");
    return try_dir(info.dli_fname, (size_t)(slash - info.dli_fname), path);
}

static void open_backend(const char *path)
{
    void *handle;
    impi_backend_open_f *open_f;
    char err[256] = "it is no back end";

    /* A back end needs no library by its name: what it takes from there (with
     * Open MPI, objects whose addresses are handles) must be seen where the
     * library was loaded for somebody alone, as Python does. */
    dlopen(mpi.path, RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        give_up("SF-E502: cannot load the back end: %s", dlerror());
    *(void **)&open_f = dlsym(handle, "impi_backend_open");
    *(void **)&backend_symbol = dlsym(handle, "impi_backend_symbol");
    *(void **)&fortran_attr = dlsym(handle, "impi_fortran_attr");
    if (!open_f || !backend_symbol ||
        open_f(&front, mpi.handle, err, sizeof(err)) < 0)
        give_up("SF-E503: back end %s refuses: %s", path, err);
}

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

/* What the task found of other launchers has been dropped before it started, so
 * this one runs below it (mpiexec in the step, or a daemon that it has started
 * by srun), unless all of it is what impid once told this process or the one
 * that started it: world.c has left a copy. */
static bool is_foreign(const char *name, const char *copy)
{
    const char *ours = getenv(copy);

    return is_set(name) && !(ours && strcmp(ours, getenv(name)) == 0);
}

static bool foreign_launcher(void)
{
    return is_foreign("PMIX_NAMESPACE", "SLURM_IMPI_PMIX_NAMESPACE") ||
           (is_set("PMI_RANK") &&
            (is_foreign("PMI_FD", "SLURM_IMPI_PMI_FD") || is_set("PMI_PORT")));
}

/* Symbols of glibc's versions would be taken for any by another C library, and
 * what is built for glibc then run with it. */
static bool is_glibc(void)
{
    return dlsym(RTLD_DEFAULT, "gnu_get_libc_version") != NULL;
}

static void bind_all(void)
{
    const char *agent = getenv("SLURM_IMPI_AGENT");
    char path[PATH_SIZE];

    if (front_find_mpi(&mpi) < 0)
        give_up("SF-E505: an MPI function was called, but no MPI library is "
                "loaded (libimpi.so is for LD_PRELOAD only)");
    if (agent && *agent && !foreign_launcher()) {
        if (!is_glibc())
            give_up("SF-E506: this program and its %s are linked to another C "
                    "library than glibc (musl, as in Alpine Linux?), and the "
                    "back ends need glibc 2.28 or later: build the program in "
                    "an image that has it",
                    mpi.soname);
        if (!find_backend(path))
            give_up("SF-E501: this program uses %s (%s), for which there is "
                    "no %s.  Build one with its compiler wrapper:\n"
                    "  impi-backend --mpicc PATH_OF_ITS_MPICC",
                    mpi.soname, mpi.path, path);
        open_backend(path);
    }
    fill_slots();
}

impi_fortran_attr_f *front_fortran_attr(void)
{
    return fortran_attr;
}

void *front_resolve(unsigned long slot)
{
    pthread_mutex_lock(&bind_lock);
    if (!bound)
        bind_all();
    bound = true;
    pthread_mutex_unlock(&bind_lock);
    return __atomic_load_n(&front_slots[slot], __ATOMIC_ACQUIRE);
}
