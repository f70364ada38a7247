# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The lab's own proof: its ports carry verbs, each fault does to a port what it says, to no
# other port, and its inverse takes it back. inside.sh runs case_* in one guest with four
# ports and pair_* on node 0 of two guests. A faulty port is drawn anew each time.

case_a_ports() {
    local port
    ibv_devinfo >devices
    ok "all ports are up for ibv_devinfo" [ "$(grep -c PORT_ACTIVE devices)" = 4 ]
    ok "MTU 9000 gives active_mtu 4096" [ "$(grep -c 'active_mtu:.*4096' devices)" = 4 ]
    for port in $(all_ports); do
        ok "port $port: GID 1 is RoCE v2" [ "$(port_file "$port" gid_attrs/types/1)" = "RoCE v2" ]
    done
}

# ---- perftest -------------------------------------------------------------------------------

six_benches="ib_write_bw ib_read_bw ib_send_bw ib_write_lat ib_read_lat ib_send_lat"

# measures TOOL SERVER CLIENT [ARGUMENT…]: one line of sane numbers.
measures() {
    local numbers
    numbers=$(perf "$@" 2>err) || { show err && return 1; }
    echo "# $1 between ports $2 and $3: $numbers"
    case $1 in
    *_bw) awk 'NF != 5 || $4 <= 0 { bad = 1 } END { exit bad || NR != 1 }' <<<"$numbers" ;;
    *_lat) awk 'NF != 9 || $3 > $5 || $5 > $4 { bad = 1 } END { exit bad || NR != 1 }' <<<"$numbers" ;;
    esac
}

case_b_benches() {
    local a b tool
    a=$(choose_random_port)
    b=$(choose_random_port "$a")
    ok "ibv_rc_pingpong between ports $a and $b" pingpong "$a" "$b"
    for tool in $six_benches; do
        ok "$tool between ports $a and $b" measures "$tool" "$a" "$b" -n 100
    done
    ok "ib_write_bw with rdma_cm between ports $a and $b" measures ib_write_bw "$a" "$b" -n 100 -R
}

# ---- faults under traffic -------------------------------------------------------------------

# stream SERVER CLIENT: RDMA writes without end. perftest's seven retries are infinitely many
# to rxe, so that a stream survives each fault.
stream() {
    perf_limit=200 perf_begin ib_write_bw "$1" "$2" -n 5000000
    streams+=("$perf_client" "$perf_server")
    ok "a stream from port $2 to port $1 flows" flows "$1"
}
end_streams() {
    kill "${streams[@]}" 2>/dev/null
    wait "${streams[@]}" 2>/dev/null
    streams=()
}

# moves PORT COUNTER SECONDS: it grows.
moves() {
    local before
    before=$(counter "$1" "$2")
    until_true "$3" moved "$1" "$2" "$before"
}
moved() { [ "$(counter "$1" "$2")" -gt "$3" ]; }
flows() { moves "$1" rcvd_pkts 20; }
# What is under way has arrived after a moment; then nothing does.
stands() {
    sleep 0.5
    ! moves "$1" rcvd_pkts 1 && return
    echo "# port $1 still receives"
    return 1
}
state_is() { [ "$(port_state "$1") $(phys_state "$1")" = "$2" ]; }
becomes() { # PORT STATE
    until_true 10 state_is "$1" "$2" && return
    echo "# port $1 is $(port_state "$1") $(phys_state "$1")"
    return 1
}

# stops NAME STATE FAULT…: the victim's stream stands while the control's flows, and goes on
# when the fault is healed. STATE is the victim's meanwhile.
stops() {
    local name="port $victim: $1" state=$2 port
    shift 2
    ok "$name" "$@"
    ok "$name: the port is $state" becomes "$victim" "$state"
    ok "$name: its stream stands" stands "$server"
    ok "$name: the stream between ports $other and $another flows" flows "$other"
    for port in $server $other $another; do
        ok "$name: port $port is ACTIVE" port_is "$port" ACTIVE
    done
    ok "$name: healed" heal "$victim"
    ok "$name: its stream goes on" flows "$server"
}

mtu_falls() { mtu "$victim" 1500 && until_true 10 [ "$(active_mtu "$victim")" = 1024 ]; }

# draw: victim (which sends) and server, and a pair of healthy ports beside them.
draw() {
    victim=$(choose_random_port)
    server=$(choose_random_port "$victim")
    other=$(choose_random_port "$victim" "$server")
    another=$(choose_random_port "$victim" "$server" "$other")
}

case_c_faults() {
    local victim server other another streams=() events
    draw
    stream "$server" "$victim"
    stream "$other" "$another"
    stdbuf -oL ibv_asyncwatch -d "rxe$victim" >events 2>&1 &
    events=$!
    stops "port_down" "DOWN Disabled" port_down "$victim"
    stops "peer_port_down" "DOWN Polling" peer_port_down "$victim"
    stops "drop_udp out" "ACTIVE LinkUp" drop_udp "$victim" out
    ok "both times the port's going and coming was an event" \
        [ "$(grep -c 'port error' events) $(grep -c 'port active' events)" = "2 2" ]
    kill $events && wait $events 2>/dev/null

    ok "drop_udp in: what is sent arrives" drop_udp "$victim" in
    ok "drop_udp in: it is sent again, as no acknowledgement comes" \
        moves "$server" duplicate_request 10
    ok "drop_udp in: healed" heal "$victim"
    ok "loss 5 %" loss "$victim" 5
    ok "loss: packets are missed" moves "$server" out_of_seq_request 20
    ok "loss: the stream flows" flows "$server"
    end_streams
}

case_d_mtu() {
    local victim server other another streams=()
    draw
    stream "$victim" "$server"
    ok "port $victim: MTU 1500 gives active_mtu 1024" mtu_falls
    ok "port $victim: what is longer does not arrive" stands "$victim"
    ok "port $victim: healed" heal "$victim"
    ok "port $victim: active_mtu is 4096 again" [ "$(active_mtu "$victim")" = 4096 ]
    ok "port $victim: its stream goes on" flows "$victim"
    end_streams
}

# ---- faults that slow down ------------------------------------------------------------------

# column N TOOL SERVER CLIENT [ARGUMENT…]: one number of perf's line.
column() {
    local numbers
    numbers=$(perf "${@:2}" 2>err) || { show err >&2 && return 1; }
    awk -v n="$1" '{ print $n }' <<<"$numbers"
}
# holds A OP B: of numbers that were measured.
holds() {
    echo "# $1 $2 $3"
    awk -v a="${1:-x}" -v b="${3:-x}" "BEGIN { exit !(a ~ /^[0-9.]+\$/ && b ~ /^[0-9.]+\$/ && a + 0 $2 b + 0) }"
}

case_e_slow() {
    local victim server other another healthy
    draw
    healthy=$(column 5 ib_write_lat "$other" "$another" -n 50)
    ok "healthy: less than 20 ms" holds "$healthy" "<" 20000
    ok "port $victim: delay 20ms each way" delay "$victim" 20ms
    ok "port $victim: no message is faster" \
        holds "$(column 3 ib_write_lat "$server" "$victim" -n 20)" ">=" 20000
    ok "port $victim: healed" heal "$victim"
    ok "port $victim: rate 20mbit for what it sends" rate "$victim" 20mbit out
    ok "port $victim: sends no faster" \
        holds "$(column 4 ib_write_bw "$server" "$victim" -n 50)" "<" 0.021
    ok "port $victim: receives faster" \
        holds "$(column 4 ib_write_bw "$victim" "$server" -n 100)" ">" 0.021
}

# ---- retries that end -----------------------------------------------------------------------

case_f_retries() {
    local victim server other another before
    draw
    before=$(counter "$victim" retry_exceeded_err)
    perf_limit=40 perf_begin ib_write_bw "$server" "$victim" -n 5000000 -R --retry_count=3
    ok "three retries: flows" flows "$server"
    ok "three retries: the peer's port goes" peer_port_down "$server"
    perf_end
    ok "three retries: the client fails" [ $? -ne 124 ]
    show "$perf_dir/client"
    ok "three retries: with completion status 12" grep -qi 'status 12' "$perf_dir/client"
    ok "three retries: retry_exceeded_err counts it" moved "$victim" retry_exceeded_err "$before"
}

# ---- the product ----------------------------------------------------------------------------

case_g_product() {
    ok "fabricheck list" sh -c '"$1" list >out' - "$fabricheck"
    ok "fabricheck topo" sh -c '"$1" topo >out' - "$fabricheck"
    mpirun_n 2 "$fabricheck" run --probes pairs --level quick --out run >out 2>err
    ok "fabricheck run --probes pairs on two ranks has a verdict" grep -q '^verdict: ' out
    show out err
}

# ---- two guests -----------------------------------------------------------------------------

pair_a_hosts() {
    ok "two hosts with names of their own" [ "$(hostname) $(on_peer hostname)" = "node0 node1" ]
    ok "on_peer gives the status back" [ "$(on_peer sh -c 'exit 7'; echo $?)" = 7 ]
    ok "ibv_rc_pingpong between the hosts" pingpong 1 1
    ok "ib_write_bw between the hosts" measures ib_write_bw 1 1 -n 100
    ok "mpirun starts on both hosts" [ "$(mpirun_n 4 --host node0:2,node1:2 hostname | sort | uniq -c |
        xargs)" = "2 node0 2 node1" ]
}

peer_receives() { on_peer cat /sys/class/infiniband/rxe1/ports/1/hw_counters/rcvd_pkts; }
peer_flows() {
    local before
    before=$(peer_receives)
    until_true "$1" peer_moved "$before"
}
peer_moved() { [ "$(peer_receives)" -gt "$1" ]; }

pair_b_cable() {
    local node=$((RANDOM % 2))
    perf_limit=100 perf_begin ib_write_bw 1 1 -n 5000000
    ok "a stream between the hosts flows" peer_flows 20
    ok "the cable of node$node is pulled" cable 1 off $node
    ok "its port is down" until_true 10 host_is $node "DOWN Polling"
    sleep 0.5
    ok "the stream stands, and the control network does not" peer_stands
    ok "the cable is back" cable 1 on $node
    ok "its port is up" until_true 10 host_is $node "ACTIVE LinkUp"
    ok "the stream goes on" peer_flows 20
    kill "$perf_client" "$perf_server" 2>/dev/null
    wait "$perf_client" "$perf_server" 2>/dev/null
}
host_is() { # NODE STATE
    local dir=/sys/class/infiniband/rxe1/ports/1 state
    state=$([ "$1" = 0 ] && cat $dir/state $dir/phys_state || on_peer cat $dir/state $dir/phys_state)
    [ "$(sed 's/^[0-9]*: //' <<<"$state" | xargs)" = "$2" ]
}
peer_stands() { [ -n "$(peer_receives)" ] && ! peer_flows 1; }
