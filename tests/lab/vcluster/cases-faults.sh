# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What breaks while a run is on: it ends by itself, and from what it leaves the judge names the
# victim, drawn anew each time, and no other node. Where more is wanted, doc/labs.md says so.

# begin NAME LEVEL SIZE LAUNCH…: a run in the background, in folder NAME, with messages up to
# that size; comes back when its collectives have begun. Once more where MPI itself crashed.
begin() {
    local try
    run=$1
    for try in 1 2; do
        rm -rf "$run"
        FABRICHECK_DEADLINE=3s timeout 100 salloc -Q -N4 -t 3 "${@:4}" "$fabricheck" run \
            --out "$run" --level "$2" --max-bytes "$3" --probes collectives >out 2>err &
        job=$!
        until_true 60 has_begun
        [ ! -s "$run/journal.jsonl" ] || break
        echo "# $run, try $try: no journal"
        show err
    done
    ok "$run: the collectives have begun" grep -qs "$begins" "$run/journal.jsonl"
}
begins='"name":"collectives","state":"begin"'
has_begun() { grep -qs "$begins" "$run/journal.jsonl" || ! kill -0 $job 2>/dev/null; }

# ended: the run has ended, by itself, and can be judged: sets status.
ended() {
    wait $job
    ok "$run: it ended in time" [ $? != 124 ]
    "$fabricheck" judge "$run" --json >judged.json 2>judge-err
    status=$?
    show err judge-err
    jq -c '(.findings[] | select(.severity != "info") | [.severity, .check, .subject, .message]),
        (.coverage[] | select(.class == "required"))' judged.json | grep -v foreign_load | show
    ok "$run: it is no PASS" grep -qE '^(1|3)$' <<<$status
}
# names CHECK NODE: a finding of that check about that node, and none about another.
names() {
    [ "$(jq -r --arg c "$1" '[.findings[] | select(.check == $c) | .subject.node] | unique |
        join(" ")' judged.json)" = "$2" ]
}
bad_nodes() { jq -r '[.nodes[] | select(.verdict == "FAIL") | .name] | join(" ")' judged.json; }

launch_srun=(srun --mpi=pmix -K1)
launch_mpirun=(mpirun -q --bind-to none)

# Rank 0 keeps the journal, so that the victim is one of the others.
case_f_killed() {
    local run job status rank
    rank=$((RANDOM % 3 + 1))
    begin "killed" standard 16M "${launch_srun[@]}"
    ok "killed: rank $rank" rank_kill $rank fabricheck
    ended
    ok "killed: $rank_node is named and no other" names rank.silent "$rank_node"
    ok "killed: no node is bad because of it" [ -z "$(bad_nodes)" ]
}
case_f_killed_first() {
    local run job status
    begin "rank 0 killed" standard 16M "${launch_mpirun[@]}"
    ok "rank 0 killed: killed" rank_kill 0 fabricheck
    ended
    ok "rank 0 killed: no node is bad because of it" [ -z "$(bad_nodes)" ]
}
case_f_stopped() {
    local run job status rank
    rank=$((RANDOM % 3 + 1))
    begin "stopped" standard 16M "${launch_mpirun[@]}"
    ok "stopped: rank $rank" rank_stop $rank fabricheck
    ended
    ok "stopped: $rank_node is named and no other" names rank.silent "$rank_node"
    ok "stopped: it is bad, and no other node" [ "$(bad_nodes)" = "$rank_node" ]
}
case_f_crash() {
    local run job status victim
    victim=node$((RANDOM % 3 + 2))
    begin "node crashed" standard 16M "${launch_mpirun[@]}"
    ok "node crashed: $victim" node_crash "$victim"
    ended
    ok "node crashed: it is named and no other" names rank.silent "$victim"
    ok "node crashed: no other node is bad" [ -z "$(bad_nodes | sed "s/^$victim$//")" ]
}
# A slurmd that is started anew, and a link that is cut for a second, harm no run.
case_f_survives() {
    local run job victim other status
    victim=$(choose_random_node)
    other=$(choose_random_node "$victim")
    begin "survives" quick 4K "${launch_mpirun[@]}"
    ok "survives: slurmd of $victim is killed" slurmd_kill "$victim"
    ok "survives: the link of $other is down" link_down "$other"
    sleep 1
    ok "survives: and up" link_up "$other"
    ok "survives: slurmd is back" slurmd_start "$victim"
    wait $job
    status=$?
    show err
    ok "survives: the run is complete" grep -q '"type":"end".*"status":"complete"' "$run/journal.jsonl"
    ok "survives: measured and judged" grep -qE '^(0|3)$' <<<$status
}
