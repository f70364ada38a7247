#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# False alarms that others have raised (T1 to T14 of the public reports): healthy machines
# that look sick. Each stays silent here, and where the real fault beside it can be shown,
# that one is found. With the corpus of real machines' files their own pictures, too.
# shellcheck source=tests/tap.sh
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
# shellcheck source=tests/topo/judging.bash
. "$top_srcdir/tests/topo/judging.bash"
cd "${scratch:?}" || exit 1
big=$pictures/nccl-8gpu-8nic-4switch.xml

real() { # NAME FILE: a file of a real machine is silent
    if [ -r "$files/$2" ]; then
        ok "$1" picture_is_silent "$files/$2"
    else
        skip "$1" "no corpus of real machines' files in $files"
    fi
}
ok "T1: idle GPUs sleep at Gen1" fixture_is_silent topology-idle-gpus-sleep-at-the-lowest-speed
ok "T1: a NIC does not sleep" fixture_fires topology-link-of-a-nic-is-slow topology.link

ok "T2: a narrow link in the same place of all nodes" fixture_is_silent topology-narrow-by-design
ok "T2: GPUs at half their width in a cloud, which shows no slots" \
    fixture_is_silent topology-clouds-show-no-slots
real "T2: 32 EFA at x8" p5.48xl-topo.xml
ok "T2: one GPU narrower than its siblings" fixture_fires topology-link-of-a-gpu-is-narrow topology.link

sed -E '/class="0x060400"/s/link_speed="[^"]*"/link_speed="5.0 GT\/s PCIe"/' "$big" >upstream.xml
ok "T3: upstream ports that say 5 GT/s" eval '! cmp -s "$big" upstream.xml && picture_is_silent upstream.xml'
real "T3: upstream ports of a real machine's file" oci-H100-topology.xml
real "T3: the same machine under Kubernetes" oci-H100-topology-kubernetes.xml
awk '/class="0x020[07]00"/ && !done { sub(/link_speed="[^"]*"/, "link_speed=\"5.0 GT/s PCIe\""); done = 1 } { print }' \
    "$big" >slow-nic.xml
ok "T3: a NIC that says so" picture_says "fail topology.link n1" slow-nic.xml

sed 's/count="[45]"/count="3"/' "$big" >nvl.xml
ok "T4: 12 of 18 NVLinks, by design" eval '! cmp -s "$big" nvl.xml && picture_is_silent nvl.xml'
sed '/<nvlink/d' "$big" >unbridged.xml
ok "T4: GPUs without any bridge between them" picture_is_silent unbridged.xml

inside_of() { "$fabricheck" topo --from "$1" --format json | jq -r '.tier.inside'; }
ok "T5: no NVSwitch, so that nothing asks for a fabric manager" \
    eval '[[ $(inside_of "$big") == *NVSwitch* && $(inside_of unbridged.xml) != *NVSwitch* ]]'
sed 's/device="0x2330"/device="0x2342"/' "$big" >gh200.xml
ok "T5: a GH200 is no H200" eval \
    '! cmp -s "$big" gh200.xml && ! "$fabricheck" topo --from gh200.xml --format json | jq -r ".gpus[].name" | grep -q H200'

ok "T6: SrcValid alone" fixture_is_silent topology-acs-only-validates-the-source
ok "T6: redirection" fixture_fires topology-acs-redirects topology.acs

only_the_port() { judged_fixture "$1" && says 'fail|warn|info' "fail topology.port n2"; }
ok "T7: MTU and GID of a port that is down" only_the_port topology-settings-of-a-port-that-is-down
ok "T7: MTU of a port that is up" fixture_fires topology-mtu-differs topology.settings

ok "T8: a management port that is down" eval \
    'grep -q "\"fabric\":false,\"state\":\"DOWN\"" "$fixtures/topology-healthy.jsonl" && fixture_is_silent topology-healthy'
ibstat() { # NAME TYPE STATE RATE LAYER
    printf "CA '%s'\n\tCA type: %s\n\tFirmware version: 1.2.3\n" "$1" "$2"
    printf "\tPort 1:\n\t\tState: %s\n\t\tPhysical state: x\n\t\tRate: %s\n\t\tLink layer: %s\n" "$3" "$4" "$5"
}
{
    for i in 0 1 2 3; do ibstat "mlx5_$i" MT4129 Active 400 InfiniBand; done
    ibstat mlx5_4 MT4125 Down 40 Ethernet
    ibstat mlx5_bond_0 MT4125 Active 100 Ethernet
} >ibstat.txt
tree_of_ibstat ibstat.txt storage
ok "T8: a storage port that is down, beside a bond" picture_is_silent storage
{
    cat ibstat.txt
    ibstat mlx5_6 MT4129 Down 40 Ethernet
} >ibstat-down.txt
tree_of_ibstat ibstat-down.txt rail
ok "T8: a port of the fabric's cards that is down" picture_says "warn topology.port n1" rail
if [ -r "$files/ibstat.47.0.h100.some.down.0.txt" ]; then
    tree_of_ibstat "$files/ibstat.47.0.h100.some.down.0.txt" real-storage
    ok "T8: three storage ports that are down" picture_is_silent real-storage
else
    skip "T8: three storage ports that are down" "no corpus of real machines' files in $files"
fi
for i in 0 1 2; do
    at=vf/sys/bus/pci/devices/0000:01:00.$i
    put "$at/class" 0x020000
    put "$at/vendor" 0x15b3
    put "$at/device" "0x10$((17 + (i > 0)))"
    put "$at/infiniband/mlx5_$i/ports/1/state" "4: ACTIVE"
    put "$at/infiniband/mlx5_$i/ports/1/rate" "$((i ? 25 : 400)) Gb/sec"
    [ $i = 0 ] || put "$at/physfn/x" ""
done
ok "T8: virtual functions are no NICs" eval \
    '[ "$("$fabricheck" topo --sysroot vf --format json | jq .counts.nics)" = 1 ] && picture_is_silent vf'
real "T8: a real machine with many virtual functions" 16intel64-manyVFs.xml

sed 's/class="0x030200"/class="0x030000"/; s/device="0x2330"/device="0x2684"/' unbridged.xml >geforce.xml
ok "T9: GeForce, where P2P is not supported" picture_is_silent geforce.xml

only_infos() { judged_fixture "$1" && silent && says info "info gpu.xid n1,n2"; }
ok "T10: Xids of programs are told and no more" only_infos topology-xids-of-programs
ok "T10: an Xid of a sick GPU" fixture_fires topology-xid-of-a-gpu-that-does-not-answer gpu.xid

ok "T11: low rates of small sizes, which spoil every average" fixture_is_silent small-messages-have-no-floor
ok "T11: a low plateau" fixture_fires floor-missed-by-collective limit.floor

grace=grace/sys/devices/system
for cpu in 0 1; do
    put "$grace/cpu/cpu$cpu/topology/physical_package_id" 0
    put "$grace/cpu/cpu$cpu/topology/core_id" $cpu
done
put "$grace/node/node0/cpumap" 3
put "$grace/node/node1/cpumap" 0
gpu=0000:09:01.0
put "grace/sys/bus/pci/devices/$gpu/class" 0x030200
put "grace/sys/bus/pci/devices/$gpu/vendor" 0x10de
put "grace/proc/driver/nvidia/gpus/$gpu/numa_status" "Node: 1"
ok "T12: memory of a GPU as a NUMA node without CPUs" eval \
    '[ "$("$fabricheck" topo --sysroot grace --format json | jq "[.numa[] | select(.gpu_memory)] | length")" = 1 ] &&
     picture_is_silent grace'
# a real machine with such memory, nvidiagpunumanodes: corpus.sh

printf '<topology version="3.0"><object type="Machine"/></topology>\n' >v3.xml
refused() {
    "$fabricheck" topo --from "$1" >out 2>err
    [ $? = 2 ] && [ ! -s out ] && [ "$(wc -l <err)" = 1 ] && grep -q "format 3" err
}
ok "T13: hwloc's format 3 is refused in words" refused v3.xml

ok "T14: totals since boot are nothing to any rule" picture_is_silent "$big" \
    '+{"port.link_downed":255,"port.symbol_error":65535,"port.local_ack_timeout_err":2705}'

done_testing
