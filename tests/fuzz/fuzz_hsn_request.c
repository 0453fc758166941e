/* SPDX-License-Identifier: BSD-3-Clause
 * What programs and holders say to hsnd: requests with routes or capabilities,
 * registrations, and the heads of records in an endpoint's ring.  Or edits of
 * what our own writers wrote (fuzz.h): the byte before them says of what; no
 * edit of a frame with a tag may be taken.
 */
#include <stdlib.h>
#include <string.h>

#include "capability.h"
#include "elan/program_register.h"
#include "fuzz.h"
#include "hsn/elan_frame.h"
#include "hsn/port_record.h"
#include "hsn/port_wire.h"

static void request(const uint8_t *data, size_t size)
{
    struct elan_capability cap;
    struct hsn_request r;
    struct hsn_peer peer;
    uint8_t buf[HSN_PEER_SIZE_MAX];
    struct be_writer w;

    if (hsn_request_get(&r, data, size) < 0)
        return;
    if (r.verb == HSN_OPEN_ELAN) {
        elan_capability_get(&r.more, &cap, NULL);
        return;
    }
    while (r.more.left && hsn_peer_get(&r.more, &peer) == 0) {
        be_writer_init(&w, buf, sizeof(buf));
        hsn_peer_put(&w, &peer);
        if (w.bad)
            abort();
    }
}

static void registration(const uint8_t *data, size_t size)
{
    struct program_registration *r = malloc(sizeof(*r));
    uint8_t *buf = malloc(PROGRAM_REGISTER_MAX);

    if (r && buf && program_register_get(r, data, size) == 0 &&
        program_register_put(buf, r) == 0)
        abort();
    free(r);
    free(buf);
}

static void foreign(const uint8_t *data, size_t size)
{
    struct hsn_elan_head head;
    struct hsn_board_info board;
    struct hsn_record record;
    struct be_reader r;

    request(data, size);
    registration(data, size);
    hsn_elan_head_get(&head, data, size);
    if (hsn_answer_open(&r, data, size) == 0)
        hsn_board_get(&r, &board);
    if (size >= sizeof(record)) {
        memcpy(&record, data, sizeof(record));
        if (hsn_record_valid(&record, size) && size > HSN_RECORD_MAX)
            abort();
    }
}

static void edited_registration(const struct elan_capability *cap,
                                const uint8_t *data, size_t size)
{
    struct program_registration *r = calloc(1, sizeof(*r));
    uint8_t *buf = malloc(PROGRAM_REGISTER_MAX), *other;
    size_t len;

    if (r && buf) {
        *r = (struct program_registration){
            .number = 7, .uid = 1000, .path = "/sys/fs/cgroup/x", .cap = *cap};
        len = program_register_put(buf, r);
        other = fuzz_edit(buf, &len, data, size);
        registration(other, len);
        free(other);
    }
    free(r);
    free(buf);
}

static void edited_request(const struct elan_capability *cap,
                           const uint8_t *data, size_t size)
{
    const struct hsn_peer peer = {.address = 0x0060dd000002};
    uint8_t buf[8192], *other;
    struct be_writer w;

    hsn_request_begin(&w, buf, sizeof(buf), HSN_OPEN_ELAN, 0x400, 0);
    elan_capability_put(&w, cap);
    other = fuzz_edit(buf, &w.len, data, size);
    request(other, w.len);
    free(other);
    hsn_request_begin(&w, buf, sizeof(buf), HSN_ROUTES_ADD, 0, 0);
    hsn_peer_put(&w, &peer);
    hsn_peer_put(&w, &peer);
    other = fuzz_edit(buf, &w.len, data, size);
    request(other, w.len);
    free(other);
}

static void edited_frame(const struct elan_capability *cap, const uint8_t *data,
                         size_t size)
{
    struct hsn_elan_sources *known = hsn_elan_sources_new(cap);
    uint8_t frame[HSN_ELAN_HEADER + 8] = {0}, sent[sizeof(frame)];
    const struct iovec body = {frame + HSN_ELAN_HEADER, 6};
    const struct iovec header = {frame + HSN_ELAN_HEADER + 6, 2};
    struct hsn_elan_sender sender;
    struct hsn_elan_head head;

    if (known &&
        hsn_elan_sender_init(&sender, &cap->UserKey, 3, 0x401, 9) == 0) {
        for (int i = 0; i < 3; i++) {
            if (hsn_elan_seal(&sender, 4, 0x400, &body, &header, frame) < 0)
                break;
            memcpy(sent, frame, sizeof(frame));
            if (i > 0) {
                size_t len = sizeof(frame);
                uint8_t *other = fuzz_edit(frame, &len, data, size);

                memcpy(frame, other, len);
                free(other);
            }
            if (hsn_elan_head_get(&head, frame, HSN_ELAN_HEADER) == 0 &&
                hsn_elan_check(known, &head, frame, &body, 1, &header) ==
                    HSN_ELAN_OK &&
                memcmp(sent, frame, sizeof(frame)) != 0)
                abort();
            memcpy(frame, sent, sizeof(frame));
        }
        hsn_elan_sender_clear(&sender);
    }
    hsn_elan_sources_free(known);
}

static void edited(uint8_t what, const uint8_t *data, size_t size)
{
    struct elan_capability cap;

    if (make_capability(&cap) < 0)
        abort();
    if (what % 3 == 0)
        edited_registration(&cap, data, size);
    else if (what % 3 == 1)
        edited_request(&cap, data, size);
    else
        edited_frame(&cap, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 && data[0] == FUZZ_EDITS)
        edited(data[1], data + 2, size - 2);
    else
        foreign(data, size);
    return 0;
}
