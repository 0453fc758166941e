/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The generated wrappers and the table of spanning communicators, linked with
 * the objects of a back end and the real library.  One TAP line per check.
 * With the word "fatal" it makes one call that must end the program.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/backend.h"
#include "libimpi/calls.h"
#include "libimpi/ours.h"
#include "libimpi/span.h"

impi_backend_open_f impi_backend_open;
impi_backend_symbol_f impi_backend_symbol;

static int ntests, rebinds;

static void check(int good, const char *what, const char *detail)
{
    printf("%sok %d - %s%s%s\n", good ? "" : "not ", ++ntests, what,
           *detail ? ": " : "", detail);
}

static void count_rebind(void)
{
    rebinds++;
}

static const struct impi_front front = {IMPI_BACKEND_VERSION, count_rebind};

/* ---- the table ----------------------------------------------------------- */

#define MANY 1000

static MPI_Comm made_up(int i)
{
    MPI_Comm comm;
    uintptr_t v = 0x44000000u + 16 * (uintptr_t)i;

    memcpy(&comm, &v, sizeof(comm));
    return comm;
}

static void spanning_handles_are_found(void)
{
    static char data[MANY];
    int wrong = 0;

    for (int i = 0; i < MANY; i++) {
        wrong += impi_comm_spans(made_up(i));
        impi_span_add(made_up(i), (struct impi_comm *)&data[i]);
        wrong += impi_span_find(made_up(i)) != (void *)&data[i];
    }
    for (int i = 0; i < MANY; i++)
        wrong += impi_span_find(made_up(i)) != (void *)&data[i];
    for (int i = 0; i < MANY; i += 2)
        impi_span_remove(made_up(i));
    for (int i = 0; i < MANY; i++)
        wrong += impi_comm_spans(made_up(i)) != i % 2;
    for (int i = 0; i < MANY; i++)
        impi_span_remove(made_up(i));
    for (int round = 0; round < MANY; round++) {
        impi_span_add(made_up(7), (struct impi_comm *)data);
        wrong += !impi_comm_spans(made_up(7));
        impi_span_remove(made_up(7));
        wrong += impi_comm_spans(made_up(7));
    }
    check(wrong == 0, "spanning communicators are found, others are not", "");
}

/* ---- the wrappers -------------------------------------------------------- */

static void refused(const char *name, int rc)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int class = 0, len;

    impi_Error_class(rc, &class);
    impi_real.Error_string(rc, text, &len);
    check(class == MPI_ERR_UNSUPPORTED_OPERATION && strstr(text, name) &&
              strstr(text, "SF-E510"),
          "fails and is named", text);
}

static void all_wrappers_refuse(MPI_Comm comm)
{
    static char bytes[4096];
    void *room = bytes;
    MPI_Request bad_requests[4] __attribute__((unused));
    MPI_Message bad_message __attribute__((unused));
    MPI_Group bad_group __attribute__((unused));
    uintptr_t bad = 0x3a000001u, bad_too = 0x3c000001u, third = 0x3b000001u;

    memcpy(&bad_group, &third, sizeof(bad_group));
    memcpy(&bad_message, &bad_too, sizeof(bad_message));
    for (int i = 0; i < 4; i++)
        memcpy(&bad_requests[i], &bad, sizeof(bad_requests[i]));
#define PROBE(X, ...)                                                          \
    if (impi_real.X) {                                                         \
        impi_##X##_f *f = NULL;                                                \
        const char *fullname = impi_calls[CALL_##X].name;                      \
        *(void **)&f = impi_backend_symbol(fullname);                          \
        if (f)                                                                 \
            refused(fullname, f(__VA_ARGS__));                                 \
        else                                                                   \
            check(0, "has a wrapper", fullname);                               \
    }
#include "probes.h"
}

static void steps_aside(void)
{
    int left = 0;

    impi_calls_go_native();
    for (int i = 0; i < IMPI_NCALLS; i++)
        left +=
            impi_backend_symbol(impi_calls[i].name) && !impi_calls[i].always;
    check(rebinds == 1 && left == 0, "one client: nothing stays in the way",
          "");
}

int main(int argc, char *argv[])
{
    struct impi_front other = {IMPI_BACKEND_VERSION + 1, NULL};
    char err[128] = "";
    static char data;

    MPI_Init(&argc, &argv);
    check(impi_backend_open(&other, NULL, err, sizeof(err)) < 0 &&
              strstr(err, "version"),
          "a front of another version is refused", err);
    impi_backend_open(&front, dlopen(argv[1], RTLD_LAZY), err, sizeof(err));
    spanning_handles_are_found();
    impi_span_add(MPI_COMM_WORLD, (struct impi_comm *)&data);
    if (argc > 2) {
        impi_Grequest_complete_f *f = NULL;
        uintptr_t ours = 0x3a000001u;
        MPI_Request request;

        memcpy(&request, &ours, sizeof(request));
        *(void **)&f = impi_backend_symbol("MPI_Grequest_complete");
        return f(request);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    all_wrappers_refuse(MPI_COMM_WORLD);
    steps_aside();
    printf("1..%d\n", ntests);
    MPI_Finalize();
    return 0;
}
