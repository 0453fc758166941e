/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "health/mgrconf.h"
#include "health/rate.h"

#define TEXT(key, member) CONF_KEY_STRING(mgrconf, key, member)
#define FLAG(key, member) CONF_KEY_BOOL(mgrconf, key, member)
#define NUMBER(key, member, lo, hi) CONF_KEY_INT(mgrconf, key, member, lo, hi)
#define DAY 86400L

static const struct conf_key keys[] = {
    TEXT("Listen", listen),
    TEXT("ReportSocket", report_socket),
    TEXT("User", user),
    TEXT("ServiceUser", service_user),
    TEXT("MungeSocket", munge_socket),
    TEXT("Reporters", reporters),
    FLAG("CheckSource", check_source),
    TEXT("MapperNodes", mapper_nodes),
    TEXT("LinkNodes", link_nodes),
    TEXT("ControlSocket", control_socket),
    TEXT("ControlGroup", control_group),
    TEXT("MetricsListen", metrics_listen),
    TEXT("MetricsPath", metrics_path),
    TEXT("MetricsHosts", metrics_hosts),
    FLAG("PageJobs", page_jobs),
    TEXT("StateDir", state_dir),
    TEXT("HealthTable", health_table),
    TEXT("Elanhosts", elanhosts),
    TEXT("SlurmConf", slurm_conf),
    NUMBER("TableInterval", table_interval, 1, 3600),
    NUMBER("StateInterval", state_interval, 1, 3600),
    NUMBER("HistoryLinks", history_links, 0, SF_HISTORY_LINKS_MAX),
    NUMBER("HsndStale", hsnd_stale, 1, DAY),
    NUMBER("MapperStale", mapper_stale, 1, DAY),
    NUMBER("LinksStale", links_stale, 1, DAY),
    NUMBER("NicStale", nic_stale, 1, DAY),
    TEXT("NicUncabled", nic_uncabled),
    TEXT("NicSlow", nic_slow),
    NUMBER("DownAfter", down_after, 0, DAY),
    NUMBER("DegradeAfter", degrade_after, 0, DAY),
    NUMBER("UpAfter", up_after, 0, DAY),
    NUMBER("FlapCount", flap_count, 0, 16),
    NUMBER("FlapWindow", flap_window, 1, DAY),
    NUMBER("FlapHold", flap_hold, 0, DAY),
    NUMBER("FlapQuiet", flap_quiet, 1, DAY),
    NUMBER("ForgetAfter", forget_after, 60, 366 * DAY),
    NUMBER("LeaderLease", leader_lease, 0, DAY),
    NUMBER("SilentAfter", silent_after, 0, DAY),
    TEXT("SilentPolicy", silent_policy),
    NUMBER("EchoLoss", echo_loss, 1, 100),
    NUMBER("EchoReporters", echo_reporters, 1, 8),
    NUMBER("UplinkPercent", uplink_percent, 0, 100),
    NUMBER("ErrorRate", error_rate, 0, RATE_WHOLE),
    NUMBER("ErrorLeast", error_least, 1, INT32_MAX),
    NUMBER("ErrorTraffic", error_traffic, 1, INT32_MAX),
    NUMBER("ErrorWindow", error_window, 1, DAY),
    NUMBER("ErrorClean", error_clean, 1, 10000),
    FLAG("Drain", drain),
    FLAG("DrainFlapping", drain_flapping),
    FLAG("DrainDegraded", drain_degraded),
    FLAG("RefuseFlapping", refuse_flapping),
    FLAG("DryRun", dry_run),
    FLAG("Features", features),
    FLAG("Extra", extra),
    FLAG("Comment", comment),
    TEXT("DrainRails", drain_rails),
    TEXT("Maintenance", maintenance),
    NUMBER("DrainAfter", drain_after, 0, DAY),
    NUMBER("ResumeAfter", resume_after, 0, DAY),
    NUMBER("StartGrace", start_grace, 0, DAY),
    NUMBER("DrainMax", drain_max, 0, CAPS_MAX),
    NUMBER("DrainInterval", drain_interval, 1, DAY),
    NUMBER("DrainPercent", drain_percent, 0, 100),
    NUMBER("SlurmPoll", slurm_poll, 1, 3600),
    NUMBER("SlurmRate", slurm_rate, 1, 1000),
    TEXT("StalePolicy", stale_policy),
    TEXT("DownPolicy", down_policy),
    NUMBER("BusyGrace", busy_grace, 0, DAY),
    NUMBER("RefusePercent", refuse_percent, 0, 100),
    NUMBER("StaleAfter", stale_after, 1, DAY),
    TEXT("LinkStatus", link_status),
    NUMBER("LinkInterval", link_interval, 1, DAY),
    TEXT("TopologyConf", topology_conf),
    TEXT("TopologyMap", topology_map),
    TEXT("TopologyDomains", topology_domains),
    NUMBER("TopologyInterval", topology_interval, 1, DAY),
    FLAG("TopologyReconfigure", topology_reconfigure),
};
#define NKEYS (sizeof(keys) / sizeof(keys[0]))

static void defaults(struct mgrconf *c)
{
    *c = (struct mgrconf){
        .check_source = true,
        .table_interval = 5,
        .state_interval = 30,
        .history_links = 16384,
        .hsnd_stale = 15,
        .mapper_stale = 15,
        .links_stale = 60,
        .nic_stale = 15,
        .degrade_after = 2,
        .up_after = 10,
        .flap_count = 4,
        .flap_window = 300,
        .flap_hold = 10,
        .flap_quiet = 300,
        .forget_after = DAY,
        .leader_lease = 5,
        .silent_after = 300,
        .echo_loss = 20,
        .echo_reporters = 3,
        .uplink_percent = 50,
        .error_rate = 100,
        .error_least = 10,
        .error_traffic = 1000,
        .error_window = 60,
        .error_clean = 3,
        .drain = true,
        .drain_flapping = true,
        .features = true,
        .extra = true,
        .comment = true,
        .drain_after = 10,
        .resume_after = 60,
        .start_grace = 60,
        .drain_max = 8,
        .drain_interval = 600,
        .drain_percent = 10,
        .slurm_poll = 5,
        .slurm_rate = 20,
        .busy_grace = 30,
        .refuse_percent = 50,
        .stale_after = 30,
        .link_interval = 10,
        .topology_interval = 60,
        .page_jobs = true,
        .topology_reconfigure = true,
    };
}

static void absolute(struct conf_check *k, const char *key, const char *value)
{
    if (value && *value && *value != '/')
        conf_wrong(k, key, "not an absolute path");
}

/* Slurm looks for topology.yaml beside slurm.conf and for no other. */
static void yaml_named(struct conf_check *k, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *dot = slash ? strrchr(slash, '.') : NULL;

    if (dot && (strcmp(dot, ".yaml") == 0 || strcmp(dot, ".yml") == 0) &&
        strcmp(slash, "/topology.yaml") != 0)
        conf_wrong(k, "TopologyConf", "YAML, but not named topology.yaml");
}

/* What one key alone does not show. */
static void check(struct mgrconf *c, struct conf_check *k)
{
    static const char *const stale[] = {"allow", "refuse", NULL};
    static const char *const down[] = {"refuse", "nobroadcast", "ignore", NULL};
    static const char *const rails[] = {"any", "all", NULL};
    static const char *const silent[] = {"degrade", "show", "refuse", NULL};
    static const char *const nic[] = {"degrade", "ignore", "show", "drain",
                                      NULL};
    static const char *const no_nic = "not ignore, show, degrade or drain";

    c->on_stale = (enum mgr_stale)conf_one_of(k, "StalePolicy", c->stale_policy,
                                              stale, "not allow or refuse");
    c->on_down =
        (enum mgr_down)conf_one_of(k, "DownPolicy", c->down_policy, down,
                                   "not refuse, nobroadcast or ignore");
    c->on_silent =
        (enum mgr_silent)conf_one_of(k, "SilentPolicy", c->silent_policy,
                                     silent, "not degrade, show or refuse");
    c->on_uncabled = (enum mgr_nic)conf_one_of(k, "NicUncabled",
                                               c->nic_uncabled, nic, no_nic);
    c->on_slow =
        (enum mgr_nic)conf_one_of(k, "NicSlow", c->nic_slow, nic, no_nic);
    conf_one_of(k, "DrainRails", c->drain_rails, rails, "not any or all");
    absolute(k, "HealthTable", c->health_table);
    absolute(k, "ReportSocket", c->report_socket);
    absolute(k, "ControlSocket", c->control_socket);
    absolute(k, "StateDir", c->state_dir);
    absolute(k, "TopologyConf", c->topology_conf);
    yaml_named(k, c->topology_conf);
    absolute(k, "TopologyDomains", c->topology_domains);
    absolute(k, "Elanhosts", c->elanhosts);
    if (c->stale_after <= c->table_interval)
        conf_wrong(k, "StaleAfter", "not more than TableInterval");
    if (c->link_status && strncmp(c->link_status, "dir:/", 5) != 0)
        conf_wrong(k, "LinkStatus", "not dir:/PATH");
}

static int finish(struct mgrconf *c, const char *name, int rc,
                  conf_error_f *report, void *arg)
{
    struct conf_check k = {name, report, arg, 0};
    int e = errno;

    if (rc == 0) {
        check(c, &k);
        e = EINVAL;
    }
    if (rc == 0 && k.errors == 0)
        return 0;
    mgrconf_free(c);
    errno = e;
    return -1;
}

int mgrconf_read(struct mgrconf *c, const char *path, bool may_be_absent,
                 conf_error_f *report, void *arg)
{
    bool must = !may_be_absent;

    defaults(c);
    return finish(c, path, conf_read(path, must, keys, NKEYS, c, report, arg),
                  report, arg);
}

int mgrconf_parse(struct mgrconf *c, const char *name, const char *text,
                  conf_error_f *report, void *arg)
{
    defaults(c);
    return finish(c, name, conf_parse(name, text, keys, NKEYS, c, report, arg),
                  report, arg);
}

void mgrconf_free(struct mgrconf *c)
{
    conf_free(keys, NKEYS, c);
}

void mgrconf_policy(const struct mgrconf *c, struct policy_conf *out)
{
    *out = (struct policy_conf){
        .drain = c->drain,
        .drain_flapping = c->drain_flapping,
        .drain_degraded = c->drain_degraded,
        .refuse_flapping = c->refuse_flapping,
        .refuse_silent = c->on_silent == MGR_SILENT_REFUSE,
        .any_rail = !c->drain_rails || strcasecmp(c->drain_rails, "all") != 0,
        .drain_after = c->drain_after * 1000,
        .resume_after = c->resume_after * 1000,
        .start_grace = c->start_grace * 1000,
    };
}

void mgrconf_caps(const struct mgrconf *c, struct caps_conf *out)
{
    *out = (struct caps_conf){.max = (uint32_t)c->drain_max,
                              .interval = c->drain_interval * 1000,
                              .max_percent = (uint32_t)c->drain_percent};
}
