/* SPDX-License-Identifier: BSD-3-Clause
 *
 * switchmgr.conf, read by switchmgrd and (for what it may build steps on) by
 * switch/elan in slurmctld.  Keys and defaults: switchmgr.conf(5).
 */
#ifndef SF_HEALTH_MGRCONF_H
#define SF_HEALTH_MGRCONF_H

#include <stdbool.h>

#include "base/conf.h"
#include "health/policy.h"

/* Names in the directories of base/sitedir.h. */
#define MGRCONF_NAME "switchmgr.conf"
/* Written by switchmgrd's unprivileged side: a directory of its own. */
#define MGRCONF_RUN_DIR "switchmgrd"
#define MGRCONF_TABLE MGRCONF_RUN_DIR "/health"
#define MGRCONF_REPORTS MGRCONF_RUN_DIR "/reports.sock"

enum mgr_stale { MGR_STALE_ALLOW, MGR_STALE_REFUSE };
enum mgr_down { MGR_DOWN_REFUSE, MGR_DOWN_NOBROADCAST, MGR_DOWN_IGNORE };
enum mgr_nic { MGR_NIC_DEGRADE, MGR_NIC_IGNORE, MGR_NIC_SHOW, MGR_NIC_DRAIN };
enum mgr_silent { MGR_SILENT_DEGRADE, MGR_SILENT_SHOW, MGR_SILENT_REFUSE };

/* As in the file: times in seconds; texts are owned, NULL: not given. */
struct mgrconf {
    /* who reports, and where to */
    char *listen, *report_socket, *user, *service_user, *munge_socket;
    char *reporters, *mapper_nodes, *link_nodes;
    bool check_source;
    /* control, metrics, files */
    char *control_socket, *control_group, *metrics_listen, *metrics_path;
    char *metrics_hosts;
    char *state_dir, *health_table, *elanhosts, *slurm_conf;
    long table_interval, state_interval, history_links;
    /* judging */
    long hsnd_stale, mapper_stale, links_stale, nic_stale;
    long down_after, degrade_after;
    long up_after, flap_count, flap_window, flap_hold, flap_quiet;
    long forget_after, leader_lease, echo_loss, echo_reporters, uplink_percent;
    long silent_after;
    long error_rate, error_least, error_traffic, error_window, error_clean;
    char *silent_policy, *nic_uncabled, *nic_slow;
    /* acting */
    bool drain, drain_flapping, drain_degraded, refuse_flapping, dry_run;
    bool features, extra, comment;
    char *drain_rails, *maintenance;
    long drain_after, resume_after, start_grace;
    long drain_max, drain_interval, drain_percent;
    long slurm_poll, slurm_rate;
    /* steps */
    char *stale_policy, *down_policy;
    long busy_grace, stale_after, refuse_percent;
    bool page_jobs;
    /* link status and topology.conf */
    char *link_status, *topology_conf, *topology_map, *topology_domains;
    long link_interval, topology_interval;
    bool topology_reconfigure;
    /* found from the words above */
    enum mgr_stale on_stale;
    enum mgr_down on_down;
    enum mgr_silent on_silent;
    enum mgr_nic on_uncabled, on_slow;
};

/* Read a file; all its errors are reported (report may be NULL).  An absent
 * file gives the defaults when `may_be_absent`.  0, or -1 with errno EINVAL
 * (reported) or that of the file (reported); then *conf is empty. */
int mgrconf_read(struct mgrconf *conf, const char *path, bool may_be_absent,
                 conf_error_f *report, void *arg);
int mgrconf_parse(struct mgrconf *conf, const char *name, const char *text,
                  conf_error_f *report, void *arg);
void mgrconf_free(struct mgrconf *conf);

struct model_conf;
void mgrconf_model(const struct mgrconf *conf, struct model_conf *out);
void mgrconf_policy(const struct mgrconf *conf, struct policy_conf *out);
void mgrconf_caps(const struct mgrconf *conf, struct caps_conf *out);

#endif
