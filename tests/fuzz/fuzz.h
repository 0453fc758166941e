/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What every fuzz target defines (libFuzzer's interface).
 */
#ifndef SF_TESTS_FUZZ_H
#define SF_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
