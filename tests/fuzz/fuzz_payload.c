/* SPDX-License-Identifier: BSD-3-Clause
 * The sealed payload; what is accepted must be usable on every node.
 */
#include <stdlib.h>
#include <string.h>

#include "elan/payload.h"
#include "elan/rms_env.h"
#include "fuzz.h"

static void use(const struct elan_payload *p)
{
    struct elan_rms_program program = {&p->layout, p->prognum, p->job_id, "c"};
    struct elan_rms_var vars[ELAN_RMS_NVARS];
    uint32_t node, context;

    for (uint32_t n = 0; n < p->layout.nnodes; n++)
        for (uint32_t s = 0; s < elan_layout_tasks(&p->layout, n); s++)
            if (elan_rms_env(vars, &program, n, s, NULL) < 0)
                abort();
    for (uint32_t i = 0; i < p->ncaps; i++) {
        const struct elan_capability *cap = &p->caps[i];

        if (elan3_locate(cap, (uint32_t)cap->Entries - 1, &node, &context) <
                0 ||
            node > (uint32_t)cap->HighNode ||
            context > (uint32_t)cap->HighContext)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct elan_check check = {.now = 1000, .max_age = 3600};
    struct elan_payload p;
    struct errbuf err;
    void *buf;
    size_t len;

    if (elan_payload_decode(&p, data, size, &err) < 0)
        return 0;
    elan_payload_check(&p, &check, &err);
    use(&p);
    if (elan_payload_encode(&p, &buf, &len, &err) == 0) {
        struct elan_payload again;

        if (elan_payload_decode(&again, buf, len, &err) < 0)
            abort();
        elan_payload_free(&again);
        free(buf);
    }
    elan_payload_free(&p);
    return 0;
}
