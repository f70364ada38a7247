#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Three nodes of which one has lost a GPU: what it has otherwise is in its node line and in
# one finding. Each rank sees a bus of its own, mounted over the machine's.
. "${top_srcdir:?run by make check}/tests/tap.sh"
cd "${scratch:?}" || exit 1
[ "$(id -u)" = 0 ] || skip_all "needs root for mount namespaces"
command -v jq >/dev/null || skip_all "jq is not installed (jq)"
unshare --mount true 2>why || skip_all "no mount namespaces here: $(head -n 1 why)"
[ -d /sys/bus/pci/devices ] || skip_all "no PCI bus in /sys"

device() { # BUS BDF CLASS VENDOR
    mkdir -p "$1/$2"
    echo "$3" >"$1/$2/class"
    echo "$4" >"$1/$2/vendor"
    echo 0x2330 >"$1/$2/device"
    echo "32.0 GT/s PCIe" | tee "$1/$2/current_link_speed" >"$1/$2/max_link_speed"
    echo 16 | tee "$1/$2/current_link_width" >"$1/$2/max_link_width"
    echo 0 >"$1/$2/numa_node"
}
for bus in whole odd; do
    for bdf in 0000:19:00.0 0000:b3:00.0; do
        device $bus $bdf 0x030200 0x10de
    done
    device $bus 0000:1a:00.0 0x020700 0x15b3
done
rm -r odd/0000:b3:00.0
cat >on-bus <<'END'
#!/bin/sh
bus=whole
[ "$FABRICHECK_NODE" = n1 ] && bus=odd
mount --bind "$BUSES/$bus" /sys/bus/pci/devices && exec "$@"
END
chmod +x on-bus
export BUSES=$scratch
mpirun_n 3 "$on_nodes" "n0 n1 n2" unshare --mount ./on-bus "$fabricheck" run \
    --probes config --out run >out 2>err
status=$?
[ $status = 1 ] || show out err
node() { jq -c "select(.type == \"node\" and .name == \"$1\") | $2" run/journal.jsonl; }
ok "a lost GPU is a FAIL" [ $status = 1 ]
ok "the node line says what is missing" [ "$(node n1 '[.differs.from, .differs.topology[0:2]]')" = \
    '["n0",["1 GPU instead of 2","GPU 0000:b3:00.0 missing"]]' ]
ok "its picture is in it, for its class" [ "$(node n1 '.picture.topology.counts.gpus')" = 1 ]
ok "nodes that are alike have one picture and no differences" [ \
    "$(node n0 '[has("picture"), has("differs")]')$(node n2 '[has("picture"), has("differs")]')" = \
    "[true,false][false,false]" ]
jq -r '.findings[] | select(.check == "config.differs") | .message' run/report.json >findings
ok "one finding says it, and none a number that follows from it" [ "$(grep -c . findings)" = 1 ]
ok "in words" grep -q \
    "^unlike 2 of 3 nodes, such as n0: 1 GPU instead of 2; GPU 0000:b3:00.0 missing" findings
show findings
done_testing
