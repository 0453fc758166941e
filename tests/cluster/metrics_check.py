# SPDX-License-Identifier: BSD-3-Clause
"""What Prometheus asks of a page of metrics, on stdin: each family in one
group with HELP and TYPE before it, no series twice, labels and values of their
syntax, counters called _total, base units.  Prints what is wrong."""
import re
import sys

NAME = r'[a-zA-Z_:][a-zA-Z0-9_:]*'
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\\\n]|\\\\["\\\\n])*"'
SAMPLE = re.compile(rf'({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (\S+)$')
FOREIGN = re.compile(r'_(ms|us|ns|milliseconds|kb|percent)(_total)?$')


def check(lines):
    types, helps, series, family = {}, set(), set(), None
    for line in lines:
        head = re.match(rf'# (HELP|TYPE) ({NAME}) (.+)$', line)
        if head and head[1] == 'HELP':
            if head[2] in helps:
                yield 'HELP again', line
            helps.add(head[2])
        elif head:
            family = head[2]
            if family in types or family not in helps:
                yield 'TYPE again, or without HELP', line
            types[family] = head[3]
            if (head[3] == 'counter') != family.endswith('_total'):
                yield 'a counter is called _total, nothing else is', line
            if FOREIGN.search(family):
                yield 'not a base unit', line
        else:
            sample = SAMPLE.match(line)
            if not sample or sample[1] != family:
                yield 'no sample of the family before it', line
                continue
            if sample.group(1, 2) in series:
                yield 'a series twice', line
            series.add(sample.group(1, 2))
            float(sample[3])
    if not series:
        yield 'nothing', ''


text = sys.stdin.read()
if not text.endswith('\n'):
    print('no newline at the end')
for what, line in check(text.splitlines()):
    print(f'{what}: {line}')
