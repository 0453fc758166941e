/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Known error messages, Slurm's and ours, and what they mean here.
 */
#ifndef SF_SFABRIC_EXPLAIN_H
#define SF_SFABRIC_EXPLAIN_H

/* What the message means and what to do; NULL: not known. */
const char *explain(const char *message);

#endif
