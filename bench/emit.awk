# SPDX-License-Identifier: BSD-3-Clause
# One JSON line from the samples of both sides: see emit() in bench/run.
function sort(v, n,    i, j, t) {
    for (i = 2; i <= n; i++)
        for (j = i; j > 1 && v[j - 1] > v[j]; j--) {
            t = v[j]; v[j] = v[j - 1]; v[j - 1] = t
        }
}
# The p-quantile, interpolated.
function quantile(v, n, p,    x, k) {
    x = 1 + (n - 1) * p
    k = int(x)
    return k >= n ? v[n] : v[k] + (x - k) * (v[k + 1] - v[k])
}
function num(x) { return sprintf("%.4g", x) + 0 == x ? x "" : sprintf("%.4g", x) }
function ratio(x, y) { return y == 0 ? (x == 0 ? 1 : 1e9) : x / y }
BEGIN {
    n = split(a, ours, " ")
    m = split(b, theirs, " ")
    if (n == 0 || m == 0) {
        print "emit: " bench ", " name ": no samples" >"/dev/stderr"
        exit 1
    }
    pairs = n < m ? n : m
    for (i = 1; i <= pairs; i++)
        r[i] = ratio(ours[i] += 0, theirs[i] += 0)
    for (i = 1; i <= n; i++) ours[i] += 0
    for (i = 1; i <= m; i++) theirs[i] += 0
    sort(ours, n); sort(theirs, m); sort(r, pairs)
    o = quantile(ours, n, 0.5)
    t = quantile(theirs, m, 0.5)
    q = ratio(o, t)
    best = better == "higher" ? r[pairs] : r[1]
    worst = better == "higher" ? r[1] : r[pairs]
    met = goal == "-" ? "null" : \
        (better == "higher" ? q >= goal : q <= goal) ? "true" : "false"
    printf "{\"bench\":\"%s\",\"case\":\"%s\",\"unit\":\"%s\",", \
        bench, name, unit
    printf "\"ours\":%s,\"reference\":%s,\"reference_name\":\"%s\",", \
        num(o), num(t), ref
    printf "\"ratio\":%s,\"ratio_best\":%s,\"ratio_worst\":%s,", \
        num(q), num(best), num(worst)
    printf "\"ours_iqr\":[%s,%s],\"reference_iqr\":[%s,%s],", \
        num(quantile(ours, n, 0.25)), num(quantile(ours, n, 0.75)), \
        num(quantile(theirs, m, 0.25)), num(quantile(theirs, m, 0.75))
    printf "\"goal\":%s,\"better\":\"%s\",\"met\":%s,\"runs\":%d}\n", \
        goal == "-" ? "null" : goal, better, met, pairs
}
