/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See slurm_says.h.
 */
#define _GNU_SOURCE
#include "sfabric/slurm_says.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "base/auth_info.h"
#include "base/seal.h"

#define ASK_SECONDS 20
/* Slurm's daemons take a credential of MUNGE for 300 s; a minute off is
 * halfway to trouble. */
#define CLOCK_WARN 60
#define CLOCK_WRONG 240

int slurm_says(const char *command, int seconds, slurm_line_f *each, void *arg)
{
    char *all, *line = NULL;
    size_t size = 0;
    FILE *p;
    int rc;

    if (asprintf(&all, "exec timeout -k 2 %d %s", seconds, command) < 0)
        return -1;
    p = popen(all, "re");
    free(all);
    if (!p)
        return -1;
    while (getline(&line, &size, p) > 0) {
        line[strcspn(line, "\n")] = '\0';
        each(line, arg);
    }
    free(line);
    rc = pclose(p);
    return rc >= 0 && WIFEXITED(rc) ? WEXITSTATUS(rc) : -1;
}

/* ---- does slurmctld answer? ---------------------------------------------- */

struct config {
    char munge[256], as_of[64], why[512];
    bool refused;
};

/* "AuthInfo=socket=PATH,..." of slurm.conf, or as scontrol shows it. */
static void take_socket(struct config *c, const char *line)
{
    if (strncasecmp(line, "AuthInfo", 8) == 0)
        auth_info_munge_socket(line, c->munge, sizeof(c->munge));
}

/* Who gets no answer from slurmctld reads what the commands read. */
static void read_slurm_conf(struct config *c)
{
    const char *path = getenv("SLURM_CONF");
    FILE *f = fopen(path ? path : "/etc/slurm/slurm.conf", "re");
    char *line = NULL;
    size_t size = 0;

    while (f && getline(&line, &size, f) > 0)
        take_socket(c, line);
    free(line);
    if (f)
        fclose(f);
}

static void config_line(char *line, void *arg)
{
    struct config *c = arg;

    if (strncmp(line, "Configuration data as of ", 25) == 0) {
        snprintf(c->as_of, sizeof(c->as_of), "%s", line + 25);
    } else if (strcasestr(line, "error")) {
        snprintf(c->why, sizeof(c->why), "%s", line);
        /* How a daemon that cannot read a message ends a connection. */
        c->refused |= strcasestr(line, "zero bytes") != NULL ||
                      strcasestr(line, "authentication") != NULL;
    } else {
        take_socket(c, line);
    }
}

/* A credential there and back. */
static bool munge_works(struct findings *f, const char *socket)
{
    const char *path = *socket ? socket : NULL;
    struct seal_info info;
    struct errbuf err;
    char *cred = NULL;
    void *payload = NULL;
    size_t len;
    bool good = seal_make(&cred, "?", 1, SEAL_ANY_UID, 0, path, &err) == 0 &&
                seal_open(&payload, &len, &info, cred, path, &err) == 0;

    free(cred);
    free(payload);
    if (good)
        findings_say(f, SFABRIC_OK, "munged", "answers%s%s", path ? " at " : "",
                     socket);
    else
        findings_say(f, SFABRIC_DOWN, "munged",
                     "%s; start it (systemctl start munge), then slurmd",
                     err.text);
    return good;
}

/* The controller's clock, as it writes it, in this host's time zone. */
static void look_at_clock(struct findings *f, const char *as_of)
{
    struct tm tm = {.tm_isdst = -1};
    long off;

    if (!strptime(as_of, "%Y-%m-%dT%H:%M:%S", &tm))
        return;
    off = labs((long)difftime(time(NULL), mktime(&tm)));
    if (off < CLOCK_WARN)
        findings_say(f, SFABRIC_OK, "clock", "as slurmctld's");
    else
        findings_say(f, off < CLOCK_WRONG ? SFABRIC_DEGRADED : SFABRIC_DOWN,
                     "clock",
                     "%ld s away from slurmctld's: MUNGE takes no credential "
                     "that is 300 s old or of the future; let NTP set it",
                     off);
}

bool slurm_answers(struct findings *f)
{
    struct config c = {.munge = ""};
    int rc =
        slurm_says("scontrol show config 2>&1", ASK_SECONDS, config_line, &c);
    bool munged;

    if (rc != 0)
        read_slurm_conf(&c);
    munged = munge_works(f, c.munge);
    if (rc == 0 && c.as_of[0]) {
        findings_say(f, SFABRIC_OK, "slurmctld", "answers");
        look_at_clock(f, c.as_of);
        return true;
    }
    if (rc == 127)
        findings_say(f, SFABRIC_UNKNOWN, "slurmctld",
                     "there is no scontrol on this host to ask it with");
    else if (c.refused && munged)
        findings_say(f, SFABRIC_DOWN, "slurmctld",
                     "it listens but refuses what this host says (%s): the "
                     "munge.key here is not the controller's, or the clocks "
                     "are more than 5 minutes apart; slurmctld's log says "
                     "which",
                     c.why);
    else
        findings_say(f, munged ? SFABRIC_UNKNOWN : SFABRIC_DOWN, "slurmctld",
                     "it does not answer%s%s", c.why[0] ? ": " : "", c.why);
    return false;
}

/* ---- nodes --------------------------------------------------------------- */

/* The value of KEY=, up to the next blank; "": none. */
static void value_of(const char *line, const char *key, char *out, size_t size)
{
    const char *at = line;
    size_t n = strlen(key);

    out[0] = '\0';
    while ((at = strstr(at, key)) && at != line && at[-1] != ' ')
        at += n;
    if (at)
        snprintf(out, size, "%.*s", (int)strcspn(at + n, " "), at + n);
}

/* A reason has blanks and stands last. */
static void reason_of(const char *line, char *out, size_t size)
{
    const char *at = strstr(line, " Reason=");

    snprintf(out, size, "%s", at ? at + 8 : "");
    for (size_t n = strlen(out); n > 0 && out[n - 1] == ' '; n--)
        out[n - 1] = '\0';
}

struct walk {
    slurm_node_f *each;
    void *arg;
    int n;
};

static void node_line(char *line, void *arg)
{
    struct walk *w = arg;
    struct slurm_node node;
    char port[16];

    if (strncmp(line, "NodeName=", 9) != 0)
        return;
    value_of(line, "NodeName=", node.name, sizeof(node.name));
    value_of(line, "NodeHostName=", node.host, sizeof(node.host));
    value_of(line, "NodeAddr=", node.addr, sizeof(node.addr));
    value_of(line, "State=", node.state, sizeof(node.state));
    value_of(line, "Port=", port, sizeof(port));
    reason_of(line, node.reason, sizeof(node.reason));
    node.port = (uint16_t)(port[0] ? strtoul(port, NULL, 10) : 6818);
    w->n++;
    w->each(&node, w->arg);
}

int slurm_nodes(slurm_node_f *each, void *arg)
{
    struct walk w = {each, arg, 0};
    int rc = slurm_says("scontrol -o show node 2>/dev/null", ASK_SECONDS,
                        node_line, &w);

    return rc == 0 ? w.n : -1;
}

/* ---- jobs ---------------------------------------------------------------- */

/* "2026-11-27T03:43:09", local time; 0: "Unknown" and the like. */
static int64_t time_of(const char *text)
{
    struct tm tm = {.tm_isdst = -1};

    return strptime(text, "%Y-%m-%dT%H:%M:%S", &tm)
               ? (int64_t)mktime(&tm) * 1000
               : 0;
}

static void job_line(char *line, void *arg)
{
    struct slurm_job *job = arg;
    char when[32];

    if (strncmp(line, "JobId=", 6) != 0 || job->start)
        return;
    value_of(line, "NodeList=", job->nodes, sizeof(job->nodes));
    if (job->nodes[0] == '(')
        job->nodes[0] = '\0';
    value_of(line, "JobState=", job->state, sizeof(job->state));
    value_of(line, "StartTime=", when, sizeof(when));
    job->start = time_of(when);
    value_of(line, "EndTime=", when, sizeof(when));
    job->end = time_of(when);
}

/* "n[0-3]|2026-11-27T03:43:09|2026-11-27T03:44:00|COMPLETED" */
static void sacct_line(char *line, void *arg)
{
    struct slurm_job *job = arg;
    char *rest = line, *f[4];

    for (int i = 0; i < 4; i++)
        if (!(f[i] = strsep(&rest, "|")))
            return;
    if (job->start || !time_of(f[1]))
        return;
    snprintf(job->nodes, sizeof(job->nodes), "%s", f[0]);
    job->start = time_of(f[1]);
    job->end = time_of(f[2]);
    snprintf(job->state, sizeof(job->state), "%s", f[3]);
}

bool slurm_find_job(const char *id, struct slurm_job *job)
{
    char command[128];

    memset(job, 0, sizeof(*job));
    snprintf(job->id, sizeof(job->id), "%s", id);
    snprintf(command, sizeof(command), "scontrol -o show job %s 2>/dev/null",
             id);
    slurm_says(command, ASK_SECONDS, job_line, job);
    if (!job->state[0]) {
        snprintf(command, sizeof(command),
                 "sacct -nPX -j %s -o NodeList,Start,End,State 2>/dev/null",
                 id);
        slurm_says(command, ASK_SECONDS, sacct_line, job);
    }
    return job->state[0] != '\0';
}

int slurm_node_status(const char *state)
{
    static const struct {
        const char *word;
        int status;
    } words[] = {{"POWERED_DOWN", SFABRIC_DEGRADED},
                 {"POWERING_DOWN", SFABRIC_DEGRADED},
                 {"DOWN", SFABRIC_DOWN},
                 {"INVAL", SFABRIC_DOWN},
                 {"FAIL", SFABRIC_DOWN},
                 {"ERROR", SFABRIC_DOWN},
                 {"NOT_RESPONDING", SFABRIC_DOWN},
                 {"UNKNOWN", SFABRIC_DOWN},
                 {"*", SFABRIC_DOWN}, /* does not answer */
                 {"DRAIN", SFABRIC_DEGRADED},
                 {"MAINT", SFABRIC_DEGRADED},
                 {"FUTURE", SFABRIC_DEGRADED}};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strstr(state, words[i].word))
            return words[i].status;
    return SFABRIC_OK;
}
