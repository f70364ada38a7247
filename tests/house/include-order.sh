#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Reads every #include of the house's folders and enforces its order: a folder includes only
# what stands below it, and not what it refuses to know.
# shellcheck source=tests/house/common.bash
. "${top_srcdir:?}/tests/house/common.bash"

cat >"$scratch/rules.awk" <<'END'
# Input: source files, by paths relative to the top folder. Output: one line a violation.
BEGIN {
    # folder -> the folders that it may include, besides itself. This is the order of the
    # house, less what each folder refuses to know.
    may["src"] = "report judge training collectives rdma device topology core"
    may["report"] = "core"
    may["judge"] = "core"
    may["training"] = "collectives device topology core"
    may["collectives"] = "device topology core"
    may["rdma"] = "device topology core"
    may["device"] = "topology core"
    may["topology"] = "core"
    may["core"] = ""
    # single headers beyond that
    may_header["judge", "topology/model.h"] = 1
    # where each folder of sources lies
    path["report"] = "src/report"; path["judge"] = "src/judge"; path["core"] = "src/core"
    for (f in may) {
        split(may[f], list, " ")
        for (i in list) below[f, list[i]] = 1
        below[f, f] = 1
    }
    # headers of others: a pattern of the header, and of the files that may see it
    foreign("^(mpi|mpi-ext|mpio)\\.h$", "^(src/core/rte_mpi\\.c|collectives/[^/]*_mpi\\.[ch])$")
    foreign("^(infiniband|rdma)/", "^rdma/")
    foreign("^nccl", "^collectives/")
    foreign("^(nvml|nvToolsExt|nvtx)", "^device/")
    foreign("^(cuda|cublas|cupti|nvrtc)", "^(device|collectives)/")
    foreign("^(cblas|openblas|lapacke)", "^device/")
    foreign("^(hwloc\\.h$|hwloc/)", "^topology/")
    foreign("^libxml/", "^topology/")
}

function foreign(header, files) {
    foreign_header[++foreigners] = header
    foreign_files[foreigners] = files
}

# The house's folder of a path below the top folder, or "".
function folder_of(file,    part) {
    split(file, part, "/")
    if (part[1] != "src") return part[1] in may ? part[1] : ""
    if (part[3] == "") return "src"
    return part[2] in may ? part[2] : ""
}

function report(why) { print FILENAME ":" FNR ": " why; }

function exists(file,    line, found) {
    found = (getline line < file) >= 0
    close(file)
    return found
}

# The folder that a quoted header belongs to. Headers are named from the include roots src/
# and the top folder, or without a folder when they are in the includer's own.
function folder_of_header(header, own,    dir) {
    if (index(header, "/")) {
        dir = substr(header, 1, index(header, "/") - 1)
        return dir in may && dir != "src" ? dir : ""
    }
    dir = FILENAME
    sub(/[^\/]*$/, "", dir)
    if (exists(dir header)) return own
    return exists("src/" header) ? "src" : ""
}

/^[ \t]*#[ \t]*include/ {
    own = folder_of(FILENAME)
    if (own == "") {
        report("the file is in no folder of the house")
        next
    }
    rest = $0
    sub(/^[ \t]*#[ \t]*include(_next)?[ \t]*/, "", rest)
    open = substr(rest, 1, 1)
    close_at = match(substr(rest, 2), open == "<" ? ">" : "\"")
    header = substr(rest, 2, close_at - 1)
    if ((open != "<" && open != "\"") || close_at == 0) {
        report("cannot read: " $0)
        next
    }
    for (i = 1; i <= foreigners; i++)
        if (open == "<" && header ~ foreign_header[i] && FILENAME !~ foreign_files[i])
            report(header " may not be seen here")
    if (open == "<" || header == "config.h") next
    if (header ~ /(^|\/)\.\.?\//) {
        report(header " is not named from an include root")
        next
    }
    target = folder_of_header(header, own)
    if (target == "")
        report(header " is in no folder of the house")
    else if (!((own, target) in below) && !((own, header) in may_header))
        report(own " may not include " header)
}
END

check() { # top folder
    on_files "$1" awk -f "$scratch/rules.awk" -- 'src/*.[ch]' 'src/*.def' \
        'training/*.[ch]' 'training/*.def' 'collectives/*.[ch]' 'collectives/*.def' \
        'rdma/*.[ch]' 'rdma/*.def' 'device/*.[ch]' 'device/*.def' \
        'topology/*.[ch]' 'topology/*.def'
}

# A small house with one violation of each kind, between lines that are allowed.
planted=$scratch/planted
plant() { # file line...
    mkdir -p "$planted/$(dirname "$1")"
    printf '%s\n' "${@:2}" >"$planted/$1"
}
plant src/main.c '#include "cli.h"' '#include "judge/judge.h"' '#include <mpi.h>'
plant src/cli.h '#include <stdio.h>' '#include "nowhere.h"'
plant src/core/rte_mpi.c '#include <mpi.h>' '#include "core/rte.h"' '#include "cli.h"'
plant src/core/rte.h '  #  include "device/device.h"  // reaches up'
plant src/core/list.def '#include "judge/judge.h"'
plant src/judge/judge.c '#include "topology/model.h"' '#include "topology/facts.h"' \
    '#include "report/report.h"'
plant src/judge/judge.h '#include "judge/judge.h"'
plant src/report/text.c '#include "judge/judge.h"' '#include "core/rte.h"'
plant src/other/new.c '#include "core/rte.h"'
plant training/step.c '#include <infiniband/verbs.h>' '#include "rdma/qp.h"' '#include "collectives/comm.h"'
plant collectives/comm.h '#include HEADER'
plant collectives/comm_mpi.c '#include "config.h"' '#include <mpi.h>' '#include "rdma/qp.h"'
plant collectives/sweep.c '#include <mpi.h>' '#include <nccl.h>' '#include "training/step.h"'
plant rdma/qp.c '#include <nccl.h>' '#include <infiniband/verbs.h>' '#include "collectives/comm.h"'
plant device/device.h '#include "../topology/model.h"' '#include "topology/model.h"'
plant device/cuda.c '#include <cuda_runtime_api.h>' '#include <hwloc.h>' '#include "rdma/qp.h"'
plant topology/model.c '#include <nvml.h>' '#include <hwloc/linux.h>' '#include "device/device.h"'
expected='collectives/comm.h:1: cannot read: #include HEADER
collectives/comm_mpi.c:3: collectives may not include rdma/qp.h
collectives/sweep.c:1: mpi.h may not be seen here
collectives/sweep.c:3: collectives may not include training/step.h
device/cuda.c:2: hwloc.h may not be seen here
device/cuda.c:3: device may not include rdma/qp.h
device/device.h:1: ../topology/model.h is not named from an include root
rdma/qp.c:1: nccl.h may not be seen here
rdma/qp.c:3: rdma may not include collectives/comm.h
src/cli.h:2: nowhere.h is in no folder of the house
src/core/list.def:1: core may not include judge/judge.h
src/core/rte.h:1: core may not include device/device.h
src/core/rte_mpi.c:3: core may not include cli.h
src/judge/judge.c:2: judge may not include topology/facts.h
src/judge/judge.c:3: judge may not include report/report.h
src/main.c:3: mpi.h may not be seen here
src/other/new.c:1: the file is in no folder of the house
src/report/text.c:1: report may not include judge/judge.h
topology/model.c:1: nvml.h may not be seen here
topology/model.c:3: topology may not include device/device.h
training/step.c:1: infiniband/verbs.h may not be seen here
training/step.c:2: training may not include rdma/qp.h'

ok_if_same "planted violations are all found, and nothing else" "$(check "$planted")" "$expected"
ok_if_empty "there are includes to read" \
    "$([ "$(on_files "$top" grep -h '^#include' -- 'src/*.[ch]' | wc -l)" -gt 100 ] || echo "hardly any #include found")"
ok_if_empty "the house's order" "$(check "$top")"
done_testing
