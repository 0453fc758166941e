/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"
#include "impi/presence.h"
#include "impi/task_wire.h"

static void decode(const struct task_frame *f)
{
    union {
        struct task_hello hello;
        struct task_join join;
        struct task_abort abort;
        struct task_register reg;
        struct task_exiting exiting;
        struct task_stage stage;
        struct task_proof proof;
        struct task_claim claim;
        struct task_text text;
    } u;
    struct task_env env;

    task_hello_decode(&u.hello, f->payload, f->len);
    task_join_decode(&u.join, f->payload, f->len);
    task_abort_decode(&u.abort, f->payload, f->len);
    task_register_decode(&u.reg, f->payload, f->len);
    task_exiting_decode(&u.exiting, f->payload, f->len);
    task_stage_decode(&u.stage, f->payload, f->len);
    task_proof_decode(&u.proof, f->payload, f->len);
    task_claim_decode(&u.claim, f->payload, f->len);
    task_error_decode(&u.text, f->payload, f->len);
    if (task_env_decode(&env, f->payload, f->len) == 0)
        task_env_clear(&env);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t secret[IMPI_PRESENCE_SECRET];
    struct impi_presence presence;
    struct task_frame f;
    ssize_t n;

    if (size >= IMPI_PRESENCE_SIZE)
        impi_presence_decode(&presence, data, secret);
    while ((n = task_frame_parse(&f, data, size, SF_TASK_REQUEST_MAX)) > 0) {
        decode(&f);
        data += n;
        size -= (size_t)n;
    }
    return 0;
}
