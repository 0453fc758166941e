#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The colours of the web page and of `sfabric draw` have the contrast that WCAG
# 2.2 AA asks for, light and dark: 4.5 for text on what lies behind it, 3 for
# what is drawn and must be told from what is behind it (1.4.3, 1.4.11).
set -u
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "no python3"

# low SCHEME: each pair whose contrast is too low, and how many were compared.
low() { # light|dark|svg
    python3 - "$1" "$top/src/switchmgrd/page.css" "$top/src/net/draw_svg.c" <<'PY'
import re
import sys

scheme, css, svg = sys.argv[1:]


def value(colour):
    colour = colour.lstrip("#")
    if len(colour) == 3:
        colour = "".join(c + c for c in colour)
    parts = [int(colour[i:i + 2], 16) / 255 for i in (0, 2, 4)]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
             for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def ratio(a, b):
    high, low = sorted((value(a), value(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


states = ["healthy", "unknown", "degraded", "flapping", "down"]
if scheme == "svg":
    text = open(svg, encoding="utf-8").read()
    has = lambda p: re.search(p, text).group(1)
    colours = {"bg": "#ffffff", "card": "#ffffff", "on": "#ffffff"}
    colours["ink"] = has(r"fill:(#[0-9a-f]{6})\}\.t\{")
    colours["dim"] = has(r"\.s,\.p\{fill:(#[0-9a-f]{6})")
    for name, letter in [("healthy", "h"), ("unknown", "u"),
                         ("degraded", "d"), ("down", "x")]:
        colours[name] = has(r"[}\"]\." + letter + r"\{fill:(#[0-9a-f]{6})")
    colours["cable"] = has(r"path\.u\{[^}]*stroke:(#[0-9a-f]{6})")
    states.remove("flapping")
    texts, drawn = ["ink", "dim"], ["cable"]
else:
    text = open(css, encoding="utf-8").read()
    light, dark = text.split("@media (prefers-color-scheme: dark)")[:2]
    rule = r"--([a-z]+): (#[0-9a-f]{6})"
    colours = dict(re.findall(rule, light))
    if scheme == "dark":
        other = dict(re.findall(rule, dark.split("}")[0]))
        assert set(other) == set(colours), "a colour of one scheme only"
        colours = other
    texts, drawn = ["ink", "dim", "focus"], ["focus", "cable", "in", "out"]
wanted = [(t, b, 4.5) for t in texts for b in ("bg", "card")]
wanted += [("on", s, 4.5) for s in states]          # a name in its box
wanted += [(s, b, 3) for s in states + drawn for b in ("bg", "card")]
for a, b, least in wanted:
    r = ratio(colours[a], colours[b])
    if r < least:
        print("%s on %s: %.2f, wants %.1f" % (a, b, r, least))
print("compared", len(wanted), file=sys.stderr)
PY
}

for scheme in light dark svg; do
    check "$scheme: what is read has 4.5, what is seen has 3" \
        "$(low $scheme 2>&1 | grep -v '^compared [1-9]')"
done
finish
