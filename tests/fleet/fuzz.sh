#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The judge on spoilt journals: ten seconds, or fuzz_seconds=N. What it finds is told with the
# seed; "tests/fleet/fuzz DIR 0 SEED JOURNAL…" with the same journals judges that one again.
. "${top_srcdir:?run by make check}/tests/tap.sh"
fleet=${top_builddir:?}/tests/fleet/fleet
fuzz=$top_builddir/tests/fleet/fuzz
cd "${scratch:?}" || exit 1
echo "pair.bw n1 1" >suspects

simulate() { # NAME OPTIONS…: a small whole journal
    local name=$1
    shift
    "$fleet" "$@" >"$name" && "$fleet" "$@" --suspects suspects >>"$name"
}
simulate few --nodes 3 --ranks 2
simulate ten --nodes 10 --fault nic:percent=30,node=1
simulate rails --nodes 6 --rails 2 --cross silent --fault corrupt --fault lossy
simulate lost --nodes 9 --leaf 3 --fault lost --fault switch:percent=40,leaf=1
journals=(few ten rails lost "$top_srcdir/tests/fixtures/golden/journal-v1.jsonl"
    "$top_srcdir/tests/fixtures/judge/rank-hung.jsonl")

run_fuzz() { # SECONDS SEED
    mkdir -p work
    timeout -k 5 $(($1 + 120)) "$fuzz" work "$1" "$2" "${journals[@]}" >out 2>err
    local status=$?
    show out err
    [ $status = 0 ] && return 0
    echo "# status $status at seed $(cat work/seed)"
    return 1
}
ok "whole journals are judged" sh -c 'for j; do "$0" judge "$j" >/dev/null; [ $? != 2 ] || exit 1
    done' "$fabricheck" "${journals[@]}"
ok "spoilt journals end in a bounded report or a reason" run_fuzz "${fuzz_seconds:-10}" \
    "${fuzz_seed:-1}"
ok "many were judged" [ "$(sed -n 's/.*: \([0-9]*\) judged.*/\1/p' out)" -gt 20 ]
ok "some were refused" [ "$(sed -n 's/.*, \([0-9]*\) refused.*/\1/p' out)" -gt 0 ]
done_testing
