/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by who has no key, to both ends of a link that is up, and HELLOs.
 * Nothing of it may ever count as a packet.  Input: for each message a byte
 * (bit 0: to whom; bit 1: with the right session number; bit 2: as a HELLO's
 * reader gets it; bit 3: time passes), a length byte, and its bytes.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "fuzz.h"
#include "softlink_fake.h"

struct bed {
    struct fake_munge munge;
    struct softlink_ops ops;
    struct softlink *end[2]; /* caller, called */
    uint64_t session[2];     /* by which each is called */
    uint64_t now;
};

static void pass(struct bed *b, int from, int to)
{
    uint8_t buf[SOFTLINK_DATAGRAM_MAX];
    const uint8_t *packet;
    size_t packet_len, len = softlink_output(b->end[from], buf, sizeof(buf));
    struct softlink_hello hello;
    struct errbuf err;

    if (softlink_look(buf, len, &b->session[to]) != SOFTLINK_HELLO)
        softlink_input(b->end[to], b->now, buf, len, &packet, &packet_len,
                       &err);
    else if (softlink_read_hello(&hello, &b->ops, buf, len, &err) == 0)
        softlink_answer(b->end[to], b->now, &hello, &err);
}

static void open_bed(struct bed *b)
{
    struct errbuf err;

    memset(b, 0, sizeof(*b));
    b->ops = fake_ops(&b->munge, 0);
    b->now = 1;
    b->end[0] = softlink_new_caller("x", 1, SOFTLINK_DATAGRAMS, 0, &b->ops);
    b->end[1] = softlink_new_called(0, &b->ops);
    softlink_tick(b->end[0], b->now, &err);
    pass(b, 0, 1);
    pass(b, 1, 0);
    pass(b, 0, 1);
    assert(softlink_is_up(b->end[0]) && softlink_is_up(b->end[1]));
}

static void forge(struct bed *b, uint8_t how, const uint8_t *data, size_t len)
{
    uint8_t buf[256] = "SF\1";
    struct softlink *end = b->end[how & 1];
    struct softlink_hello hello;
    const uint8_t *packet;
    size_t packet_len;
    struct errbuf err;

    memcpy(buf + (how & 2 ? 3 : 0), data, len);
    if (how & 2)
        be_store64(buf + 4, b->session[how & 1]);
    len += how & 2 ? 3 : 0;
    if (how & 8)
        softlink_tick(end, b->now += SOFTLINK_KEEP_NS, &err);
    if (how & 4) {
        if (softlink_read_hello(&hello, &b->ops, buf, len, &err) == 0)
            softlink_answer(end, b->now, &hello, &err);
        return;
    }
    softlink_input(end, b->now, buf, len, &packet, &packet_len, &err);
    assert(!packet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bed b;

    open_bed(&b);
    while (size >= 2) {
        size_t len = data[1] < size - 2 ? data[1] : size - 2;

        len = len < 250 ? len : 250;
        forge(&b, data[0], data + 2, len);
        data += 2 + len;
        size -= 2 + len;
    }
    softlink_free(b.end[0]);
    softlink_free(b.end[1]);
    fake_forget(&b.munge);
    return 0;
}
