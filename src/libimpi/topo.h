/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Topologies of spanning communicators.  The native library knows nothing of
 * them: it has a part of the processes only.
 */
#ifndef LIBIMPI_TOPO_H
#define LIBIMPI_TOPO_H

struct topo;

/* Another one of the same, or NULL (no memory, or none to copy). */
struct topo *topo_copy(const struct topo *t);
void topo_free(struct topo *t);

#endif
