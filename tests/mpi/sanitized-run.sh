#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A whole run on two ranks. In a build with sanitizers (./quickstart test makes one) what they
# report ends a rank with a status of its own, 99; elsewhere this is one more run.
# shellcheck source=tests/house/common.bash
. "${top_srcdir:?}/tests/house/common.bash"

# Open MPI unloads its parts before the end; only the slow unwinder sees, while they are there,
# whose leak it is that tests/lsan.supp leaves out.
export ASAN_OPTIONS=exitcode=99:fast_unwind_on_malloc=0:${ASAN_OPTIONS-}
export UBSAN_OPTIONS=exitcode=99:print_stacktrace=1:${UBSAN_OPTIONS-}
run=$scratch/run
timeout -k 5 400 mpirun -q -np 2 --host localhost:2 \
    "${top_builddir:?}/fabricheck" run --level quick --out "$run" \
    >"$scratch/out" 2>"$scratch/err" </dev/null
status=$?

ok_if_empty "ends with a verdict's status" \
    "$(case $status in 0 | 1 | 3) ;; *) echo "status $status" && tail -n 40 "$scratch/err" ;; esac)"
ok_if_empty "no sanitizer's report" \
    "$(grep -h -A 20 -E 'ERROR: (Address|Leak)Sanitizer|runtime error:' "$scratch/err" "$scratch/out")"
ok_if_empty "prints a verdict last" \
    "$(tail -n 1 "$scratch/out" | grep -q '^verdict: ' || tail -n 5 "$scratch/out")"
ok_if_empty "leaves a report" "$([ -s "$run/report.json" ] || ls "$run" 2>&1)"
done_testing
