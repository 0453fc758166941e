#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests of one file of mpi4py's, in the order of their names.

mpi4py_tests.py FOLDER FILE [LIST | -]

"-" writes the names of all.  With LIST, a file of names, only these: where processes have different
libraries, each must make the same calls, and mpi4py skips other tests for one
library than for the other.  Rank 0 writes "ok NAME" of each that passed; every
process what failed.
"""
import sys
import unittest

from mpi4py import MPI


class Results(unittest.TestResult):
    """What is told of each test as it ends."""

    def addSuccess(self, test):
        super().addSuccess(test)
        if MPI.COMM_WORLD.Get_rank() == 0:
            print("ok", test.id(), flush=True)

    def tell(self, test, text):
        print(f"failed {test.id()} in rank {MPI.COMM_WORLD.Get_rank()}, "
              f"{MPI.get_vendor()[0]}:\n{text}", flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        self.tell(test, self.errors[-1][1])

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.tell(test, self.failures[-1][1])

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.tell(subtest, repr(err[1]))


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def main(folder, name, wanted=None):
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    # mpi4py spawns nothing where these might have an accelerator in use.
    sys.modules.update(cupy=None, numba=None)
    if wanted and wanted != "-":
        with open(wanted, encoding="utf-8") as names:
            wanted = set(names.read().split())
    tests = unittest.TestLoader().loadTestsFromModule(__import__(name))
    if wanted == "-":
        print("\n".join(sorted(t.id() for t in flat(tests))))
        return 0
    results = Results()
    unittest.TestSuite(
        sorted((t for t in flat(tests) if wanted is None or t.id() in wanted),
               key=lambda t: t.id())).run(results)
    return 0 if results.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
