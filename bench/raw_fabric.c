/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ping-pong over a bare endpoint of libfabric (FI_EP_RDM, FI_MSG) on loopback,
 * of the provider that is named: the floor under every message by it.  Both
 * sides spin on the queue, send from and receive into the same memory,
 * registered where the provider wants that; a receive is posted ahead.
 * Prints "BYTES MICROSECONDS" per size: median half round trip.
 *
 *   raw_fabric PROVIDER [BYTES]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "bench/sizes.h"

#define NAME_MAX_BYTES 256

static struct fid_ep *ep;
static struct fid_cq *cq;
static fi_addr_t peer;
static void *desc;
static char *out, *in;
static struct fi_context2 out_context, in_context;

static void must(int rc, const char *what)
{
    if (rc >= 0)
        return;
    fprintf(stderr, "raw_fabric: %s: %s\n", what, fi_strerror(-rc));
    exit(1);
}

static struct fi_info *find(const char *provider)
{
    struct fi_info *hints = fi_allocinfo(), *info = NULL;

    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->mr_mode =
        FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->fabric_attr->prov_name = strdup(provider);
    must(fi_getinfo(FI_VERSION(1, 9), "127.0.0.1", NULL, FI_SOURCE, hints,
                    &info),
         provider);
    fi_freeinfo(hints);
    return info;
}

static char *memory(void)
{
    char *p = NULL;

    if (posix_memalign((void **)&p, 4096, 2 * MAX_BYTES) != 0)
        must(-FI_ENOMEM, "memory");
    memset(p, 1, 2 * MAX_BYTES);
    return p;
}

static void open_endpoint(struct fi_info *info, struct fid_av **av)
{
    struct fi_av_attr av_attr = {.type = FI_AV_UNSPEC};
    struct fi_cq_attr cq_attr = {.format = FI_CQ_FORMAT_MSG,
                                 .wait_obj = FI_WAIT_NONE};
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_mr *mr;

    must(fi_fabric(info->fabric_attr, &fabric, NULL), "fabric");
    must(fi_domain(fabric, info, &domain, NULL), "domain");
    must(fi_av_open(domain, &av_attr, av, NULL), "av");
    must(fi_cq_open(domain, &cq_attr, &cq, NULL), "cq");
    must(fi_endpoint(domain, info, &ep, NULL), "endpoint");
    must(fi_ep_bind(ep, &(*av)->fid, 0), "bind");
    must(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind");
    must(fi_enable(ep), "enable");
    out = memory();
    in = out + MAX_BYTES;
    if (info->domain_attr->mr_mode & FI_MR_LOCAL) {
        must(fi_mr_reg(domain, out, 2 * MAX_BYTES, FI_SEND | FI_RECV, 0, 0, 0,
                       &mr, NULL),
             "memory");
        desc = fi_mr_desc(mr);
    }
}

/* Each tells the other its address. */
static void meet(struct fid_av *av, int to, int from)
{
    char own[NAME_MAX_BYTES] = "", other[NAME_MAX_BYTES];
    size_t len = sizeof(own);

    must(fi_getname(&ep->fid, own, &len), "name");
    if (write(to, own, sizeof(own)) != sizeof(own) ||
        read(from, other, sizeof(other)) != sizeof(other))
        must(-FI_EIO, "pipe");
    if (fi_av_insert(av, other, 1, &peer, 0, NULL) != 1)
        must(-FI_EADDRNOTAVAIL, "address");
}

static void post(size_t len)
{
    ssize_t rc;
    struct fi_cq_msg_entry e;

    while ((rc = fi_recv(ep, in, len, desc, FI_ADDR_UNSPEC, &in_context)) ==
           -FI_EAGAIN)
        (void)fi_cq_read(cq, &e, 0);
    must((int)rc, "receive");
}

/* Both may be seen in either order. */
static unsigned sent, received;

static void look(void)
{
    struct fi_cq_msg_entry e[4];
    ssize_t n = fi_cq_read(cq, e, 4);

    if (n < 0 && n != -FI_EAGAIN)
        must((int)n, "queue");
    for (ssize_t i = 0; i < n; i++) {
        sent += e[i].op_context == &out_context;
        received += e[i].op_context == &in_context;
    }
}

static void send_one(size_t len)
{
    ssize_t rc;

    while ((rc = fi_send(ep, out, len, desc, peer, &out_context)) == -FI_EAGAIN)
        look();
    must((int)rc, "send");
}

static void take(size_t next)
{
    while (received == 0 || sent == 0)
        look();
    received = 0;
    sent = 0;
    post(next);
}

static size_t only; /* 0: all sizes */

static bool is_wanted(int s)
{
    return only == 0 || only == sizes[s].bytes;
}

/* Of the message behind this one. */
static size_t next_size(int s, int i)
{
    if (s >= 0 && i + 1 < total_rounds(s))
        return sizes[s].bytes;
    while (++s < NSIZES && !is_wanted(s))
        ;
    return s < NSIZES ? sizes[s].bytes : 1;
}

/* The buffer for the next one is posted before the answer to this goes. */
static void answer(void)
{
    post(next_size(-1, 0));
    sent = 1;
    for (int s = 0; s < NSIZES; s++)
        for (int i = 0; is_wanted(s) && i < total_rounds(s); i++) {
            take(next_size(s, i));
            send_one(sizes[s].bytes);
        }
    while (sent == 0)
        look();
}

static void measure(void)
{
    double batch[BATCHES];

    post(next_size(-1, 0));
    for (int s = 0; s < NSIZES; s++) {
        int done = 0;

        if (!is_wanted(s))
            continue;
        for (int b = -WARMUPS; b < BATCHES; b++) {
            double start = now_us();

            for (int i = 0; i < sizes[s].rounds; i++) {
                send_one(sizes[s].bytes);
                take(next_size(s, done++));
            }
            if (b >= 0)
                batch[b] = (now_us() - start) / sizes[s].rounds / 2;
        }
        printf("%zu %.4f\n", sizes[s].bytes, median(batch, BATCHES));
    }
}

int main(int argc, char **argv)
{
    int to[2], back[2];
    struct fid_av *av;
    pid_t child;

    if (argc < 2 || pipe(to) < 0 || pipe(back) < 0)
        return 2;
    only = argc > 2 ? (size_t)atol(argv[2]) : 0;
    child = fork();
    open_endpoint(find(argv[1]), &av);
    if (child == 0) {
        meet(av, back[1], to[0]);
        answer();
        /* Until all is delivered. */
        if (read(to[0], in, 1) < 0)
            return 1;
        _exit(0);
    }
    meet(av, to[1], back[0]);
    measure();
    if (write(to[1], "", 1) != 1)
        return 1;
    waitpid(child, NULL, 0);
    return 0;
}
