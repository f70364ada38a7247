#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# How often the judge is wrong, and what it costs, on simulated fleets: prints the tables of
# doc/measured/judge.md. Thresholds are tuned on seeds from 1 on (first=1) and reported on others
# (first=1000000, which is what it takes unless told otherwise). share=0.1 is a tenth of all
# fleets, at least one of each. Run it from the build's folder, or with top_builddir set. Whole,
# it takes about ten minutes of a CPU.
set -eu -o pipefail
build=$(cd "${top_builddir:-.}" && pwd)
first=${first:-1000000}
share=${share:-1}
make -s -C "$build" fabricheck tests/fleet/fleet tests/fleet/score
fleet=$build/tests/fleet/fleet
score=$build/tests/fleet/score
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fc-bench-XXXXXX")
trap 'rm -rf "$scratch"' EXIT

# COUNT NODES OPTIONS…: the sums are in the variables of their names.
# shellcheck disable=SC2034 # some are not shown
fleets=0 right=0 healthy=0 failed=0 warned=0 ill=0 found=0 condemned=0 pass=0 fail=0 open=0 cpu_s=0
run() {
    local count sum
    count=$(awk -v n="$1" -v s="$share" 'BEGIN {n = int(n * s + 0.5); print(n > 1 ? n : 1)}')
    for sum in $("$score" "$fleet" "$scratch" "$first" "$count" --nodes "$2" "${@:3}"); do
        [[ $sum =~ ^[a-z_]+=[0-9.]+$ ]] && eval "$sum"
    done
}
rate() { # OF ALL: a share in percent
    awk -v n="$1" -v all="$2" 'BEGIN {printf all ? "%.4g %%" : "none", all ? 100 * n / all : 0}'
}
# The upper end of what the true rate may be (95 %): Wilson's, by a normal's 1.645.
at_most() {
    awk -v k="$1" -v n="$2" 'BEGIN {
        z = 1.645; p = k / n; half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        printf "%.2g", (p + z * z / (2 * n) + half) / (1 + z * z / n)
    }'
}

cat <<EOF
# The judge on simulated fleets

Measured by \`tests/bench/judge.sh\` on $(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo |
    head -n 1), $(nproc) cores, $(uname -sr), $("$build/fabricheck" --version);
seeds from $first on, $share of the full number of fleets. Thresholds were tuned on seeds from 1 on.

A fleet is made by \`tests/fleet/fleet\`, which shares no code with the product: equal nodes differ
by 0.5 % (one standard deviation, every metric and every direction of a NIC by itself), single
samples scatter by 1 %, 2 % of them are held up by 5 to 50 %; 5 samples, 15 in a retest, which is
what the judge's own suspects get. Pairs: all of them up to 64 nodes, above that three rounds; in a
retest those that the suspects ask for (the far end of a slow link, and three nodes that are well),
in at most 160 steps. Wherever it is not said, a fleet has one rail, and leaf switches of 3 nodes
(of 8), 16 (of 64) or 32 that the journal names.

## Healthy fleets
Over all metrics and pairs together; to reach: at most 0.001 of the nodes FAIL.

| nodes | fleets | healthy nodes | FAIL | at most (95 %) | nodes with a WARN | fleets that FAIL |
| ---: | ---: | ---: | ---: | ---: | ---: | ---: |
EOF
while read -r nodes count more; do
    # shellcheck disable=SC2086 # the options are words
    run "$count" "$nodes" $more
    echo "| $nodes${more:+, $more} | $fleets | $healthy | $failed | $(at_most "$failed" "$healthy") |" \
        "$(rate "$warned" "$healthy") | $fail |"
done <<'EOF'
8 1500
64 200
64 10 --rails 8
1024 12
1024 1 --rounds 0
4096 3
EOF

cat <<'EOF'

## Power
Ill nodes that are found: WARN or FAIL of the right part, and FAIL. To reach: more than 99 % at 5 %
as WARN or FAIL, more than 99 % at 10 % as FAIL. Of 8 nodes the median is no yardstick for devices;
there the worst is held against the others.

| nodes | part | slower by | ill | WARN or FAIL | FAIL | healthy nodes that FAIL |
| ---: | --- | ---: | ---: | ---: | ---: | ---: |
EOF
for part in device nic; do
    for percent in 3 5 10; do
        while read -r nodes count ill_a_fleet; do
            run "$count" "$nodes" --fault "$part:percent=$percent,count=$ill_a_fleet"
            echo "| $nodes | $part | $percent % | $ill | $(rate "$found" "$ill") |" \
                "$(rate "$condemned" "$ill") | $failed of $healthy |"
        done <<'EOF'
8 300 1
64 100 3
1024 8 10
4096 2 40
EOF
    done
done

while read -r nodes count ill_a_fleet percent; do
    run "$count" "$nodes" --fault "nic:percent=$percent,count=$ill_a_fleet"
    echo "| $nodes | nic, $ill_a_fleet of them | $percent % | $ill | $(rate "$found" "$ill") |" \
        "$(rate "$condemned" "$ill") | $failed of $healthy |"
done <<'EOF'
64 20 20 20
1024 2 75 10
EOF

blame() { # COUNT NODES OPTIONS…: one line
    run "$@"
    echo "| $2 | ${*:3} | $fleets | $(rate "$right" "$fleets") | $(rate "$found" "$ill") |" \
        "$failed of $healthy |"
}
head_of_blame() {
    printf '\n| %s |\n| %s |\n' "nodes | planted | fleets | blame right | parts found | healthy \
nodes that FAIL" "---: | --- | ---: | ---: | ---: | ---:"
}
cat <<'EOF'

## Blame
Right: every fault is named by its smallest part (node and metric, NIC with its rail and direction,
link, leaf switch), nothing else is accused by the checks of pairs, and no healthy node FAILs. To
reach: 98 % of single faults, 90 % of double ones.
EOF
head_of_blame
for fault in nic:percent=15 nic:percent=15,direction=sends nic:percent=15,direction=receives \
    link:percent=30 link:percent=30,direction=sends lossy switch:percent=30 corrupt lost \
    shortfall:percent=50,metric=pair.bw shortfall:percent=50 missing wrong; do
    for size in "60 8" "50 64" "2 1024"; do
        # shellcheck disable=SC2086 # two words
        blame $size --fault $fault
    done
done
for size in "50 64" "3 1024"; do
    # shellcheck disable=SC2086 # two words
    blame $size --fault device:percent=12
done
blame 50 64 --no-switch --fault switch:percent=30
for fault in nic:percent=15 link:percent=30 switch:percent=30 corrupt; do
    blame 20 64 --rails 4 --fault $fault
done
blame 10 64 --rails 8 --cross silent
head_of_blame
while read -r one two; do
    blame 50 64 --fault "$one" --fault "$two"
done <<'EOF'
nic:percent=15 nic:percent=25
nic:percent=15,direction=sends nic:percent=15,direction=receives
nic:percent=15 link:percent=30
link:percent=30 link:percent=30,direction=sends
nic:percent=15 device:percent=12
nic:percent=15 lossy
nic:percent=15 switch:percent=30
switch:percent=30 switch:percent=20
corrupt nic:percent=20
lost link:percent=30
EOF
blame 2 1024 --fault nic:percent=15 --fault link:percent=30
blame 2 1024 --fault nic:percent=15 --fault switch:percent=30

cost() { # GOAL NODES OPTIONS…
    "$score" "$fleet" "$scratch" "$first" 1 --nodes "$2" "${@:3}" >/dev/null
    # shellcheck disable=SC2034 # a healthy fleet's status is not shown
    local cpu_s wall_s rss_MB status mega sum
    for sum in $("$score" cost "$build/fabricheck" judge "$scratch/journal.jsonl"); do
        eval "$sum"
    done
    mega=$(($(stat -c %s "$scratch/journal.jsonl") / 1000000))
    echo "| $2 ${*:3} | $mega | $cpu_s | $wall_s | $rss_MB | $1 |"
}
cat <<'EOF'

## Cost
`fabricheck judge` of a healthy fleet with its retest: CPU seconds (user and system; other work
on the machine adds to the wall clock), largest resident set.

| fleet | journal, MB | CPU, s | wall, s | memory, MB | to reach |
| --- | ---: | ---: | ---: | ---: | --- |
EOF
cost "2 s, 300 MB" 64 --rails 8
cost "2 s, 300 MB" 1024 --rounds 0
cost "" 4096
cost "10 s, 1000 MB" 16384
