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
