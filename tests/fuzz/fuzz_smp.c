/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Any bytes as an answer to a directed-route question.
 */
#include <string.h>

#include "fuzz.h"
#include "mapperd/smp.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t mad[SMP_SIZE] = {0};
    char desc[SMP_DESC_SIZE + 1];
    struct smp_node_info info;
    struct smp_port_info port;
    enum smp_attr attr;
    uint32_t tid;

    memcpy(mad, data, size < sizeof(mad) ? size : sizeof(mad));
    if (!smp_parse(mad, &attr, &tid))
        return 0;
    smp_node_info(mad, &info);
    smp_node_desc(mad, desc);
    smp_port_is_up(mad);
    if (smp_port_info(mad, &port))
        smp_state_name(port.state);
    smp_physical_name(port.physical);
    return 0;
}
