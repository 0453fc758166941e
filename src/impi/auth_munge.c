/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Method MUNGE: the client proves by a credential of the local munged that
 * it runs as the job's user, and binds it to this server's nonce, the job,
 * the step and the generation, so that a credential seen elsewhere or
 * earlier is worth nothing.  Payload, big-endian:
 *   u32 magic "SFIA", u32 version 1, nonce[32], u32 job, u32 step,
 *   u32 component, u32 generation
 */
#include <string.h>

#include "base/be.h"
#include "base/mac.h"
#include "impi/auth.h"

#define MAGIC 0x53464941
#define VERSION 1
#define PAYLOAD_SIZE (8 + IMPI_AUTH_NONCE_SIZE + 16)

static void encode(uint8_t raw[PAYLOAD_SIZE], const uint8_t *nonce,
                   const struct impi_auth_binding *b)
{
    struct be_writer w;

    be_writer_init(&w, raw, PAYLOAD_SIZE);
    be_put32(&w, MAGIC);
    be_put32(&w, VERSION);
    be_put_bytes(&w, nonce, IMPI_AUTH_NONCE_SIZE);
    be_put32(&w, b->job);
    be_put32(&w, b->step);
    be_put32(&w, b->component);
    be_put32(&w, b->generation);
}

static int munge_answer(const struct impi_auth_method *m,
                        const uint8_t *challenge, struct bytebuf *out,
                        struct errbuf *err)
{
    const struct impi_auth_munge_arg *a = m->arg;
    uint8_t raw[PAYLOAD_SIZE];

    encode(raw, challenge, &a->binding);
    return a->seal(a->arg, raw, sizeof(raw), out, err);
}

/* The ladder: one step per field, in the order of the payload. */
static int check_payload(const struct impi_auth_binding *want,
                         const uint8_t *nonce, const uint8_t *raw, size_t len,
                         struct errbuf *err)
{
    struct be_reader r;
    uint8_t got[IMPI_AUTH_NONCE_SIZE];

    if (len != PAYLOAD_SIZE)
        return errprintf(err, "credential: payload of wrong length");
    be_reader_init(&r, raw, len);
    if (be_get32(&r) != MAGIC)
        return errprintf(err, "credential: made for something else");
    if (be_get32(&r) != VERSION)
        return errprintf(err, "credential: of another version");
    be_copy_bytes(&r, got, sizeof(got));
    if (!mac_equal(got, nonce, sizeof(got)))
        return errprintf(err, "credential: not for this connection");
    if (be_get32(&r) != want->job)
        return errprintf(err, "credential: of another job");
    if (be_get32(&r) != want->step)
        return errprintf(err, "credential: of another step");
    be_get32(&r); /* component: any */
    if (be_get32(&r) != want->generation)
        return errprintf(err, "credential: of another program of the step");
    return 0;
}

static int munge_verify(const struct impi_auth_method *m,
                        const uint8_t *challenge, const uint8_t *answer,
                        size_t len, struct errbuf *err)
{
    const struct impi_auth_munge_arg *a = m->arg;
    char cred[SF_IMPI_CREDENTIAL_MAX + 1];
    struct bytebuf payload;
    int rc;

    memcpy(cred, answer, len);
    cred[len] = '\0';
    bytebuf_init(&payload, SF_IMPI_CREDENTIAL_MAX);
    rc = a->open(a->arg, cred, &payload, err);
    if (rc == 0)
        rc = check_payload(&a->binding, challenge, bytebuf_data(&payload),
                           bytebuf_len(&payload), err);
    bytebuf_free(&payload);
    return rc;
}

struct impi_auth_method impi_auth_munge(const struct impi_auth_munge_arg *arg)
{
    return (struct impi_auth_method){
        .number = IMPI_AUTH_MUNGE,
        .name = "MUNGE",
        .answer_max = SF_IMPI_CREDENTIAL_MAX,
        .challenge = IMPI_AUTH_NONCE_SIZE,
        .verify = munge_verify,
        .answer = munge_answer,
        .arg = arg,
    };
}
