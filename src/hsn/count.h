/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Everything the driver counts.  Each loss has a cause of its own.
 */
#ifndef SF_HSN_COUNT_H
#define SF_HSN_COUNT_H

#include <stdint.h>

/* name, is it a loss, what it counts */
#define HSN_COUNTS(X)                                                          \
    X(sent, 0, "packets handed to the interface")                              \
    X(sent_bytes, 0, "bytes of them, without route, type and CRC")             \
    X(received, 0, "packets received")                                         \
    X(received_bytes, 0, "bytes of them")                                      \
    X(delivered, 0, "messages delivered to modules")                           \
    X(completed, 0, "messages whose sender got his memory back")               \
    X(raw_delivered, 0, "raw packets delivered")                               \
    X(copied_data, 0, "bytes of data that the driver copied")                  \
    X(copied_header, 0, "bytes of module headers that the driver copied")      \
    X(refused_full, 0, "sends put off: pending queue full")                    \
    X(refused_size, 1, "sends refused: more than two packets")                 \
    X(no_route, 1, "messages without a route to their receiver")               \
    X(send_expired, 1, "messages that waited too long for the interface")      \
    X(send_failed, 1, "packets that the interface did not send")               \
    X(send_cancelled, 1, "messages taken back at the end of their module")     \
    X(bad_short, 1, "packets too short for an HSN header")                     \
    X(bad_version, 1, "packets of another version")                            \
    X(bad_checksum, 1, "packets broken on the way")                            \
    X(bad_fields, 1, "packets whose header contradicts itself")                \
    X(foreign, 1, "packets for another board")                                 \
    X(no_module, 1, "messages for a module that is not there")                 \
    X(no_type, 1, "raw packets of a type that nobody has open")                \
    X(no_memory, 1, "messages dropped for lack of buffers")                    \
    X(fragment_expired, 1, "halves whose partner did not come in time")        \
    X(fragment_evicted, 1, "halves that had to give way to newer ones")        \
    X(fragment_duplicate, 1, "halves that were there already")                 \
    X(fragment_mismatch, 1, "halves that contradict each other")

enum hsn_count {
#define X(name, loss, text) HSN_COUNT_##name,
    HSN_COUNTS(X)
#undef X
        HSN_COUNT_N
};

struct hsn_counts {
    uint64_t n[HSN_COUNT_N];
};

/* Add to a counter: HSN_ADD(counts, no_route, 1). */
#define HSN_ADD(c, name, by) ((c)->n[HSN_COUNT_##name] += (uint64_t)(by))

const char *hsn_count_name(enum hsn_count c);
/* All losses together. */
uint64_t hsn_counts_lost(const struct hsn_counts *c);

#endif
