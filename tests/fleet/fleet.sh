#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Simulated fleets of fixed seeds: healthy ones are not accused, each planted fault is blamed on
# the part that has it, and nothing depends on the order of lines, ranks or names.
. "${top_srcdir:?run by make check}/tests/tap.sh"
fleet=${top_builddir:?}/tests/fleet/fleet
score=$top_builddir/tests/fleet/score
cd "${scratch:?}" || exit 1

run() { # FIRST COUNT OPTIONS…: the sums are in the variables of their names
    mkdir -p work
    timeout -k 5 300 "$score" "$fleet" work "$1" "$2" -v "${@:3}" >out 2>err || return 1
    local sum
    for sum in $(tail -n 1 out); do
        [[ $sum =~ ^[a-z_]+=[0-9.]+$ ]] && eval "$sum"
    done
}

# COUNT fleets, none FAILs, no healthy node does, all are rightly blamed for nothing.
healthy() { # COUNT OPTIONS…
    run 1 "$@" && [ "$pass" = "$1" ] && [ "$right" = "$1" ] && [ "$failed" = 0 ] && return 0
    show out err
    return 1
}

# COUNT fleets: in each one the ill part is found and nobody else.
blamed() { # COUNT VERDICT OPTIONS…
    run 1 "$1" "${@:3}"
    local -A seen=([PASS]=$pass [FAIL]=$fail [INCONCLUSIVE]=$open)
    [ "$right" = "$1" ] && [ "$failed" = 0 ] && [ "${seen[$2]}" = "$1" ] && return 0
    show out err
    return 1
}

for n in 8 64; do
    ok "healthy: $n nodes" healthy 3 --nodes $n
done
ok "healthy: 256 nodes" healthy 2 --nodes 256
ok "healthy: 7 nodes, an odd number" healthy 2 --nodes 7
ok "healthy: three classes of 20 nodes" healthy 2 --nodes 60 --classes 3
ok "healthy: 4 ranks a node" healthy 1 --nodes 32 --ranks 4
ok "healthy: 4 rails" healthy 1 --nodes 32 --rails 4
ok "healthy: all rails meet" healthy 1 --nodes 32 --rails 4 --cross open
ok "healthy: a rail-only fabric" healthy 1 --nodes 32 --rails 4 --cross silent

ok "a slow device" blamed 2 FAIL --nodes 64 --fault device:percent=12
ok "slow memory" blamed 2 FAIL --nodes 64 --fault device:percent=10,metric=device.mem_bw
ok "one slow device of four" blamed 1 FAIL --nodes 64 --ranks 4 --fault device:percent=12
ok "a slow NIC" blamed 2 FAIL --nodes 64 --fault nic:percent=15
ok "a NIC that sends slowly" blamed 2 FAIL --nodes 64 --fault nic:percent=15,direction=sends
ok "a NIC that receives slowly" blamed 2 FAIL --nodes 64 --fault nic:percent=15,direction=receives
ok "a slow NIC of four rails" blamed 1 FAIL --nodes 64 --rails 4 --fault nic:percent=15
ok "a slow link" blamed 2 FAIL --nodes 64 --fault link:percent=30
ok "one direction of a link" blamed 2 FAIL --nodes 64 --fault link:percent=30,direction=sends
ok "a slow link of four rails" blamed 1 FAIL --nodes 64 --rails 4 --fault link:percent=30
ok "a lossy link" blamed 2 FAIL --nodes 64 --fault lossy
ok "a leaf switch" blamed 2 FAIL --nodes 64 --fault switch:percent=30
ok "a leaf switch that no one names" blamed 1 FAIL --nodes 64 --no-switch \
    --fault switch:percent=30
ok "a leaf switch of one rail" blamed 1 FAIL --nodes 64 --rails 4 --fault switch:percent=30,rail=2
ok "two slow NICs" blamed 2 FAIL --nodes 64 --fault nic:percent=15 --fault nic:percent=25
ok "a slow NIC and a slow link" blamed 2 FAIL --nodes 64 --fault nic:percent=15 \
    --fault link:percent=30
ok "a slow NIC and a slow device" blamed 2 FAIL --nodes 64 --fault nic:percent=15 \
    --fault device:percent=12
ok "all devices below their limit" blamed 1 FAIL --nodes 64 --fault shortfall:percent=50
ok "all links below their limit" blamed 1 FAIL --nodes 64 \
    --fault shortfall:percent=50,metric=pair.bw
ok "a third of the nodes" blamed 1 FAIL --nodes 64 --fault nic:percent=20,count=20
ok "many of a large fleet, which the retest measures far more often than the others" \
    blamed 2 FAIL --nodes 1024 --fault nic:percent=10,count=75
ok "a metric that is missing" blamed 2 INCONCLUSIVE --nodes 64 --fault missing
ok "wrong results" blamed 2 FAIL --nodes 64 --fault wrong
ok "a NIC that corrupts what it sends" blamed 2 FAIL --nodes 64 --fault corrupt
ok "a node that is lost" blamed 2 FAIL --nodes 64 --fault lost
ok "8 nodes, a slow NIC" blamed 2 FAIL --nodes 8 --fault nic:percent=20
ok "8 nodes, a slow link" blamed 2 FAIL --nodes 8 --fault link:percent=40

# The same fleet with other ranks, other names and its lines in another order.
simulate() { # FILE OPTIONS…
    "$fleet" "${@:2}" --names names >"$1"
    "$fleet" "${@:2}" --suspects "$suspects" >>"$1"
}
# Severity, check, metric and nodes of each finding, by the original names; then the verdict.
essence() { # JOURNAL
    "$fabricheck" judge "$1" --json | jq -r --rawfile names names '
        ($names | split("\n") | map(select(. != "") | split(" ") | {(.[0]): .[1]}) | add) as $of |
        (.findings[] | [.severity, .check, .metric, .subject.kind, .subject.switch,
            .subject.rail, ([.subject.node, .subject.peer] | map($of[. // ""]) | sort)] | @json),
        .verdict' | sort
}
same_in_any_order() { # OPTIONS…
    local seed
    for seed in 0 7 8; do
        suspects=/dev/null
        simulate journal$seed "$@" --shuffle $seed
        { # of a journal the first line says what it is; the others may stand anywhere
            head -n 1 journal$seed
            if [ $seed = 0 ]; then tail -n +2 journal0; else tail -n +2 journal$seed | tac; fi
        } >lines$seed
        essence lines$seed >essence$seed
    done
    [ "$(wc -l <essence0)" -gt 1 ] && cmp essence0 essence7 && cmp essence0 essence8 && return 0
    diff essence0 essence7 | show
    diff essence0 essence8 | show
    return 1
}
if command -v jq >/dev/null; then
    ok "any order: a device, a NIC, a link" same_in_any_order --nodes 64 --seed 5 \
        --fault device:percent=12 --fault nic:percent=15 --fault link:percent=30
    ok "any order: rails, a switch" same_in_any_order --nodes 32 --rails 2 --seed 6 \
        --fault switch:percent=30,rail=1 --fault corrupt
    ok "any order: a node is lost" same_in_any_order --nodes 20 --seed 7 --fault lost \
        --fault missing
else
    skip "nothing depends on the order" "jq is not installed"
fi

suspects=/dev/null
simulate whole --nodes 12 --rails 2 --ranks 2 --classes 2 --fault nic:percent=20
"$fabricheck" judge whole >out
ok "no line of a simulated journal is malformed" sh -c '! grep -q journal.damaged out &&
    ! grep -q "not what their type says" out'
ok "a simulated run says so" grep -q SIMULATED out
done_testing
