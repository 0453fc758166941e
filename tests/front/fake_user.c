/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls the fake MPI as a program would.  The first word says how:
 *   first   the first MPI call of the process has many arguments
 *   vararg  the first call is the variadic one
 *   threads many threads make the first call at once
 *   absent  a function that only the front has is looked up and called
 *   idle    no MPI call at all
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

int MPI_Initialized(int *flag);
int MPI_Pcontrol(const int level, ...);
double MPI_Wtime(void);
int MPI_Sendrecv(long a, long b, long c, long d, long e, long f, long g, long h,
                 long i, long j, long k, long l);

#define NTHREADS 16
static pthread_barrier_t barrier;

static void *asker(void *arg)
{
    int flag = 0;

    pthread_barrier_wait(&barrier);
    MPI_Initialized(&flag);
    return (void *)(long)flag;
}

static void threads(void)
{
    pthread_t thread[NTHREADS];
    void *flag;
    int right = 0;

    pthread_barrier_init(&barrier, NULL, NTHREADS);
    for (int i = 0; i < NTHREADS; i++)
        pthread_create(&thread[i], NULL, asker, NULL);
    for (int i = 0; i < NTHREADS; i++) {
        pthread_join(thread[i], &flag);
        right += (long)flag == 7;
    }
    printf("threads %d\n", right);
}

static void absent(void)
{
    int (*f)(void);

    *(void **)&f = dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
    printf("absent %s\n", f ? "found" : "not found");
    fflush(stdout);
    if (f)
        f();
}

int main(int argc, char *argv[])
{
    const char *how = argc > 1 ? argv[1] : "";

    if (strcmp(how, "first") == 0) {
        int rc = MPI_Sendrecv(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);

        printf("rc %d wtime %.1f\n", rc, MPI_Wtime());
    } else if (strcmp(how, "vararg") == 0) {
        MPI_Pcontrol(9, 1.0, 9, 2.0, 8, 3.0, 7, 4.0, 6, 5.0, 5, 6.0, 4, 7.0, 3,
                     8.0, 2, 9.0, 1);
    } else if (strcmp(how, "threads") == 0) {
        threads();
    } else if (strcmp(how, "absent") == 0) {
        absent();
    } else if (strcmp(how, "idle") == 0) {
        puts("idle");
    }
    return 0;
}
