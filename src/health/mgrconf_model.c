/* SPDX-License-Identifier: BSD-3-Clause */
#include "health/mgrconf.h"
#include "health/model.h"

static enum tally_action action(enum mgr_nic nic)
{
    static const enum tally_action as[] = {[MGR_NIC_DEGRADE] = TALLY_DEGRADE,
                                           [MGR_NIC_IGNORE] = TALLY_IGNORE,
                                           [MGR_NIC_SHOW] = TALLY_SHOW,
                                           [MGR_NIC_DRAIN] = TALLY_DRAIN};

    return as[nic];
}

void mgrconf_model(const struct mgrconf *c, struct model_conf *out)
{
    *out = (struct model_conf){
        .stale = {c->hsnd_stale * 1000, c->mapper_stale * 1000,
                  c->links_stale * 1000, c->nic_stale * 1000},
        .down_after = c->down_after * 1000,
        .degrade_after = c->degrade_after * 1000,
        .up_after = c->up_after * 1000,
        .flap_window = c->flap_window * 1000,
        .flap_hold = c->flap_hold * 1000,
        .flap_quiet = c->flap_quiet * 1000,
        .forget_after = c->forget_after * 1000,
        .leader_lease = c->leader_lease * 1000,
        .rival_after = MODEL_RIVAL_MS,
        .silent_after =
            c->on_silent == MGR_SILENT_SHOW ? 0 : c->silent_after * 1000,
        .flap_count = (uint32_t)c->flap_count,
        .echo_loss = (uint32_t)c->echo_loss,
        .echo_reporters = (uint32_t)c->echo_reporters,
        .uplink_percent = (uint32_t)c->uplink_percent,
        .errors = {.limit = (uint32_t)c->error_rate,
                   .least = (uint32_t)c->error_least,
                   .traffic = (uint32_t)c->error_traffic,
                   .window = c->error_window * 1000,
                   .clean = (uint32_t)c->error_clean},
        .nic_uncabled = action(c->on_uncabled),
        .nic_slow = action(c->on_slow),
    };
}
