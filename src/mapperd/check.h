/* SPDX-License-Identifier: BSD-3-Clause
 *
 * mapperd --check NET: what would a mapper make of this fabric?  Explores it
 * in virtual time from one of its hosts, compares the map with the net,
 * computes routes, looks for deadlocks and how evenly the routes lie.
 */
#ifndef SF_MAPPERD_CHECK_H
#define SF_MAPPERD_CHECK_H

/* With the options of the command line.  Prints to stdout, errors to stderr.
 * The exit status: 0 all is well; 1 the map is not exact, routes can deadlock
 * or hosts are cut off; 2 cannot be checked. */
int mapperd_check_main(int argc, char **argv);

#endif
