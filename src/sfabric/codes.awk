# SPDX-License-Identifier: BSD-3-Clause
# The tables of doc/errors.md as a table in C: {"SF-E101", "meaning"}.  A row
# is | code, code | [where |] meaning | what to do |.
function text(cell) {
    gsub(/^ +| +$/, "", cell)
    gsub(/\\/, "\\\\", cell)
    gsub(/"/, "\\\"", cell)
    return cell
}

BEGIN { FS = "|" }

/^\| SF-E/ {
    meaning = text($(NF - 2)) "."
    advice = text($(NF - 1))
    if (advice != "")
        meaning = meaning "\\nWhat to do: " advice "."
    n = split($2, codes, ",")
    for (i = 1; i <= n; i++)
        printf "{\"%s\", \"%s\"},\n", text(codes[i]), meaning
}
