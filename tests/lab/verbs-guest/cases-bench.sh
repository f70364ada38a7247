# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# `fabricheck bench` of RDMA between two ports of the guest: its six WHATs, what it says of a
# port that goes, of peers that are unlike, and of names that there are not.

# fbench WHAT A B [OPTION…]: rank 0 on port A, rank 1 on port B; the rows go to "rows".
fbench() {
    local what=$1 a=$2 b=$3 status
    shift 3
    mpirun_n 2 "$fabricheck" bench "$what" -d "rxe$a,rxe$b" "$@" >out 2>err
    status=$?
    grep -v '^#' out | tail -n +2 >rows
    return $status
}
right() { grep -q '^# Out of bounds values : 0 OK$' out; }
sane() { # WHAT
    case $1 in
    *_bw) awk 'NF != 5 || $4 <= 0 || $3 < $4 { bad = 1 } END { exit bad || !NR }' rows ;;
    *_lat) awk 'NF != 9 || $3 <= 0 || $3 > $5 || $5 > $4 { bad = 1 } END { exit bad || !NR }' rows ;;
    esac
}
benches() { # WHAT A B [OPTION…]
    fbench "$@" && right && sane "$1" && echo "# $1: $(xargs <rows)" && return
    show out err
    return 1
}

case_k_bench() {
    local a b what
    a=$(choose_random_port)
    b=$(choose_random_port "$a")
    for what in write_bw read_bw send_bw; do
        ok "$what between ports $a and $b" benches $what "$a" "$b" -s 16K -D 200ms
    done
    for what in write_lat read_lat send_lat; do
        ok "$what between ports $a and $b" benches $what "$a" "$b" -s 8 -D 200ms
    done
    ok "write_bw of an exact number of messages both ways over three queue pairs" \
        benches write_bw "$a" "$b" -s 4K -n 100 -q 3 -b
    ok "they are counted" awk '{ exit $2 != 200 }' rows
    ok "write_bw connected by rdma_cm" benches write_bw "$a" "$b" -s 4K -D 100ms -R
    ok "write_bw --json" fbench write_bw "$a" "$b" -s 4K -D 100ms --json
    ok "says what it measured" [ "$(jq -c '[.what, .sides[].port, .sides[].transport, .mtu, .out_of_bounds,
        (.rows[0].average_GBps > 0)]' out)" = "[\"write_bw\",\"rxe$a:1\",\"rxe$b:1\",\"rc\",\"rc\",4096,0,true]" ]
    show out err
}

# ---- a port goes ----------------------------------------------------------------------------

# bench_begin WHAT A B SECONDS: in the background, until data flows.
bench_begin() {
    mpirun_n 2 "$fabricheck" bench "$1" -d "rxe$2,rxe$3" -D "$4" --retry_count 3 >out 2>err &
    bench_pid=$!
    moves "$3" rcvd_pkts 90
}
# It ends by itself, with status 3 and one line with the completion's status and both ports.
ends_with() { # A B
    local status begin=$SECONDS
    wait "$bench_pid"
    status=$?
    echo "# ended with status $status after $((SECONDS - begin)) s"
    [ $status = 3 ] && [ "$(grep -c '^fabricheck bench: ' err)" = 1 ] &&
        grep -q "rxe$1:1 -> rxe$2:1: transport retry counter exceeded (12)" err && return
    show out err
    return 1
}

case_l_bench_fault() {
    local a b
    a=$(choose_random_port)
    b=$(choose_random_port "$a")
    ok "write_bw between ports $a and $b flows" bench_begin write_bw "$a" "$b" 60s
    ok "port $b's wire is cut" peer_port_down "$b"
    ok "the bench says which lane failed, and how" ends_with "$a" "$b"
    ok "port $b: healed" heal "$b"
    ok "write_bw between ports $a and $b again" benches write_bw "$a" "$b" -s 4K -D 100ms
    ok "port $b: MTU 1500" mtu "$b" 1500
    ok "port $b: active_mtu 1024" until_true 10 [ "$(active_mtu "$b")" = 1024 ]
    ok "write_bw between unlike MTUs" benches write_bw "$a" "$b" -s 4K -D 100ms
    ok "it says so" grep -q "rxe$a:1 has MTU 4096 and rxe$b:1 1024: 1024 is used" err
    show err
}

# ---- names that there are not ---------------------------------------------------------------

refused() { # STATUS TEXT A B [OPTION…]
    local status=$1 text=$2
    shift 2
    fbench write_bw "$@"
    [ $? = "$status" ] && [ "$(wc -l <err)" = 1 ] && grep -qF -- "$text" err && return
    show out err
    return 1
}

case_m_bench_names() {
    local a b
    a=$(choose_random_port)
    b=$(choose_random_port "$a")
    ok "an unknown device" refused 2 "rxe1" "$a" 99
    ok "an unknown GID" refused 2 "has no GID 99 (its GIDs: 0, 1" "$a" "$b" -x 99
    ok "port $b goes" port_down "$b"
    ok "a port that is down" refused 3 "rxe$b:1 is not active: down" "$a" "$b"
}
