# SPDX-License-Identifier: BSD-3-Clause
# The page's files as C strings: page.html becomes page_html.
FNR == 1 {
    if (NR > 1) print ";"
    name = FILENAME
    sub(/.*\//, "", name)
    gsub(/[^a-z]/, "_", name)
    print "static const char " name "[] ="
}
{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\"")
    print "\"" $0 "\\n\""
}
END { print ";" }
