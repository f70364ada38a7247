# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The product, launched as users do: by srun, by mpirun in an allocation, in a batch job, and
# wrongly. What it says of its launch, its nodes and their switches.

# tried COMMAND…: once more where MPI itself crashed before the product had begun.
tried() {
    local status try
    for try in 1 2; do
        rm -rf ./fabricheck-*
        timeout 100 "$@" >out 2>err
        status=$?
        compgen -G "fabricheck-*/journal.jsonl" >/dev/null && break
        echo "# try $try: status $status without a journal"
        show err
    done
    return $status
}
holds() { # FILTER: of the journal's lines as one array
    [ "$(jq -s "$@" fabricheck-*/journal.jsonl)" = true ] && return 0
    jq -c 'select(.type == "run") | [.launcher, .job, .ranks, .nodes, .switches]' \
        fabricheck-*/journal.jsonl | show
    jq -c 'select(.type == "node") | [.name, .ranks, .switch]' fabricheck-*/journal.jsonl | show
    return 1
}

# launched NAME STATUS LAUNCHER: what must hold of any run on the four healthy nodes. On a busy
# machine a value may be missed, but nobody has reason to blame a node for its link.
launched() {
    local name=$1 job
    show out
    ok "$name: measured and judged" grep -qE '^(0|3)$' <<<"$2"
    job=$(echo fabricheck-*)
    job=${job#fabricheck-}
    ok "$name: one folder, named by the job" grep -qE '^[0-9]+$' <<<"$job"
    ok "$name: launcher $3, job $job, four ranks on four nodes" holds --arg l "$3" --arg j "$job" \
        '.[0] | .launcher == $l and .job == $j and .ranks == 4 and .nodes == 4 and
            .duplicate_hosts == 0'
    ok "$name: Slurm's names of the nodes, and each one's switch" holds \
        '[.[] | select(.type == "node") | [.name, .switch]] | sort ==
            [["node1", "leaf1"], ["node2", "leaf1"], ["node3", "leaf2"], ["node4", "leaf2"]]'
    ok "$name: complete" holds '.[-1] | .type == "end" and .status == "complete"'
    ok "$name: nobody is blamed" blamed
}

# blamed [NODE]: findings of the pairs are about it alone; without it: there are none.
blamed() {
    local got
    got=$(jq -r '[.findings[] | select(.check == "pair.slow" and .severity != "info") |
        .subject.node // .subject.kind] | unique | join(" ")' fabricheck-*/report.json)
    [ "$got" = "${1-}" ] && return 0
    jq -c '.findings[] | [.severity, .check, .subject, .message]' fabricheck-*/report.json | show
    return 1
}

case_b_srun() {
    tried srun --mpi=pmix -K1 -N4 -t 2 "$fabricheck" run --probes pairs --level full
    launched "srun" $? srun
}
case_b_mpirun() {
    tried salloc -Q -N4 -t 2 mpirun -q --bind-to none "$fabricheck" run --probes pairs --level full
    launched "mpirun in an allocation" $? mpirun
}

# A node's link has a tenth of what the others have. Other load can hide it, so that one of some
# runs must tell; none may blame another node.
case_c_slow() {
    local victim try
    victim=$(choose_random_node)
    ok "slow link of $victim" shape "$victim" 5mbit
    for try in 1 2 3; do
        tried salloc -Q -N4 -t 2 mpirun -q --bind-to none \
            "$fabricheck" run --probes pairs --level full --pairs full
        show out
        blamed "$victim" && break
        blamed || break
    done
    ok "slow link of $victim: it and no other is blamed" blamed "$victim"
    ok "slow link of $victim: judged again, offline, the same" sh -c \
        '"$1" judge fabricheck-*/ | grep "^verdict:" >again; grep "^verdict:" out | cmp - again' - \
        "$fabricheck"
}

case_d_wrong() {
    rm -rf ./fabricheck-*
    srun --mpi=none -N4 -t 2 "$fabricheck" run >out 2>err
    ok "srun without PMIx: status 2" [ $? = 2 ]
    ok "srun without PMIx: recognised, and the right line is shown" grep -q \
        'wrong launch: srun started 4 tasks but each one is rank 0 of 1.*srun --mpi=pmix' err
    show err
    ok "srun without PMIx: one rank says so" [ "$(grep -c 'wrong launch' err)" = 1 ]
    salloc -Q -N4 -t 2 "$fabricheck" run >out 2>err
    ok "no launcher in an allocation: status 2" [ $? = 2 ]
    ok "no launcher in an allocation: recognised" grep -q \
        'wrong launch: job [0-9]* is for 4 .* started once, without srun or mpirun' err
    ok "wrong launches leave no folder" [ -z "$(compgen -G 'fabricheck-*')" ]
}
