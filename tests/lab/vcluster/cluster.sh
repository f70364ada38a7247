# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For bash scripts on the head of the virtual cluster: . "$FC_CLUSTER". Its nodes, faults of
# ranks, links and nodes with their inverses, so that many faults fit into one cluster, and
# how MPI is started.
#
# Node N is host nodeN; its interface eth0 ends in vethN of the head's bridge. Directions are
# the node's: "out" is what it sends, "in" what is sent to it, "both" is both.

cluster=/run/vcluster
network=10.77.0 # seen in these namespaces only

all_nodes() { eval "echo node{1..$FC_CLUSTER_NODES}"; }
address() { [ "$1" = head ] && echo $network.254 || echo "$network.${1#node}"; } # NODE
veth_of() { echo "veth${1#node}"; }                                                # NODE

# on_node NODE COMMAND…: runs it there, as root, in this folder.
on_node() {
    local pid
    pid=$(<"$cluster/nodes/$1.pid") || return
    shift
    nsenter -t "$pid" -m -n -u -i -p --wd="$PWD" "$@"
}

# choose_random_node [OTHER…]: one of the nodes that is none of the others.
choose_random_node() {
    local node
    [ $# -lt "$FC_CLUSTER_NODES" ] || return 1
    while :; do
        node=node$((RANDOM % FC_CLUSTER_NODES + 1))
        [[ " $* " == *" $node "* ]] || { echo "$node" && return; }
    done
}

# until_true SECONDS COMMAND…: tries until the command succeeds; fails when the time is up.
until_true() {
    local end=$((SECONDS + $1 + 1))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$end" ] || return 1
        sleep 0.05
    done
}

# ---- state ----------------------------------------------------------------------------------

node_is_up() { [ -e "$cluster/nodes/$1.up" ]; } # NODE
nodes_are_up() {
    local node
    for node in $(all_nodes); do
        node_is_up "$node" || return
    done
}
# As Slurm says: idle, allocated, drained, draining, down*, …
node_state() { sinfo -h -N -n "$1" -o %T; } # NODE
node_is() { [ "$(node_state "$1")" = "$2" ]; } # NODE STATE
node_reason() { sinfo -h -N -n "$1" -o %E; }  # NODE: why it is drained or down
all_idle() { [ "$(sinfo -h -N -o %t 2>/dev/null | grep -cx idle)" = "$FC_CLUSTER_NODES" ]; }

# ---- faults of nodes and links, each with its inverse ---------------------------------------

# node_start NODE: boots it, without waiting until it is up.
node_start() {
    rm -f "$cluster/nodes/$1.up" "$cluster/nodes/$1.pid"
    setsid unshare --mount --net --uts --ipc --pid --fork --kill-child \
        bash "${FC_CLUSTER%/*}/node" "$1" </dev/null >>"$cluster/log/$1" 2>&1 &
}
# NODE: its power goes: processes, memory and link vanish.
node_crash() { kill -KILL "$(<"$cluster/nodes/$1.pid")" && until_true 10 node_is_gone "$1"; }
node_boot() { node_is_gone "$1" && node_start "$1" && until_true 20 node_is_up "$1" && unshape "$1"; }
node_is_gone() { [ ! -e "/sys/class/net/$(veth_of "$1")" ]; }

link_down() { ip link set "$(veth_of "$1")" down; } # NODE: the switch's side; eth0 has no carrier
link_up() { ip link set "$(veth_of "$1")" up; }

# slurmd_kill NODE: its slurmd alone; what runs there goes on.
slurmd_kill() { on_node "$1" sh -c 'kill -KILL $(cat /run/slurm/slurmd.pid)'; }
slurmd_start() { on_node "$1" slurmd -N "$1"; }
slurmd_works() { on_node "$1" sh -c 'kill -0 $(cat /run/slurm/slurmd.pid)' 2>/dev/null; }

# What a node sends, and what the switch sends to it.
shape() { # NODE RATE [DIRECTION]: takes the place of what was there
    local bucket="root tbf rate $2 burst 16kb limit 32mb" # a short queue would drop: TCP stalls
    [[ ${3:-both} =~ ^(in|out|both)$ ]] || { echo "direction $3: in, out or both" >&2 && return 1; }
    # shellcheck disable=SC2086 # words
    {
        [ "${3:-both}" = out ] || tc qdisc replace dev "$(veth_of "$1")" $bucket || return
        [ "${3:-both}" = in ] || on_node "$1" tc qdisc replace dev eth0 $bucket
    }
}
unshape() { # NODE: as the cluster began
    if [ -n "$FC_CLUSTER_RATE" ]; then
        shape "$1" "$FC_CLUSTER_RATE"
    else
        tc qdisc del dev "$(veth_of "$1")" root 2>/dev/null
        on_node "$1" tc qdisc del dev eth0 root 2>/dev/null
        return 0
    fi
}

drain() { scontrol update NodeName="$1" State=DRAIN Reason="$2"; } # NODE REASON
undrain() { scontrol update NodeName="$1" State=RESUME; }

# slurm_set LINE…: lines of slurm.conf that come last, in place of those set before; none: as
# the cluster began.
slurm_set() {
    local conf=$cluster/etc/slurm.conf
    sed -i '/^# set$/,$d' "$conf" && printf '%s\n' "# set" "$@" >>"$conf" && scontrol reconfigure
}

# heal_all: the inverse of all of them: no job is left and all nodes are idle.
heal_all() {
    local node status=0
    scancel --user=root 2>/dev/null
    for node in $(all_nodes); do
        if node_is_gone "$node"; then
            node_boot "$node" || status=1
            continue
        fi
        link_up "$node" && unshape "$node" || status=1
        [ "$FC_CLUSTER_SLURM" -eq 0 ] || slurmd_works "$node" || slurmd_start "$node" || status=1
    done
    [ "$FC_CLUSTER_SLURM" -eq 1 ] || return $status
    until_true 60 idle_again || { sinfo -N && return 1; }
    return $status
}
# Slurm itself takes its time to see that a node is back.
idle_again() {
    local node state
    all_idle && return
    while read -r node state; do
        [[ ! $state =~ ^(drain|down) ]] || undrain "$node" 2>/dev/null
    done < <(sinfo -h -N -o '%N %T')
    return 1
}

# ---- ranks ----------------------------------------------------------------------------------

# rank_find RANK PROGRAM: sets rank_node and rank_pid, a process id of the head, of the process
# that MPI's launcher started as this rank, not of its children.
rank_find() {
    local pid node parent
    for pid in $(pgrep -x "$2"); do
        [ "$(rank_of "$pid")" = "$1" ] || continue
        parent=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$pid/status")
        [ "$(cat "/proc/$parent/comm")" != "$2" ] || continue
        for node in $(all_nodes); do
            [ "$(readlink "/proc/$pid/ns/uts")" = \
                "$(readlink "/proc/$(<"$cluster/nodes/$node.pid")/ns/uts")" ] || continue
            # shellcheck disable=SC2034 # for the caller
            rank_node=$node rank_pid=$pid
            return
        done
    done
    return 1
}
rank_of() { # PID
    tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | sed -n 's/^PMIX_RANK=//p'
}
rank_kill() { rank_find "$@" && kill -KILL "$rank_pid"; } # RANK PROGRAM
rank_stop() { rank_find "$@" && kill -STOP "$rank_pid"; }  # RANK PROGRAM
rank_continue() { rank_find "$@" && kill -CONT "$rank_pid"; }

# ---- how a host begins ----------------------------------------------------------------------

# /sys of this network, whose interfaces and counters MPI and the product see; control groups
# stay the old ones.
own_sysfs() {
    mkdir /run/sys && mount -t sysfs sysfs /run/sys || return
    mount --rbind /sys/fs/cgroup /run/sys/fs/cgroup 2>/dev/null
    mount --no-mtab --move /run/sys /sys && rmdir /run/sys
}

# ---- MPI ------------------------------------------------------------------------------------

# Two settings are there for srun: without them Open MPI 4.1.4 crashes in MPI_Init in up to one
# launch of five on a busy machine. Ranks that wait let others have the core.
mpi_environment() {
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,vader,tcp OMPI_MCA_mpi_yield_when_idle=1 \
        OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_pmix_base_async_modex=1 OMPI_MCA_pmix_base_collect_data=0
}
