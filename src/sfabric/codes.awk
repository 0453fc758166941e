# SPDX-License-Identifier: BSD-3-Clause
# The tables of doc/errors.md as a table in C: {"SF-E101", "meaning"}.  A row
# is | code | [where |] meaning | what to do |.
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
    printf "{\"%s\", \"%s\"},\n", text($2), meaning
}
