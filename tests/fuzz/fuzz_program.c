/* SPDX-License-Identifier: BSD-3-Clause
 * What a member may send to its program's holder, which is root; and the
 * kernel's texts, in which users choose names.  Or edits (fuzz.h) of a session
 * of ours: root adds a capability, a member takes its context and asks.
 */
#include <stdlib.h>
#include <string.h>

#include "capability.h"
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

static void session(const uint8_t *data, size_t size)
{
    static const struct {
        enum program_verb verb;
        uint32_t uid;
    } said[] = {
        {PROGRAM_ADDCAP, 0},     {PROGRAM_NCAPS, OWNER},
        {PROGRAM_SETCAP, OWNER}, {PROGRAM_GETCAP, OWNER},
        {PROGRAM_SETCAP, OWNER}, {PROGRAM_ADDCAP, 0},
        {PROGRAM_PRGID, OWNER},  {PROGRAM_GETCAP, OWNER + 1},
    };
    static uint8_t buf[PROGRAM_REPLY_MAX], request[PROGRAM_REQUEST_MAX];
    struct program_held held = {.group = PROGRAM_CGROUP_NONE};
    struct elan_capability cap, got;
    struct be_writer reply;
    struct be_reader r;

    if (make_capability(&cap) < 0)
        abort();
    program_init(&held.program, 1, OWNER);
    /* A quarter of the edits each time, by turns. */
    for (size_t i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
        struct program_peer peer = {said[i].uid, true, {{100 + (int)i, 1}}, 1};
        struct program_request q = {.verb = said[i].verb,
                                    .b = said[i].verb == PROGRAM_SETCAP ? 0x400
                                                                        : 0,
                                    .cap = &cap};
        size_t len = program_request_put(request, &q), n = size / 12 * 3;
        uint8_t *other = fuzz_edit(request, &len, data + n * (i % 4), n);

        q.cap = &got;
        if (program_request_get(&q, other, len) < 0 ||
            program_verb_right(q.verb) != PROGRAM_OWNER) {
            program_serve(&held, &peer, other, len, &reply, buf, sizeof(buf));
            if (reply.bad)
                abort();
            if (program_reply_open(&r, buf, reply.len) == 0 &&
                q.verb == PROGRAM_GETCAP &&
                elan_capability_get(&r, &got, NULL) < 0)
                abort();
        }
        free(other);
    }
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
    char *text;

    if (size > 0 && data[0] == FUZZ_EDITS) {
        session(data + 1, size - 1);
        return 0;
    }
    text = strndup((const char *)data, size);
    serve(data, size);
    program_reply_open(&r, data, size);
    if (text)
        texts(text);
    free(text);
    return 0;
}
