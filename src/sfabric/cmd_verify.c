/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric verify: is the installation whole?  Compares the plugins' Slurm
 * version with the installed one, looks at slurm.conf and switchmgr.conf, asks
 * the daemons; --explain TEXT says what a known error message means.
 */
#include "config.h"

#include <errno.h>
#include <slurm/slurm_version.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ctl.h"
#include "base/sitedir.h"
#include "health/mgrconf.h"
#include "sfabric/explain.h"
#include "sfabric/plugin_file.h"
#include "sfabric/sfabric.h"

struct findings {
    int status;
    bool color;
};

static void say(struct findings *f, int status, const char *what,
                const char *text)
{
    static const char *const words[] = {"ok", "warn", "wrong", "unknown"};

    f->status = sfabric_worse(f->status, status);
    printf("%-8s %-16s %s\n", words[status], what, text);
}

static void version_text(uint32_t v, char buf[32])
{
    snprintf(buf, 32, "%u.%02u.%u", v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff);
}

static void check_plugin(struct findings *f, const char *name)
{
    char path[4096], theirs[32], ours[32], text[512];
    struct errbuf err;
    uint32_t v;

    snprintf(path, sizeof(path), "%s/%s", SF_PLUGINDIR, name);
    if (plugin_file_version(path, &v, &err) < 0) {
        say(f, SFABRIC_DOWN, name, err.text);
        return;
    }
    version_text(v, theirs);
    version_text(SLURM_VERSION_NUMBER, ours);
    snprintf(text, sizeof(text), "%.300s, for Slurm %s", path, theirs);
    say(f, v == SLURM_VERSION_NUMBER ? SFABRIC_OK : SFABRIC_DOWN, name, text);
}

/* Started by the plugins.  A host that only runs srun can do without those of
 * the nodes. */
static void check_program(struct findings *f, const char *name,
                          const char *without)
{
    char path[4096], text[4096 + 128];

    snprintf(path, sizeof(path), "%s/%s", SF_LIBEXECDIR, name);
    if (access(path, X_OK) == 0) {
        say(f, SFABRIC_OK, name, path);
        return;
    }
    snprintf(text, sizeof(text), "%s: %s; without it %s", path, strerror(errno),
             without);
    say(f, SFABRIC_DEGRADED, name, text);
}

/* The first line of a command that begins with `begin`; false: none. */
static bool line_of(const char *command, const char *begin, char *buf,
                    size_t size)
{
    FILE *p = popen(command, "re");
    bool found = false;

    if (!p)
        return false;
    while (!found && fgets(buf, (int)size, p))
        found = strncmp(buf, begin, strlen(begin)) == 0;
    while (fgetc(p) != EOF) /* or it dies of its pipe */
        ;
    pclose(p);
    buf[strcspn(buf, "\n")] = '\0';
    return found;
}

static void check_slurm(struct findings *f)
{
    char line[256], ours[32], text[400];
    const char *version;

    version_text(SLURM_VERSION_NUMBER, ours);
    if (!line_of("sinfo --version 2>/dev/null", "slurm", line, sizeof(line)) &&
        !line_of("slurmd -V 2>/dev/null", "slurm", line, sizeof(line))) {
        say(f, SFABRIC_UNKNOWN, "Slurm",
            "neither sinfo --version nor slurmd -V says what it is");
        return;
    }
    version = strrchr(line, ' ');
    version = version ? version + 1 : line;
    if (strcmp(version, ours) == 0) {
        say(f, SFABRIC_OK, "Slurm", line);
        return;
    }
    snprintf(text, sizeof(text),
             "%.100s is installed, slurm-fabric was built for %s: Slurm will "
             "refuse the plugins; rebuild",
             line, ours);
    say(f, SFABRIC_DOWN, "Slurm", text);
}

static void check_slurm_conf(struct findings *f)
{
    char line[512];

    if (!line_of("scontrol show config 2>/dev/null", "SwitchType", line,
                 sizeof(line))) {
        say(f, SFABRIC_UNKNOWN, "SwitchType", "slurmctld does not answer");
        return;
    }
    say(f, strstr(line, "switch/elan") ? SFABRIC_OK : SFABRIC_DEGRADED,
        "SwitchType",
        strstr(line, "switch/elan")
            ? "switch/elan"
            : "not switch/elan: steps have no capabilities");
}

static void report(const char *text, void *arg)
{
    say(arg, SFABRIC_DOWN, "switchmgr.conf", text);
}

static void check_conf(struct findings *f)
{
    struct mgrconf c;

    if (access(SITEDIR_CONF(MGRCONF_NAME), F_OK) < 0)
        say(f, SFABRIC_OK, "switchmgr.conf", "none: defaults");
    else if (mgrconf_read(&c, SITEDIR_CONF(MGRCONF_NAME), false, report, f) ==
             0) {
        say(f, SFABRIC_OK, "switchmgr.conf", SITEDIR_CONF(MGRCONF_NAME));
        mgrconf_free(&c);
    }
}

static void check_daemon(struct findings *f, const struct sfabric_options *o,
                         const char *daemon, const char *control)
{
    char path[108];
    struct json_object *reply;
    struct errbuf err;

    snprintf(path, sizeof(path), "%s", SITEDIR_RUN(control));
    if (access(path, F_OK) < 0) {
        say(f, SFABRIC_OK, daemon, "does not run on this host");
        return;
    }
    if (ctl_ask(path, "help", &reply, o->timeout, &err) < 0) {
        say(f, SFABRIC_DEGRADED, daemon, err.text);
        return;
    }
    say(f, SFABRIC_OK, daemon, "answers");
    json_object_put(reply);
}

static int explain_it(const char *message)
{
    const char *meaning = explain(message);

    if (!meaning)
        return sfabric_fail("this message is not known here");
    puts(meaning);
    return SFABRIC_OK;
}

static int run(int argc, char **argv, const struct sfabric_options *o)
{
    static const struct {
        const char *name, *control;
    } daemons[] = {{"switchmgrd", "switchmgrd.sock"},
                   {"mapperd", "mapperd.sock"},
                   {"hsnd", "hsnd-0.ctl"},
                   {"swfabd", "swfabd.ctl"}};
    struct findings f = {SFABRIC_OK, o->color};

    if (argc == 3 && strcmp(argv[1], "--explain") == 0)
        return explain_it(argv[2]);
    if (argc != 1)
        return sfabric_usage(&cmd_verify);
    check_slurm(&f);
    check_plugin(&f, "switch_elan.so");
    check_plugin(&f, "mpi_impi.so");
    check_program(&f, "elan-holder", "switch/elan refuses steps on this host");
    check_program(&f, "impid", "no task runs with --mpi=impi on this host");
    check_program(&f, "impi-server", "srun on this host has no --mpi=impi");
    check_slurm_conf(&f);
    check_conf(&f);
    for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++)
        check_daemon(&f, o, daemons[i].name, daemons[i].control);
    return f.status;
}

const struct sfabric_cmd cmd_verify = {
    .name = "verify",
    .args = "[--explain TEXT]",
    .help = "is the installation whole? what does a message mean?",
    .run = run,
};
