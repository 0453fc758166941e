/* SPDX-License-Identifier: BSD-3-Clause
 * What a member may send to its program's holder, which is root; and the
 * kernel's texts, in which users choose names.
 */
#include <stdlib.h>
#include <string.h>

#include "elan/program_proc.h"
#include "elan/program_serve.h"
#include "fuzz.h"

#define OWNER 1000

static void serve(const uint8_t *data, size_t size)
{
    static uint8_t buf[PROGRAM_REPLY_MAX];
    struct program_peer peer = {OWNER, true, {{100, 1}}, 1};
    struct program_held held = {.group = PROGRAM_CGROUP_NONE};
    struct elan_capability cap;
    struct program_request request = {.cap = &cap};
    struct be_writer reply;
    struct be_reader r;

    /* What touches the group's directory is for the cluster tests. */
    if (program_request_get(&request, data, size) == 0 &&
        program_verb_right(request.verb) == PROGRAM_OWNER)
        return;
    program_init(&held.program, 1, OWNER);
    program_serve(&held, &peer, data, size, &reply, buf, sizeof(buf));
    if (reply.bad)
        abort();
    program_reply_open(&r, buf, reply.len);
    program_account_free(&held.account);
    program_clear(&held.program);
}

static void texts(const char *text)
{
    char path[64];
    uint64_t start;
    pid_t ppid;

    proc_parse_stat(text, &ppid, &start);
    proc_parse_status_kb(text, "VmRSS");
    proc_parse_flat(text, "usage_usec");
    proc_parse_cgroup2(text, path, sizeof(path));
    proc_find_cgroup_mount(text, NULL, path, sizeof(path));
    proc_find_cgroup_mount(text, "freezer", path, sizeof(path));
    proc_slurm_step_group(text, path, sizeof(path));
    proc_in_slurm_job(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct be_reader r;
    char *text = strndup((const char *)data, size);

    serve(data, size);
    program_reply_open(&r, data, size);
    if (text)
        texts(text);
    free(text);
    return 0;
}
