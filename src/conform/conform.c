/* SPDX-License-Identifier: BSD-3-Clause
 * Usage: PROGRAM SCRIPT.  Every rank reads the whole script and does the
 * lines that are for it.  Failures go to stdout, "FAIL rank R line L (TEST):
 * why"; the last line of each rank is "END rank R of N failures F".  Rank 0
 * says "DONE TEST" of each but the last.
 */
#include "conform.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_SIZE 4096

struct state st = {.test = "?"};

void fail(const struct instruction *l, const char *fmt, ...)
{
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    st.failures++;
    printf("FAIL rank %d line %d (%s): %s: %s\n", st.rank, l->number, st.test,
           l->op, text);
    fflush(stdout);
}

void bad_script(const struct instruction *l, const char *what)
{
    printf("BAD SCRIPT line %d: %s: %s\n", l->number, l->op, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 98);
    exit(98);
}

const char *word(const struct instruction *l, const char *key,
                 const char *otherwise)
{
    for (int i = 0; i < l->nwords; i++)
        if (strcmp(l->key[i], key) == 0)
            return l->value[i];
    return otherwise;
}

int number(const struct instruction *l, const char *key, int otherwise)
{
    const char *text = word(l, key, NULL);
    char *end;
    long v;

    if (!text)
        return otherwise;
    if (strcmp(text, "any") == 0)
        return ANY;
    if (strcmp(text, "null") == 0)
        return NULL_PROC;
    v = strtol(text, &end, 10);
    if (end == text || *end)
        bad_script(l, key);
    return (int)v;
}

MPI_Comm comm_of(const struct instruction *l)
{
    int n = number(l, "comm", 0);

    if (n < 0 || n >= MAX_COMMS)
        bad_script(l, "comm");
    return st.comm[n];
}

/* error=truncate: that class is due; else success. */
int check_code(const struct instruction *l, int code)
{
    const char *due = word(l, "error", NULL);
    int class = MPI_SUCCESS, want = MPI_SUCCESS;

    if (due && strcmp(due, "truncate") == 0)
        want = MPI_ERR_TRUNCATE;
    else if (due)
        bad_script(l, "error");
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    if (class == want)
        return 0;
    fail(l, "error class %d, expected %d", class, want);
    return -1;
}

/* "all", "3", "0-2", "1,4-6", "rest" is not needed: list them. */
static int is_for(const char *who, int rank)
{
    if (strcmp(who, "all") == 0)
        return 1;
    while (*who) {
        char *end;
        long lo = strtol(who, &end, 10), hi = lo;

        if (end == who)
            return -1;
        if (*end == '-')
            hi = strtol(end + 1, &end, 10);
        if (rank >= lo && rank <= hi)
            return 1;
        who = *end == ',' ? end + 1 : end;
        if (*end && *end != ',')
            return -1;
    }
    return 0;
}

static void split(struct instruction *l, char *text)
{
    char *save = NULL, *token = strtok_r(text, " \t\n", &save);

    l->op = token ? token : "";
    while ((token = strtok_r(NULL, " \t\n", &save))) {
        char *eq = strchr(token, '=');

        if (!eq || l->nwords == MAX_WORDS)
            bad_script(l, token);
        *eq = '\0';
        l->key[l->nwords] = token;
        l->value[l->nwords++] = eq + 1;
    }
}

/* A script has a barrier of all at the end of each test. */
static void begin_test(const char *name)
{
    static char now[128];

    if (*now && st.rank == 0) {
        printf("DONE %s\n", now);
        fflush(stdout);
    }
    snprintf(now, sizeof(now), "%s", name);
    now[strcspn(now, "\n")] = '\0';
    st.test = now;
}

static void run_line(char *text, int no)
{
    struct instruction l = {.number = no, .op = ""};
    char *who = text + strspn(text, " \t\n"), *rest;
    int mine;

    if (!*who || *who == '#')
        return;
    rest = who + strcspn(who, " \t\n");
    if (*rest)
        *rest++ = '\0';
    if (strcmp(who, "test") == 0) {
        begin_test(rest);
        return;
    }
    mine = is_for(who, st.rank);
    split(&l, rest);
    if (mine < 0)
        bad_script(&l, who);
    if (mine && !run_p2p(&l) && !run_wait(&l) && !run_coll(&l) &&
        !run_comm(&l) && !run_win(&l))
        bad_script(&l, "no such operation");
}

static int run_script(const char *path)
{
    FILE *f = fopen(path, "r");
    char text[LINE_SIZE];
    int no = 0;

    if (!f) {
        perror(path);
        return -1;
    }
    while (fgets(text, sizeof(text), f))
        run_line(text, ++no);
    fclose(f);
    return 0;
}

int main(int argc, char **argv)
{
    int provided;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &st.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &st.size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < MAX_COMMS; i++)
        st.comm[i] = i == 0 ? MPI_COMM_WORLD : MPI_COMM_NULL;
    data_start();
    if (argc != 2 || run_script(argv[1]) < 0)
        MPI_Abort(MPI_COMM_WORLD, 97);
    for (int i = 0; i < MAX_REQUESTS; i++)
        if (st.pending[i].active)
            fail(&st.pending[i].expect, "request %d was left open", i);
    printf("END rank %d of %d failures %d\n", st.rank, st.size, st.failures);
    fflush(stdout);
    data_stop();
    MPI_Finalize();
    return st.failures ? 1 : 0;
}
