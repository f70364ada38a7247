#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `topo` on files of real machines, against truths that were extracted from them by other
# means (FACTS.tsv) and against hwloc. Each file is read, or refused with one line and exit
# status 2. Files: ${FC_SHARED:-../shared}/corpus; without them nothing is tested.
# shellcheck source=tests/tap.sh
. "${top_srcdir:?run by make check}/tests/tap.sh"
corpus=${FC_SHARED:-$top_srcdir/../shared}/corpus
[ -r "$corpus/FACTS.tsv" ] && [ -r "$corpus/MANIFEST.tsv" ] ||
    skip_all "no corpus of real machines' files in $corpus"
corpus=$(cd "$corpus" && pwd) || exit 1
# shellcheck source=tests/topo/judging.bash
. "$top_srcdir/tests/topo/judging.bash"
cd "${scratch:?}" || exit 1
files=$corpus/files
topo() { timeout 20 "$fabricheck" topo "$@"; }

in_class() { awk -F'\t' -v c="$1" 'NR > 1 && $2 == c { print $1 }' "$corpus/MANIFEST.tsv"; }
facts_of() { awk -F'\t' -v f="$1" '$1 == f { print $3 }' "$corpus/FACTS.tsv"; }
# fact KEY: the value of KEY=VALUE in $facts
fact() { sed -nE "s/(.*[ ;(])?$1=([^ ;]*).*/\2/p" <<<"$facts"; }

refused_clearly() { # ARGS…
    topo "$@" >out 2>err
    local got=$?
    [ "$got" = 2 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && [ "$(wc -c <err)" -gt 60 ]
}

# holds FILTER [ARG…]: of `picture`, with jq's options
holds() {
    local filter=$1
    shift
    jq -e "$@" "$filter" picture >/dev/null && return 0
    jq -c '{counts, rails, odd, unknown}' picture | show
    echo "# facts: $facts"
    return 1
}

: >odd.files
odd_of() { # FILE: notes whose picture holds what no machine can have
    jq -e '.odd | length > 0' picture >/dev/null && echo "$1" >>odd.files
}

# Every format is written; only hwloc's XML may be refused, and then clearly.
all_formats() { # OPTION PATH
    local format
    for format in text matrix svg; do
        topo "$@" --format "$format" >out 2>err && [ -s out ] || return 1
    done
    topo "$@" --format xml >out 2>err && [ -s out ] && return 0
    refused_clearly "$@" --format xml
}

# ---- hwloc's XML ----------------------------------------------------------------------------

names_of() { tr ',' '\n' <<<"$1" | grep -vx -- - | sort -u; }

check_hwloc() {
    local file=$1 n gpus=0
    for n in nvml cuda rsmi; do
        [ "$(fact $n)" -gt $gpus ] && gpus=$(fact $n)
    done
    ok "$file: packages, NUMA nodes (and those without CPUs), cores, threads" holds \
        '[.counts.packages, .counts.numa_nodes, .counts.cores, .counts.pus,
          ([.numa[] | select(.without_cpus)] | length)] | map(tostring) | join(" ") == $want' \
        --arg want "$(fact packages) $(fact numa) $(fact cores) $(fact pus) $(sed -nE 's/.*without CPUs: ([0-9]+).*/\1/p' <<<"$facts")"
    ok "$file: PCI functions, no fewer GPUs than the drivers saw" holds \
        '([.pci[] | select(.role != "bridge")] | length == $pci) and
         ((.counts.gpus // 0) >= $gpus) and ((.counts.gpus == null) == ($pci == 0)) and
         ([.gpus[] | select(.name == null)] | length == 0)' \
        --argjson pci "$(fact pcidev)" --argjson gpus "$gpus"
    jq -r '.nics[].rdma // empty' picture | sort -u >got
    names_of "$(fact openfabrics)" >want
    ok "$file: verbs devices by name" cmp got want
    # some dumps list a verbs device among the interfaces, too
    { jq -r '.nics[].nets[]' picture; cat got; } | sort -u >got.nets
    { names_of "$(fact net)"; cat want; } | sort -u >want.nets
    ok "$file: interfaces by name" cmp got.nets want.nets
    if [[ $facts == *NVLinkBandwidth* ]]; then
        ok "$file: NVLinks in the matrix" holds \
            '[.matrix.rows[][] | select(startswith("NV"))] | length > 0'
    fi
    if [[ $facts == *XGMIBandwidth* ]]; then
        ok "$file: XGMI between all GPUs" holds \
            '. as $t | [range(.counts.gpus) as $a | range($t.counts.gpus) | $t.matrix.rows[$a][.]]
             | map(select(. == "XGMI")) | length == ($t.counts.gpus * ($t.counts.gpus - 1))'
    fi
    # hwloc 2 drops some of the NUMA nodes of format 1
    [[ $facts != "hwloc 1."* ]] &&
        "$top_builddir/tests/topo/hwloc_counts" "$files/$file" >counts 2>/dev/null &&
        ok "$file: hwloc counts the same" holds \
            '[.counts.packages, .counts.numa_nodes, .counts.cores, .counts.pus] == $want[0:4]' \
            --argjson want "[$(tr ' ' ',' <counts)]"
}

for file in $(in_class hwloc-xml); do
    facts=$(facts_of "$file")
    if [[ $facts == *"FAILS in hwloc"* ]]; then
        ok "$file: refused with one line" refused_clearly --from "$files/$file"
        ok "$file: because of its format" grep -q "hwloc XML of format 3" err
        continue
    fi
    ok "$file: read" eval 'topo --from "$files/$file" --format json >picture && [ -n "$facts" ]'
    odd_of "$file"
    check_hwloc "$file"
    ok "$file: all formats" all_formats --from "$files/$file"
done

class_of() { # FILE: what makes nodes equal, without names and serials
    topo --from "$files/$1" --format json |
        jq -c '[.counts, [.gpus[] | .name, .bdf, .nics], .rails, .matrix.rows]'
}
for other in sierra2-1.xml sierra2-3.xml; do
    [ -r "$files/sierra2-0.xml" ] && [ -r "$files/$other" ] || continue
    ok "four nodes of one cluster are equal: $other" \
        test "$(class_of sierra2-0.xml)" = "$(class_of $other)"
done

# ---- NCCL's topology files ------------------------------------------------------------------

# "{'cpu': 4, None: 4}" -> {"cpu":4,"none":4}; "['100000']" -> [100]; "{'16 GT/s x16': 9}"
# -> {"16 x16":9}
py_dict() { sed -E "s/None/'none'/g; s/'/\"/g" <<<"$1"; }
part_of() { sed -nE "s/.*$1(\{[^}]*\}|\[[^]]*\]).*/\1/p" <<<"$facts"; }

check_nccl() {
    local file=$1 gpus
    gpus=$(fact gpu-pci)
    ok "$file: CPUs, PCI functions, GPUs, NICs, network devices" holds \
        '[.counts.numa_nodes, (.pci | length), (.counts.gpus // 0), ([.nics[] | .bdf | values] | length),
          ([.nics[].ports[]] | length)] == $want' \
        --argjson want "[$(fact cpu),$(fact pci),$gpus,$(fact nic-pci),$(fact net-elem)]"
    [ "$gpus" -gt 0 ] ||
        ok "$file: GPUs it does not name are unknown, not none" holds \
            '.counts.gpus == null and .counts.nics == null and (.unknown | length > 0)'
    ok "$file: where the nearest NIC of each GPU is" holds \
        '. as $t | (.counts.gpus // 0) as $n |
         [range($n) as $g | [range($n; $t.matrix.names | length) | $t.matrix.rows[$g][.]] |
          if any(. == "PIX" or . == "PXB") then "pci"
          elif any(. == "PHB" or . == "NODE") then "cpu" else "none" end]
         | group_by(.) | map({key: .[0], value: length}) | from_entries == $want' \
        --argjson want "$(py_dict "$(part_of 'nearest NIC found under: ')")"
    ok "$file: speeds of network devices" holds \
        '[.nics[].ports[].Gbps | select(. != null) * 1000] | unique == $want' \
        --argjson want "$(part_of 'speeds=' | sed "s/'//g" | jq -c 'map(tonumber) | sort')"
    ok "$file: speeds and widths of links" holds \
        '[.pci[].link | "\(.GTps // 0) x\(.width // 0)"] | group_by(.) |
         map({key: .[0], value: length}) | from_entries == $want' \
        --argjson want "$(py_dict "$(part_of 'links=')" | jq -c '
            with_entries(.key |= (sub("[.]0 "; " ") | sub(" GT/s( PCIe)?"; "") |
                gsub("[?]"; "0"))) | to_entries | group_by(.key) |
            map({key: .[0].key, value: (map(.value) | add)}) | from_entries')"
    ok "$file: all formats" all_formats --from "$files/$file"
    if topo --from "$files/$file" --format xml >own.xml 2>/dev/null; then
        ok "$file: hwloc loads what we write of it" eval \
            '"$top_builddir/tests/topo/hwloc_counts" own.xml >counts'
        ok "$file: and finds the same NUMA nodes, threads and functions" holds \
            '[.counts.numa_nodes, .counts.pus, ([.pci[].bdf] | length)] == [$w[1], $w[3], $w[4]]' \
            --argjson w "[$(tr ' ' ',' <counts)]"
    fi
}

for file in $(in_class nccl-topo-xml); do
    facts=$(facts_of "$file")
    ok "$file: read" eval 'topo --from "$files/$file" --format json >picture && [ -n "$facts" ]'
    odd_of "$file"
    check_nccl "$file"
done

# What nvidia-smi said of eight H100, and what we say of eight H100.
if [ -r "$files/mle-topo-h100-8gpu.txt" ] && [ -r "$files/oci-H100-topology.xml" ]; then
    facts=mle-topo-h100-8gpu.txt
    awk 'NR > 1 { for (i = 2; i <= 9; i++) print $i }' "$files/mle-topo-h100-8gpu.txt" | sort | uniq -c >want
    topo --from "$files/oci-H100-topology.xml" --format matrix |
        awk '/^GPU[0-7] / { for (i = 2; i <= 9; i++) print $i }' | sort | uniq -c >got
    ok "eight H100: the words of nvidia-smi topo -m" cmp got want
fi
# How many NICs share a switch with each GPU: machines with a NIC for each GPU, and with two
# for each pair of GPUs.
near_by_us() { # FILE
    topo --from "$files/$1" --format json | jq -r '. as $t | range(.counts.gpus) as $g |
        [range($t.counts.gpus; $t.matrix.names | length) | $t.matrix.rows[$g][.]] |
        map(select(. == "PIX" or . == "PXB")) | length' | sort -u | xargs
}
near_by_smi() { # FILE
    awk '$1 == "GPU0" && $2 == "GPU1" { for (i = 1; i <= NF && $i ~ /^(GPU|NIC)/; i++) if ($i ~ /^NIC/) nic[i + 1] = 1; next }
        $1 ~ /^GPU[0-9]/ { n = 0; for (i in nic) n += $i == "PIX" || $i == "PXB"; print n }' "$files/$1" | sort -u | xargs
}
wired_alike() { [ "$(near_by_us "$1")" = "$3" ] && [ "$(near_by_smi "$2")" = "$3" ]; }
alike() { # OURS THEIRS NUMBER
    [ -r "$files/$1" ] && [ -r "$files/$2" ] || return 0
    ok "${1%.xml} is wired like ${2%.txt}: NICs behind each GPU's switch: $3" wired_alike "$@"
}
alike nebius-nccl-topo-h100-v1.xml issue-unsloth-3872-topo-8xB200-vm.partial.txt 1
alike rccl-topo_8p_940.xml issue-nccl-1617-topo-4xH100-nv6.txt 1
alike ndv4-topo.xml issue-vllm-24513-topo-8xB200-8nic.txt 2
if [ -r "$files/oci-H100-topology-kubernetes.xml" ]; then
    facts="the same machine under Kubernetes"
    rows() { topo --from "$files/$1" --format json | jq -c '.matrix.rows'; }
    ok "renamed devices do not change who is near whom" test \
        "$(rows oci-H100-topology.xml)" = "$(rows oci-H100-topology-kubernetes.xml)"
fi

# ---- files of /sys as JSON ------------------------------------------------------------------

for file in $(in_class sysfs-json); do
    facts=$(jq -c 'keys | length' "$files/$file")
    if jq -e 'keys | all(startswith("/"))' "$files/$file" >/dev/null; then
        ok "$file: read" eval 'topo --from "$files/$file" --format json >picture'
        odd_of "$file"
        jq -c '[to_entries[] | (.key | capture("/devices/(?<bdf>[0-9a-f:.]+)/infiniband/(?<name>[^/]+)/ports/1/rate$")) + {rate: (.value | rtrimstr("\n"))}]
            | sort_by(.name)' "$files/$file" >want
        jq -c '[.nics[] | {bdf, name: .rdma, rate: .ports[0].rate}] | sort_by(.name)' picture >got
        ok "$file: each verbs device with its address and rate" eval '[ "$(jq length want)" -gt 4 ] && cmp got want'
        ok "$file: what its functions are is unknown, not none" holds \
            '.counts.gpus == null and .counts.packages == null and (.unknown | length >= 2)'
        ok "$file: all formats" all_formats --from "$files/$file"
    else
        ok "$file: refused with one line" refused_clearly --from "$files/$file"
    fi
done
downgraded() { # FILE: links slower than those of the healthy file
    topo --from "$files/$1" --format json | jq -c '[.pci[] | {bdf, link}] | sort_by(.bdf)'
}
if [ -r "$files/gcm-compute_samsung980pro-downgraded.json" ]; then
    ok "a drive's downgraded link shows" test \
        "$(downgraded gcm-compute_samsung980pro.json)" != \
        "$(downgraded gcm-compute_samsung980pro-downgraded.json)"
fi

declare -A warned=([40intel64-4n10c+pci-conflicts.tar.bz2]="warn topology.odd n1")

# ---- captured trees -------------------------------------------------------------------------

for file in $(in_class hwloc-fsroot); do
    facts=$file
    rm -rf tree
    mkdir tree
    tar -xf "$files/$file" -C tree
    root=$(find tree -mindepth 1 -maxdepth 1 -type d)
    ok "$file: read" eval 'topo --sysroot "$root" --format json >picture'
    HWLOC_FSROOT=$PWD/$root HWLOC_COMPONENTS=linux,stop HWLOC_THISSYSTEM=0 \
        HWLOC_KEEP_NVIDIA_GPU_NUMA_NODES=1 \
        "$top_builddir/tests/topo/hwloc_counts" >counts 2>/dev/null
    # where the kernel contradicts itself about packages, hwloc drops one, and we say so
    ok "$file: hwloc counts the same packages, NUMA nodes, cores and threads" holds \
        '[.counts.numa_nodes, .counts.cores, .counts.pus] == $want[1:4] and
         (.counts.packages == $want[0] or (.odd | map(test("package")) | any))' \
        --argjson want "[$(tr ' ' ',' <counts)]"
    ok "$file: all formats" all_formats --sysroot "$root"
    odd_of "$file"
    ok "$file: judged: ${warned[$file]:-silent}" picture_says "${warned[$file]:-}" "$root"
    if [ -d "$root/proc/driver/nvidia/gpus" ]; then
        ok "$file: each GPU of NVIDIA's driver, with its memory as a NUMA node" holds \
            '.counts.gpus == $n and ([.numa[] | select(.gpu_memory)] | length == $n)' \
            --argjson n "$(find "$root/proc/driver/nvidia/gpus" -mindepth 1 -maxdepth 1 | wc -l)"
    fi
done
for file in $(in_class sysfs-tree); do
    facts=$file
    rm -rf tree
    mkdir -p tree/sys/class
    tar -xf "$files/$file" -C tree
    mv tree/sys-class-infiniband* tree/sys/class/infiniband
    ok "$file: read" eval 'topo --sysroot tree --format json >picture'
    find tree/sys/class/infiniband -mindepth 1 -maxdepth 1 -printf '%f\n' | sort >want
    jq -r '.nics[].rdma' picture | sort >got
    ok "$file: each verbs device" cmp got want
    ok "$file: rate, layer, firmware; the slower Ethernet bond is not of the fabric" holds \
        '([.nics[] | select(.role == "fabric") | .ports[0] | .Gbps == 400 and .state == "ACTIVE" and .link_layer == "InfiniBand"] | length == 8 and all) and
         ([.nics[] | select(.role != "fabric") | .name] == ["mlx5_bond_0"]) and
         ([.nics[] | .firmware | values] | length == 9) and .counts.gpus == null'
    ok "$file: all formats" all_formats --sysroot tree
    odd_of "$file"
    ok "$file: judged: silent" picture_is_silent tree
done

# ---- what no machine can have ---------------------------------------------------------------

# A GPU linked to itself, a function that is there twice, a CPU in two packages: flagged,
# and nothing in any other file.
ok "absurd values are flagged, others are not" eval \
    '[ "$(sort -u odd.files | xargs)" = "40intel64-4n10c+pci-conflicts.tar.bz2 ncv4-topo.xml rccl-topo_4p4h.xml" ]'
show odd.files
done_testing
