/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "net/softlink_wire.h"

#define MAGIC 0x5346       /* "SF" */
#define PLEDGE 0x53464c4bU /* "SFLK" */
#define PLEDGE_MAX 160

void softlink_put_id(uint8_t at[SOFTLINK_ID], enum softlink_type type,
                     uint64_t session)
{
    struct be_writer w;

    be_writer_init(&w, at, SOFTLINK_ID);
    be_put16(&w, MAGIC);
    be_put8(&w, SOFTLINK_VERSION);
    be_put8(&w, (uint8_t)type);
    be_put64(&w, session);
}

enum softlink_type softlink_look(const void *buf, size_t len, uint64_t *session)
{
    struct be_reader r;
    uint16_t magic;
    uint8_t version, type;

    be_reader_init(&r, buf, len);
    magic = be_get16(&r);
    version = be_get8(&r);
    type = be_get8(&r);
    *session = be_get64(&r);
    if (r.bad || magic != MAGIC || version != SOFTLINK_VERSION ||
        type > SOFTLINK_BYE)
        return 0;
    return type;
}

static size_t put_pledge(uint8_t buf[PLEDGE_MAX],
                         const struct softlink_pledge *p)
{
    struct be_writer w;

    be_writer_init(&w, buf, PLEDGE_MAX);
    be_put32(&w, PLEDGE);
    be_put8(&w, SOFTLINK_VERSION);
    be_put8(&w, (uint8_t)p->role);
    be_put8(&w, (uint8_t)p->hello.carrier);
    be_put8(&w, 0);
    be_put64(&w, p->hello.session);
    be_put64(&w, p->peer);
    be_put64(&w, p->hello.address);
    be_put_bytes(&w, p->hello.key, sizeof(p->hello.key));
    be_put_str(&w, p->hello.name);
    return w.bad ? 0 : w.len;
}

static bool get_pledge(struct softlink_pledge *p, const void *buf, size_t len)
{
    struct be_reader r;
    uint32_t magic;
    uint8_t version;

    be_reader_init(&r, buf, len);
    magic = be_get32(&r);
    version = be_get8(&r);
    p->role = be_get8(&r);
    p->hello.carrier = be_get8(&r);
    be_get8(&r);
    p->hello.session = be_get64(&r);
    p->peer = be_get64(&r);
    p->hello.address = be_get64(&r);
    be_copy_bytes(&r, p->hello.key, sizeof(p->hello.key));
    be_get_str(&r, p->hello.name, sizeof(p->hello.name));
    return be_reader_done(&r) && magic == PLEDGE &&
           version == SOFTLINK_VERSION && p->hello.session != 0 &&
           p->hello.carrier >= SOFTLINK_DATAGRAMS &&
           p->hello.carrier <= SOFTLINK_RING;
}

size_t softlink_make_pledge(void *buf, size_t size, enum softlink_type type,
                            uint64_t session,
                            const struct softlink_pledge *pledge, uid_t reader,
                            const struct softlink_ops *ops, struct errbuf *err)
{
    uint8_t plain[PLEDGE_MAX];
    size_t len = put_pledge(plain, pledge);
    char *cred = NULL;
    int rc = ops->seal(ops->arg, &cred, plain, len, reader, err);

    explicit_bzero(plain, sizeof(plain));
    if (rc < 0)
        return 0;
    len = strlen(cred);
    if (SOFTLINK_ID + len > size) {
        free(cred);
        errno = EMSGSIZE;
        errprintf(err, "credential of %zu bytes is too long for a link", len);
        return 0;
    }
    softlink_put_id(buf, type, session);
    memcpy((uint8_t *)buf + SOFTLINK_ID, cred, len);
    free(cred);
    return SOFTLINK_ID + len;
}

static int check_origin(const struct softlink_origin *origin, uid_t service,
                        struct errbuf *err)
{
    errno = EPERM;
    if (origin->uid != 0 && origin->uid != service)
        return errprintf(err, "credential of uid %u, who may not link",
                         (unsigned)origin->uid);
    if (origin->replayed)
        return errprintf(err, "credential was used before");
    if (origin->expired)
        return errprintf(err, "credential is too old: look at the clocks");
    return 0;
}

/* Copy the text behind the id; credentials have no NUL inside. */
static char *credential_of(const void *buf, size_t len)
{
    const char *text = (const char *)buf + SOFTLINK_ID;

    if (len <= SOFTLINK_ID || len > SOFTLINK_CONTROL_MAX)
        return NULL;
    return strndup(text, len - SOFTLINK_ID);
}

int softlink_open_pledge(struct softlink_pledge *pledge,
                         enum softlink_role role,
                         const struct softlink_ops *ops, const void *buf,
                         size_t len, struct errbuf *err)
{
    struct softlink_origin origin = {0};
    char *cred = credential_of(buf, len);
    void *plain = NULL;
    size_t n = 0;
    int rc;

    errno = EBADMSG;
    if (!cred)
        return errprintf(err, "message without a credential");
    rc = ops->open(ops->arg, &plain, &n, &origin, cred, err);
    free(cred);
    if (rc == 0)
        rc = check_origin(&origin, ops->service, err);
    if (rc == 0 && (!get_pledge(pledge, plain, n) || pledge->role != role)) {
        errno = EBADMSG;
        rc = errprintf(err, "credential is not for this");
    }
    if (rc == 0)
        pledge->hello.uid = origin.uid;
    if (plain)
        explicit_bzero(plain, n);
    free(plain);
    return rc;
}

int softlink_read_hello(struct softlink_hello *hello,
                        const struct softlink_ops *ops, const void *buf,
                        size_t len, struct errbuf *err)
{
    struct softlink_pledge pledge = {0};
    uint64_t session;
    int rc = -1;

    if (softlink_look(buf, len, &session) != SOFTLINK_HELLO) {
        errno = EBADMSG;
        return errprintf(err, "not a HELLO");
    }
    if (softlink_open_pledge(&pledge, SOFTLINK_CALLER, ops, buf, len, err) ==
        0) {
        *hello = pledge.hello;
        rc = session == pledge.hello.session ? 0 : -1;
        if (rc < 0) {
            errno = EBADMSG;
            errprintf(err, "HELLO with another's credential");
        }
    }
    explicit_bzero(&pledge, sizeof(pledge));
    return rc;
}

size_t softlink_make_refusal(void *buf, size_t size, uint64_t session,
                             const char *why)
{
    size_t len = strnlen(why, SOFTLINK_WHY_MAX);

    if (SOFTLINK_ID + len > size)
        return 0;
    softlink_put_id(buf, SOFTLINK_REFUSED, session);
    memcpy((uint8_t *)buf + SOFTLINK_ID, why, len);
    return SOFTLINK_ID + len;
}
