/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What a back end takes for granted of its MPI library and no header promises,
 * asked of the library itself; compiled and run without any part of ours.
 *
 * opaque values   NAME VALUE of each constant that a back end has compiled in
 *                 (opaque_names.h): a number, or the object whose address it
 * is; "none" for a type that this build of the library lacks opaque tags     a
 * TAP line for each value that a handle of ours may have, and for each place
 * that is read or written inside the library's
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "libimpi/family.h"

#define REQUESTS 6000 /* more than are kept without further memory */
#define GROUPS 6000
#define MESSAGES 300

/* ---- constants ---- */

static void say_number(const char *name, long long n)
{
    printf("%s %lld\n", name, n);
}

static void say(const char *name, const void *value)
{
    Dl_info info;
    void *p;

    memcpy(&p, value, sizeof(p));
    if (!dladdr(p, &info))
        printf("%s %p\n", name, p);
    else if (info.dli_saddr == p)
        printf("%s &%s\n", name, info.dli_sname);
    else
        printf("%s of the library\n", name);
}

static void number(const char *name, size_t n)
{
    printf("%s %zu\n", name, n);
}

/* MPICH built without Fortran, or without C++, has these as the null type. */
static bool lacks(const char *name, const void *value, size_t size)
{
    MPI_Datatype null = MPI_DATATYPE_NULL;

    return size == sizeof(null) && memcmp(value, &null, size) == 0 &&
           strcmp(name, "MPI_DATATYPE_NULL") != 0;
}

static void values(void)
{
#define V(X)                                                                   \
    {                                                                          \
        __typeof__(X) v = X;                                                   \
        if (__builtin_types_compatible_p(__typeof__(X), MPI_Datatype) &&       \
            lacks(#X, &v, sizeof(v)))                                          \
            printf("%s none\n", #X);                                           \
        else if (__builtin_classify_type(v) == 1) /* an integer */             \
            say_number(#X, (long long)v);                                      \
        else                                                                   \
            say(#X, &v);                                                       \
    }
#include "opaque_names.h"
#undef V
    number("sizeof(MPI_Comm)", sizeof(MPI_Comm));
    number("sizeof(MPI_Request)", sizeof(MPI_Request));
    number("sizeof(MPI_Aint)", sizeof(MPI_Aint));
    number("sizeof(MPI_Count)", sizeof(MPI_Count));
    number("sizeof(MPI_Offset)", sizeof(MPI_Offset));
    number("sizeof(MPI_Fint)", sizeof(MPI_Fint));
    number("sizeof(MPI_Status)", sizeof(MPI_Status));
    number("MPI_Status.MPI_SOURCE", offsetof(MPI_Status, MPI_SOURCE));
    number("MPI_Status.MPI_TAG", offsetof(MPI_Status, MPI_TAG));
    number("MPI_Status.MPI_ERROR", offsetof(MPI_Status, MPI_ERROR));
}

#ifdef VALUES_ALONE /* with a header that no library comes with */
int main(void)
{
    values();
    return 0;
}
#else

/* ---- handles ---- */

#ifdef IMPI_FAMILY_ABI /* whose libraries leave c2f to Fortran */
#define MPI_Request_c2f MPI_Request_toint
#define MPI_Message_c2f MPI_Message_toint
int MPI_Request_toint(MPI_Request request);
int MPI_Message_toint(MPI_Message message);
#endif

static int line;

static void tell(bool good, const char *what)
{
    printf("%sok %d - %s\n", good ? "" : "not ", ++line, what);
}

static int query(void *state, MPI_Status *status)
{
    return MPI_SUCCESS;
}

static int drop(void *state)
{
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    return MPI_SUCCESS;
}

static void requests(void)
{
    static MPI_Request r[REQUESTS];
    static int in[REQUESTS];
    MPI_Request other[4];
    MPI_Comm comm;
    int ours = impi_request_ours(MPI_REQUEST_NULL), taken = 0;

    for (int i = 0; i < REQUESTS; i++) {
        MPI_Irecv(&in[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &r[i]);
        ours += impi_request_ours(r[i]);
        taken += INT_IS_OURS(IMPI_REQUEST_TAG, MPI_Request_c2f(r[i]));
    }
    MPI_Recv_init(in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &other[0]);
    MPI_Ibarrier(MPI_COMM_SELF, &other[1]);
    MPI_Comm_idup(MPI_COMM_SELF, &comm, &other[2]);
    MPI_Grequest_start(query, drop, cancel, NULL, &other[3]);
    for (int i = 0; i < 4; i++)
        ours += impi_request_ours(other[i]);
    tell(ours == 0, "no request of the library looks like one of ours");
    tell(taken == 0, "no request's number looks like that of one of ours");
    MPI_Request_free(&other[0]);
    MPI_Waitall(2, &other[1], MPI_STATUSES_IGNORE);
    MPI_Grequest_complete(other[3]);
    MPI_Wait(&other[3], MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    for (int i = 0; i < REQUESTS; i++)
        MPI_Cancel(&r[i]);
    MPI_Waitall(REQUESTS, r, MPI_STATUSES_IGNORE);
}

static void messages(void)
{
    static MPI_Message m[MESSAGES];
    static MPI_Request r[MESSAGES];
    int ours = impi_message_ours(MPI_MESSAGE_NULL), taken = 0, in = 0;

    ours += impi_message_ours(MPI_MESSAGE_NO_PROC);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Isend(&i, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &r[i]);
        MPI_Mprobe(0, 1, MPI_COMM_SELF, &m[i], MPI_STATUS_IGNORE);
        ours += impi_message_ours(m[i]);
        taken += INT_IS_OURS(IMPI_MESSAGE_TAG, MPI_Message_c2f(m[i]));
    }
    for (int i = 0; i < MESSAGES; i++)
        MPI_Mrecv(&in, 1, MPI_INT, &m[i], MPI_STATUS_IGNORE);
    MPI_Waitall(MESSAGES, r, MPI_STATUSES_IGNORE);
    tell(ours == 0, "no message of the library looks like one of ours");
    tell(taken == 0, "no message's number looks like that of one of ours");
}

#ifdef IMPI_FAMILY_OPENMPI
/* Where its Fortran functions read a group's handle (family.h). */
static bool reads_right(MPI_Group group)
{
    MPI_Fint there;

    memcpy(&there, (char *)group + GROUP_FORTRAN_AT, sizeof(there));
    return there == MPI_Group_c2f(group) && there >= 0;
}
#else
static bool reads_right(MPI_Group group)
{
    return true;
}
#endif

static void groups(void)
{
    static MPI_Group g[GROUPS];
    MPI_Group world;
    int ours = impi_group_ours(MPI_GROUP_NULL), zero = 0;
    bool right;

    ours += impi_group_ours(MPI_GROUP_EMPTY);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    ours += impi_group_ours(world);
    right = reads_right(MPI_GROUP_EMPTY) && reads_right(world);
    for (int i = 0; i < GROUPS; i++) {
        MPI_Group_incl(world, 1, &zero, &g[i]);
        ours += impi_group_ours(g[i]);
        right = right && reads_right(g[i]);
    }
    for (int i = 0; i < GROUPS; i++)
        MPI_Group_free(&g[i]);
    MPI_Group_free(&world);
    tell(ours == 0, "no group of the library looks like one of ours");
#ifdef IMPI_FAMILY_OPENMPI
    tell(right, "a group has its handle of Fortran where it is written");
#else
    (void)right;
#endif
}

static void keyvals(void)
{
#ifdef IMPI_FAMILY_MPICH
    int all[] = {MPI_TAG_UB,          MPI_HOST,          MPI_IO,
                 MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE,
                 MPI_APPNUM};
    int even = 0;

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        even += all[i] % 2 == 0;
    tell(even == 0, "MPI's own keyvals of C are odd, so that those of Fortran "
                    "are not");
#endif
}

int main(int argc, char *argv[])
{
    if (argc == 2 && strcmp(argv[1], "values") == 0) {
        values();
        return 0;
    }
    MPI_Init(&argc, &argv);
    requests();
    messages();
    groups();
    keyvals();
    MPI_Finalize();
    printf("1..%d\n", line);
    return 0;
}
#endif
