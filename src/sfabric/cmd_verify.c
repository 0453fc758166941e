/* SPDX-License-Identifier: BSD-3-Clause
 *
 * sfabric verify: is the installation whole, and does Slurm work with this
 * host?  Compares the plugins' Slurm version with the installed one, looks at
 * what mpi/impi starts and loads, MUNGE, clocks and nodes, impi.conf and
 * switchmgr.conf, asks the daemons; --explain TEXT says what a known error
 * message means.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <slurm/slurm_version.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/ctl.h"
#include "base/netaddr.h"
#include "base/sitedir.h"
#include "health/mgrconf.h"
#include "impi/site.h"
#include "sfabric/explain.h"
#include "sfabric/findings.h"
#include "sfabric/plugin_file.h"
#include "sfabric/sfabric.h"
#include "sfabric/slurm_says.h"

#define ASK_SECONDS 20

static void version_text(uint32_t v, char buf[32])
{
    snprintf(buf, 32, "%u.%02u.%u", v >> 16 & 0xff, v >> 8 & 0xff, v & 0xff);
}

/* Is each hook there that the loader of the installed Slurm wants, and all
 * that the plugin uses of it?  Of a Slurm of another version, too. */
static void check_symbols(struct findings *f, const char *name,
                          const char *kind, const char *path)
{
    struct errbuf lacks, err;
    int n = plugin_file_lacks(path, SF_SLURMFULL, kind, &lacks, &err);

    if (n < 0) {
        if (errno != ENOENT) /* no Slurm here: the check of Slurm says so */
            findings_say(f, SFABRIC_UNKNOWN, name, "%s", err.text);
    } else if (n > 0) {
        findings_say(f, SFABRIC_DOWN, name,
                     "does not fit %s: %s; " SF_REBUILD " makes the packages "
                     "for the Slurm that is installed there",
                     SF_SLURMFULL, lacks.text);
    }
}

static void check_plugin(struct findings *f, const char *name, const char *kind)
{
    char path[4096], theirs[32], ours[32];
    struct errbuf err;
    uint32_t v;

    snprintf(path, sizeof(path), "%s/%s", SF_PLUGINDIR, name);
    if (plugin_file_version(path, &v, &err) < 0) {
        findings_say(f, SFABRIC_DOWN, name,
                     "%s; install slurm-fabric on this host", err.text);
        return;
    }
    version_text(v, theirs);
    version_text(SLURM_VERSION_NUMBER, ours);
    findings_say(f, v == SLURM_VERSION_NUMBER ? SFABRIC_OK : SFABRIC_DOWN, name,
                 "%s, for Slurm %s", path, theirs);
    check_symbols(f, name, kind, path);
}

/* Started by the plugins.  A host that only runs srun can do without those of
 * the nodes. */
static void check_program(struct findings *f, const char *name,
                          const char *without)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s/%s", SF_LIBEXECDIR, name);
    if (access(path, X_OK) == 0)
        findings_say(f, SFABRIC_OK, name, "%s", path);
    else
        findings_say(f, SFABRIC_DEGRADED, name, "%s: %s; without it %s", path,
                     strerror(errno), without);
}

/* Loaded into each task of mpi/impi: the front, and a back end for the task's
 * MPI library. */
static void check_libraries(struct findings *f)
{
    static const char begin[] = "libimpi-";
    DIR *dir = opendir(SF_PKGLIBDIR);
    struct dirent *d;
    struct stat st;
    char names[1024] = "";
    size_t n = 0;

    errno = EINVAL;
    if (access(SF_PKGLIBDIR "/libimpi.so", R_OK) == 0 &&
        stat(SF_PKGLIBDIR "/libimpi.so", &st) == 0 && S_ISREG(st.st_mode))
        findings_say(f, SFABRIC_OK, "libimpi.so", "%s", SF_PKGLIBDIR);
    else
        findings_say(f, SFABRIC_DOWN, "libimpi.so",
                     "%s/libimpi.so: %s; without it each task of --mpi=impi is "
                     "rank 0 of 1: install slurm-fabric on this node",
                     SF_PKGLIBDIR, strerror(errno));
    while (dir && (d = readdir(dir)) && n + 64 < sizeof(names))
        if (strncmp(d->d_name, begin, strlen(begin)) == 0 &&
            strlen(d->d_name) < 60)
            n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s",
                                  n ? ", " : "", d->d_name);
    if (dir)
        closedir(dir);
    if (n > 0)
        findings_say(f, SFABRIC_OK, "back ends", "%s", names);
    else
        findings_say(f, SFABRIC_DEGRADED, "back ends",
                     "none in %s: impi-backend --mpicc PATH builds one for an "
                     "MPI library",
                     SF_PKGLIBDIR);
}

/* The first line that begins with a word. */
struct wanted {
    const char *begin;
    char line[512];
};

static void take_wanted(char *line, void *arg)
{
    struct wanted *w = arg;

    if (!w->line[0] && strncmp(line, w->begin, strlen(w->begin)) == 0)
        snprintf(w->line, sizeof(w->line), "%s", line);
}

/* False: there is none. */
static bool line_of(const char *command, struct wanted *w)
{
    w->line[0] = '\0';
    slurm_says(command, ASK_SECONDS, take_wanted, w);
    return w->line[0] != '\0';
}

static void check_slurm(struct findings *f)
{
    struct wanted w = {.begin = "slurm"};
    const char *version;
    char ours[32];

    version_text(SLURM_VERSION_NUMBER, ours);
    if (!line_of("sinfo --version 2>/dev/null", &w) &&
        !line_of("slurmd -V 2>/dev/null", &w)) {
        findings_say(f, SFABRIC_UNKNOWN, "Slurm",
                     "neither sinfo --version nor slurmd -V says what it is");
        return;
    }
    version = strrchr(w.line, ' ');
    version = version ? version + 1 : w.line;
    if (strcmp(version, ours) == 0)
        findings_say(f, SFABRIC_OK, "Slurm", "%s", w.line);
    else
        findings_say(f, SFABRIC_DOWN, "Slurm",
                     "%s is installed, slurm-fabric was built for %s: Slurm "
                     "will refuse the plugins; on a build host "
                     "(slurm-fabric-source), %s makes the packages for the "
                     "Slurm that is installed there",
                     w.line, ours, SF_REBUILD);
}

static void check_slurm_conf(struct findings *f)
{
    struct wanted w = {.begin = "SwitchType"};

    if (!line_of("scontrol show config 2>/dev/null", &w))
        return;
    if (strstr(w.line, "switch/elan"))
        findings_say(f, SFABRIC_OK, "SwitchType", "switch/elan");
    else
        findings_say(f, SFABRIC_DEGRADED, "SwitchType",
                     "not switch/elan: steps have no capabilities");
}

/* ---- nodes --------------------------------------------------------------- */

struct nodes {
    struct findings *f;
    char list[1024]; /* of those that get no jobs */
    unsigned n, bad;
    bool here; /* this host is one */
};

/* "n1 (drained: cable)", as far as there is room. */
static void list_node(struct nodes *s, const struct slurm_node *node)
{
    size_t len = strlen(s->list);

    if (len + 4 < sizeof(s->list))
        snprintf(s->list + len, sizeof(s->list) - len, "%s%s (%s%s%s)",
                 len ? ", " : "", node->name, node->state,
                 node->reason[0] ? ": " : "", node->reason);
}

static void take_node(const struct slurm_node *node, void *arg)
{
    struct nodes *s = arg;
    int status = slurm_node_status(node->state);
    bool here = strcmp(node->name, s->f->host) == 0;

    s->n++;
    if (here) {
        s->here = true;
        findings_say(s->f, status, "this node", "%s%s%s%s", node->state,
                     node->reason[0] ? ": " : "", node->reason,
                     status == SFABRIC_OK ? "" : "; it gets no jobs");
    }
    if (status == SFABRIC_OK)
        return;
    s->bad++;
    list_node(s, node);
}

static void check_nodes(struct findings *f)
{
    struct nodes s = {.f = f};

    if (slurm_nodes(take_node, &s) < 0)
        findings_say(f, SFABRIC_UNKNOWN, "nodes",
                     "slurmctld does not say what nodes there are");
    else if (s.bad == 0)
        findings_say(f, SFABRIC_OK, "nodes", "%u, all take jobs", s.n);
    else
        findings_say(f, s.bad == s.n ? SFABRIC_DOWN : SFABRIC_DEGRADED, "nodes",
                     "%u of %u get no jobs: %s", s.bad, s.n, s.list);
}

/* ---- configuration ------------------------------------------------------- */

/* A process of a world of several libraries listens at a port, and so do the
 * two parts of impid that talk to other nodes. */
#define IMPID_PORTS 2

static void check_ports(struct findings *f, const struct impi_site *site)
{
    long ports = (long)site->port_hi - site->port_lo + 1;
    long need = sysconf(_SC_NPROCESSORS_ONLN) + IMPID_PORTS;

    if (site->port_lo == 0)
        return;
    if (ports >= need)
        findings_say(f, SFABRIC_OK, "PortRange", "%s", site->port_range);
    else
        findings_say(f, SFABRIC_DEGRADED, "PortRange",
                     "%s is %ld ports; a node needs one for each task and %d "
                     "more, %ld here if a job has a task on each processor "
                     "(SF-E220, SF-E401): widen it in impi.conf and in the "
                     "firewall",
                     site->port_range, ports, IMPID_PORTS, need);
}

static void check_addresses(struct findings *f, const struct impi_site *site)
{
    struct in6_addr addr, own;
    struct errbuf err;
    char text[NETADDR_IP_MAX];

    if (site->network && netaddr_in_network(&addr, site->network, &err) < 0)
        findings_say(f, SFABRIC_DOWN, "Network",
                     "%s: correct Network in impi.conf, or bring the "
                     "interface up",
                     err.text);
    if (!site->advertise)
        return;
    if (netaddr_parse_ip(&addr, site->advertise) < 0) {
        findings_say(f, SFABRIC_DOWN, "Advertise",
                     "%s in impi.conf is not an address", site->advertise);
    } else if (netaddr_towards(&own, &addr, &err) < 0) {
        findings_say(f, SFABRIC_DOWN, "Advertise",
                     "no way from here to %s (%s): steps would end with "
                     "SF-E320; correct Advertise in impi.conf",
                     site->advertise, err.text);
    } else {
        netaddr_print_ip(text, &own);
        findings_say(f, SFABRIC_OK, "Advertise", "%s, reached from %s",
                     site->advertise, text);
    }
}

static void check_impi_conf(struct findings *f)
{
    const char *path = SITEDIR_CONF("impi.conf");
    struct impi_site site;
    struct errbuf err;

    if (access(path, F_OK) < 0 && errno == ENOENT) {
        findings_say(f, SFABRIC_OK, "impi.conf", "none: defaults");
        return;
    }
    if (impi_site_read(&site, path, &err) < 0) {
        findings_say(f, SFABRIC_DOWN, "impi.conf",
                     "%s: each step with --mpi=impi is refused", err.text);
        return;
    }
    findings_say(f, SFABRIC_OK, "impi.conf", "%s", path);
    check_ports(f, &site);
    check_addresses(f, &site);
    impi_site_free(&site);
}

static void report(const char *text, void *arg)
{
    findings_say(arg, SFABRIC_DOWN, "switchmgr.conf", "%s", text);
}

static void check_conf(struct findings *f)
{
    struct mgrconf c;

    if (access(SITEDIR_CONF(MGRCONF_NAME), F_OK) < 0)
        findings_say(f, SFABRIC_OK, "switchmgr.conf", "none: defaults");
    else if (mgrconf_read(&c, SITEDIR_CONF(MGRCONF_NAME), false, report, f) ==
             0) {
        findings_say(f, SFABRIC_OK, "switchmgr.conf", "%s",
                     SITEDIR_CONF(MGRCONF_NAME));
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
        findings_say(f, SFABRIC_OK, daemon, "does not run on this host");
        return;
    }
    if (ctl_ask(path, "help", &reply, o->timeout, &err) < 0) {
        findings_say(f, SFABRIC_DEGRADED, daemon, "%s", err.text);
        return;
    }
    findings_say(f, SFABRIC_OK, daemon, "answers");
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

struct wishes {
    bool brief;
    const char *message; /* of which the meaning is asked */
};

enum { OPT_BRIEF = 0x1000, OPT_EXPLAIN };

static const struct option options[] = {
    {"brief", no_argument, NULL, OPT_BRIEF},
    {"explain", required_argument, NULL, OPT_EXPLAIN},
    {0},
};

static bool take(int val, const char *value, void *wishes)
{
    struct wishes *w = wishes;

    if (val == OPT_EXPLAIN)
        w->message = value;
    else
        w->brief = true;
    return true;
}

static int run(int argc, char **argv, struct sfabric_options *o)
{
    static const struct {
        const char *name, *control;
    } daemons[] = {{"switchmgrd", "switchmgrd.sock"},
                   {"mapperd", "mapperd.sock"},
                   {"hsnd", "hsnd-0.ctl"},
                   {"swfabd", "swfabd.ctl"}};
    struct wishes w = {false, NULL};
    struct findings f;

    if (sfabric_parse(&cmd_verify, argc, argv, o, &w) < 0)
        return SFABRIC_UNKNOWN;
    if (w.message)
        return explain_it(w.message);
    findings_begin(&f, o, w.brief);
    check_slurm(&f);
    check_plugin(&f, "switch_elan.so", "switch");
    check_plugin(&f, "mpi_impi.so", "mpi");
    check_program(&f, "elan-holder", "switch/elan refuses steps on this host");
    check_program(&f, "impid", "no task runs with --mpi=impi on this host");
    check_program(&f, "impi-server", "srun on this host has no --mpi=impi");
    check_libraries(&f);
    if (slurm_answers(&f)) {
        check_slurm_conf(&f);
        check_nodes(&f);
    }
    check_impi_conf(&f);
    check_conf(&f);
    for (size_t i = 0; i < sizeof(daemons) / sizeof(daemons[0]); i++)
        check_daemon(&f, o, daemons[i].name, daemons[i].control);
    return findings_end(&f);
}

const struct sfabric_cmd cmd_verify = {
    .name = "verify",
    .args = "[--brief|--explain TEXT]",
    .help = "is the installation whole? what does a message mean?",
    .options = options,
    .take = take,
    .run = run,
};
