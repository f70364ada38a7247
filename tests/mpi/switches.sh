#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Leaf switches: from a file, or from what Slurm tells each task, into the journal, and from
# there into findings; and files that are of no use.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
nodes="n0 n1 n2 n3"

cat >topology.conf <<'EOF2'
# four nodes and others
SwitchName=top Switches=leaf[1-2]
SwitchName=leaf1 Nodes=n[0-1]
switchname=leaf2 \
    nodes=n2,m[1-9]
EOF2
port() { # LEAF PORT NODE HCA
    printf '[%s]\t"H-%s%s"[1](0)\t# "%s %s" lid 1 4xHDR\n' "$2" "$1" "$2" "$3" "$4"
}
{
    printf 'switchguid=0xa1(a1)\nSwitch\t4 "S-a1"\t# "rack1" base port 0 lid 1 lmc 0\n'
    port a1 1 n0 mlx5_0
    port a1 2 n1 mlx5_0
    port a1 3 n1 mlx5_1
    printf 'switchguid=0xa2(a2)\nSwitch\t4 "S-a2"\t# "rack2" base port 0 lid 1 lmc 0\n'
    port a2 1 n0 mlx5_1
} >fabric.txt

start() { # PROGRAM ARGS…: on the nodes
    rm -rf run
    mpirun_n 4 "$on_nodes" "$nodes" "$1" run --out run "${@:2}" >out 2>err
    status=$?
    show err
    return $status
}
holds() { # FILTER: of the journal's lines as one array
    [ "$(jq -s "$1" run/journal.jsonl)" = true ] && return 0
    jq -c 'select(.type == "run") | .switches' run/journal.jsonl | show
    jq -c 'select(.type == "node") | [.name, .switch]' run/journal.jsonl | show
    return 1
}
switch_is='[.[] | select(.type == "node") | {(.name): .switch}] | add =='

start "$fabricheck" --probes config --switches topology.conf
ok "topology.conf: the run is what it is without" [ $status = 0 ]
ok "topology.conf: each node's switch is in its line" holds \
    "$switch_is"' {n0: "leaf1", n1: "leaf1", n2: "leaf2", n3: null}'
ok "topology.conf: the run line says where that is from, and who is not in it" holds \
    '.[0].switches == {from: "topology.conf", file: "topology.conf", nodes: 3, missing: "n3"}'
ok "topology.conf: a node that is not in it is a note" \
    grep -q "'topology.conf' has no switch for n3" err
start "$fabricheck" --probes pairs --skip config --switches fabric.txt
ok "ibnetdiscover: a list by rail, or one switch of all rails; without the config probe too" \
    holds "$switch_is"' {n0: ["rack1 (0xa1)", "rack2 (0xa2)"], n1: "rack1 (0xa1)",
        n2: null, n3: null}'
ok "ibnetdiscover: the run line says so" holds '.[0].switches.from == "ibnetdiscover"'
printf '[run]\nswitches = topology.conf\n' >site.ini
start "$fabricheck" --probes config --profile site.ini
ok "a profile may name the file" holds '.[0].switches.nodes == 3'

# What Slurm tells: each task its own address. One that is inherited from another node, as
# a launcher that copies its environment leaves it, tells nothing.
cat >as-task <<'EOF2'
#!/bin/sh
[ -n "$SLURM_TOPOLOGY_ADDR" ] ||
    export SLURM_TOPOLOGY_ADDR="spine[1-2].leaf-$FABRICHECK_NODE.$FABRICHECK_NODE"
export SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node
exec "$@"
EOF2
chmod +x as-task
slurm() { # ARGS…
    rm -rf run
    mpirun_n 4 "$on_nodes" "n0 n0 n1 n2" ./as-task "$fabricheck" run --out run \
        --probes config "$@" >out 2>err
}
slurm
ok "SLURM_TOPOLOGY_ADDR: the level above the node" holds \
    '.[0].switches == {from: "SLURM_TOPOLOGY_ADDR", nodes: 3} and
        ('"$switch_is"' {n0: "leaf-n0", n1: "leaf-n1", n2: "leaf-n2"})'
slurm --switches topology.conf
ok "SLURM_TOPOLOGY_ADDR: a file is stronger" holds \
    "$switch_is"' {n0: "leaf1", n1: "leaf1", n2: "leaf2"}'
SLURM_TOPOLOGY_ADDR=s.leaf9.n0 slurm
ok "SLURM_TOPOLOGY_ADDR: only where it is the node's own" holds \
    "$switch_is"' {n0: "leaf9", n1: null, n2: null}'
start "$fabricheck" --probes config
ok "nobody tells: nothing is said" holds \
    'all(has("switches") == false and has("switch") == false)'

# Files that are of no use: one line that names option and file, exit status 2, no folder.
refused() { # PATTERN FILE
    rm -rf run
    mpirun_n 3 "$on_nodes" "$nodes" "$fabricheck" run --out run --switches "$2" >out 2>err
    local got=$?
    [ "$got" = 2 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && [ ! -e run ] &&
        grep -qE -- "--switches: '$2': $1" err && return 0
    echo "# status $got"
    show err
    return 1
}
printf 'these are\nno switches\n' >words.txt
printf 'SwitchName=a Switches=b\n' >spines.conf
printf 'SwitchName=a Nodes=n0\nSwitchName=b Nodes=n[1-\n' >cut.conf
ok "no such file" refused "No such file" absent.conf
"$fabricheck" run --out run --switches absent.conf >out 2>err
ok "no such file, alone" [ "$?:$(wc -l <err):$(wc -c <out):$(ls -d run 2>/dev/null)" = 2:1:0: ]
ok "neither of the two" refused "neither a topology.conf .* ibnetdiscover" words.txt
ok "a program" refused "neither a topology.conf .* ibnetdiscover" "$fabricheck"
ok "switches without nodes" refused "this topology.conf places no node" spines.conf
ok "a list that is cut" refused "line 2: 'n\[1-' is no list of hosts" cut.conf

# From the file into a finding: a fleet whose third leaf switch is slow to all others, of
# which nobody told; then a file tells the judge.
fleet=$top_builddir/tests/fleet/fleet
"$fleet" --nodes 64 --no-switch --fault switch:percent=30,leaf=2 >fleet.jsonl
"$fleet" --nodes 64 --no-switch --fault switch:percent=30,leaf=2 --suspects /dev/null \
    >>fleet.jsonl
for leaf in 0 1 2 3; do
    echo "SwitchName=rack$leaf Nodes=n[$((16 * leaf))-$((16 * leaf + 15))]"
done >racks.conf
"$fabricheck" judge fleet.jsonl --json >inferred.json
"$fabricheck" judge fleet.jsonl --switches racks.conf --json >told.json 2>err
ok "judge: without a file the switch is inferred" jq -e \
    '[.findings[] | select(.check == "pair.slow" and .subject.kind == "group")] | length == 1 and
        (.[0].message | contains("(inferred)"))' inferred.json
ok "judge --switches: it is blamed by its name, with its source" jq -e \
    '[.findings[] | select(.check == "pair.slow" and .subject.kind == "group")] | length == 1 and
        .[0].subject.switch == "rack2" and
        (.[0].message | contains("leaf switch rack2 (from topology.conf)"))' told.json
ok "judge --switches: nothing else to say" [ ! -s err ]
"$fabricheck" judge fleet.jsonl --switches words.txt >out 2>err
ok "judge --switches: a file of no use is status 2, one line" \
    [ "$?:$(wc -l <err):$(wc -c <out)" = 2:1:0 ]
done_testing
