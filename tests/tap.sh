# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# What the test scripts share: TAP on stdout, a scratch folder that is removed, mpirun with
# the flags a shared small machine needs. Sourced; expects bash, $top_builddir, $top_srcdir.
set -u
tests=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fc-test-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
fabricheck=$top_builddir/fabricheck
double=$top_builddir/tests/double/fabricheck-double

# ok NAME COMMAND…: passes when the command succeeds.
ok() {
    local name=$1
    shift
    tests=$((tests + 1))
    if "$@"; then
        echo "ok $tests - $name"
    else
        echo "not ok $tests - $name"
        echo "# failed: $*" | cut -c1-400 | tr '\n' ' '
        echo
        return 0
    fi
}

skip() { # NAME REASON
    tests=$((tests + 1))
    echo "ok $tests - $1 # SKIP $2"
}

skip_all() { # REASON
    echo "1..0 # SKIP $1"
    exit 0
}

done_testing() { echo "1..$tests"; }

show() { sed 's/^/# /' "$@"; }

# mpirun_n N COMMAND…: as README's users start it, but without the launcher's own remarks.
mpirun_n() {
    local n=$1
    shift
    timeout -k 5 "${mpi_timeout:-120}" mpirun -q --oversubscribe --bind-to none \
        -np "$n" "$@"
}
if [ "$(id -u)" = 0 ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# relay NAME LAUNCH…: runs a program that prints TAP and passes its test points on under
# NAME, renumbered, and its comments.
relay() {
    local name=$1 points=0 planned
    shift
    "$@" >"$scratch/out" 2>"$scratch/err"
    local status=$?
    while read -r line; do
        case $line in
        ok\ *) tests=$((tests + 1)); points=$((points + 1))
               echo "ok $tests - $name: ${line#ok * - }" ;;
        not\ ok\ *) tests=$((tests + 1)); points=$((points + 1))
               echo "not ok $tests - $name: ${line#not ok * - }" ;;
        \#*) echo "$line" ;;
        esac
    done <"$scratch/out"
    planned=$(sed -n 's/^1\.\.//p' "$scratch/out")
    ok "$name: all its tests ran, status 0" \
        [ "$status:${planned:-none}" = "0:$points" ]
    show "$scratch/err"
}

# on_nodes "a a b" COMMAND…: runs in each rank; rank i believes to be on the i-th node.
on_nodes=$top_srcdir/tests/on-nodes

verdict() { grep -o '^verdict: [A-Z]*' "$1" | sed 's/verdict: //'; }
