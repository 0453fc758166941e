/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz.h"
#include "net/topo.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    net_topo_check_yaml((const char *)data, size, NULL, NULL, NULL);
    return 0;
}
