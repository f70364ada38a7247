#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bad luck: full disk, vanished folder, Ctrl-C, a killed rank, cut journals, a locale with
# decimal commas. Nothing that was measured is lost and the exit status tells the truth.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
export FABRICHECK_DEADLINE=20s
mkdir rescue
export TMPDIR=$scratch/rescue

records() { grep -c '"type":"record"' "$1"; }
ends_with() { grep -q "$2" "$1"; }

# start N DIR ARGS…: a run in the background; $pid is the shell's child, $mpirun mpirun.
start() {
    local n=$1 dir=$2
    shift 2
    mpirun_n "$n" "$fabricheck" run --out "$dir" "$@" >"$dir.out" 2>"$dir.err" &
    pid=$!
    mpirun=
    for _ in $(seq 100); do
        mpirun=$(pgrep -f "^mpirun .* run --out $dir( |\$)") && break
        sleep 0.05
    done
}

# wait_for FILE PATTERN: until the file holds it, at most 40 s.
wait_for() {
    for _ in $(seq 400); do
        grep -qs "$2" "$1" && return 0
        sleep 0.1
    done
    return 1
}

# rank_pid DIR RANK: the process id of a rank (its spawner has another name).
rank_pid() {
    local p
    for p in $(pgrep -x fabricheck); do
        tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -q "run --out $1 " &&
            grep -qz "^OMPI_COMM_WORLD_RANK=$2\$" "/proc/$p/environ" 2>/dev/null &&
            echo "$p" && return
    done
}

gone() { # DIR: no process of the run is left, within 10 s
    for _ in $(seq 100); do
        pgrep -f "fabricheck run --out $1 " >/dev/null || return 0
        sleep 0.1
    done
    return 1
}

# silent RANK REPORT: the report says, in one finding, that this rank left no trace.
silent() {
    [ "$(jq -c '[.findings[] | select(.check == "rank.silent") | .subject.rank]' "$2")" = "[$1]" ]
}

# A healthy run to compare with.
start 2 healthy --label who=test
wait $pid
healthy_status=$?
ok "a healthy run ends" test -s healthy/report.json
show healthy.out
judged() { "$fabricheck" judge "$1" --json >"$1.json" 2>"$1.judge-err"; }
judged healthy
ok "judge gives the run's own exit status" [ $? = $healthy_status ]
ok "judge gives the run's own report" cmp healthy.json healthy/report.json

# Ctrl-C: mpirun passes it on as SIGTERM; every line is there, the end is marked.
start 2 ctrlc --level standard
wait_for ctrlc/journal.jsonl '"type":"record"'
ok "records are in the journal while it runs" test $? = 0
kill -INT "$mpirun"
wait $pid
ok "Ctrl-C: the status is no success" [ $? != 0 ]
ok "Ctrl-C: all processes are gone" gone ctrlc
ok "Ctrl-C: the end says interrupted" ends_with ctrlc/journal.jsonl '"status":"interrupted"'
judged ctrlc
ok "Ctrl-C: judged offline as INCONCLUSIVE" [ $? = 3 ]
ok "Ctrl-C: the records are in the report" \
    grep -q '"metric"' ctrlc.json

# SIGTERM to a run of one process.
"$fabricheck" run --out alone --level standard >alone.out 2>alone.err &
alone=$!
wait_for alone/journal.jsonl '"type":"record"'
kill -TERM $alone
wait $alone
ok "SIGTERM alone: status 3" [ $? = 3 ]
ok "SIGTERM alone: judged on the way out" ends_with alone.out "^verdict: INCONCLUSIVE"

# SIGKILL of each rank of three in turn.
for victim in 0 1 2; do
    dir=kill$victim
    start 3 "$dir" --level standard
    wait_for "$dir/journal.jsonl" '"type":"record"'
    before=$(records "$dir/journal.jsonl")
    kill -KILL "$(rank_pid "$dir" $victim)"
    wait $pid
    ok "SIGKILL of rank $victim: the status is no success" [ $? != 0 ]
    ok "SIGKILL of rank $victim: all processes are gone" gone "$dir"
    ok "SIGKILL of rank $victim: no record is lost" \
        [ "$(cat "$dir"/*.jsonl | grep -c '"type":"record"')" -ge "$before" ]
    judged "$dir"
    status=$?
    ok "SIGKILL of rank $victim: judged offline, no pass" [ $status = 1 -o $status = 3 ]
    ok "SIGKILL of rank $victim: the report names it" silent "$victim" "$dir.json"
done

# A rank that stops for ever: named within the deadline.
FABRICHECK_DEADLINE=5s start 3 stop --level standard
wait_for stop/journal.jsonl '"type":"record"'
stopped=$(rank_pid stop 1)
kill -STOP "$stopped"
wait $pid
ok "a stopped rank: the run ends by itself, no success" [ $? != 0 ]
kill -KILL "$stopped" 2>/dev/null
ok "a stopped rank: all processes are gone" gone stop
judged stop
ok "a stopped rank: judged offline, no pass" [ $? != 0 ]

# The folder vanishes in mid-run; a link to the journal's file shows nothing is lost.
start 2 vanish --level quick --skip collectives,training
wait_for vanish/journal.jsonl '"type":"record"'
rm -rf vanish
wait $pid
ok "a vanished folder: status 3" [ $? = 3 ]
rescued=$(find rescue -name journal.jsonl)
ok "a vanished folder: the journal went on elsewhere" test -n "$rescued"
ok "a vanished folder: it is whole" ends_with "${rescued:-/dev/null}" '"type":"end"'
ok "a vanished folder: the terminal says where" grep -q rescue vanish.err
rm -rf rescue/*

# A full disk: a small tmpfs in a mount namespace of our own.
if unshare -rm true 2>/dev/null; then
    mkdir small
    cat >full.sh <<'INNER'
mount -t tmpfs -o size=12k none small
mpirun_n 2 "$fabricheck" run --out small/run >full.out 2>full.err
echo $? >full.status
INNER
    export -f mpirun_n
    export fabricheck
    unshare -rm bash full.sh
    ok "a full disk: status 3" [ "$(cat full.status)" = 3 ]
    rescued=$(find rescue -name journal.jsonl)
    ok "a full disk: the journal went on elsewhere, whole" \
        ends_with "${rescued:-/dev/null}" '"type":"end"'
    cp "${rescued:-/dev/null}" full.jsonl
    judged full.jsonl
    ok "a full disk: no record is missing" \
        [ "$(records full.jsonl)" -ge "$(records healthy/journal.jsonl)" ]
    ok "a full disk: the terminal says so" grep -q "No space left" full.err
    rm -rf rescue/*
else
    skip "a full disk" "no user namespaces here"
fi

# A journal cut at any byte: never a crash, never a pass while the end is missing.
cut_everywhere() {
    local bytes=$(($(wc -c <healthy/journal.jsonl) - 2)) step bad=0 at status
    step=$((bytes / 60))
    for at in $(seq 1 $step $bytes) $((bytes - 1)) $bytes; do
        head -c "$at" healthy/journal.jsonl >cut.jsonl
        "$fabricheck" judge cut.jsonl >/dev/null 2>cut.err
        status=$?
        case $status in
        1 | 2 | 3) ;;
        *) bad=1; echo "# cut at byte $at of $bytes: status $status" ;;
        esac
        [ $status != 2 ] || [ "$(wc -l <cut.err)" = 1 ] || bad=1
    done
    return $bad
}
ok "a journal cut anywhere is judged or refused, never passed" cut_everywhere

# NaN in a measurement.
sed '0,/"metric":"device.mem_bw"/s/\("metric":"device.mem_bw".*\)"median":[0-9.e+-]*/\1"median":null/' \
    healthy/journal.jsonl >nan.jsonl
ok "the NaN is planted" sh -c '! cmp -s healthy/journal.jsonl nan.jsonl'
judged nan.jsonl
ok "NaN is not passed" [ $? != 0 ]
ok "NaN is told" [ "$(jq '[.coverage[] | select(.check == "value.nan")] | length' nan.jsonl.json)" -ge 1 ]

# A locale with decimal commas changes nothing.
# ("locale -a" does not know those in LOCPATH, where the build makes one)
comma=$({ ls "${LOCPATH:-/}" && locale -a; } 2>/dev/null |
    grep -iE '^(de_DE|fr_FR|nl_NL)' | head -n 1)
if [ -n "$comma" ]; then
    LC_ALL=$comma "$fabricheck" judge healthy --json >comma.json
    ok "decimal commas: the same report" cmp comma.json healthy/report.json
else
    skip "decimal commas" "no locale with decimal commas can be made"
fi
done_testing
