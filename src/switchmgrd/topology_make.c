/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytebuf.h"
#include "base/ctl.h"
#include "net/format.h"
#include "net/topo.h"
#include "switchmgrd/topology.h"

#define ASK_MS 1000 /* how long mapperd may take */

/* Hosts get Slurm's names by their boards, as everywhere. */
static void name_hosts(struct net_graph_net *unused);

static bool give_names(struct net *n, struct net *unused2);
