#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `topo` on the project's own small pictures of each kind: what is read, what is derived,
# what is refused, and that hostile names end up as text in every format.
# shellcheck source=tests/tap.sh
. "${top_srcdir:?run by make check}/tests/tap.sh"
cd "${scratch:?}" || exit 1
fixtures=$top_srcdir/tests/fixtures/topo

topo() { timeout 20 "$fabricheck" topo "$@"; }

# says FILE FILTER: jq's filter is true for the picture in FILE; "from" or "sysroot" by kind.
says() {
    local option=--from
    [ -d "$1" ] && option=--sysroot
    topo "$option" "$1" --format json >picture 2>err || {
        show err
        return 1
    }
    jq -e "$2" picture >/dev/null && return 0
    jq -c '{counts, rails, odd, unknown}' picture | show
    return 1
}

says_of_run() { # FILTER: of the folder of a run
    topo --from rundir --format json >picture && jq -e "$1" picture >/dev/null
}

# refused PATTERN ARGS…: exit 2, one line that matches, nothing on stdout.
refused() {
    local pattern=$1
    shift
    topo "$@" >out 2>err
    local got=$?
    [ "$got" = 2 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -qE -- "$pattern" err &&
        return 0
    echo "# status $got, stdout $(wc -c <out) bytes, stderr:"
    show err
    return 1
}

all_formats() { # ARGS…: each format is written, and is what it claims to be
    local format
    for format in text matrix json xml svg; do
        topo "$@" --format "$format" >"out.$format" 2>err || {
            show err
            return 1
        }
        [ -s "out.$format" ] || return 1
    done
    jq -e '.schema == "fabricheck-topo/1"' out.json >/dev/null
}

# ---- NCCL's topology file -------------------------------------------------------------------

big=$fixtures/nccl-8gpu-8nic-4switch.xml
ok "the JSON begins as promised" says "$big" \
    'keys_unsorted[0:3] == ["schema","source","counts"] and
     (.counts | keys_unsorted) == ["packages","numa_nodes","cores","pus","gpus","nics"]'
ok "8 GPUs, 9 NICs, 2 NUMA nodes, 64 threads; packages and cores unknown" says "$big" \
    '.counts == {packages:null, numa_nodes:2, cores:null, pus:64, gpus:8, nics:9}'
topo --from "$big" --format matrix | sed -n 1,17p >matrix
ok "the matrix is what nvidia-smi would say" cmp matrix "$fixtures/expect/8gpu.matrix"
ok "rails follow the GPUs; the management NIC is on none" says "$big" \
    '.rails == ["mlx5_0","mlx5_1","mlx5_2","mlx5_3","mlx5_4","mlx5_5","mlx5_6","mlx5_7"] and
     ([.nics[] | select(.name == "eth0") | .role, .rail] == ["other", null])'
ok "two GPUs under a switch share its two NICs, each begins with its own" says "$big" \
    '.gpus[0].nics == ["mlx5_0","mlx5_1"] and .gpus[1].nics == ["mlx5_1","mlx5_0"]'
ok "limits tell their basis" says "$big" \
    '.gpus[0].nic_limits[0] == {GBps:50, basis:"port of mlx5_0 at 400 Gb/s"} and
     .gpus[0].host_limit.basis == "PCIe 5.0 x16, 256-byte payload (assumed)" and
     .gpus[0].host_limit.GBps > 57 and .gpus[0].host_limit.GBps < 58'
ok "all formats" all_formats --from "$big"
ok "the drawing has every GPU and NIC, and no script" eval \
    '[ "$(grep -c "class=\"gpu\"" out.svg)" = 9 ] && [ "$(grep -c "class=\"nic\"" out.svg)" = 9 ] &&
     [ "$(grep -c "class=\"band\"" out.svg)" = 1 ] && ! grep -qi "<script\|href\|onload" out.svg'

many=$fixtures/nccl-many-to-many.xml
ok "one NIC for two GPUs, four for one" says "$many" \
    '.gpus[0].nics == ["0000:13:00.0"] and .gpus[1].nics == .gpus[0].nics and
     (.gpus[2].nics == ["0000:22:00.0","0000:23:00.0","0000:24:00.0","0000:25:00.0"])'
ok "GPUs are in the order of the bus, not of the file" says "$many" \
    '[.gpus[].bdf] == ["0000:11:00.0","0000:12:00.0","0000:21:00.0"]'

xgmi=$fixtures/nccl-xgmi.xml
ok "XGMI links are counted, impossible ones flagged" says "$xgmi" \
    '.matrix.rows[0][1] == "XG4" and .matrix.rows[2][0] == "XG1" and
     (.odd | map(test("itself")) | any) and (.odd | map(test("not there")) | any) and
     (.odd | map(test("17 GT/s")) | any) and (.odd | map(test("width \"7\"")) | any)'
ok "a veth is no NIC" says "$xgmi" '.counts.nics == 1'
ok "what cannot be told is unknown, not zero" says "$fixtures/nccl-without-classes.xml" \
    '.counts == {packages:null, numa_nodes:2, cores:null, pus:null, gpus:null, nics:null} and
     (.unknown | length) == 2'

# ---- hwloc's XML ----------------------------------------------------------------------------

ok "hwloc, format 2" says "$fixtures/hwloc-2gpu.xml" \
    '.counts == {packages:2, numa_nodes:2, cores:4, pus:4, gpus:2, nics:2} and
     .host == "fixture1" and .gpus[0].name == "Tesla V100-SXM2-16GB" and .gpus[1].uuid == "GPU-1"'
ok "NVLinkBandwidth becomes a number of links; a virtual function is no NIC" says \
    "$fixtures/hwloc-2gpu.xml" \
    '.matrix.rows[0] == ["X","NV3","PHB","SYS"] and (.unknown | map(test("virtual")) | any) and
     ([.pci[] | select(.virtual_function) | .bdf] == ["0000:38:00.2"])'
ok "port states" says "$fixtures/hwloc-2gpu.xml" \
    '[.nics[].ports[0].state] == ["ACTIVE","DOWN"]'
ok "hwloc, format 1: NUMA nodes above packages, one without CPUs, a switch" says \
    "$fixtures/hwloc-format1.xml" \
    '.counts == {packages:1, numa_nodes:2, cores:2, pus:4, gpus:1, nics:1} and
     .numa[1].without_cpus and .matrix.rows[0] == ["X","PIX"]'
ok "all formats of it" all_formats --from "$fixtures/hwloc-2gpu.xml"

# ---- a captured tree ------------------------------------------------------------------------

put() { # PATH TEXT
    mkdir -p "$(dirname "$1")"
    printf '%s\n' "$2" >"$1"
}
device() { # ROOT PATH CLASS VENDOR DEVICE SPEED MAX WIDTH MAXWIDTH NUMA
    local at=$1/sys/devices/$2 bdf=${2##*/}
    put "$at/class" "$3"
    put "$at/vendor" "$4"
    put "$at/device" "$5"
    put "$at/current_link_speed" "$6"
    put "$at/max_link_speed" "$7"
    put "$at/current_link_width" "$8"
    put "$at/max_link_width" "$9"
    put "$at/numa_node" "${10}"
    mkdir -p "$1/sys/bus/pci/devices"
    ln -s "../../../devices/$2" "$1/sys/bus/pci/devices/$bdf"
}
port() { # FOLDER STATE LAYER RATE
    put "$1/ports/1/state" "$2"
    put "$1/ports/1/phys_state" "5: LinkUp"
    put "$1/ports/1/link_layer" "$3"
    put "$1/ports/1/rate" "$4"
    put "$1/ports/1/gids/0" fe80:0000:0000:0000:0200:00ff:fe00:0001
    put "$1/ports/1/gids/1" 0000:0000:0000:0000:0000:0000:0000:0000
    put "$1/ports/1/gids/2" 0000:0000:0000:0000:0000:ffff:c000:0201
    put "$1/ports/1/gid_attrs/types/2" "RoCE v2"
    put "$1/ports/1/pkeys/0" 0xffff
    put "$1/ports/1/lid" 0x12
    put "$1/fw_ver" 28.41.1000
    put "$1/board_id" "BOARD$3"
    put "$1/hca_type" MT4129
}
make_tree() { # ROOT
    local root=$1 cpu node bus=pci0000:10/0000:10:01.0/0000:11:00.0
    for cpu in 0 1 2 3; do
        put "$root/sys/devices/system/cpu/cpu$cpu/topology/physical_package_id" $((cpu / 2))
        put "$root/sys/devices/system/cpu/cpu$cpu/topology/thread_siblings" "$(printf '%x' $((1 << cpu)))"
    done
    for node in 0 1; do
        put "$root/sys/devices/system/node/node$node/cpumap" "$((3 << (2 * node)))"
        put "$root/sys/devices/system/node/node$node/meminfo" "Node $node MemTotal:  1048576 kB"
    done
    put "$root/sys/devices/system/node/node1/cpumap" c
    put "$root/sys/devices/system/node/node9/cpumap" 0
    device "$root" "${bus%/*}" 0x060400 0x8086 0x352a "32.0 GT/s PCIe" "32.0 GT/s PCIe" 16 16 0
    device "$root" $bus 0x060400 0x1000 0xc030 "32.0 GT/s PCIe" "32.0 GT/s PCIe" 16 16 0
    local slot=0 down
    for down in 0000:12:00.0/0000:13:00.0 0000:12:01.0/0000:14:00.0; do
        device "$root" "$bus/${down%/*}" 0x060400 0x1000 0xc030 "32.0 GT/s PCIe" "32.0 GT/s PCIe" 16 16 0
        device "$root" "$bus/$down" 0x030200 0x10de 0x2330 "2.5 GT/s PCIe" "32.0 GT/s PCIe" 16 16 0
        put "$root/proc/driver/nvidia/gpus/${down#*/}/information" "Model: 		 NVIDIA H100 80GB HBM3
GPU UUID: 	 GPU-0000000$slot"
        slot=$((slot + 1))
    done
    device "$root" $bus/0000:12:02.0 0x060400 0x1000 0xc030 "32.0 GT/s PCIe" "32.0 GT/s PCIe" 16 16 0
    device "$root" $bus/0000:12:02.0/0000:15:00.0 0x020700 0x15b3 0x1021 "32.0 GT/s PCIe" "32.0 GT/s PCIe" 16 16 0
    device "$root" $bus/0000:12:02.0/0000:15:00.1 0x020700 0x15b3 0x101e Unknown Unknown 0 0 0
    ln -s ../0000:15:00.0 "$root/sys/devices/$bus/0000:12:02.0/0000:15:00.1/physfn"
    port "$root/sys/devices/$bus/0000:12:02.0/0000:15:00.0/infiniband/mlx5_0" "4: ACTIVE" InfiniBand "400 Gb/sec (4X NDR)"
    put "$root/sys/devices/$bus/0000:12:02.0/0000:15:00.0/net/ib0/mtu" 4092
    device "$root" pci0000:80/0000:80:01.0 0x060400 0x8086 0x352a "16.0 GT/s PCIe" "16.0 GT/s PCIe" 16 16 1
    device "$root" pci0000:80/0000:80:01.0/0000:81:00.0 0x020000 0x15b3 0x101d "16.0 GT/s PCIe" "16.0 GT/s PCIe" 8 16 1
    port "$root/sys/devices/pci0000:80/0000:80:01.0/0000:81:00.0/infiniband/mlx5_1" "1: DOWN" Ethernet "40 Gb/sec (4X QDR)"
    device "$root" pci0000:80/0000:80:02.0 0x010802 0x144d 0xa80a "8.0 GT/s PCIe" "16.0 GT/s PCIe" 4 4 1
    put "$root/proc/cpuinfo" "model name	: Fixture CPU"
}
make_tree tree
ok "a captured tree: counts" says tree \
    '.counts == {packages:2, numa_nodes:3, cores:4, pus:4, gpus:2, nics:2} and
     .packages[0].model == "Fixture CPU" and .numa[2].without_cpus'
ok "GPUs of NVIDIA's driver; one switch between GPU and NIC" says tree \
    '.gpus[1].uuid == "GPU-00000001" and .gpus[0].name == "NVIDIA H100 80GB HBM3" and
     .matrix.rows[0] == ["X","PIX","PIX","SYS"]'
ok "an idle GPU's link is judged by what it can" says tree \
    '.gpus[0].link == {GTps:2.5, width:16, max_GTps:32, max_width:16, GBps:63.02} and
     .gpus[0].host_limit.basis == "PCIe 5.0 x16, 256-byte payload (assumed)"'
ok "a verbs device with port, GIDs, keys and firmware" says tree \
    '.nics[0] | .name == "mlx5_0" and .firmware == "28.41.1000" and .nets == ["ib0"] and .mtu == 4092
     and .limit.GBps == 50 and .role == "fabric" and .rail == 0 and
     (.ports[0] | .state == "ACTIVE" and .phys_state == "LinkUp" and .lid == 18 and .pkeys == "0xffff"
      and .link_layer == "InfiniBand" and [.gids[].index] == [0,2] and .gids[1].type == "RoCE v2")'
ok "a port that is down and another card: not of the fabric" says tree \
    '.nics[1] | .name == "mlx5_1" and .role == "other" and .rail == null'
ok "all formats of a tree" all_formats --sysroot tree

(cd tree && find sys -type f -print0 | sort -z | xargs -0 jq -n -R '
    reduce inputs as $l ({}; .["/" + input_filename] += $l + "\n")') >tree.json
# the folder form of a function, as collections of /sys write it
jq 'with_entries(.key |= (sub("^/sys/devices/pci.*/(?<b>[0-9a-f:]+[.][0-7])/"; "/sys/bus/pci/devices/\(.b)/")))' \
    tree.json >flat.json
ok "the same as JSON: the same NICs and GPUs, distances without bridges by NUMA node" says flat.json \
    '.counts == {packages:2, numa_nodes:3, cores:4, pus:4, gpus:2, nics:2} and
     .nics[0].name == "mlx5_0" and .matrix.rows[0][0:3] == ["X","NODE","NODE"]'

cp -a tree loop
rm loop/sys/bus/pci/devices/0000:11:00.0 loop/sys/bus/pci/devices/0000:12:00.0
ln -s ../../../devices/pci0000:10/0000:12:00.0/0000:11:00.0 loop/sys/bus/pci/devices/0000:11:00.0
ln -s ../../../devices/pci0000:10/0000:11:00.0/0000:12:00.0 loop/sys/bus/pci/devices/0000:12:00.0
# the links dangle, so their files are laid beside them
for f in 11:00.0 12:00.0; do
    other=$([ $f = 11:00.0 ] && echo 12:00.0 || echo 11:00.0)
    at=loop/sys/devices/pci0000:10/0000:$other/0000:$f
    put "$at/class" 0x060400
    put "$at/vendor" 0x1000
done
ok "bridges above themselves are cut and flagged" says loop \
    '(.odd | map(test("its own bridge")) | any) and .counts.gpus == 2'
cp -a tree cut
put cut/sys/devices/system/node/node0/cpumap 7
put cut/sys/devices/system/node/node1/cpumap 8
ok "a NUMA node that cuts across packages is flagged" says cut \
    '.odd | map(test("NUMA node 0 .CPUs 0-2. cuts across packages")) | any'
ok "others are not" says tree '.odd == []'
cp -a tree lost
rm -r lost/sys/bus/pci/devices/0000:14:00.0
ok "a GPU that only the driver still knows is flagged" says lost \
    '.counts.gpus == 1 and (.odd | map(test("14:00.0.*the bus does not")) | any)'

topo --from "$big" --format xml >own.xml
"$top_builddir/tests/topo/hwloc_counts" own.xml >counts 2>own.err
ok "hwloc loads what is written of an NCCL file: 2 NUMA nodes, 64 threads, 21 functions" \
    test "$(cat counts own.err)" = "0 2 0 64 21"
topo --sysroot tree --format xml >own.xml
"$top_builddir/tests/topo/hwloc_counts" own.xml >counts 2>own.err
ok "and of a captured tree: 2 packages, 3 NUMA nodes, 4 threads" \
    test "$(cut -d ' ' -f 1,2,4 counts)$(cat own.err)" = "2 3 4"

# ---- this machine ---------------------------------------------------------------------------

ok "this machine, all formats" all_formats
ok "its threads are the kernel's" eval \
    '[ "$(jq .counts.pus out.json)" = "$(getconf _NPROCESSORS_CONF)" ] || [ "$(jq .counts.pus out.json)" = "$(getconf _NPROCESSORS_ONLN)" ]'

# ---- what a node is for ----------------------------------------------------------------------

suits() { # FILE WORKLOADS: "yes no unknown yes", in the order of the list
    says "$1" '[.tier.suits[].suits] | join(" ") == "'"$2"'"'
}
ok "NVSwitch and a rail for each GPU: for everything" suits "$big" "yes yes yes yes"
ok "how it is connected, in words" says "$big" \
    '.tier.inside == "NVSwitch between all 8 GPUs (NV18)" and
     .tier.outside == "InfiniBand, 8 rails of 400 Gb/s, 3200 together"'
ok "links, but no RDMA: for one node" suits "$xgmi" "no yes yes yes"
ok "rates and links are not told: unknown" suits "$many" "unknown unknown yes yes"
ok "nothing is told: unknown" suits "$fixtures/nccl-without-classes.xml" \
    "unknown unknown unknown unknown"

# The same node with two GPUs on its bus, as the ranks of a container see it.
inside() { # CONTAINER: a folder of tests/fixtures/container
    cp -r tree "in-$1" && cp -r --no-preserve=mode "$top_srcdir/tests/fixtures/container/$1/." "in-$1"
}
inside kubernetes-plugin
ok "a container, and what gave it its GPUs" says in-kubernetes-plugin \
    '.tier.isolation == "bare metal, in a container: kubernetes, GPUs by nvidia-container-cli, device plugin"
     and .gpu_files == 2 and .mig == {gpus: 0, slices: 0, open: 0}'
inside docker-device
ok "one of the GPUs" says in-docker-device \
    '.tier.isolation == "bare metal, in a container: docker, 1 of 2 GPUs by device files alone"'
inside kubernetes-without-variables
ok "one GPU trains with no other of its node" says in-docker-device \
    '.tier.suits[1] == {workload: "single-node training", suits: "no", reason: "fewer than two GPUs"}'
ok "none of them: for nothing" suits in-kubernetes-without-variables "no no no no"
inside kubernetes-mig
ok "a slice of one: for what fits it" suits in-kubernetes-mig "no no yes yes"
ok "the text begins with what the node is" eval \
    'topo --sysroot in-kubernetes-mig | sed -n 3p | grep -q "^isolation .*MIG: 1 of 1 slices on 1 GPU$"'
ok "the drawing says it, too" eval \
    'topo --sysroot in-kubernetes-mig --format svg | grep -q ">bare metal, in a container: kubernetes, "'

# ---- our own JSON, and journals --------------------------------------------------------------

round_trip() { # ARGS…: what is derived from our JSON is what it was made of
    topo "$@" --format json | jq 'del(.source, .kind)' >first
    topo "$@" --format json >again.json
    topo --from again.json --format json | jq 'del(.source, .kind)' >second
    [ -s first ] && cmp first second && return 0
    diff first second | head -n 20 | show
    return 1
}
ok "our JSON of an NCCL file, read again" round_trip --from "$big"
ok "of XGMI" round_trip --from "$xgmi"
ok "of hwloc's XML" round_trip --from "$fixtures/hwloc-2gpu.xml"
ok "of a captured tree" round_trip --sysroot tree
ok "of this machine" round_trip
ok "of a container" round_trip --sysroot in-kubernetes-mig
topo --from "$big" --format json >picture.json
{
    echo '{"type":"run","schema":"fabricheck-journal/1"}'
    jq -c '{type: "node", name: "n1", picture: {facts: {}, topology: .}}' picture.json
    jq -c '{type: "node", name: "n2", picture: {facts: {}, topology: .}}' picture.json
    echo '{"type":"end"'
} >journal.jsonl
ok "a journal" says journal.jsonl \
    '.host == "n1" and .counts.gpus == 8 and .rails[7] == "mlx5_7" and
     (.unknown | map(test("1 more picture")) | any)'
mkdir -p rundir && cp journal.jsonl rundir/
ok "a run's folder" says_of_run '.host == "n1" and .counts.gpus == 8'
{
    cat journal.jsonl
    yes '{"type":"record","reason":"a line of a run of very many nodes"}' | head -n 600000
} >large.jsonl
ok "a journal of very many nodes, larger than any picture" says large.jsonl '.counts.gpus == 8'
tail -n 600000 large.jsonl >larger.jsonl
ok "without a picture it is refused as well" refused "without a node's picture in its first" \
    --from larger.jsonl
rm large.jsonl larger.jsonl
echo '{"type":"run","schema":"fabricheck-journal/1"}' >bare.jsonl
ok "a journal without a picture" refused "without a node's picture" --from bare.jsonl
jq '.gpus[0].bdf = "0000:ee:00.0"' picture.json >moved.json
ok "a picture whose GPU is nowhere" refused "GPU 0 is not among" --from moved.json
jq '.peers[0].gpu = 99' picture.json >peer.json
ok "a picture whose link leads nowhere" refused "link 0 leads" --from peer.json

# ---- facts: what only root can read ---------------------------------------------------------

facts() { timeout 20 "$fabricheck" facts "$@"; }
facts_are_whole() { # FILE
    jq -e '.schema == "fabricheck-facts/1" and (.boot_id | length > 0) and
        ((.facts + .unreadable) | has("root.acs") and has("dmi.serial"))' "$1" >/dev/null
}
ok "facts on standard output" eval 'facts -o - >facts.json && facts_are_whole facts.json'
ok "facts into a new folder" eval 'facts -o new/facts.json && facts_are_whole new/facts.json'
ok "that nobody else may write" test "$(stat -c %a new/facts.json)" = 644
echo old >new/facts.json
ok "and anew, leaving nothing beside it" eval \
    'facts -o new/facts.json && facts_are_whole new/facts.json && [ "$(ls new)" = facts.json ]'
refused_facts() { # PATTERN ARGS…
    local pattern=$1
    shift
    facts "$@" >out 2>err
    [ $? = 2 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -q -- "$pattern" err
}
ok "facts into what is no folder" refused_facts "-o: 'picture/x'" -o picture/x/facts.json
ok "facts without a name" refused_facts "name is missing" -o ""

# ---- what is refused ------------------------------------------------------------------------

printf '<topology version="3.0"><object type="Machine"/></topology>' >v3.xml
ok "format 3" refused "format 3.0; formats 1 and 2" --from v3.xml
sed 's/affinity="[^"]*"/affinity="0000zzzz"/' "$big" >mask.xml
ok "a malformed mask (NCCL)" refused "line 2: <cpu> with the affinity .0000zzzz" --from mask.xml
sed 's/cpuset="0x00000002"/cpuset="0x1,"/' "$fixtures/hwloc-2gpu.xml" >mask2.xml
ok "a malformed mask (hwloc)" refused "line [0-9]+: .*cpuset.*no mask" --from mask2.xml
sed 's/busid="0000:10:00.0"/busid="zz:10:00.0"/' "$big" >bdf.xml
ok "a malformed bus address" refused "busid .zz:10:00.0" --from bdf.xml
head -c 3000 "$big" >cut.xml
ok "a file that was cut" refused "no well-formed XML: line [0-9]+" --from cut.xml
: >empty
ok "an empty file" refused "an empty file" --from empty
printf '<graphs version="1"/>' >graph.xml
ok "an NCCL graph" refused "NCCL_TOPO_DUMP_FILE" --from graph.xml
printf '<html/>' >other.xml
ok "another XML" refused "XML of <html>" --from other.xml
printf '<system version="1"/>' >bare.xml
ok "a system without CPUs" refused "without any <cpu>" --from bare.xml
printf '<topology version="2.0"><object type="Machine" cpuset="0x1" nodeset="0x1"/></topology>' >nopu.xml
ok "a machine without processors" refused "without a single processor" --from nopu.xml
printf '{"pci": {"0000:01:00.0": {}}}' >list.json
ok "a JSON that is no tree" refused "without files of /sys" --from list.json
printf '{"a": ' >bad.json
ok "a JSON that is cut" refused "no well-formed JSON: line 1" --from bad.json
tar cf tree.tar tree
ok "an archive" refused "unpacked first" --from tree.tar
head -c 3000 /dev/urandom >junk
ok "binary junk" refused "binary; an archive" --from junk
printf '\377\376<\0s\0y\0' >utf16.xml
ok "UTF-16" refused "binary" --from utf16.xml
echo "hello" >words
ok "plain text" refused "neither XML nor JSON" --from words
ok "a device" refused "no regular file" --from /dev/null
mkfifo pipe
ok "a pipe, which nobody writes to" refused "no regular file" --from pipe
truncate -s 40M huge
ok "a huge file" refused "larger than 32 MiB" --from huge
rm huge
ln -s turn turn
ok "a link to itself" refused "symbolic links" --from turn
printf '{"schema":"fabricheck-topo/1"}' >hollow.json
ok "a picture without anything" refused "without counts" --from hollow.json
head -c 300 journal.jsonl >cut.jsonl
ok "a journal that was cut in its first picture" refused "without a node's picture" --from cut.jsonl
ok "an option without its value" refused "--from: needs a value" --from
ok "an unknown option" refused "unknown option '--bogus'" --bogus
ok "a word too many" refused "unexpected word 'extra'" extra
ok "a device for --sysroot" refused "given by --from" --sysroot /dev/null
ok "no such folder" refused "No such file" --sysroot nowhere
ok "no such file" refused "No such file" --from nowhere.xml
ok "a folder for --from" refused "given by --sysroot" --from tree
ok "a file for --sysroot" refused "given by --from" --sysroot v3.xml
mkdir -p hollow/sys
ok "a sys with nothing in it" refused "nothing to show" --sysroot hollow
mkdir bare
ok "a folder without sys" refused "no folder sys" --sysroot bare
ok "both options" refused "exclude each other" --from v3.xml --sysroot tree
ok "an unknown format" refused "--format.*'pdf'" --format pdf
ok "hwloc's XML cannot do without CPUs" refused "does not tell which CPUs" \
    --from "$fixtures/nccl-without-classes.xml" --format xml
{
    printf '<!DOCTYPE s [<!ENTITY a "aaaaaaaaaa">'
    for i in a b c d e f g h; do
        n=$(printf '%s' "$i" | tr a-h b-i)
        printf '<!ENTITY %s "&%s;&%s;&%s;&%s;&%s;&%s;&%s;&%s;&%s;&%s;">' "$n" $i $i $i $i $i $i $i $i $i $i
    done
    printf ']><system version="1"><cpu numaid="0" arch="&i;"/></system>'
} >bomb.xml
ok "growing entities" refused "no well-formed XML|nothing to show|entit" --from bomb.xml
printf '<!DOCTYPE s [<!ENTITY x SYSTEM "file:///etc/hostname">]><system version="1"><cpu numaid="0"><nic><net name="&x;" port="1" speed="1"/></nic></cpu></system>' >xxe.xml
ok "entities of other files are not read" eval \
    '! topo --from xxe.xml --format json 2>/dev/null | grep -qF "\"name\": \"$(hostname)\""'
deep() { # N
    printf '<system version="1"><cpu numaid="0">'
    for _ in $(seq "$1"); do printf '<pci busid="0000:00:00.0" class="0x060400">'; done
    for _ in $(seq "$1"); do printf '</pci>'; done
    printf '</cpu></system>'
}
deep 100 >deep.xml
ok "a hundred bridges in a row" refused "bridges in a row" --from deep.xml
deep 5000 >deeper.xml
ok "thousands of them" refused "no well-formed XML: .*depth" --from deeper.xml

# ---- hostile names --------------------------------------------------------------------------

esc=$(printf '\033')
printf '<system version="1"><cpu numaid="0" affinity="1"><pci busid="0000:01:00.0" class="0x020700"><nic><net name="&lt;script&gt;&quot;&amp;&apos;]]&gt;&#9;x" port="1" speed="400000" guid="&lt;b&gt;"/></nic></pci></cpu></system>' >names.xml
ok "hostile names in all formats" all_formats --from names.xml
ok "no markup comes out of a name" eval '! grep -q "<script" out.svg out.xml'
ok "the name survives as text" says names.xml '.nics[0].name == "<script>\"&'"'"']]> x" or .nics[0].name == "<script>\"&'"'"']]>?x"'
cp -a tree names
put names/proc/driver/nvidia/gpus/0000:13:00.0/information "Model: ${esc}[31m<script>alert(1)</script>$(printf '\001\377\300')"
put names/sys/class/dmi/id/product_name "\"><svg onload=x>"
ok "control characters and broken UTF-8 in all formats" all_formats --sysroot names
ok "they became question marks" eval \
    '! grep -q "$esc" out.text out.matrix out.json out.xml out.svg && ! grep -q "<script\|<svg onload" out.svg out.xml &&
     jq -e ".gpus[0].name == \"?[31m<script>alert(1)</script>???\"" out.json >/dev/null'
if command -v xmllint >/dev/null; then
    ok "XML and SVG are well-formed" xmllint --noout --nonet out.svg
    ok "hwloc's XML is well-formed" xmllint --noout --nonet out.xml
fi
done_testing
