#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# The graph that a tool's topology file stands for, whatever its switches are
# called: a line with the tree of its nodes, "((n0 n1) (n2 n3))".
#     graph.py tree FILE [NODES]   topology.conf or topology.yaml that is a tree
#     graph.py cables FILE         topology.conf as ib2slurm writes it: of each
#                                  switch its nodes and all its neighbours
# Switches with one child are left out: they separate nothing.  NODES, a file of
# names: other nodes are left out.
import re
import sys


def expand(text):
    """Names of a list as Slurm writes it."""
    out = []
    for word in re.findall(r"[^,\s\[\]]+(?:\[[^\]]*\])?[^,\s\[\]]*", text):
        m = re.match(r"([^\[]*)\[([^\]]*)\](.*)$", word)
        if not m:
            out.append(word)
            continue
        for part in m.group(2).split(","):
            low, _, high = part.partition("-")
            for i in range(int(low), int(high or low) + 1):
                out.append(m.group(1) + str(i).zfill(len(low)) + m.group(3))
    return out


def read_conf(text):
    switches = {}
    for line in text.splitlines():
        line = line.split("#")[0]
        m = re.match(r"\s*SwitchName=(\S+)(.*)", line)
        if not m:
            continue
        rest = m.group(2)
        part = {k: expand(v) for k, v in re.findall(
            r"(Switches|Nodes)=((?:[^\s,]+(?:,\s*)?)+)", rest)}
        switches[m.group(1)] = (part.get("Switches", []), part.get("Nodes", []))
    return switches


def read_yaml(text):
    """Of the first tree in it, in block style."""
    switches, name, tree = {}, None, False
    for line in text.splitlines():
        line = line.strip()
        line = line[2:].strip() if line.startswith("- ") else line
        key, _, value = line.partition(":")
        value = value.strip().strip('"')
        if key == "topology" and tree:
            break
        tree = tree or key == "tree"
        if key == "switch" and tree:
            name = value
            switches[name] = ([], [])
        elif key == "children" and name:
            switches[name][0].extend(expand(value))
        elif key == "nodes" and name:
            switches[name][1].extend(expand(value))
    return switches


def show(parts):
    parts = sorted(set(p for p in parts if p))
    if len(parts) == 1 and parts[0].startswith("("):
        return parts[0]
    return "(" + " ".join(parts) + ")" if parts else ""


def tree(switches, only):
    def of(name):
        children, nodes = switches[name]
        return show([of(c) for c in children] +
                    [n for n in nodes if only is None or n in only])

    below = {c for children, _ in switches.values() for c in children}
    return show([of(s) for s in switches if s not in below])


def cables(switches):
    """What hangs together through switches up to each distance from nodes."""
    level = {s: 1 for s, (_, nodes) in switches.items() if nodes}
    row = list(level)
    while row:
        above = {t for s in row for t in switches[s][0] if t not in level}
        level.update({t: level[row[0]] + 1 for t in above})
        row = list(above)
    part = {s: {s} for s in level}
    text = {s: show(nodes) for s, (_, nodes) in switches.items() if nodes}
    for at in range(2, max(list(level.values()) + [2]) + 1):
        for s, (peers, _) in switches.items():
            for t in peers:
                if max(level[s], level[t]) <= at and part[s] is not part[t]:
                    part[s] |= part[t]
                    for u in part[t]:
                        part[u] = part[s]
        for group in {id(p): p for p in part.values()}.values():
            # Children are what hung together before: equal texts are one.
            whole = show([text[s] for s in group if s in text])
            for s in group:
                if whole and s in text:
                    text[s] = whole
    return show(text.values())


def main():
    how, path = sys.argv[1:3]
    with open(path, encoding="utf-8") as f:
        text = f.read()
    only = None
    if len(sys.argv) > 3:
        with open(sys.argv[3], encoding="utf-8") as f:
            only = set(f.read().split())
    switches = (read_conf if "SwitchName=" in text else read_yaml)(text)
    if not switches:
        sys.exit("no switches in " + path)
    print(tree(switches, only) if how == "tree" else cables(switches))


main()
