# SPDX-License-Identifier: BSD-3-Clause
#
# Make sources from calls.def (format: see there) and overrides.def (one name
# per line).  awk -f calls.awk -v mode=MODE overrides.def calls.def
#   front   F(n, MPI_X) per function, n from 0
#   count   how many
#   list    their names
#   types   call numbers, function types, struct impi_real, declarations of
#           the overrides
#   wrap    checking wrappers and the table impi_calls[]
#   failed  what tells a failure of a function with its arguments
#   check   types against mpi.h: a function that exists must have our type
#   large   functions with large counts, made of those without
#   init    persistent collectives, made of the nonblocking ones
#   probe   PROBE(X, arguments that must make it fail) per wrapper
# POSIX awk; fails with a message when a line cannot be understood.

function die(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text >"/dev/stderr"
    failed = 1
    exit 1
}

# Split PROTOTYPE into ret[name], args[name] and remember its order.
function add(check, proto,    open, head, name) {
    open = index(proto, "(")
    head = substr(proto, 1, open - 1)
    if (!open || !match(head, /MPIX?_[A-Za-z0-9_]+$/))
        die("not a prototype: " proto)
    name = substr(head, RSTART)
    if (name in ret)
        die(name " listed twice")
    ret[name] = substr(head, 1, RSTART - 2)
    args[name] = substr(proto, open + 1, length(proto) - open - 1)
    if (check !~ /^(-|comm|file|req|msg|group|win)$/)
        die("no such check: " check)
    checks[name] = check
    order[++norder] = name
}

# The large-count twin of a list of arguments.
function large(list,    n, i, a, out) {
    n = split(list, a, /, */)
    for (i = 1; i <= n; i++) {
        if (a[i] ~ /^int ([a-z_]*count|outsize|insize|disp_unit)$/ ||
            a[i] == "int *position")
            sub(/int/, a[i] ~ /disp_unit/ ? "MPI_Aint" : "MPI_Count", a[i])
        else if (a[i] ~ /^const int [a-z]*counts\[\]$/)
            sub(/int/, "MPI_Count", a[i])
        else if (a[i] ~ /^const int [a-z]*displs\[\]$/)
            sub(/int/, "MPI_Aint", a[i])
        else if (a[i] == "int *size")
            a[i] = "MPI_Count *size"
        out = out (i > 1 ? ", " : "") a[i]
    }
    return out
}

function argname(arg) {
    sub(/\[.*$/, "", arg)
    match(arg, /[a-z_A-Z0-9]+$/)
    return substr(arg, RSTART)
}

# "a, b, c": the names of a function's arguments.
function names(list,    n, i, a, out) {
    if (list == "void")
        return ""
    n = split(list, a, /, */)
    for (i = 1; i <= n; i++)
        out = out (i > 1 ? ", " : "") argname(a[i])
    return out
}

# The C expression under which a call must fail, and the communicator
# through which it does.
function condition(name,    n, i, a, arg, out, sep) {
    comm = "MPI_COMM_SELF"
    n = split(args[name], a, /, */)
    for (i = 1; i <= n; i++) {
        arg = argname(a[i])
        sep = out == "" ? "" : "\n        || "
        if (checks[name] == "comm" && a[i] ~ /^MPI_Comm [a-z]/) {
            out = out sep "impi_comm_spans(" arg ")"
            comm = comm == "MPI_COMM_SELF" ? arg : comm
        } else if (checks[name] == "req" && arg !~ /^new/) {
            if (a[i] ~ /^MPI_Request \*/)
                out = out sep "impi_request_ours(*" arg ")"
            else if (a[i] ~ /^(const )?MPI_Request [a-z]+\[\]/)
                out = out sep "impi_requests_ours(count, " arg ")"
            else if (a[i] ~ /^MPI_Request /)
                out = out sep "impi_request_ours(" arg ")"
        } else if (checks[name] == "group" && a[i] ~ /^MPI_Group [a-z]/) {
            out = out sep "impi_group_ours(" arg ")"
        } else if (checks[name] == "win" && a[i] ~ /^MPI_Win [a-z]/) {
            out = out sep "impi_win_spans(" arg ")"
        } else if (checks[name] == "file" && a[i] ~ /^MPI_File \*?[a-z]/) {
            out = out sep "impi_file_spans(" (a[i] ~ /\*/ ? "*" : "") arg ")"
            file = (a[i] ~ /\*/ ? "*" : "") arg
        } else if (checks[name] == "msg" && arg !~ /^new/ &&
                   a[i] ~ /^MPI_Message \*/)
            out = out sep "impi_message_ours(*" arg ")"
    }
    if (out == "")
        die(name ": nothing to check with " checks[name])
    return out
}

function bare(name) {
    sub(/^MPI_/, "", name)
    return name
}

# Functions whose failures are told by impi_failed_X (failed.h).
function is_told(name) {
    return ret[name] == "int" && \
        (name in over ? !(name in silent) : checks[name] != "-")
}

# A statement that writes one argument.
function tell(arg,    name) {
    name = argname(arg)
    if (arg ~ /^const char \*/)
        return "failed_string(&f, \"" name "\", " name ")"
    if (arg ~ /[*[]/)
        return "failed_pointer(&f, \"" name "\", (uintptr_t)" name ")"
    if (arg ~ /^(int|MPI_Aint|MPI_Count|MPI_Offset) /)
        return "failed_number(&f, \"" name "\", (long long)" name ")"
    if (arg ~ /^MPI_Datatype /)
        return "failed_type(&f, " name ")"
    if (arg ~ /^MPI_Op /)
        return "failed_op(&f, " name ")"
    if (arg ~ /^MPI_Comm /)
        return "failed_comm(&f, " name ")"
    if (arg ~ /^MPI_Win /)
        return "failed_win(&f, " name ")"
    if (arg ~ /^MPI_File /)
        return "failed_file(&f, " name ")"
    if (match(arg, /^MPI_(Group|Info|Request|Message) /)) {
        arg = toupper(substr(arg, 1, RLENGTH - 1)) "_NULL"
        return "failed_handle(&f, \"" name "\", (uintptr_t)" name \
            ",\n        (uintptr_t)" arg ", \"" arg "\")"
    }
    return "failed_pointer(&f, \"" name "\", (uintptr_t)" name ")"
}

function print_failed(    i, j, f, n, a) {
    print "/* Made by calls.awk. */"
    for (i = 1; i <= norder; i++) {
        f = order[i]
        if (!is_told(f))
            continue
        printf "int impi_failed_%s(int rc, %s)\n{\n", bare(f), args[f]
        printf "    struct failed f;\n\n"
        printf "    if (!failed_begin(&f, \"%s\"))\n        return rc;\n", f
        n = split(args[f], a, /, */)
        for (j = 1; j <= n; j++)
            printf "    %s;\n", tell(a[j])
        printf "    failed_end(&f);\n    return rc;\n}\n\n"
    }
}

# What fails on the way out is told by the caller, who has the arguments.
function print_told(    i, f, b) {
    print "/* The function's return code, told if it is an error (failed.h). */"
    for (i = 1; i <= norder; i++) {
        f = order[i]
        b = bare(f)
        if (!is_told(f))
            continue
        printf "int impi_failed_%s(int rc, %s);\n", b, args[f]
        printf "static inline int impi_told_%s(int rc, %s)\n{\n", b, args[f]
        printf "    return __builtin_expect(rc == MPI_SUCCESS, 1)\n"
        printf "        ? rc : impi_failed_%s(rc, %s);\n}\n", b, names(args[f])
    }
}

function print_types(    i, f) {
    print "/* Made by calls.awk.  Include mpi.h first. */"
    print "#if MPI_VERSION < 4 && !defined(MPI_SESSION_NULL)"
    print "typedef void *MPI_Session; /* the library that is met may have it */"
    print "typedef void MPI_Session_errhandler_function(MPI_Session *, int *, ...);"
    print "#endif"
    print "#ifndef MPIX_STREAM_NULL"
    print "typedef int MPIX_Stream; /* of MPICH 4.1 and later */"
    print "#endif"
    print "enum {"
    for (i = 1; i <= norder; i++)
        print "    CALL_" bare(order[i]) ","
    print "    IMPI_NCALLS\n};"
    for (i = 1; i <= norder; i++) {
        f = order[i]
        printf "typedef %s impi_%s_f(%s);\n", ret[f], bare(f), args[f]
    }
    print "/* The library's own functions; NULL where it has none. */"
    print "struct impi_real {"
    for (i = 1; i <= norder; i++) {
        f = order[i]
        printf "    impi_%s_f *%s;\n", bare(f), bare(f)
    }
    print "};"
    print "/* What overrides.def names: the back end defines these. */"
    for (i = 1; i <= norder; i++)
        if (order[i] in over)
            printf "impi_%s_f impi_%s;\n", bare(order[i]), bare(order[i])
    print_told()
}

# An override with somebody around it who tells its failures.  On the
# communicator asked for last, if it does not span: no frame, a jump.  What also
# holds in a world of one client may fail there as well.
function print_entry(f, b) {
    printf "static int entry_%s(%s)\n{\n", b, args[f]
    if (!(f in always) && args[f] ~ /MPI_Comm comm(,|$)/)
        printf "    if (likely(impi_comm_plain(comm)))\n" \
            "        return impi_%s(%s);\n", b, names(args[f])
    printf "    return impi_told_%s(impi_%s(%s),\n        %s);\n}\n\n", \
        b, b, names(args[f]), names(args[f])
}

# From when on a function is looked at.
function from(f) {
    if (checks[f] == "win")
        return "IMPI_WITH_WINDOWS"
    return checks[f] == "file" ? "IMPI_WITH_FILES" : "IMPI_AT_ONCE"
}

# The place in the table of an override.
function entry_of(f) {
    return is_told(f) && !(f in tells) ? "entry_" bare(f) : "impi_" bare(f)
}

# The communicator asked for last, once more: no frame, no stores, a jump.
function print_quick(f, b) {
    printf "static int wrap_%s(%s)\n{\n", b, args[f]
    printf "    if (likely(impi_comm_plain(%s)))\n", comm
    printf "        return impi_real.%s(%s);\n", b, names(args[f])
    printf "    return slow_%s(%s);\n}\n\n", b, names(args[f])
}

function print_wrap(    i, f, b, how, quick) {
    print "/* Made by calls.awk. */"
    for (i = 1; i <= norder; i++) {
        f = order[i]
        b = bare(f)
        if (f in over && is_told(f) && !(f in tells)) {
            print_entry(f, b)
        }
        if (checks[f] == "-" || f in over)
            continue
        how = condition(f)
        if (ret[f] != "int")
            die(f ": only int functions can fail")
        quick = how ~ /^impi_comm_spans\([a-z]+\)$/
        printf "static %sint %s_%s(%s)\n{\n", quick ? "NOINLINE " : "", \
            quick ? "slow" : "wrap", b, args[f]
        printf "    if (unlikely(%s))\n", how
        printf "        return impi_told_%s(impi_unsupported%s(", b, \
            checks[f] == "file" ? "_file" : ""
        printf "%s, ", checks[f] == "file" ? file : comm
        printf "CALL_%s), %s);\n", b, names(args[f])
        printf "    return impi_real.%s(%s);\n}\n\n", b, names(args[f])
        if (quick)
            print_quick(f, b)
    }
    print "const struct impi_call impi_calls[IMPI_NCALLS] = {"
    for (i = 1; i <= norder; i++) {
        f = order[i]
        b = bare(f)
        how = f in over ? entry_of(f) : checks[f] == "-" ? "0" : "wrap_" b
        printf "    [CALL_%s] = { \"%s\",\n        (impi_call_f *) %s,\n" \
            "        (impi_call_f **) &impi_real.%s, %d, %s },\n", b, f, how, \
            b, f in always, from(f)
    }
    print "};"
}

# "x->a, x->b": the members of a structure with the same names as the
# arguments; the communicator's is a duplicate of its own.
function members(list,    n, i, a, out) {
    n = split(list, a, /, */)
    for (i = 1; i <= n; i++)
        out = out (i > 1 ? ", " : "") \
            (a[i] == "MPI_Comm comm" ? "head->comm" : "x->" argname(a[i]))
    return out
}

# Persistent collective `made`: f with its arguments kept, each start of which
# is the nonblocking form.
function print_init(f, made,    b, m, n, i, a, arg) {
    b = bare(f)
    m = bare(made)
    n = split(args[f], a, /, */)
    printf "struct init_%s {\n    struct coll_init head;\n", m
    for (i = 1; i < n; i++) {
        arg = a[i]
        if (sub(/\[\]$/, "", arg))
            sub(/[a-z]+$/, "*&", arg)
        printf "    %s;\n", arg
    }
    printf "};\n\nstatic int start_%s(struct coll_init *head, " \
        "MPI_Request *request)\n{\n", m
    if (n > 1)
        printf "    struct init_%s *x = (struct init_%s *)head;\n\n", m, m
    printf "    return impi_I%s(%s, request);\n}\n\n", \
        tolower(substr(b, 1, 1)) substr(b, 2), members(args[f])
    printf "int impi_%s(%s)\n{\n", m, args[made]
    printf "    struct impi_comm *c = impi_span_find(comm);\n"
    printf "    struct init_%s *x;\n    int rc;\n\n", m
    printf "    if (!c)\n        return impi_real.%s(%s);\n", m, \
        names(args[made])
    printf "    rc = coll_init_new(c, CALL_%s, sizeof(*x), (void **)&x);\n", m
    printf "    if (rc != MPI_SUCCESS)\n        return rc;\n"
    printf "    x->head.start = start_%s;\n", m
    for (i = 1; i < n; i++) {
        arg = argname(a[i])
        printf "    x->%s = %s;\n", arg, arg
        if (a[i] ~ /^MPI_Datatype /)
            printf "    coll_init_type(&x->head, %s);\n", arg
        if (a[i] ~ /^MPI_Op /)
            printf "    x->head.op = op;\n"
        if (a[i] ~ /^const MPI_Datatype .*types/)
            printf "    coll_init_types(&x->head, %s, %s, %s);\n", \
                arg == "sendtypes" ? "sendbuf" : "recvbuf", arg, \
                b !~ /^Neigh/ ? "c->peers" : arg == "sendtypes" ? \
                "topo_destinations(c)" : "topo_sources(c)"
    }
    printf "    return coll_init_request(&x->head, c, newrequest);\n}\n\n"
}

# What the library does itself.
function print_large_native(f, made,    real, b, later) {
    later = args[f] ~ /MPI_Request \*newrequest/
    b = bare(f)
    real = "impi_real." bare(made) "(" names(args[made]) ")"
    if (checks[f] == "msg")
        how = "!impi_message_ours(*message) && !cross_pending()"
    else if (checks[f] == "win")
        how = "!impi_win_spans(win)"
    else if (checks[f] == "file")
        how = "!impi_file_spans(fh)"
    else if (!later && b ~ /^([BRS]?send|[BRS]send|Send|Recv)/)
        how = "!c && !cross_pending()"
    else {
        how = "!c"
        if (!later)
            real = "ASSISTED(" real ")"
    }
    printf "    if (likely(%s))\n        return %s;\n", how, real
}

# The error handler of what the call is made with.
function large_raise(f) {
    if (checks[f] == "win")
        return "win_raise(win_find(win), l.rc)"
    if (checks[f] == "file")
        return "failed_note_file(fh, l.rc)"
    return "be_raise(" (checks[f] == "comm" ? "comm" : "MPI_COMM_WORLD") \
        ", l.rc)"
}

# A reduction of more elements than an operation takes: piece by piece.
function print_large_pieces(f,    n, i, a, arg, list, later) {
    later = args[f] ~ /MPI_Request \*newrequest/
    n = split(args[f], a, /, */)
    for (i = 1; i <= n; i++) {
        arg = argname(a[i])
        list = list (i > 1 ? ", " : "") \
            (arg ~ /^(send|recv)buf$/ ? \
             "large_at(" arg ", (MPI_Count)k * LARGE_PIECE, datatype)" : \
             arg == "count" ? "large_piece(count, k)" : \
             arg == "newrequest" ? "&parts->part[k]" : arg)
    }
    if (later)
        printf "    if (n > 1 && !(parts = compound_new(n)))\n" \
            "        return be_raise(comm, MPI_ERR_NO_MEM);\n"
    printf "    for (int k = 0; n > 1 && rc == MPI_SUCCESS && k < n; k++)\n" \
        "        rc = impi_%s(%s);\n", bare(f), list
    printf "    if (n > 1)\n        return %s;\n", later ? \
        "large_request(parts, rc, c, newrequest)" : "rc"
}

function print_large(f, made,    b, n, i, j, a, l, arg, list, over_op, later) {
    b = bare(f)
    n = split(args[f], a, /, */)
    split(args[made], l, /, */)
    later = args[f] ~ /MPI_Request \*newrequest/
    over_op = checks[f] == "comm" && args[f] ~ /MPI_Op/ && \
        args[f] ~ /int count/
    printf "int impi_%s(%s)\n{\n", bare(made), args[made]
    if (checks[f] == "comm")
        printf "    struct impi_comm *c = impi_span_find(comm);\n"
    printf "    struct large l = {0};\n    int rc = MPI_SUCCESS;\n"
    if (over_op)
        printf "    int n = large_pieces(count);\n"
    if (over_op && later)
        printf "    struct compound *parts = NULL;\n"
    printf "\n"
    print_large_native(f, made)
    if (over_op)
        print_large_pieces(f)
    for (i = 1; i <= n; i++) {
        arg = argname(a[i])
        if (a[i] != l[i] && arg == "disp_unit") {
            arg = "large_int(&l, disp_unit)"
        } else if (a[i] != l[i]) {
            for (j = i; j <= n && a[j] !~ /^MPI_Datatype /; j++)
                ;
            if (j <= n && !over_op)
                printf "    large_count(&l, &%s, &%s);\n", arg, argname(a[j])
            else if (!over_op)
                printf "    %s = large_int(&l, %s);\n", arg, arg
            arg = "(int)" arg
        }
        list = list (i > 1 ? ", " : "") arg
    }
    printf "    rc = l.rc != MPI_SUCCESS ? %s\n        : impi_%s(%s);\n", \
        large_raise(f), b, list
    printf "    return large_end(&l, rc);\n}\n\n"
}

# What is made of other functions: large counts, or persistent collectives.
function print_made(    i, f) {
    print "/* Made by calls.awk. */"
    for (i = 1; i <= norder; i++) {
        f = order[i]
        if (mode == "large" && f in larges)
            print_large(larges[f], f)
        else if (mode == "init" && f in inits)
            print_init(inits[f], f)
    }
}

function print_check(    i, f) {
    for (i = 1; i <= norder; i++) {
        f = order[i]
        printf "#ifndef %s\nCHECK(%s, %s)\n#endif\n", f, f, bare(f)
    }
}

# An argument to try a wrapper with: a handle that must be refused, else
# something harmless.
function dummy(arg, check) {
    if (check == "group" && arg ~ /^MPI_Group /)
        return "bad_group"
    if (arg ~ /^MPI_Win /)
        return "MPI_WIN_NULL"
    if (arg ~ /MPI_Request/ && argname(arg) !~ /^new/)
        return arg ~ /[*[]/ ? "bad_requests" : "bad_requests[0]"
    if (arg ~ /^MPI_Message \*/ && argname(arg) !~ /^new/)
        return "&bad_message"
    if (arg ~ /[*[]/)
        return "room"
    if (arg ~ /^MPI_Comm /)
        return "comm"
    if (arg ~ /^MPI_Datatype /)
        return "MPI_INT"
    if (arg ~ /^MPI_Op /)
        return "MPI_SUM"
    if (arg ~ /^MPI_Info /)
        return "MPI_INFO_NULL"
    if (arg ~ /^MPI_Group /)
        return "MPI_GROUP_EMPTY"
    if (arg ~ /^MPI_Errhandler /)
        return "MPI_ERRORS_RETURN"
    return "1"
}

function print_probe(    i, j, f, n, a, list) {
    for (i = 1; i <= norder; i++) {
        f = order[i]
        if (checks[f] ~ /^(-|win|file)$/ || f in over)
            continue
        list = ""
        n = split(args[f], a, /, */)
        for (j = 1; j <= n; j++)
            list = list (j > 1 ? ", " : "") dummy(a[j], checks[f])
        printf "PROBE(%s, %s)\n", bare(f), list
    }
}

# ---- input -----------------------------------------------------------------
{ sub(/\r$/, "") }
/^[ \t]*(#|$)/ { next }
FILENAME ~ /overrides/ {
    over[$1] = 1
    for (i = 2; i <= NF; i++)
        if ($i == "always")
            always[$1] = 1
        else if ($i == "tells")
            tells[$1] = 1
        else if ($i == "silent")
            silent[$1] = 1
        else
            die("no such word: " $i)
    next
}
$1 == "large" {
    for (i = 2; i <= NF; i++) {
        if (!($i in ret))
            die("no such function: " $i)
        add(checks[$i], ret[$i] " " $i "_c(" large(args[$i]) ")")
        over[$i "_c"] = 1
        if (args[$i] !~ /counts\[\]/ && $i !~ /educe_scatter|[Pp]ack/)
            larges[$i "_c"] = $i
    }
    next
}
$1 == "init" {
    for (i = 2; i <= NF; i++) {
        if (!($i in ret))
            die("no such function: " $i)
        tail = ", MPI_Info info, MPI_Request *newrequest)"
        add("comm", "int " $i "_init(" args[$i] tail)
        inits[$i "_init"] = $i
        x = $i
        sub(/^MPI_/, "MPIX_", x)
        add("comm", "int " x "_init(" args[$i] tail)
        inits[x "_init"] = $i
        over[$i "_init"] = over[x "_init"] = 1
        if ($i == "MPI_Barrier")
            continue
        add("comm", "int " $i "_init_c(" large(args[$i]) tail)
        inits[$i "_init_c"] = $i "_c"
        over[$i "_init_c"] = 1
    }
    next
}
{
    check = $1
    sub(/^[^ ]+ +/, "")
    add(check, $0)
}

END {
    if (failed)
        exit 1
    for (f in over)
        if (!(f in ret)) {
            print "overrides.def: no such function: " f >"/dev/stderr"
            exit 1
        }
    if (mode == "front")
        for (i = 1; i <= norder; i++)
            printf "F(%d, %s)\n", i - 1, order[i]
    else if (mode == "count")
        print "#define FRONT_NCALLS " norder
    else if (mode == "list")
        for (i = 1; i <= norder; i++)
            print order[i]
    else if (mode == "types")
        print_types()
    else if (mode == "wrap")
        print_wrap()
    else if (mode == "failed")
        print_failed()
    else if (mode == "large" || mode == "init")
        print_made()
    else if (mode == "check")
        print_check()
    else if (mode == "probe")
        print_probe()
    else {
        print "calls.awk: no such mode: " mode >"/dev/stderr"
        exit 1
    }
}
