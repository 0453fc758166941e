/* SPDX-License-Identifier: BSD-3-Clause
 * What programs and holders say to hsnd: requests with routes or capabilities,
 * registrations, and the heads of records in an endpoint's ring.
 */
#include <stdlib.h>
#include <string.h>

#include "elan/capability.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
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
    return 0;
}
