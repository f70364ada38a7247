# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The scripts of slurm/ as a site uses them.
scripts=${top_srcdir:?}/slurm

# submit NODES ARGUMENT…: the job script: sets job and log. finish waits for its end: status.
submit() {
    rm -rf ./fabricheck-*
    job=$(sbatch --parsable -N "$1" -t 5 "$scripts/fabricheck.sbatch" "${@:2}")
    log=fabricheck-$job.log
}
finish() {
    until_true 100 job_ended "$job" || scancel "$job"
    status=$(sed -n 's/.* ExitCode=\([0-9]*\):.*/\1/p' job)
    show "$log"
}
batch() { submit "$@" && finish; }
job_ended() {
    scontrol show job "$1" >job 2>/dev/null &&
        grep -qE 'JobState=(COMPLETED|FAILED|TIMEOUT|CANCELLED|NODE_FAIL) ' job
}

case_e_batch() {
    local job log status dir launch
    for launch in srun mpirun; do
        FABRICHECK=$fabricheck FABRICHECK_LAUNCH=$launch FABRICHECK_RANKS=1 batch 4 --probes pairs --level full
        ok "job script, $launch: its status is the run's" grep -qE '^(0|3)$' <<<"$status"
        dir=${log%.log}
        ok "job script, $launch: folder and log are named by the job" \
            [ -s "$dir/report.json" ]
        ok "job script, $launch: one rank on each node" [ "$launch 4 4" = "$(jq -r \
            'select(.type == "run") | "\(.launcher) \(.ranks) \(.nodes)"' "$dir/journal.jsonl")" ]
        ok "job script, $launch: one verdict, at the end" \
            [ "$(grep -c '^verdict: ' "$log"):$(tail -n 1 "$log" | cut -c1-9)" = "1:verdict: " ]
        ok "job script, $launch: nobody is to be drained" [ -z "$(grep drain "$log")" ]
    done
    FABRICHECK=$fabricheck batch 2 --probes config
    ok "job script: one rank a GPU" [ "4 2" = "$(jq -r \
        'select(.type == "run") | "\(.ranks) \(.nodes)"' "${log%.log}/journal.jsonl")" ]
    FABRICHECK=$fabricheck batch 2 --no-such-option
    ok "job script: wrong usage is status 2, at once" \
        [ "$status:$(grep -c no-such-option "$log")" = 2:1 ]
}

# Rank 0, which writes the report, is killed.
case_e_cut() {
    local job log status
    FABRICHECK=$fabricheck FABRICHECK_RANKS=1 FABRICHECK_LAUNCH=mpirun \
        submit 4 --probes collectives --level standard
    ok "job script, cut: the collectives have begun" \
        until_true 60 grep -qs '"name":"collectives","state":"begin"' "${log%.log}/journal.jsonl"
    ok "job script, cut: rank 0 is killed" rank_kill 0 fabricheck
    finish
    ok "job script, cut: status 3" [ "$status" = 3 ]
    ok "job script, cut: its report is there" \
        [ "$(jq -r .verdict "${log%.log}/report.json")" = INCONCLUSIVE ]
    ok "job script, cut: and its verdict in the log" \
        [ "$(grep -c '^verdict: INCONCLUSIVE' "$log")" = 1 ]
}

# A node that adds up wrongly, which no other load can hide.
case_e_drain() {
    local job log status victim rank others
    victim=$(choose_random_node)
    rank=$((${victim#node} - 1))
    others=$(all_nodes)
    others=${others/$victim/}
    export FABRICHECK=$double FABRICHECK_RANKS=1 FABRICHECK_FAULT=all_reduce:wrong:rank=$rank
    batch 4 --probes collectives -b 1K -e 1K
    ok "job script, $victim is wrong: status 1" [ "$status" = 1 ]
    ok "job script, $victim is wrong: its drain line and no other is printed" \
        [ "$(grep -o 'scontrol update nodename=[^ ]* state=drain' "$log" | sort -u)" = \
        "scontrol update nodename=$victim state=drain" ]
    ok "job script, $victim is wrong: nothing is drained unasked" until_true 10 all_idle

    FABRICHECK_DRAIN=1 batch 4 --probes collectives -b 1K -e 1K
    ok "job script, FABRICHECK_DRAIN: $victim is drained" until_true 10 node_is "$victim" drained
    ok "job script, FABRICHECK_DRAIN: the reason names the report" \
        [ "$(node_reason "$victim")" = "fabricheck job ${log//[^0-9]/}: see $PWD/${log%.log}/report.json" ]
    ok "job script, FABRICHECK_DRAIN: no other node is" all_are idle "$others"
    unset FABRICHECK FABRICHECK_RANKS FABRICHECK_FAULT
}
all_are() { # STATE NODES
    local node
    for node in $2; do
        node_is "$node" "$1" || { echo "# $node is $(node_state "$node")" && return 1; }
    done
}

# hook NAME LINE…: an executable script of these lines, where all nodes see it.
hook() {
    printf '%s\n' '#!/bin/bash' "${@:2}" >"$1" && chmod +x "$1"
}

case_e_prolog() {
    local victim facts=/run/fabricheck/facts.json
    victim=$(choose_random_node)
    hook prolog "FABRICHECK='$fabricheck' exec '$scripts/prolog.sh'"
    slurm_set "Prolog=$PWD/prolog"
    ok "prolog: the job runs" [ "$(srun -w "$victim" hostname)" = "$victim" ]
    ok "prolog: root's facts are on the job's node" \
        [ "$(on_node "$victim" stat -c %U:%a $facts)" = root:644 ]
    ok "prolog: and on no other" [ "$(for node in $(all_nodes); do
        on_node "$node" ls $facts 2>/dev/null
    done | wc -l)" = 1 ]
    hook hangs 'trap "" TERM' 'sleep 100'
    hook prolog "FABRICHECK='$PWD/hangs' exec '$scripts/prolog.sh'"
    ok "prolog that hangs: the job runs" [ "$(srun -w "$victim" hostname)" = "$victim" ]
    hook prolog "FABRICHECK=/no/such/program exec '$scripts/prolog.sh'"
    ok "prolog without the program: the job runs" [ "$(srun -w "$victim" hostname)" = "$victim" ]
    ok "prolog: $victim is not drained" until_true 10 node_is "$victim" idle
    slurm_set
}

# A node that has fewer GPUs than its profile says.
case_e_health() {
    local victim other
    victim=$(choose_random_node)
    other=$(choose_random_node "$victim")
    printf '[expect]\ngpus = 8\n' >eight.ini
    hook health "[ \$(hostname) != $victim ] || export FABRICHECK_PROFILE=$PWD/eight.ini" \
        "export FABRICHECK='$fabricheck'" "'$scripts/healthcheck.sh' >'$PWD/health-'\$(hostname)"
    slurm_set "HealthCheckProgram=$PWD/health" HealthCheckInterval=1 HealthCheckNodeState=IDLE
    ok "health check: $victim lacks GPUs and is drained" until_true 30 node_is "$victim" drained
    ok "health check: the reason says so" \
        grep -qx "fabricheck: $victim: 0 GPUs .*, 8 expected" <<<"$(node_reason "$victim")"
    ok "health check: one line, CRITICAL" \
        [ "$(wc -l <"health-$victim"):$(cut -c1-8 "health-$victim")" = 1:CRITICAL ]
    ok "health check: $other is OK" until_true 30 grep -qx 'OK - PASS .*' "health-$other"
    ok "health check: no other node is drained" [ "$(sinfo -h -N -o %T | grep -c drain)" = 1 ]
    slurm_set
}
