/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A libfabric.so.1 that hands all on to the real one (FAULTY_REAL: its path),
 * but for one fault, FAULTY_FABRIC:
 *
 *   endpoint   there is no memory for an endpoint
 *   register   nor for registering any (then the provider is one that wants it)
 *   lend       nor for registering what a peer shall read
 *   place      nor for registering where a peer's memory is read to (the
 *              provider is one that wants it)
 *   expose     nor for registering what a peer may read and write
 *   noread     the provider cannot read a peer's memory
 *   unsure     nor say when what it wrote is there
 *   mute       what is sent never arrives, and is never done with
 *   send N     the Nth send is refused
 *   read N     the Nth read of a peer's memory is refused
 *   wrongkey   what is read is looked for under another key
 *   die N      the process ends at the Nth read of a peer's memory
 *   write N    the Nth write to a peer's memory is refused
 *   written N  the Nth one that is done has failed
 *   busy N     each Nth read or write is to be tried again first
 *   done N     the Nth completion is an error
 *   queue N    the queue itself fails at its Nth completion
 *
 * Only objects of one domain: all that a back end makes.  Those that a provider
 * makes of another one below it are left alone. */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

static struct fi_ops_fabric fabric_ops;
static struct fi_ops_domain domain_ops;
static struct fi_ops_mr mr_ops;
static struct fi_ops_msg msg_ops;
static struct fi_ops_cq cq_ops;
static struct fi_ops_rma rma_ops;
static const struct fi_ops_fabric *real_fabric;
static const struct fi_ops_domain *real_domain;
static const struct fi_ops_msg *real_msg;
static const struct fi_ops_cq *real_cq;
static const struct fi_ops_rma *real_rma;
static const struct fi_ops_mr *real_mr;
static struct fi_cq_msg_entry failed;
static int failing;

static void *real(const char *name)
{
    static void *lib;

    if (!lib)
        lib = dlopen(getenv("FAULTY_REAL"), RTLD_NOW | RTLD_LOCAL);
    return lib ? dlsym(lib, name) : NULL;
}

/* Is it this fault, and its turn? */
static int is_due(const char *name, int *count)
{
    const char *fault = getenv("FAULTY_FABRIC");
    size_t n = strlen(name);

    if (!fault || strncmp(fault, name, n) != 0)
        return 0;
    return !fault[n] || ++*count == atoi(fault + n);
}

/* ---- operations ---- */

static ssize_t my_send(struct fid_ep *ep, const void *buf, size_t len,
                       void *desc, fi_addr_t to, void *context)
{
    static int taken;
    int this = taken; /* those that it takes count */
    ssize_t rc;

    if (is_due("mute", &this))
        return 0;
    if (is_due("send", &this))
        return -FI_EIO;
    rc = real_msg->send(ep, buf, len, desc, to, context);
    taken += rc == 0;
    return rc;
}

/* Again and again. */
static int is_nth(const char *name, int *count)
{
    if (!is_due(name, count))
        return 0;
    *count = 0;
    return 1;
}

static ssize_t my_rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc,
                           fi_addr_t from, uint64_t addr, uint64_t key,
                           void *context)
{
    static int refused, died, busy;
    int once = 0;

    if (is_due("read", &refused))
        return -FI_EIO;
    if (is_due("die", &died))
        raise(SIGKILL);
    if (is_nth("busy", &busy))
        return -FI_EAGAIN;
    return real_rma->read(ep, buf, len, desc, from, addr,
                          is_due("wrongkey", &once) ? key ^ 1 : key, context);
}

static ssize_t my_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
                           uint64_t flags)
{
    static int refused, busy;

    if (!(flags & FI_DELIVERY_COMPLETE))
        abort(); /* it would end before it is there */
    if (is_due("write", &refused))
        return -FI_EIO;
    if (is_nth("busy", &busy))
        return -FI_EAGAIN;
    return real_rma->writemsg(ep, msg, flags);
}

static int is_write(const void *completion)
{
    const struct fi_cq_msg_entry *e = completion;

    return (e->flags & (FI_RMA | FI_WRITE)) == (FI_RMA | FI_WRITE);
}

static ssize_t my_read(struct fid_cq *cq, void *buf, size_t count)
{
    static int completions, written;
    ssize_t n = real_cq->read(cq, buf, count > 0);
    if (n == 1 && is_due("queue", &completions))
        return -FI_EIO;
    if (n == 1 && (is_due("done", &completions) ||
                   (is_write(buf) && is_due("written", &written)))) {
        failed = *(struct fi_cq_msg_entry *)buf;
        failing = 1;
        return -FI_EAVAIL;
    }
    return n;
}

static ssize_t my_readerr(struct fid_cq *cq, struct fi_cq_err_entry *e,
                          uint64_t flags)
{
    if (!failing)
        return real_cq->readerr(cq, e, flags);
    failing = 0;
    memset(e, 0, sizeof(*e));
    e->op_context = failed.op_context;
    e->flags = failed.flags;
    e->err = FI_EIO;
    return 1;
}

/* ---- objects ---- */

static int my_endpoint(struct fid_domain *domain, struct fi_info *info,
                       struct fid_ep **ep, void *context)
{
    int rc, once = 0;

    if (is_due("endpoint", &once))
        return -FI_ENOMEM;
    rc = real_domain->endpoint(domain, info, ep, context);
    if (rc)
        return rc;
    real_msg = (*ep)->msg;
    msg_ops = *real_msg;
    msg_ops.send = my_send;
    (*ep)->msg = &msg_ops;
    real_rma = (*ep)->rma;
    if (real_rma) {
        rma_ops = *real_rma;
        rma_ops.read = my_rma_read;
        rma_ops.writemsg = my_writemsg;
        (*ep)->rma = &rma_ops;
    }
    return 0;
}

static int my_cq(struct fid_domain *domain, struct fi_cq_attr *attr,
                 struct fid_cq **cq, void *context)
{
    int rc = real_domain->cq_open(domain, attr, cq, context);

    if (rc)
        return rc;
    real_cq = (*cq)->ops;
    cq_ops = *real_cq;
    cq_ops.read = my_read;
    cq_ops.readerr = my_readerr;
    (*cq)->ops = &cq_ops;
    return 0;
}

static int my_register(struct fid *fid, const void *buf, size_t len,
                       uint64_t access, uint64_t offset, uint64_t key,
                       uint64_t flags, struct fid_mr **mr, void *context)
{
    int once = 0;

    if (is_due("register", &once) ||
        (is_due("lend", &once) && access == FI_REMOTE_READ) ||
        (is_due("place", &once) && access == FI_READ) ||
        (is_due("expose", &once) && access & FI_REMOTE_WRITE))
        return -FI_ENOMEM;
    return real_mr->reg(fid, buf, len, access, offset, key, flags, mr, context);
}

static int my_domain(struct fid_fabric *fabric, struct fi_info *info,
                     struct fid_domain **domain, void *context)
{
    int rc = real_fabric->domain(fabric, info, domain, context);

    if (rc)
        return rc;
    real_domain = (*domain)->ops;
    domain_ops = *real_domain;
    domain_ops.endpoint = my_endpoint;
    domain_ops.cq_open = my_cq;
    (*domain)->ops = &domain_ops;
    real_mr = (*domain)->mr;
    mr_ops = *real_mr;
    mr_ops.reg = my_register;
    (*domain)->mr = &mr_ops;
    return 0;
}

/* ---- what the library exports ---- */

struct fi_info *fi_dupinfo(const struct fi_info *info)
{
    struct fi_info *(*f)(const struct fi_info *) = real("fi_dupinfo");

    return f(info);
}

void fi_freeinfo(struct fi_info *info)
{
    void (*f)(struct fi_info *) = real("fi_freeinfo");

    f(info);
}

int fi_getinfo(uint32_t version, const char *node, const char *service,
               uint64_t flags, const struct fi_info *hints,
               struct fi_info **info)
{
    int (*f)(uint32_t, const char *, const char *, uint64_t,
             const struct fi_info *, struct fi_info **) = real("fi_getinfo");
    int rc = f(version, node, service, flags, hints, info), once = 0;

    if (hints && ((is_due("noread", &once) && hints->caps & FI_RMA) ||
                  (is_due("unsure", &once) &&
                   hints->tx_attr->op_flags & FI_DELIVERY_COMPLETE))) {
        if (rc == 0)
            fi_freeinfo(*info);
        return -FI_ENODATA;
    }
    if (rc == 0 && (is_due("register", &once) || is_due("place", &once)))
        for (struct fi_info *i = *info; i; i = i->next)
            i->domain_attr->mr_mode |= FI_MR_LOCAL;
    return rc;
}

int fi_fabric(struct fi_fabric_attr *attr, struct fid_fabric **fabric,
              void *context)
{
    int (*f)(struct fi_fabric_attr *, struct fid_fabric **, void *) =
        real("fi_fabric");
    static int inside;
    int rc;

    inside++;
    rc = f(attr, fabric, context);
    inside--;
    if (rc || inside > 0)
        return rc;
    real_fabric = (*fabric)->ops;
    fabric_ops = *real_fabric;
    fabric_ops.domain = my_domain;
    (*fabric)->ops = &fabric_ops;
    return 0;
}

const char *fi_strerror(int code)
{
    const char *(*f)(int) = real("fi_strerror");

    return f(code);
}
