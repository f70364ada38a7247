#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Pictures through the judge: healthy machines are no FAIL, and what warnings they get is
# written here with the reason; pictures with one thing wrong are found. The project's own
# pictures, and with the corpus (${FC_SHARED:-../shared}/corpus) those of real machines.
# shellcheck source=tests/tap.sh
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
# shellcheck source=tests/topo/judging.bash
. "$top_srcdir/tests/topo/judging.bash"
cd "${scratch:?}" || exit 1
big=$pictures/nccl-8gpu-8nic-4switch.xml

# What is warned of, and why that is right; all other pictures are silent.
declare -A warned=(
    # a second port is down, half of its GPUs share a NIC, addresses and speeds are wrong
    [hwloc-2gpu.xml]="warn topology.port n1"
    [nccl-many-to-many.xml]="warn topology.ratio n1"
    [nccl-xgmi.xml]="warn topology.odd n1"
    # one fabric NIC for GPUs of two sockets
    [g4dnmetal.xml]="warn topology.locality n1"
    [rsmi_corona240.xml]="warn topology.locality n1"
    [rccl-topo_8p_rome_vm1.xml]="warn topology.locality n1"
    [rccl-topo_8p_rome_n2_1.xml]="warn topology.locality n1"
    [rccl-topo_8p_rome_n2_2.xml]="warn topology.locality n1"
    # a GPU with an NVLink to itself, a function that is there twice
    [ncv4-topo.xml]="warn topology.locality n1; warn topology.odd n1"
    [rccl-topo_4p4h.xml]="warn topology.odd n1"
    # planted by those who collected them: an interface that is down, a card's firmware
    [gcm-learn_ib_intf_operstate_down.json]="warn topology.settings n1"
    [gcm-compute_samsung980pro-downgraded.json]="warn topology.firmware n1"
    # a 400G port Disabled, another Disabled or Polling
    [ibstat.47.0.h100.some.down.1.txt]="warn topology.port n1 x2"
    [ibstat.47.0.h100.some.down.with.polling.1.txt]="warn topology.port n1 x2"
)
check() { # NAME PICTURE
    local why=${warned[$1]:-}
    ok "$1: ${why:-silent}" picture_says "$why" "$2"
}

# ---- own pictures ---------------------------------------------------------------------------

for file in "$pictures"/*.xml; do
    check "${file##*/}" "$file"
done
ok "three nodes that are equal are silent" picture_is_silent "$big" "$big" "$big"

# without FROM TO: the picture without these lines
without() { sed "$1,$2d" "$big"; }
block() { # BDF: its first and last line
    awk -v at="busid=\"$1\"" 'index($0, at) { from = NR; match($0, /^ */); indent = RLENGTH }
        from && /<\/pci>/ { match($0, /^ */); if (RLENGTH == indent) { print from, NR; exit } }' "$big"
}
# shellcheck disable=SC2046 # two words
without $(block 0000:12:00.0) >seven.xml
ok "F79: a GPU that did not come up on one of three" \
    picture_says "fail topology.count n3; warn config.differs n3; warn topology.ratio n3" \
    "$big" "$big" seven.xml
# shellcheck disable=SC2046
without $(block 0000:16:00.0) >seven-nics.xml
ok "a NIC that did not, of two that two GPUs share" picture_says "fail topology.count n2; warn config.differs n2 x2; warn topology.ratio n2" \
    "$big" seven-nics.xml "$big"
ok "and on a single node" picture_says "warn topology.ratio n1" seven-nics.xml
awk '/busid="0000:13:00.0"/ { sub(/link_width="16"/, "link_width=\"8\"") } { print }' "$big" >narrow.xml
ok "F06: a GPU at x8 among eight" picture_says "fail topology.link n1" narrow.xml
awk '/speed="400000"/ && !done { sub(/400000/, "200000"); done = 1 } { print }' "$big" >slow-port.xml
ok "F31: a port at half the rate of the others is seen in the picture" eval \
    '[ "$("$fabricheck" topo --from slow-port.xml --format json | jq "[.nics[] | .ports[].Gbps] | map(select(. == 200)) | length")" = 1 ]'
flat='+{"virt.hypervisor":"kvm","topo.near":["PHB","PHB"],"topo.ports":[{"nic":"mlx5_0","port":1,"fabric":true,"state":"ACTIVE","layer":"InfiniBand","Gbps":400.0}]}'
ok "F73: a flat virtual machine" picture_says "warn topology.flat n1" "$big" "$flat"
ok "F73: with the file that NCCL finds by itself it is silent" \
    picture_is_silent "$big" "$flat" '+{"nccl.topo_file":{"status":"ok","not_here":[],"not_in_file":[]}}'

# ---- pictures of real machines --------------------------------------------------------------

manifest=$files/../MANIFEST.tsv
if [ ! -r "$manifest" ]; then
    skip "real machines" "no corpus of real machines' files in $files"
    done_testing
    exit
fi
in_class() { awk -F'\t' -v c="$1" 'NR > 1 && $2 == c { print $1 }' "$manifest"; }
readable() { "$fabricheck" topo --from "$files/$1" --format json >/dev/null 2>&1; }
for class in hwloc-xml nccl-topo-xml sysfs-json; do
    for file in $(in_class $class); do
        readable "$file" && check "$file" "$files/$file"
    done
done
# captured trees: corpus.sh, which unpacks them
for file in $(in_class ibstat); do
    grep -q "^CA '" "$files/$file" || continue
    tree_of_ibstat "$files/$file" ibstat
    check "$file" ibstat
done

# ---- several real machines ------------------------------------------------------------------

ok "three nodes of one cluster are silent" picture_is_silent "$files"/sierra2-[013].xml
ok "one product, read by two versions of hwloc, is one class and silent" eval \
    'picture_is_silent "$files"/{coral-lassen,coral-lassen,lassen6}.xml &&
     [ "$(jq -r "select(.type == \"fact\" and .rank == null) | .facts[\"topo.class\"]" journal.jsonl | sort -u | wc -l)" = 1 ]'
oci=$files/oci-H100-topology.xml
ok "F69: HCAs that are called otherwise on one node" picture_says "warn config.differs n3" \
    "$oci" "$oci" "$files/oci-H100-topology-kubernetes.xml"
good=$files/gcm-learn_good.json
finds() { # PATTERN PICTURES…: among what is found
    local want=$1
    shift
    judged "$@" && jq -r '.findings[] | "\(.check) \(.message)"' report | grep -qE "$want"
}
ok "F05: firmware that is unlike that of two other nodes" \
    finds "^topology.firmware the firmware of mlx5_0 is fw_ver, of 16 others" \
    "$good" "$good" "$files/gcm-learn_ib_intf_bad_version.json"
ok "F31: EDR among HDR" finds "^topology.rate port 1 of mlx5_0 runs at 100 Gb/s, 16 of its kind at 200; so too mlx5_1, " \
    "$good" "$good" "$files/gcm-learn_ib_intf_bad_version.json"
ok "an interface that is down" finds "^topology.settings .*state of mlx5_6 is down, of 23 like it up" \
    "$good" "$good" "$files/gcm-learn_ib_intf_operstate_down.json"
ok "F69: verbs devices bound to other cards" finds "^config.differs topo.rails is 'mlx5_1 mlx5_0 mlx5_12 " \
    "$good" "$good" "$files/gcm-learn_ib_misbound_if.json"
tree_of_ibstat "$files/ibstat.47.0.h100.all.active.0.txt" well
tree_of_ibstat "$files/ibstat.47.0.h100.some.down.with.polling.1.txt" polling
ok "F29: rails that are down, with how" \
    finds "^topology.port port 1 of mlx5_11 is DOWN .Polling.; 22 other" well polling well
ok "they fail the node that has them" picture_says "fail topology.port n2 x2" well polling well
done_testing
