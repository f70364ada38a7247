#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The offline commands on journals: judge, report and list, their exit statuses, merging, and
# the one line for each thing that is not right.
. "${top_srcdir:?run by make check}/tests/tap.sh"
cd "${scratch:?}" || exit 1
fixtures=$top_srcdir/tests/fixtures/judge
golden=$top_srcdir/tests/fixtures/golden/journal-v1.jsonl

# status STATUS COMMAND…: output in out and err
status() {
    local want=$1
    shift
    "$@" >out 2>err
    local got=$?
    [ "$got" = "$want" ] && return 0
    echo "# status $got, expected $want; stderr:"
    show err
    return 1
}
# one_line PATTERN COMMAND…: status 2, one line, nothing on stdout
one_line() {
    local pattern=$1
    shift
    status 2 "$@" && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -qE -- "$pattern" err &&
        return 0
    show out err
    return 1
}
last_line() { tail -n 1 out | grep -qE -- "$1"; }

run_of() { # FIXTURE: a run's folder with that journal
    mkdir -p "$1"
    cp "$fixtures/$1.jsonl" "$1/journal.jsonl"
}
for f in healthy floor-missed interrupted rank-hung wrong-gemm; do run_of $f; done

ok "a healthy run passes" status 0 "$fabricheck" judge healthy
ok "the last line is the verdict" last_line '^verdict: PASS '
ok "nothing on stderr" [ ! -s err ]
ok "a journal is a run too" status 0 "$fabricheck" judge healthy/journal.jsonl
ok "a missed floor fails" status 1 "$fabricheck" judge floor-missed
ok "its last line" last_line '^verdict: FAIL n2 rank 2: device.gemm.fp32 '
ok "the bad nodes are a host list" grep -qx 'bad nodes: n2' out
ok "an interrupted run is inconclusive" status 3 "$fabricheck" judge interrupted
ok "its last line" last_line '^verdict: INCONCLUSIVE '
ok "a hung rank fails an interrupted run" status 1 "$fabricheck" judge rank-hung

ok "judging again says the same" sh -c \
    '"$1" judge wrong-gemm --json >a; "$1" judge wrong-gemm --json >b; cmp a b' - "$fabricheck"
if command -v jq >/dev/null; then
    "$fabricheck" judge wrong-gemm --json >out
    ok "--json is report.json" [ "$(jq -r '.schema, .verdict, .bad_nodes' out | tr '\n' ' ')" = \
        "fabricheck-report/1 FAIL n2 " ]
    ok "evidence leads to records" [ "$(jq '[.findings[].evidence[]] - [.records[].seq] | length' \
        out)" = 0 ]
else
    skip "--json is report.json" "jq is not installed"
    skip "evidence leads to records" "jq is not installed"
fi
LC_ALL=de_DE.UTF-8 "$fabricheck" judge wrong-gemm --json >c
ok "the locale changes nothing" cmp a c

# A profile over the run's own.
printf '[floor]\ndevice.gemm.fp32 = 0.2\n' >lax.ini
printf '[floor]\ndevice.mem_bw = 0.99\n[expect]\nnodes = 3\n' >strict.ini
printf '[expect]\nnodes = 4\n' >four.ini
ok "a laxer floor lets it pass" status 0 "$fabricheck" judge floor-missed --profile lax.ini
ok "a stricter one fails a healthy run" status 1 "$fabricheck" judge healthy --profile strict.ini
ok "an expectation fails it" status 1 "$fabricheck" judge healthy --profile four.ini
printf '[floor]\ndevice.gemm.fp32 = 1.2\n' >bad.ini
ok "a profile that is none" one_line "--profile: bad.ini:2: device.gemm.fp32 = '1.2'" \
    "$fabricheck" judge healthy --profile bad.ini
ok "a profile that is not there" one_line "--profile: 'no.ini'" \
    "$fabricheck" judge healthy --profile no.ini
# What the run was told to expect stays demanded under another profile.
mkdir told
cp "$fixtures/node-expected.jsonl" told/journal.jsonl
ok "the run's own expectation stays" status 1 "$fabricheck" judge told --profile lax.ini

# Several parts of one run.
mkdir part1 part2
head -n 24 floor-missed/journal.jsonl >part1/journal.jsonl
(
    head -n 1 floor-missed/journal.jsonl
    tail -n +20 floor-missed/journal.jsonl
) >part2/journal.jsonl
ok "a part alone is inconclusive" status 3 "$fabricheck" judge part1
"$fabricheck" judge floor-missed --json >whole
ok "parts together are the whole" status 1 "$fabricheck" judge part1 part2 --json
ok "and judged the same" cmp out whole
ok "so is a run named twice" status 1 "$fabricheck" judge floor-missed floor-missed --json
ok "and judged the same" cmp out whole
mkdir other
sed 's/12:00:00.000Z/13:00:00.000Z/' healthy/journal.jsonl >other/journal.jsonl
ok "different runs are not merged" one_line "'healthy' and 'other' are different runs" \
    "$fabricheck" judge healthy other
# A spool beside the journal brings what rank 0 never got.
mkdir spooled
grep -v '"metric":"device.gemm.fp64".*"rank":3' healthy/journal.jsonl >spooled/journal.jsonl
ok "a record is missing" status 3 "$fabricheck" judge spooled
grep '"metric":"device.gemm.fp64".*"rank":3' healthy/journal.jsonl |
    sed 's/,"seq":[0-9]*}/,"src":"3.7"}/' >spooled/spool-3.jsonl
ok "the spool has it" status 0 "$fabricheck" judge spooled

# report
ok "report as text" status 0 "$fabricheck" report floor-missed
ok "ends in the verdict" last_line '^verdict: FAIL '
ok "report as JSON into a file" status 0 "$fabricheck" report floor-missed --format json -o r.json
ok "says nothing" [ ! -s out ]
ok "is what judge --json says" cmp r.json whole
cp r.json before
ok "a file is never overwritten" one_line "-o: 'r.json' exists" \
    "$fabricheck" report floor-missed --format json -o r.json
ok "it is untouched" cmp r.json before
ln -s nowhere dangling
ok "nor a link that leads nowhere" one_line "-o: 'dangling'" \
    "$fabricheck" report floor-missed -o dangling
ok "a folder that is not there" one_line "-o: 'no/r.json'" \
    "$fabricheck" report floor-missed -o no/r.json
ok "a full disk is told" sh -c '"$1" report healthy >/dev/full 2>err; [ $? = 3 ]' - "$fabricheck"
ok "two runs are one too many" one_line "'healthy'" "$fabricheck" report floor-missed healthy

# list
ok "list" status 0 "$fabricheck" list
for word in device.gemm.fp32 collective.all_reduce.busbw limit.floor result.wrong; do
    ok "list names $word" grep -qE "^  $word " out
done
ok "list shows a profile's floor" sh -c \
    '"$1" list --profile lax.ini | grep -qE "device.gemm.fp32 +0.2 +0.07 +set by the profile"' \
    - "$fabricheck"
ok "list with a bad profile" one_line "--profile: bad.ini:2" "$fabricheck" list --profile bad.ini

ok "the golden journal is judged" status 1 "$fabricheck" judge "$golden"
ok "no file was left beside the journals" [ "$(ls healthy)" = journal.jsonl ]
done_testing
