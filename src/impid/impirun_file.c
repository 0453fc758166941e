/* SPDX-License-Identifier: BSD-3-Clause
 * A whole job by one command: APPFILE has a line for each client,
 *
 *   MACHINE ARGUMENTS OF impirun
 *
 * in which $hostport stands for the address of the server.  A line for this
 * machine is run directly, others through the launcher.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/limits.h"
#include "impid/impirun.h"

#define HOSTPORT "$hostport"

struct launch {
    char *machine;
    char *command; /* arguments of impirun, $hostport replaced */
    pid_t pid;
};

struct appfile {
    struct launch lines[SF_IMPI_CLIENTS_MAX];
    unsigned n, left; /* left: still running */
    int signals;
    bool ending; /* the others were told to */
    bool server_gone;
    int worst;
};

static char *replace(const char *text, const char *address)
{
    const char *at = strstr(text, HOSTPORT);
    char *out = NULL;

    if (!at)
        return strdup(text);
    return asprintf(&out, "%.*s%s%s", (int)(at - text), text, address,
                    at + strlen(HOSTPORT)) < 0
               ? NULL
               : out;
}

static int add_line(struct appfile *app, const char *path, unsigned number,
                    char *text, const char *address, struct errbuf *err)
{
    struct launch *l = &app->lines[app->n];
    size_t len;

    text += strspn(text, " \t");
    text[strcspn(text, "\r\n")] = '\0';
    if (!*text || *text == '#')
        return 0;
    len = strcspn(text, " \t");
    if (!text[len] || !strstr(text + len, "-client"))
        return errprintf(err,
                         "%s:%u: expected: MACHINE -client RANK "
                         "$hostport COMMAND ...",
                         path, number);
    if (app->n == SF_IMPI_CLIENTS_MAX)
        return errprintf(err, "%s:%u: more than %u clients", path, number,
                         SF_IMPI_CLIENTS_MAX);
    text[len++] = '\0';
    len += strspn(text + len, " \t");
    l->machine = strdup(text);
    l->command = replace(text + len, address);
    app->n++;
    return l->machine && l->command ? 0 : errprintf(err, "out of memory");
}

static int read_file(struct appfile *app, const struct impirun *run,
                     const char *address, struct errbuf *err)
{
    FILE *f = fopen(run->file, "re");
    char *text = NULL;
    size_t size = 0;
    unsigned number = 0;
    int rc = 0;

    if (!f)
        return errprintf(err, "%s: %s", run->file, strerror(errno));
    while (rc == 0 && getline(&text, &size, f) > 0)
        rc = add_line(app, run->file, ++number, text, address, err);
    if (rc == 0 && app->n != run->nclients)
        rc = errprintf(err, "%s: %u clients, and -server %u waits for %u",
                       run->file, app->n, run->nclients, run->nclients);
    free(text);
    fclose(f);
    return rc;
}

static bool is_this_machine(const char *name)
{
    char own[256] = "";

    gethostname(own, sizeof(own) - 1);
    return strcmp(name, own) == 0 || strcmp(name, "localhost") == 0 ||
           strcmp(name, "127.0.0.1") == 0;
}

/* Our own path, so that no other impirun of the search path is run. */
static const char *own_path(void)
{
    static char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

    return n > 0 ? path : "impirun";
}

/* The shell takes the line apart, as it does on a remote machine. */
static void run_line(const struct launch *l, const struct impirun *run)
{
    sigset_t none;
    char *here;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (is_this_machine(l->machine)) {
        if (asprintf(&here, "exec '%s' %s", own_path(), l->command) > 0)
            execl("/bin/sh", "sh", "-c", here, (char *)NULL);
    } else if (asprintf(&here, "exec %s '%s' impirun %s",
                        run->launcher ? run->launcher : "ssh", l->machine,
                        l->command) > 0) {
        execl("/bin/sh", "sh", "-c", here, (char *)NULL);
    }
    fprintf(stderr, "impirun: %s: %s\n", l->machine, strerror(errno));
    _exit(127);
}

static int start_lines(struct appfile *app, const struct impirun *run)
{
    for (unsigned i = 0; i < app->n; i++) {
        app->lines[i].pid = fork();
        if (app->lines[i].pid == 0)
            run_line(&app->lines[i], run);
        if (app->lines[i].pid < 0)
            return -1;
        app->left++;
    }
    return 0;
}

static void end_others(struct appfile *app)
{
    app->ending = true;
    for (unsigned i = 0; i < app->n; i++)
        if (app->lines[i].pid > 0)
            kill(app->lines[i].pid, SIGTERM);
}

static struct launch *line_of(struct appfile *app, pid_t pid)
{
    for (unsigned i = 0; i < app->n; i++)
        if (app->lines[i].pid == pid)
            return &app->lines[i];
    return NULL; /* impi-server */
}

/* One client that fails takes the others along.  The job's code is the worst; a
 * client that ended because we told it to does not count. */
static void line_ended(struct appfile *app, struct launch *l, int code)
{
    l->pid = 0;
    app->left--;
    if (code == 0 || (app->ending && code == 128 + SIGTERM))
        return;
    if (code > app->worst)
        app->worst = code;
    end_others(app);
}

static void reap(struct appfile *app)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct launch *l = line_of(app, pid);

        if (l)
            line_ended(app, l, impirun_exit_code(status));
    }
}

static void on_signals(struct appfile *app)
{
    struct signalfd_siginfo info;

    while (read(app->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGCHLD)
            continue;
        app->worst = app->worst ? app->worst : 128 + (int)info.ssi_signo;
        end_others(app);
    }
    reap(app);
}

/* Why the server turned a client away, say.  How the job ends the clients
 * tell. */
static void on_control(struct appfile *app, struct server_words *c)
{
    struct server_line line;

    app->server_gone = !server_words_read(c);
    while (server_words_next(c, &line))
        if (*line.text &&
            (line.kind == SERVER_LINE_NOTE || line.kind == SERVER_LINE_ABORT))
            fprintf(stderr, "impirun: %s\n", line.text);
}

static void wait_lines(struct appfile *app, struct server_words *c)
{
    struct pollfd p[2] = {{.fd = app->signals, .events = POLLIN},
                          {.fd = c->fd, .events = POLLIN}};

    while (app->left > 0) {
        if (poll(p, app->server_gone ? 1 : 2, -1) < 0 && errno != EINTR)
            break;
        if (!app->server_gone && p[1].revents)
            on_control(app, c);
        on_signals(app);
    }
}

static void run_lines(struct appfile *app, const struct impirun *run,
                      struct server_words *c)
{
    app->signals = impirun_signals();
    if (app->signals < 0 || start_lines(app, run) < 0) {
        fprintf(stderr, "impirun: %s\n", strerror(errno));
        app->worst = IMPIRUN_FAILED;
        end_others(app);
    }
    wait_lines(app, c);
}

int impirun_file(const struct impirun *run, struct server_words *c,
                 const char *address)
{
    struct appfile app = {.signals = -1};
    struct errbuf err = {""};

    if (read_file(&app, run, address, &err) < 0) {
        fprintf(stderr, "impirun: %s\n", err.text);
        app.worst = IMPIRUN_FAILED;
    } else {
        run_lines(&app, run, c);
    }
    for (unsigned i = 0; i < app.n; i++) {
        free(app.lines[i].machine);
        free(app.lines[i].command);
    }
    return app.worst;
}
