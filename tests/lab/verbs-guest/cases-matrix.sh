# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The verbs matrix of four nodes with a port each, n1 to n4, over real kernel verbs: a healthy
# control, and one port with a fault, drawn anew each time. What is asserted of a fault: the
# verdict, who is blamed, that nobody else is, and that it ended in time.

# What the machine's load makes of emulated ports is not judged here: config would tell of it.
matrix() { # OPTIONS…
    rm -rf run
    begun=$SECONDS
    FABRICHECK_DEADLINE=60s timeout -k 1 "${matrix_limit:-120}" mpirun -q --bind-to none -np 4 \
        "${FC_GUEST%/*}/on-ports" "$top_builddir/fabricheck" run --out run --probes rdma \
        --skip config --level quick --pairs full "$@" >out 2>err
    matrix_status=$?
    took=$((SECONDS - begun))
    grep '^verdict' out | show
    [ -s run/report.json ] || show err
}
lines() { # FILTER: true for the journal's lines
    [ "$(jq -s "$@" run/journal.jsonl)" = true ] && return 0
    grep '"matrix"' run/journal.jsonl | cut -c1-400 | show
    return 1
}
failing() { jq -r '[.findings[] | select(.severity == "fail") | .subject.node // .subject.kind] |
    unique | join(" ")' run/report.json; }
# blames NODE CHECK: it fails by that check, and no other node fails.
blames() {
    [ "$(failing)" = "$1" ] &&
        [ "$(jq --arg c "$2" '[.findings[] | select(.severity == "fail" and .check == $c)] |
            length' run/report.json)" -gt 0 ] && return 0
    jq -c '.findings[] | [.severity, .check, .subject.node, .subject.peer, .message]' \
        run/report.json | cut -c1-300 | show
    return 1
}
# A dead link ends in a completion's error, and each of three rounds meets it once.
in_time() {
    [ "$took" -lt 100 ] && return 0
    echo "# it took $took s"
    return 1
}

case_m_matrix() {
    matrix
    ok "four healthy nodes: nobody fails" [ "$(failing)" = "" ]
    ok "four healthy nodes: PASS or INCONCLUSIVE" [ "$((matrix_status % 3))" = 0 ]
    ok "every pair was written to and answered, both ways, verified" lines \
        '[.[] | select(.type == "matrix" and .attempt == 1)] |
            [.[].pair[]] as $p | ($p | length) == 6 and ($p | unique | length) == 6 and
            all(.[]; .metric == "rdma.write_bw" and (.bw | flatten | all(. > 0)) and
                (.latency | all(. > 0)) and has("wrong") == false and has("status") == false)'
    ok "its ports counted the packets of each" lines \
        '[.[] | select(.type == "matrix") | .path | all(.name == "verbs RC" and
            (.how | test("sent_pkts")))] | all'
    ok "rxe makes its rate up: no limit" lines \
        '[.[] | select(.type == "matrix") | has("limit")] | any | not'
    ok "each node's other ports are left out with the reason" lines \
        '[.[] | select(.facts["rdma.ports"]?) | .facts["rdma.ports"] |
            map(select(.used)) | length == 1] | length == 4 and all'
}

# meets FAULT CHECK FUNCTION…: with the fault, the victim is blamed by that check.
meets() {
    local name=$1 check=$2
    shift 2
    "$@" || { ok "$name: it was made" false && return; }
    matrix
    ok "$name: FAIL" [ "$matrix_status" = 1 ]
    ok "$name: n$port is blamed, and nobody else" blames "n$port" "$check"
    ok "$name: in time" in_time
    heal "$port"
}

case_n_before() {
    port=$(choose_random_port)
    echo "# the victim is n$port"
    meets "port down" result.failed port_down "$port"
    meets "switch's port down" result.failed peer_port_down "$port"
    meets "UDP 4791 dropped, both ways" pair.failed drop_udp "$port"
    meets "UDP 4791 dropped, in" pair.failed drop_udp "$port" in
}

# accuses NODE TEXT: some finding, warning or worse, names it with this text, and no node fails
# that is not the victim.
accuses() {
    [ "$(jq --arg n "$1" --arg t "$2" '[.findings[] | select(.severity != "info") |
        select((.subject.node == $n or (.message | contains($n))) and
            (.message | contains($t)))] | length' run/report.json)" -gt 0 ] &&
        [ -z "$(failing | tr ' ' '\n' | grep -vx "$1")" ] && return 0
    jq -c '.findings[] | [.severity, .check, .subject.node, .subject.peer, .message]' \
        run/report.json | cut -c1-300 | show
    return 1
}

# Where something still comes through, the others are the yardstick. Emulated ports are slow
# and unsteady, so that only gross faults can be told from them.
suffers() { # NAME TEXT FUNCTION…
    local name=$1 text=$2
    shift 2
    "$@" || { ok "$name: it was made" false && return; }
    matrix
    ok "$name: n$port is accused, and nobody else fails" accuses "n$port" "$text"
    ok "$name: in time" in_time
    heal "$port"
}

case_p_slow() {
    port=$(choose_random_port)
    echo "# the victim is n$port"
    suffers "one port at 2 Mb/s" "rdma.write_bw" rate "$port" 2mbit
    suffers "delay of 300 ms" "rdma.write_lat" delay "$port" 300ms
}

case_q_killed() {
    (until_true 60 grep -q '"matrix"' run/journal.jsonl 2>/dev/null
        pkill -9 -o -f "^[^ ]*fabricheck worker") &
    matrix --level standard
    wait $!
    ok "a worker killed: the run comes to its end" grep -q '"end"' run/journal.jsonl
    ok "a worker killed: that is told" [ "$(jq '[.findings[] |
        select(.check == "worker.lost")] | length' run/report.json)" -gt 0 ]
    ok "a worker killed: later rounds are measured again" lines \
        '[.[] | select(.type == "matrix")] | length >= 3'
}

case_o_during() {
    port=$(choose_random_port)
    echo "# the victim is n$port"
    (until_true 60 grep -q '"matrix"' run/journal.jsonl 2>/dev/null
        port_down "$port") &
    matrix --level standard
    wait $!
    ok "port down during a run: FAIL" [ "$matrix_status" = 1 ]
    ok "port down during a run: n$port is blamed, and nobody else" blames "n$port" pair.failed
}

# Two true hosts, each with a kernel, a port and a rank of its own.
pair_m_matrix() {
    local hosts="node0:1,node1:1"
    run_two() {
        rm -rf run
        timeout -k 1 100 mpirun -q --bind-to none -np 2 --host $hosts "$top_builddir/fabricheck" \
            run --out "$PWD/run" --probes rdma --skip config --level quick >out 2>err
        matrix_status=$?
        grep '^verdict' out | show
        [ -s run/report.json ] || show err
    }
    run_two
    ok "two hosts: nobody fails" [ "$(failing)" = "" ]
    ok "two hosts: both ways, proven by both hosts' counters" lines \
        '[.[] | select(.type == "matrix")] | length == 1 and (.[0] |
            (.bw | flatten | all(. > 0)) and .path[0].name == "verbs RC")'
    cable 1 off 1
    run_two
    ok "two hosts, a pulled cable: FAIL" [ "$matrix_status" = 1 ]
    ok "two hosts, a pulled cable: the port is named" grep -q "is down" run/report.json
    cable 1 on 1
}
