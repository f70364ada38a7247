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
        ok "$tool between ports $a and $b" measures "$tool" "$a" "$b" -n 50
    done
    ok "ib_write_bw with rdma_cm between ports $a and $b" measures ib_write_bw "$a" "$b" -n 50 -R
}

# ---- faults that stop a port ----------------------------------------------------------------

# draw: four different ports: victim, its partner, and a healthy pair beside them.
draw() {
    victim=$(choose_random_port)
    partner=$(choose_random_port "$victim")
    other=$(choose_random_port "$victim" "$partner")
    another=$(choose_random_port "$victim" "$partner" "$other")
}
moved() { [ "$(counter "$1" "$2")" -gt "$3" ]; } # PORT COUNTER BEFORE
state_is() { port_is "$1" "${2% *}" && [ "$(phys_state "$1")" = "${2#* }" ]; }
becomes() { # PORT STATE
    until_true 10 state_is "$1" "$2" && return
    echo "# port $1 is $(port_state "$1") $(phys_state "$1")"
    return 1
}

# starves SERVER CLIENT: messages of the client do not arrive, though those of the healthy pair,
# which began later, all do.
starves() {
    local before after client server healthy
    before=$(counter "$1" rcvd_pkts)
    pingpong_begin "$1" "$2" -n 50 -m 4096
    client=$pingpong_client server=$pingpong_server
    pingpong "$other" "$another"
    healthy=$?
    after=$(counter "$1" rcvd_pkts)
    kill "$client" "$server" 2>/dev/null
    wait "$client" "$server" 2>/dev/null
    [ "$healthy" -eq 0 ] || { echo "# the healthy pair fails" && return 1; }
    [ "$after" -eq "$before" ] || { echo "# $((after - before)) packets arrived" && return 1; }
}

carries() { ! starves "$@" >/dev/null; }

# stops NAME STATE SERVER CLIENT FAULT…: the victim, one of these two, is in that state, and
# starves the pair until it is healed; all other ports are ACTIVE.
stops() {
    local name="port $victim: $1" state=$2 server=$3 client=$4 port
    shift 4
    ok "$name" "$@"
    ok "$name: the port is $state" becomes "$victim" "$state"
    for port in $partner $other $another; do
        ok "$name: port $port is ACTIVE" port_is "$port" ACTIVE
    done
    ok "$name: nothing passes, and between ports $other and $another all" starves "$server" "$client"
    ok "$name: healed" heal "$victim"
    ok "$name: healed: messages pass" pingpong "$server" "$client"
}

case_c_stops() {
    local victim partner other another watch
    draw
    stdbuf -oL ibv_asyncwatch -d "rxe$victim" >events 2>&1 &
    watch=$!
    ok "ibv_asyncwatch watches port $victim" until_true 20 grep -q FD events
    ok "without a fault messages arrive" carries "$partner" "$victim"
    stops "port_down" "DOWN Disabled" "$partner" "$victim" port_down "$victim"
    stops "peer_port_down" "DOWN Polling" "$victim" "$partner" peer_port_down "$victim"
    stops "drop_udp" "ACTIVE LinkUp" "$partner" "$victim" drop_udp "$victim"
    ok "both times the port's going was an event" [ "$(grep -c PORT_ERR events)" -ge 2 ]
    ok "and its coming" [ "$(grep -c PORT_ACTIVE events)" -ge 2 ]
    show events
    kill $watch
    wait $watch 2>/dev/null
}

case_c_stops_mtu() {
    local victim partner other another
    draw
    stops "MTU 1500" "ACTIVE LinkUp" "$victim" "$partner" mtu_falls
    ok "port $victim: active_mtu is 4096 again" [ "$(active_mtu "$victim")" = 4096 ]
}
mtu_falls() { mtu "$victim" 1500 && [ "$(active_mtu "$victim")" = 1024 ]; }

# One direction: what is sent arrives, again and again, since no acknowledgement comes back.
case_c_stops_one_way() {
    local victim partner other another before
    draw
    before=$(counter "$partner" duplicate_request)
    ok "port $victim: drop_udp in" drop_udp "$victim" in
    pingpong_begin "$partner" "$victim" -n 50
    ok "port $victim: drop_udp in: what it sends arrives again and again" \
        until_true 20 moved "$partner" duplicate_request "$before"
    kill "$pingpong_client" "$pingpong_server"
    ok "port $victim: healed" heal "$victim"
    ok "port $victim: healed: messages pass" pingpong "$partner" "$victim"
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

case_d_slow() {
    local victim partner other another before
    draw
    ok "healthy: some message takes less than 20 ms" holds "$(column 3 ib_write_lat "$other" "$another" -n 50)" "<" 20000
    ok "port $victim: delay 20ms each way" delay "$victim" 20ms
    ok "port $victim: no message is faster" \
        holds "$(column 3 ib_write_lat "$partner" "$victim" -n 20)" ">=" 20000
    ok "port $victim: healed" heal "$victim"

    ok "port $victim: rate 20mbit for what it sends" rate "$victim" 20mbit out
    ok "port $victim: sends no faster" \
        holds "$(column 4 ib_write_bw "$partner" "$victim" -n 50)" "<" 0.021
    ok "port $victim: unshaped" unshape "$victim"

    before=$(counter "$partner" out_of_seq_request)
    ok "port $victim: loss 5 %" loss "$victim" 5 out
    ok "port $victim: loss: all is written nevertheless" measures ib_write_bw "$partner" "$victim" -n 20
    ok "port $victim: loss: the other side misses packets" \
        moved "$partner" out_of_seq_request "$before"
}

# ---- retries that end -----------------------------------------------------------------------

case_e_retries() {
    local victim partner other another before
    draw
    before=$(counter "$victim" rcvd_pkts)
    perf_limit=60 perf_begin ib_write_bw "$partner" "$victim" -n 50000 -R --retry_count=3
    ok "three retries: acknowledgements come" until_true 30 moved "$victim" rcvd_pkts $((before + 20))
    before=$(counter "$victim" retry_exceeded_err)
    ok "three retries: the other side's port goes" peer_port_down "$partner"
    perf_end
    ok "three retries: the client ends and fails" [ $? = 1 ]
    show "$perf_dir/client"
    ok "three retries: with completion status 12" grep -qi 'status 12' "$perf_dir/client"
    ok "three retries: retry_exceeded_err counts it" moved "$victim" retry_exceeded_err "$before"
}

# ---- the product ----------------------------------------------------------------------------

case_f_product() {
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
    ok "ib_write_bw between the hosts" measures ib_write_bw 1 1 -n 50
    ok "mpirun starts on both hosts" [ "$(mpirun_n 4 --host node0:2,node1:2 hostname | sort | uniq -c |
        xargs)" = "2 node0 2 node1" ]
}

host_is() { # NODE STATE
    local dir=/sys/class/infiniband/rxe1/ports/1 state
    state=$([ "$1" = 0 ] && cat $dir/state $dir/phys_state || on_peer cat $dir/state $dir/phys_state)
    [ "$(sed 's/^[0-9]*: //' <<<"$state" | xargs)" = "$2" ]
}
pair_b_cable() {
    local node=$((RANDOM % 2)) received=/sys/class/infiniband/rxe1/ports/1/hw_counters/rcvd_pkts before
    ok "the cable of node$node is pulled" cable 1 off $node
    ok "its port is down" until_true 10 host_is $node "DOWN Polling"
    before=$(on_peer cat $received)
    pingpong_begin 1 1 -n 50
    sleep 1
    ok "nothing passes, and the control network still works" \
        [ "${before:-none}" = "$(on_peer cat $received)" ]
    kill "$pingpong_client" "$pingpong_server" 2>/dev/null
    ok "the cable is back" cable 1 on $node
    ok "its port is up" until_true 10 host_is $node "ACTIVE LinkUp"
    ok "messages pass" pingpong 1 1
}
