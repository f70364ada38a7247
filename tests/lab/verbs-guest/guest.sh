# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For bash scripts inside of the verbs guest: . "$FC_GUEST". Its ports, faults of a port and their
# inverses, so that many faults fit into one boot, and perftest with its numbers read.
#
# Port N is the verbs device rxeN. In one guest (FC_GUEST_NODES=1) it is on interface vN, whose
# other end bN stands in a bridge: the side of the switch. Of two guests port N is on interface
# dataN, and the way to the peer's is a cable that `cable` pulls.
# Directions are the port's: "out" is what it sends, "in" what is sent to it, "both" is both.

nic_of() { [ "$FC_GUEST_NODES" -eq 2 ] && echo "data$1" || echo "v$1"; }
interfaces_of() { # PORT; sets `interfaces`: its own, and the switch's
    interfaces=("v$1" "b$1")
    [ "$FC_GUEST_NODES" -eq 1 ] || interfaces=("data$1")
}
all_ports() { eval "echo {1..$FC_GUEST_PORTS}"; }

# address PORT: its IPv4 address; GID index 1 is made of it. In one guest all ports are in one
# network; of two guests each pair of ports has its own, a rail.
address() {
    [ "$FC_GUEST_NODES" -eq 2 ] && echo "10.0.$1.$((FC_GUEST_NODE + 1))" || echo "10.0.0.$1"
}

# ---- state of a port ------------------------------------------------------------------------

# To start a process costs some 50 ms where each instruction is emulated, so that files are read
# by bash itself.
port_file() { # PORT FILE
    local line
    read -r line <"/sys/class/infiniband/rxe$1/ports/1/$2" && echo "$line"
}
port_state() { # PORT: ACTIVE, DOWN
    local state
    read -r _ state <"/sys/class/infiniband/rxe$1/ports/1/state" && echo "$state"
}
phys_state() { # PORT: LinkUp, Disabled, Polling
    local state
    read -r _ state <"/sys/class/infiniband/rxe$1/ports/1/phys_state" && echo "$state"
}
counter() { port_file "$1" "hw_counters/$2"; } # PORT NAME
active_mtu() { # PORT
    ibv_devinfo -d "rxe$1" | sed -n 's/^[[:space:]]*active_mtu:[[:space:]]*\([0-9]*\).*/\1/p'
}

# until_true SECONDS COMMAND…: tries until the command succeeds; fails when the time is up.
until_true() {
    local end=$((SECONDS + $1 + 1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        pause 0.1
    done
}
# pause SECONDS: nobody writes into this pipe.
exec {guest_pipe}<> <(:)
pause() { read -r -t "$1" -u "$guest_pipe" || true; }
port_is() { # PORT STATE
    local state
    read -r _ state <"/sys/class/infiniband/rxe$1/ports/1/state" && [ "$state" = "$2" ]
}
port_works() { # PORT
    local gid
    port_is "$1" ACTIVE && read -r gid <"/sys/class/infiniband/rxe$1/ports/1/gids/1" &&
        [[ ! $gid =~ ^[0:]*$ ]]
}

# port_waits PORT: until it is ACTIVE and has its GID.
port_waits() {
    until_true 20 port_works "$1" && return
    echo "port $1 does not come up: $(port_state "$1"), $(phys_state "$1")" >&2
    return 1
}

# choose_random_port [OTHER…]: one of the ports that is none of the others.
choose_random_port() {
    local port
    [ $# -lt "$FC_GUEST_PORTS" ] || return 1
    while :; do
        port=$((RANDOM % FC_GUEST_PORTS + 1))
        [[ " $* " == *" $port "* ]] || { echo "$port" && return; }
    done
}

# ---- faults of a port, each with its inverse ------------------------------------------------

has_switch() { # WHAT
    [ "$FC_GUEST_NODES" -eq 1 ] || { echo "$1: only in one guest, which has a switch" >&2 && return 1; }
}

port_down() { ip link set "$(nic_of "$1")" down; } # PORT: DOWN, Disabled
port_up() { ip link set "$(nic_of "$1")" up && port_route "$1" && port_waits "$1"; }

# PORT: the switch's side goes: DOWN, Polling.
peer_port_down() { has_switch peer_port_down && ip link set "b$1" down; }
peer_port_up() { has_switch peer_port_up && ip link set "b$1" up && port_waits "$1"; }

# cable PORT on|off [NODE]: of two guests; node 0 has the cable of NODE's (0) port pulled.
cable() {
    local ctl=/run/fc-guest
    [ "$FC_GUEST_NODES:$FC_GUEST_NODE" = 2:0 ] || { echo "cable: only on node0 of two" >&2 && return 1; }
    cable_number=$(($(cat $ctl/answer 2>/dev/null || echo 0) + 1))
    echo "$cable_number ${3:-0} $1 $2" >$ctl/request.new && mv $ctl/request.new $ctl/request
    until_true 20 cable_answered || { echo "cable: no answer" >&2 && return 1; }
}
cable_answered() { [ "$(cat /run/fc-guest/answer 2>/dev/null)" = "$cable_number" ]; }

mtu() { ip link set "$(nic_of "$1")" mtu "${2:-$FC_GUEST_MTU}"; } # PORT [MTU]: no MTU, as before

# The interfaces that send what goes in a direction of a port.
senders() { # PORT DIRECTION
    case $2 in
    out) nic_of "$1" ;;
    in) has_switch "direction in" && echo "b$1" ;;
    both) has_switch "direction both" && nic_of "$1" && echo "b$1" ;;
    *) echo "direction $2: in, out or both" >&2 && return 1 ;;
    esac
}
shape() { # PORT DIRECTION QDISC…: takes the place of what was there
    local interface interfaces
    interfaces=$(senders "$1" "$2") || return
    for interface in $interfaces; do
        tc qdisc del dev "$interface" root 2>/dev/null
        tc qdisc add dev "$interface" root "${@:3}" || return
    done
}
# One of these at a time in a direction. Their queues hold what a send queue can.
loss() { shape "$1" "${3:-both}" netem loss "$2%" limit 100000; }          # PORT PERCENT [DIRECTION]
delay() { shape "$1" "${3:-both}" netem delay "$2" limit 100000; }         # PORT TIME [DIRECTION]
rate() { shape "$1" "${3:-both}" tbf rate "$2" burst 32kb limit 64mb; }    # PORT RATE [DIRECTION]
unshape() { # PORT
    local interface interfaces
    interfaces_of "$1"
    for interface in "${interfaces[@]}"; do
        tc qdisc del dev "$interface" root 2>/dev/null
    done
    return 0
}

# drop_udp PORT [DIRECTION]: RoCE's packets vanish where they arrive, so that no sender can see
# it; all else passes.
drop_udp() {
    local receivers=() interface
    [ "${2:-both}" = in ] || receivers+=("b$1")
    [ "${2:-both}" = out ] || receivers+=("$(nic_of "$1")")
    [ "${2:-both}" = in ] || has_switch "drop_udp ${2:-both}" || return
    for interface in "${receivers[@]}"; do
        tc qdisc add dev "$interface" clsact &&
            tc filter add dev "$interface" ingress protocol ip u32 match ip protocol 17 0xff \
                match ip dport 4791 0xffff action drop || return
    done
}
pass_udp() { # PORT
    local interface interfaces
    interfaces_of "$1"
    for interface in "${interfaces[@]}"; do
        tc qdisc del dev "$interface" clsact 2>/dev/null
    done
    return 0
}

# heal PORT…: the inverse of all of them, and the ports work. A cable is put back by `cable`.
heal() {
    local port interface interfaces status=0
    for port in "$@"; do
        interfaces_of "$port"
        for interface in "${interfaces[@]}"; do
            printf 'qdisc del dev %s root\nqdisc del dev %s clsact\n' "$interface" "$interface"
        done
    done | tc -force -batch - 2>/dev/null
    for port in "$@"; do
        interfaces_of "$port"
        for interface in "${interfaces[@]}"; do
            printf 'link set %s mtu %d up\n' "$interface" "$FC_GUEST_MTU"
        done
        [ "$FC_GUEST_NODES" -eq 2 ] || echo "route replace $(route_of "$port")"
    done | ip -batch - || status=1
    for port in "$@"; do
        port_waits "$port" || status=1
    done
    return $status
}
heal_all() {
    # shellcheck disable=SC2046 # words
    heal $(all_ports)
}

# ---- perftest -------------------------------------------------------------------------------

# perf_begin TOOL SERVER CLIENT [ARGUMENT…]: starts perftest's TOOL between two ports, both ends
# in the background; they talk over the loopback (of two guests: the control network), so that
# a fault of a port is one of RDMA alone. The client gets $perf_limit seconds (60). With -R in
# the arguments the connection is made by rdma_cm, over the ports themselves.
# Sets perf_server and perf_client, process ids, and perf_dir, where both have their output.
perf_begin() {
    local tool=$1 server=$2 client=$3 limit=${perf_limit:-60} to=127.0.0.1 by=tcp
    shift 3
    perf_dir=$(new_folder)
    # the usual time-out for an acknowledgement, 67 ms, is nothing for a guest on a busy host
    set -- -x 1 -F -u 18 -p "${perf_dir##*-}" "$@"
    [[ $tool != *_bw ]] || set -- --report_gbits "$@"
    [ "$FC_GUEST_NODES" -eq 1 ] || to=node1
    if [[ " $* " == *" -R "* ]]; then
        to=$(FC_GUEST_NODE=$((FC_GUEST_NODES - 1)) address "$server")
        by=cm
        [ "$FC_GUEST_NODES" -eq 2 ] || connect_from "$client" "$to"
    fi
    at_server timeout -k 1 $((limit + 30)) "$tool" -d "rxe$server" "$@" >"$perf_dir/server" 2>&1 &
    perf_server=$!
    until_true 30 listens "${perf_dir##*-}" $by || echo "perf: $tool does not listen" >&2
    timeout -k 1 "$limit" "$tool" -d "rxe$client" "$@" "$to" >"$perf_dir/client" 2>&1 &
    perf_client=$!
}
# connect_from PORT ADDRESS: who connects to this address without saying where from (rdma_cm)
# begins at that port, until the next call.
connect_from() {
    ip rule del pref 15 2>/dev/null
    ip rule add pref 15 to "$2" iif lo lookup $((100 + $1))
}
# A folder named by a TCP port that nobody here has used yet; it may be called in subshells.
new_folder() {
    local used=("$TMPDIR"/tcp-*) tcp
    tcp=$((18514 + ${#used[@]}))
    until mkdir "$TMPDIR/tcp-$tcp" 2>/dev/null; do
        tcp=$((tcp + 1))
    done
    echo "$TMPDIR/tcp-$tcp"
}
at_server() {
    if [ "$FC_GUEST_NODES" -eq 2 ]; then on_peer "$@"; else "$@"; fi
}
# listens TCP-PORT [cm]: somebody does there, or by rdma_cm.
listens() {
    local line port
    if [ "${2-}" = cm ]; then
        [[ $(at_server rdma resource show cm_id 2>/dev/null) == *LISTEN* ]]
        return
    fi
    printf -v port ':%04X 0' "$1"
    while read -r line; do
        [[ $line != *"$port"*":0000 0A "* ]] || return 0
    done < <(tables_of_tcp)
    return 1
}
tables_of_tcp() {
    if [ "$FC_GUEST_NODES" -eq 2 ]; then
        on_peer cat /proc/net/tcp /proc/net/tcp6 2>/dev/null
    else
        printf '%s\n' "$(</proc/net/tcp)" "$(</proc/net/tcp6)"
    fi
}

# perf_end: waits for the client. Its status; 124: it hung until its time was up.
perf_end() {
    local status
    wait "$perf_client"
    status=$?
    [ $status -eq 0 ] || kill "$perf_server" 2>/dev/null
    wait "$perf_server" 2>/dev/null
    return $status
}

# perf_numbers: what the last client printed, a line a size: "bytes iterations peak average
# message-rate" in Gb/s and Mpps, or "bytes iterations min max typical average deviation 99%
# 99.9%" in us. Fails where they are no measurement: under load perftest may print 0.000, inf or
# nan and call it success.
perf_numbers() {
    awk '/^ *[0-9]+ +[0-9]+ / && NF >= 5 {
            for (i = 1; i <= NF; i++) bad += $i !~ /^[0-9.]+$/
            bad += !($3 > 0 && $4 > 0)
            $1 = $1
            print
            rows++
        }
        END { exit bad || !rows }' "$perf_dir/client"
}

# perf TOOL SERVER CLIENT [ARGUMENT…]: the whole, up to three times where the numbers are none or
# the client fails: after retries that were not needed rxe may call a request invalid (status 9).
# Fails with what perftest said.
perf() {
    local status numbers try
    for try in 1 2 3; do
        perf_begin "$@"
        perf_end
        status=$?
        [ $status -ne 124 ] || break
        if [ $status -eq 0 ]; then
            numbers=$(perf_numbers) && echo "$numbers" && return
            status=1
        fi
    done
    { echo "perf $*: status $status, try $try" && cat "$perf_dir/client" "$perf_dir/server"; } >&2
    return $status
}

# pingpong_begin SERVER CLIENT [ARGUMENT…]: both ends of ibv_rc_pingpong in the background: sets
# pingpong_client and pingpong_server. Its seven retries are infinitely many to rxe: what a
# fault stops may go on when it is healed.
pingpong_begin() {
    local server=$1 client=$2 to=127.0.0.1 tcp
    shift 2
    tcp=$(new_folder)
    tcp=${tcp##*-}
    [ "$FC_GUEST_NODES" -eq 1 ] || to=node1
    at_server timeout 200 ibv_rc_pingpong -d "rxe$server" -e -g 1 -p "$tcp" "$@" >/dev/null 2>&1 &
    pingpong_server=$!
    until_true 30 listens "$tcp"
    timeout "${pingpong_limit:-30}" ibv_rc_pingpong -d "rxe$client" -e -g 1 -p "$tcp" "$@" "$to" \
        >/dev/null 2>&1 &
    pingpong_client=$!
}
pingpong() { # SERVER CLIENT: fifty messages each way
    local status
    pingpong_begin "$1" "$2" -n 50
    wait "$pingpong_client"
    status=$?
    [ $status -eq 0 ] || kill "$pingpong_server" 2>/dev/null
    wait "$pingpong_server" && return $status
}

# ---- two guests -----------------------------------------------------------------------------

# on_peer COMMAND…: runs it on node1 and gives back output and status. mpirun does the same
# through rsh-agent, without ssh.
on_peer() { "${FC_GUEST%/*}/rsh-agent" node1 "$(printf '%q ' "$@")"; }

guest_serve() { busybox nc -ll -p 9999 -e /bin/bash; }

# ---- how a guest begins; `boot` calls it ----------------------------------------------------

set_kernel() { # PATH=VALUE…
    local pair
    for pair in "$@"; do
        echo "${pair#*=}" >"/proc/sys/net/ipv4/${pair%%=*}" || return
    done
}

# All ports in one network namespace, since rxe sees only the first one. What port i sends to
# another port's address must leave by its own interface and cross the bridge, though the
# kernel knows the address as one of its own: rules that come before the local table say so.
make_bridge() {
    set_kernel conf/all/rp_filter=0 conf/default/rp_filter=0 conf/all/accept_local=1 \
        conf/default/accept_local=1 conf/all/arp_ignore=1 conf/all/arp_announce=2 &&
        bridge_commands | ip -batch - &&
        for ((i = 1; i <= FC_GUEST_PORTS; i++)); do
            echo "link add rxe$i type rxe netdev v$i"
        done | rdma -b -
}
bridge_commands() {
    local i
    echo "link add br0 type bridge forward_delay 0"
    echo "link set br0 up"
    echo "rule add pref 100 lookup local"
    echo "rule del pref 0"
    for ((i = 1; i <= FC_GUEST_PORTS; i++)); do
        printf 'link add v%d mtu %d address 02:00:00:00:00:%02x type veth peer name b%d mtu %d\n' \
            "$i" "$FC_GUEST_MTU" "$i" "$i" "$FC_GUEST_MTU"
        echo "link set b$i master br0 up"
        echo "link set v$i up"
        echo "addr add 10.0.0.$i/24 dev v$i"
        echo "route replace $(route_of "$i")"
        echo "rule add pref 5 from 10.0.0.$i to 10.0.0.$i lookup local"
        echo "rule add pref 10 from 10.0.0.$i to 10.0.0.0/24 iif lo lookup $((100 + i))"
        # who does not say where from (rdma_cm) starts at another port
        [ "$FC_GUEST_PORTS" -eq 1 ] ||
            echo "rule add pref 20 to 10.0.0.$i iif lo lookup $((i == 1 ? 102 : 101))"
    done
}
route_of() { echo "10.0.0.0/24 dev v$1 src 10.0.0.$1 table $((100 + $1))"; } # PORT
# An interface that goes down loses its routes.
port_route() { # PORT
    # shellcheck disable=SC2046 # words
    [ "$FC_GUEST_NODES" -eq 2 ] || ip route replace $(route_of "$1")
}

make_host() {
    local dir mac names=() link
    printf '10.1.0.1 node0\n10.1.0.2 node1\n' >>/etc/hosts
    for dir in /sys/class/net/*; do
        read -r mac <"$dir/address"
        [[ $mac != 02:00:00:00:*:* ]] || names[16#${mac:12:2}]=${dir##*/}
    done
    {
        echo "link set ${names[0]} name control"
        echo "link set control up"
        echo "addr add 10.1.0.$((FC_GUEST_NODE + 1))/24 dev control"
        for ((link = 1; link <= FC_GUEST_PORTS; link++)); do
            echo "link set ${names[link]} name data$link mtu $FC_GUEST_MTU"
            echo "link set data$link up"
            echo "addr add $(address "$link")/24 dev data$link"
        done
    } | ip -batch - && for ((link = 1; link <= FC_GUEST_PORTS; link++)); do
        echo "link add rxe$link type rxe netdev data$link"
    done | rdma -b -
}

# The control plane is TCP: of mpirun too, so that no fault of a port can hang it.
mpi_environment() { # NETWORK
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_btl_tcp_if_include="$1" \
        OMPI_MCA_oob_tcp_if_include="$1" OMPI_MCA_mpi_yield_when_idle=1 \
        OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_plm_rsh_agent="${FC_GUEST%/*}/rsh-agent"
}

guest_begin() {
    local port
    ulimit -l unlimited
    if [ "$FC_GUEST_NODES" -eq 2 ]; then
        mpi_environment 10.1.0.0/24
        make_host || return
    else
        mpi_environment lo
        make_bridge || return
    fi
    for ((port = 1; port <= FC_GUEST_PORTS; port++)); do
        port_waits "$port" || return
    done
    [ "$FC_GUEST_NODES:$FC_GUEST_NODE" != 2:0 ] || until_true 60 on_peer true 2>/dev/null
}
