/* SPDX-License-Identifier: BSD-3-Clause
 * The updater's looks at Slurm, with a library of ours in the place of Slurm's
 * that counts its memory and leaves behind what Slurm 22.05 leaves behind.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "health/plan.h"
#include "suite.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/updater.h"

#define NODES 3

static int live; /* texts of Slurm's that nobody has freed */

/* ---- Slurm's part -------------------------------------------------------- */

static char *text(const char *s)
{
    live++;
    return strdup(s);
}

void slurm_xfree(void **item)
{
    live -= *item != NULL;
    free(*item);
    *item = NULL;
}

static node_info_msg_t *some_nodes(const char *first, uint32_t n)
{
    node_info_msg_t *msg = calloc(1, sizeof(*msg));

    msg->record_count = n;
    msg->node_array = calloc(n, sizeof(*msg->node_array));
    msg->last_update = 1;
    for (uint32_t i = 0; i < n; i++) {
        node_info_t *node = &msg->node_array[i];
        char name[8] = {first[0], (char)(first[1] + (char)i), '\0'};

        node->name = text(name);
        node->node_addr = text("127.0.0.1");
        node->bcast_address = text("127.0.0.2");
        node->features = text("fabric_up");
        node->extra = text("fabric=up");
        node->comment = text("fabric=up");
    }
    return msg;
}

int slurm_load_node(time_t since, node_info_msg_t **msg, uint16_t flags)
{
    *msg = some_nodes("n0", NODES);
    return SLURM_SUCCESS;
}

int slurm_load_node_single(node_info_msg_t **msg, char *name, uint16_t flags)
{
    *msg = some_nodes(name, 1);
    return SLURM_SUCCESS;
}

/* As in 22.05: not the extra, the comment, the address for broadcasts. */
void slurm_free_node_info_msg(node_info_msg_t *msg)
{
    for (uint32_t i = 0; i < msg->record_count; i++) {
        slurmabi_free(msg->node_array[i].name);
        slurmabi_free(msg->node_array[i].node_addr);
        slurmabi_free(msg->node_array[i].features);
    }
    free(msg->node_array);
    free(msg);
}

int slurm_get_errno(void)
{
    return 0;
}

char *slurm_strerror(int code)
{
    return "no error";
}

int slurm_load_ctl_conf(time_t since, slurm_conf_t **conf)
{
    return SLURM_ERROR;
}

void slurm_free_ctl_conf(slurm_conf_t *conf)
{
}

void slurm_init_update_node_msg(update_node_msg_t *msg)
{
    memset(msg, 0, sizeof(*msg));
}

int slurm_update_node(update_node_msg_t *msg)
{
    return SLURM_SUCCESS;
}

int slurm_reconfigure(void)
{
    return SLURM_SUCCESS;
}

/* ---- the updater's ------------------------------------------------------- */

int64_t upd_now(void)
{
    return 1000;
}

void upd_dry_forget(struct upd_node *n)
{
}

struct upd_node *upd_node_make(struct updater *u, const char *name)
{
    struct upd_node *n;

    HASH_FIND_STR(u->nodes, name, n);
    if (n)
        return n;
    n = calloc(1, sizeof(*n));
    strcpy(n->name, name);
    HASH_ADD_STR(u->nodes, name, n);
    return n;
}

static void looks_at_slurm_leave_no_memory(void **state)
{
    struct updater u = {.fd = -1};
    struct upd_node *n, *next;

    for (int i = 0; i < 3; i++) {
        assert_int_equal(upd_slurm_load(&u), 1);
        assert_int_equal(live, 0);
    }
    assert_int_equal(HASH_COUNT(u.nodes), NODES);
    n = upd_node_make(&u, "n1");
    assert_string_equal(n->extra, "fabric=up");
    assert_int_equal(upd_slurm_load_one(&u, n), 0);
    assert_int_equal(live, 0);
    HASH_ITER(hh, u.nodes, n, next)
    {
        HASH_DEL(u.nodes, n);
        free(n->features);
        free(n->features_act);
        free(n->extra);
        free(n->comment);
        free(n->addr_text);
        free(n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_at_slurm_leave_no_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
