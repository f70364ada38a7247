# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The lab's own proof: its nodes are hosts to Slurm, each fault does to a node what it says, to
# no other node, and its inverse takes it back. The victim is drawn anew each time.

case_a_hosts() {
    srun -N4 sh -c 'echo $(hostname) $(cat /proc/1/comm) $(ls /sys/class/net)' >out 2>err
    ok "srun: four hosts, each with one interface and processes of its own" \
        [ "$(sort out | xargs -n 4 | tr '\n' ';')" = \
        "node1 bash eth0 lo;node2 bash eth0 lo;node3 bash eth0 lo;node4 bash eth0 lo;" ]
    show err
    ok "srun: each task has GPUs of its own" [ "$(srun -N1 -n2 --gpus-per-task=1 \
        printenv CUDA_VISIBLE_DEVICES 2>err | sort | xargs)" = "0 1" ]
    ok "sbatch: runs on a node, in this folder" sbatch -W -Q -o where --wrap 'hostname; pwd'
    ok "sbatch: what it wrote is here" grep -qx "$PWD" where
}

# reaches NODE NODE: by TCP, to a slurmd.
reaches() { on_node "$1" timeout 3 bash -c "exec 3<>/dev/tcp/$2/6818" 2>/dev/null; }
cut_off() { ! reaches "$@"; }

case_a_faults() {
    local victim other another
    victim=$(choose_random_node)
    other=$(choose_random_node "$victim")
    another=$(choose_random_node "$victim" "$other")

    ok "healthy: $other reaches $victim" reaches "$other" "$victim"
    ok "link_down $victim" link_down "$victim"
    ok "link_down $victim: $other does not reach it" cut_off "$other" "$victim"
    ok "link_down $victim: $other reaches $another" reaches "$other" "$another"
    ok "link_up $victim" link_up "$victim"
    ok "link_up $victim: $other reaches it" until_true 10 reaches "$other" "$victim"

    ok "drain $victim" drain "$victim" "bad cable"
    ok "drain $victim: Slurm says so, with the reason" \
        [ "$(node_state "$victim"): $(node_reason "$victim")" = "drained: bad cable" ]
    ok "drain $victim: $other is idle" node_is "$other" idle
    ok "undrain $victim" undrain "$victim"
    ok "undrain $victim: idle" until_true 10 node_is "$victim" idle

    ok "slurmd_kill $victim" slurmd_kill "$victim"
    ok "slurmd_kill $victim: nobody answers there" cut_off "$other" "$victim"
    ok "slurmd_start $victim" slurmd_start "$victim"
    ok "slurmd_start $victim: it answers" until_true 10 reaches "$other" "$victim"

    ok "node_crash $victim" node_crash "$victim"
    ok "node_crash $victim: nobody answers there" cut_off "$other" "$victim"
    ok "node_boot $victim" node_boot "$victim"
    ok "node_boot $victim: it answers" until_true 10 reaches "$other" "$victim"
}

case_a_ranks() {
    local job
    cat >waits <<'END'
#!/bin/sh
exec sleep 100
END
    chmod +x waits
    timeout 60 srun --mpi=pmix -K1 -N4 -t 2 ./waits >out 2>err &
    job=$!
    ok "rank 2 is found" until_true 20 rank_find 2 sleep
    ok "rank_stop: it is stopped" rank_stop 2 sleep
    ok "rank_stop: state T" until_true 5 process_is "$rank_pid" T
    ok "rank_continue: state S" rank_continue 2 sleep
    ok "rank_continue: it is back" until_true 5 process_is "$rank_pid" S
    ok "rank_kill" rank_kill 2 sleep
    wait $job
    ok "rank_kill: srun ends all, and says that it was killed" grep -q "task 2: Killed" err
    show err
}
process_is() { [ "$(sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status")" = "$2" ]; }
