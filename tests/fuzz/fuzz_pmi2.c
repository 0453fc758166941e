/* SPDX-License-Identifier: BSD-3-Clause
 * Two processes of one client.  The first says the input after the init line,
 * with the lengths made right if its first byte is odd; the other one waits for
 * an attribute and gets what it is.  A fence is answered with the input as the
 * blob of another node, or with their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pmi/pmi.h"

static const uint8_t *input;
static size_t input_len;
static struct pmi *pmi;

static void on_reply(void *arg, uint32_t local, const char *bytes, size_t len)
{
}

static void on_barrier(void *arg, const void *blob, size_t len)
{
    struct pmi_blob blobs[2] = {{blob, len}, {input, input_len}};

    if (pmi_barrier_done(pmi, &blobs[1], 1, NULL) < 0)
        pmi_barrier_done(pmi, blobs, 1, NULL);
}

static void on_abort(void *arg, uint32_t local, int code)
{
}

static int say(uint32_t local, const char *text)
{
    return pmi_input(pmi, local, text, strlen(text), NULL);
}

/* Each line a message. */
static void say_lines(const uint8_t *data, size_t size)
{
    while (size > 0) {
        const uint8_t *end = memchr(data, '\n', size);
        size_t len = end ? (size_t)(end - data) : size;
        char head[32];

        snprintf(head, sizeof(head), "%-6zu", len);
        if (say(0, head) < 0 || pmi_input(pmi, 0, data, len, NULL) < 0)
            return;
        data += len + (end != NULL);
        size -= len + (end != NULL);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct pmi_ops ops = {on_reply, on_barrier, on_abort};
    static const char init[] = "cmd=init pmi_version=2 pmi_subversion=0\n"
                               "13    cmd=fullinit;";
    struct pmi_config config = {.kvsname = "kvs_0",
                                .mapping = "(vector,(0,1,2))",
                                .size = 2,
                                .nlocal = 2,
                                .universe = 2};

    if (size == 0)
        return 0;
    pmi = pmi_create(&config, &ops, NULL);
    if (!pmi)
        return 0;
    input = data;
    input_len = size;
    say(0, init);
    say(1, init);
    say(1, "39    cmd=info-getnodeattr;key=seg;wait=TRUE;");
    say(1, "14    cmd=kvs-fence;");
    if (data[0] & 1)
        say_lines(data + 1, size - 1);
    else
        pmi_input(pmi, 0, data + 1, size - 1, NULL);
    pmi_destroy(pmi);
    return 0;
}
