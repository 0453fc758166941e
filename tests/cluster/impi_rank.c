/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A rank of an MPI program that ends as it is told, for tests of mpi/impi:
 *
 *   impi_rank                       Allreduce, a line of output, Finalize
 *   impi_rank abort RANK CODE       MPI_Abort
 *   impi_rank exit RANK CODE        exit() without MPI_Finalize
 *   impi_rank _exit RANK CODE       the same past all handlers
 *   impi_rank kill RANK SIGNAL      raise
 *   impi_rank seen RANK CODE FILE   exit() of RANK, and when the others see
 *                                   that (by a lock of FILE) their library's
 *                                   own MPI_Abort(14), as Open MPI 5 has it
 *   impi_rank hang                  "ready", then wait for somebody to kill
 *   impi_rank until FILE            Allreduce until FILE is there, then as
 *                                   without; FILE.RANK is made in the native
 *                                   MPI_Finalize
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

static void say(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING], host[64] = "";
    int rank, size, len, one, sum = 0;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(version, &len);
    gethostname(host, sizeof(host) - 1);
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("rank %d of %d sum %d on %s by %s\n", rank, size, sum, host,
           strstr(version, "Open MPI") ? "openmpi" : "mpich");
    fflush(stdout);
}

static void hang(void)
{
    int rank;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("ready %d\n", rank);
    fflush(stdout);
    if (rank == 0)
        for (;;)
            pause();
    MPI_Barrier(MPI_COMM_WORLD);
}

static void until(const char *file)
{
    int go = 1, rank, any;

    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("ready %d\n", rank);
    fflush(stdout);
    while (go) {
        struct timespec pause_ms = {0, 10000000};

        if (rank == 0)
            go = access(file, F_OK) != 0;
        MPI_Allreduce(&go, &any, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        go = any;
        nanosleep(&pause_ms, NULL);
    }
}

/* MPI_COMM_SELF loses its attributes first of all.  What is set past libimpi
 * it loses in the library's own MPI_Finalize. */
#ifdef MPICH
#define LIBRARY "libmpich.so.12"
#else
#define LIBRARY "libmpi.so.40"
#endif

typedef int set_attr_f(MPI_Comm, int, void *);
typedef int abort_f(MPI_Comm, int);

static int finalizing(MPI_Comm comm, int keyval, void *name, void *extra)
{
    FILE *f = fopen(name, "w");

    (void)comm;
    (void)keyval;
    (void)extra;
    if (f)
        fclose(f);
    return MPI_SUCCESS;
}

static void tell_when_finalizing(const char *file)
{
    static char name[256];
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    set_attr_f *set_attr =
        library ? (set_attr_f *)dlsym(library, "MPI_Comm_set_attr") : NULL;
    int rank, keyval;

    if (!set_attr) {
        fprintf(stderr, "%s: %s\n", LIBRARY, dlerror());
        MPI_Abort(MPI_COMM_WORLD, 3);
        return;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(name, sizeof(name), "%s.%d", file, rank);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalizing, &keyval, NULL);
    set_attr(MPI_COMM_SELF, keyval, name);
}

static void seen(int goes, int code, const char *file)
{
    int fd = open(file, O_CREAT | O_RDWR, 0600);
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    abort_f *own = library ? (abort_f *)dlsym(library, "MPI_Abort") : NULL;

    if (fd < 0 || !own || (goes && flock(fd, LOCK_EX) < 0))
        MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Barrier(MPI_COMM_WORLD);
    if (goes)
        exit(code);
    flock(fd, LOCK_EX);
    own(MPI_COMM_WORLD, 14);
}

static void end(const char *how, int number)
{
    if (strcmp(how, "abort") == 0)
        MPI_Abort(MPI_COMM_WORLD, number);
    if (strcmp(how, "exit") == 0)
        exit(number);
    if (strcmp(how, "_exit") == 0)
        _exit(number);
    if (strcmp(how, "kill") == 0)
        raise(number);
}

int main(int argc, char **argv)
{
    int rank;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc == 2 && strcmp(argv[1], "hang") == 0)
        hang();
    if (argc == 3 && strcmp(argv[1], "until") == 0) {
        until(argv[2]);
        tell_when_finalizing(argv[2]);
    }
    if (argc == 5 && strcmp(argv[1], "seen") == 0)
        seen(atoi(argv[2]) == rank, atoi(argv[3]), argv[4]);
    if (argc == 4) {
        /* Who ends must not be missed in the MPI_Init of another. */
        MPI_Barrier(MPI_COMM_WORLD);
        if (atoi(argv[2]) == rank)
            end(argv[1], atoi(argv[3]));
    }
    say();
    MPI_Finalize();
    return 0;
}
