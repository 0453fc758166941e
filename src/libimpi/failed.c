/* SPDX-License-Identifier: BSD-3-Clause */
#include "libimpi/failed.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libimpi/state.h"

#define NAME_SIZE (MPI_MAX_OBJECT_NAME + 1)

/* Of this thread: what the call it is in has found, and what was told last. */
static __thread struct {
    MPI_Comm comm;
    int code; /* MPI_SUCCESS: nothing */
    bool of_file;
    MPI_File file;
    MPI_Win win;
    char why[SF_IMPI_REFUSAL_MAX];
} noted = {.win = MPI_WIN_NULL};

int be_raise_error(MPI_Comm comm, int code)
{
    noted.comm = comm;
    noted.code = code;
    noted.of_file = false;
    noted.win = MPI_WIN_NULL;
    noted.why[0] = '\0';
    return code;
}

int failed_note_why(MPI_Comm comm, int code, const char *why)
{
    be_raise(comm, code);
    snprintf(noted.why, sizeof(noted.why), "%s", why);
    return code;
}

const char *failed_noted_why(void)
{
    return noted.why;
}

int failed_note_win(MPI_Win win, int code)
{
    noted.win = win;
    noted.code = code;
    noted.of_file = false;
    return code;
}

int failed_note_file(MPI_File file, int code)
{
    noted.code = code;
    noted.of_file = true;
    noted.file = file;
    noted.win = MPI_WIN_NULL;
    return code;
}

/* ---- the call ---- */

static void add(struct failed *f, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void add(struct failed *f, const char *fmt, ...)
{
    va_list ap;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(f->call + f->len, sizeof(f->call) - f->len, fmt, ap);
    va_end(ap);
    f->len += (size_t)n;
    if (f->len >= sizeof(f->call))
        f->len = sizeof(f->call) - 1;
}

static const char *comma(const struct failed *f)
{
    return f->call[f->len - 1] == '(' ? "" : ", ";
}

bool failed_begin(struct failed *f, const char *function)
{
    if (noted.code == MPI_SUCCESS)
        return false;
    f->comm = noted.comm;
    f->code = noted.code;
    f->of_file = noted.of_file;
    f->file = noted.file;
    f->win = noted.win;
    memcpy(f->why, noted.why, sizeof(f->why));
    noted.why[0] = '\0';
    noted.code = MPI_SUCCESS;
    f->len = 0;
    add(f, "%s(", function);
    return true;
}

void failed_number(struct failed *f, const char *name, long long value)
{
    add(f, "%s%s=%lld", comma(f), name, value);
}

void failed_pointer(struct failed *f, const char *name, uintptr_t value)
{
    add(f, "%s%s=0x%lx", comma(f), name, (unsigned long)value);
}

void failed_string(struct failed *f, const char *name, const char *value)
{
    add(f, "%s%s=%s", comma(f), name, value ? value : "NULL");
}

/* What has a name is known by it. */
static void add_named(struct failed *f, const char *what, const char *name,
                      uintptr_t value)
{
    if (*name)
        add(f, "%s%s", comma(f), name);
    else
        failed_pointer(f, what, value);
}

void failed_handle(struct failed *f, const char *name, uintptr_t value,
                   uintptr_t null, const char *null_name)
{
    add_named(f, name, value == null ? null_name : "", value);
}

void failed_type(struct failed *f, MPI_Datatype type)
{
    char name[NAME_SIZE] = "";
    int len;

    if (type == MPI_DATATYPE_NULL)
        strcpy(name, "MPI_DATATYPE_NULL");
    else if (impi_real.Type_get_name(type, name, &len) != MPI_SUCCESS)
        name[0] = '\0';
    add_named(f, "datatype", name, (uintptr_t)type);
}

void failed_op(struct failed *f, MPI_Op op)
{
    const struct {
        MPI_Op op;
        const char *name;
    } ops[] = {{MPI_OP_NULL, "MPI_OP_NULL"}, {MPI_MAX, "MPI_MAX"},
               {MPI_MIN, "MPI_MIN"},         {MPI_SUM, "MPI_SUM"},
               {MPI_PROD, "MPI_PROD"},       {MPI_LAND, "MPI_LAND"},
               {MPI_BAND, "MPI_BAND"},       {MPI_LOR, "MPI_LOR"},
               {MPI_BOR, "MPI_BOR"},         {MPI_LXOR, "MPI_LXOR"},
               {MPI_BXOR, "MPI_BXOR"},       {MPI_MINLOC, "MPI_MINLOC"},
               {MPI_MAXLOC, "MPI_MAXLOC"},   {MPI_REPLACE, "MPI_REPLACE"}};
    const char *name = "";

    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (ops[i].op == op)
            name = ops[i].name;
    add_named(f, "op", name, (uintptr_t)op);
}

static void name_of(MPI_Comm comm, char name[NAME_SIZE])
{
    int len;

    name[0] = '\0';
    if (comm == MPI_COMM_NULL)
        strcpy(name, "MPI_COMM_NULL");
    else if (impi_real.Comm_get_name(comm, name, &len) != MPI_SUCCESS)
        name[0] = '\0';
}

void failed_comm(struct failed *f, MPI_Comm comm)
{
    char name[NAME_SIZE];

    name_of(comm, name);
    add_named(f, "comm", name, (uintptr_t)comm);
}

static void name_of_win(MPI_Win win, char name[NAME_SIZE])
{
    int len;

    name[0] = '\0';
    if (win == MPI_WIN_NULL)
        strcpy(name, "MPI_WIN_NULL");
    else if (impi_real.Win_get_name(win, name, &len) != MPI_SUCCESS)
        name[0] = '\0';
}

void failed_win(struct failed *f, MPI_Win win)
{
    char name[NAME_SIZE];

    name_of_win(win, name);
    add_named(f, "win", name, (uintptr_t)win);
}

void failed_file(struct failed *f, MPI_File file)
{
    const char *name = failed_file_name(file);

    add_named(f, "fh",
              name                    ? name
              : file == MPI_FILE_NULL ? "MPI_FILE_NULL"
                                      : "",
              (uintptr_t)file);
}

/* ---- what is wrong ---- */

/* MPICH tells the way to an error, a line for each function: the last line says
 * what it is, behind "function(line)...: ". */
static const char *last_reason(const char *text)
{
    const char *line = strrchr(text, '\n'), *p;

    if (!line)
        return text;
    p = ++line;
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    if (*p != '(')
        return line;
    p += strcspn(p, ")");
    p += strspn(p, ").:");
    return *p == ' ' ? p + 1 : line;
}

static void reason_of(const struct failed *f, char reason[MPI_MAX_ERROR_STRING])
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len, n;

    impi_real.Error_string(f->code, text, &len);
    n = snprintf(reason, MPI_MAX_ERROR_STRING, "%s", last_reason(text));
    if (*f->why && n >= 0 && n < MPI_MAX_ERROR_STRING)
        snprintf(reason + n, (size_t)(MPI_MAX_ERROR_STRING - n), ": %.*s",
                 MPI_MAX_ERROR_STRING - n, f->why);
}

/* "rank 1 of 2 in MPI_COMM_WORLD" */
static void place_of(MPI_Comm comm, char *text, size_t size)
{
    char name[NAME_SIZE];
    int own = 0, n = 0;

    name_of(comm, name);
    if (comm != MPI_COMM_NULL) {
        impi_Comm_rank(comm, &own);
        impi_Comm_size(comm, &n);
    }
    if (*name)
        snprintf(text, size, "rank %d of %d in %s", own, n, name);
    else
        snprintf(text, size, "rank %d of %d in communicator 0x%lx", own, n,
                 (unsigned long)(uintptr_t)comm);
}

/* ---- nobody handles it ---- */

/* Both libraries end a process with the class of the error. */
static int exit_code(int code)
{
    int class = 0;

    impi_Error_class(code, &class);
    return class & 0xff ? class & 0xff : 1;
}

#ifdef IMPI_FAMILY_OPENMPI
/* MPI_ERRORS_ABORT, which Open MPI has since version 5: the back end is for the
 * earlier ones as well, whatever it is compiled with. */
extern char errors_abort[] __asm__("ompi_mpi_errors_abort")
    __attribute__((weak));

static bool is_abort(MPI_Errhandler handler)
{
    return errors_abort && (char *)handler == errors_abort;
}
#else
static bool is_abort(MPI_Errhandler handler)
{
#ifdef MPI_ERRORS_ABORT
    return handler == MPI_ERRORS_ABORT;
#else
    return false;
#endif
}
#endif

static bool is_fatal(MPI_Errhandler handler)
{
    return is_abort(handler) || handler == MPI_ERRORS_ARE_FATAL;
}

static bool errors_are_fatal(MPI_Comm comm)
{
    MPI_Errhandler handler;
    bool fatal;

    if (impi_real.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS)
        return false;
    fatal = is_fatal(handler);
    impi_real.Errhandler_free(&handler);
    return fatal;
}

static void end_job(const struct failed *f, const char *place)
    __attribute__((noreturn));
static void end_job(const struct failed *f, const char *place)
{
    char reason[MPI_MAX_ERROR_STRING];

    reason_of(f, reason);
    be_die(exit_code(f->code), "SF-E512: %s failed (%s): %s", f->call, place,
           reason);
}

/* ---- the last one ---- */

static __thread struct {
    int code; /* MPI_SUCCESS: none */
    char text[MPI_MAX_ERROR_STRING];
} last;

static void remember(const struct failed *f, const char *place)
{
    char reason[MPI_MAX_ERROR_STRING];
    int n;

    reason_of(f, reason);
    n = snprintf(last.text, sizeof(last.text),
                 "%s, error stack:\n%s failed\n%s", reason, f->call, place);
    last.code = n > 0 ? f->code : MPI_SUCCESS;
}

#ifdef IMPI_FAMILY_OPENMPI
int impi_Error_string(int errorcode, char *string, int *resultlen)
{
    return impi_real.Error_string(errorcode, string, resultlen);
}
#else
int impi_Error_string(int errorcode, char *string, int *resultlen)
{
    if (errorcode == MPI_SUCCESS || errorcode != last.code)
        return impi_real.Error_string(errorcode, string, resultlen);
    strcpy(string, last.text);
    *resultlen = (int)strlen(string);
    return MPI_SUCCESS;
}
#endif

/* ---- files: errors before there is one go to MPI_FILE_NULL's handler ---- */

#ifndef IMPI_FAMILY_MPICH
/* Open MPI's MPI_File_call_errhandler takes MPI_FILE_NULL for a mistake of the
 * program, which it ends.  So the functions of C behind handlers are known
 * here; what Fortran makes is not seen, and its error is only returned. */
static struct file_handler {
    struct file_handler *next;
    MPI_Errhandler handler;
    MPI_File_errhandler_function *fn;
} * file_handlers;

int impi_File_create_errhandler(MPI_File_errhandler_function *fn,
                                MPI_Errhandler *errhandler)
{
    int rc = impi_real.File_create_errhandler(fn, errhandler);
    struct file_handler *h;

    if (rc != MPI_SUCCESS)
        return rc;
    h = malloc(sizeof(*h));
    if (!h)
        be_die(1, "SF-E403: no memory for an error handler");
    h->handler = *errhandler;
    h->fn = fn;
    be_lock();
    h->next = file_handlers; /* a handle that is used again is found first */
    file_handlers = h;
    be_unlock();
    return MPI_SUCCESS;
}

static void call_file_handler(MPI_File file, MPI_Errhandler handler, int code)
{
    struct file_handler *h;

    be_lock();
    for (h = file_handlers; h && h->handler != handler; h = h->next)
        ;
    be_unlock();
    if (h)
        h->fn(&file, &code);
}
#else
int impi_File_create_errhandler(MPI_File_errhandler_function *fn,
                                MPI_Errhandler *errhandler)
{
    return impi_real.File_create_errhandler(fn, errhandler);
}

static void call_file_handler(MPI_File file, MPI_Errhandler handler, int code)
{
    (void)handler;
    impi_real.File_call_errhandler(file, code);
}
#endif

/* ---- the handler ---- */

static void raise_file(const struct failed *f)
{
    const char *name = failed_file_name(f->file);
    char place[NAME_SIZE + 256] = "no file is open";
    MPI_Errhandler handler;

    if (name)
        snprintf(place, sizeof(place), "rank %d of MPI_COMM_WORLD, file %s",
                 impi_be.rank, name);
    if (impi_real.File_get_errhandler(f->file, &handler) != MPI_SUCCESS)
        return;
    if (is_fatal(handler))
        end_job(f, place);
    remember(f, place);
    if (handler != MPI_ERRORS_RETURN)
        call_file_handler(f->file, handler, f->code);
    impi_real.Errhandler_free(&handler);
}

/* The native library would end only its own client, and its message is lost
 * when the job ends for a rank that vanished. */
static void raise_comm(const struct failed *f)
{
    char place[NAME_SIZE + 64];

    place_of(f->comm, place, sizeof(place));
    if (impi_be.started && errors_are_fatal(f->comm))
        end_job(f, place);
    remember(f, place);
    impi_real.Comm_call_errhandler(f->comm, f->code);
}

static void raise_win(const struct failed *f)
{
    char place[NAME_SIZE + 64], name[NAME_SIZE];
    MPI_Errhandler handler = MPI_ERRORS_ARE_FATAL;

    name_of_win(f->win, name);
    if (!*name)
        snprintf(name, sizeof(name), "0x%lx", (unsigned long)(uintptr_t)f->win);
    snprintf(place, sizeof(place), "rank %d of MPI_COMM_WORLD, window %s",
             impi_be.rank, name);
    if (impi_real.Win_get_errhandler(f->win, &handler) != MPI_SUCCESS ||
        is_fatal(handler))
        end_job(f, place);
    impi_real.Errhandler_free(&handler);
    remember(f, place);
    impi_real.Win_call_errhandler(f->win, f->code);
}

void failed_end(struct failed *f)
{
    add(f, ")");
    if (f->win != MPI_WIN_NULL)
        raise_win(f);
    else if (f->of_file)
        raise_file(f);
    else
        raise_comm(f);
}

#include "libimpi/calls_failed.h"
