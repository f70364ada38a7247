#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A link of known rate: two network namespaces of this test's own, joined by a pair of
# virtual interfaces that tc's token buckets slow down, one rank in each. What the pairs
# probe measures must be the rates that were set, each way its own, and a link that is a
# hundred times slower must not take a hundred times as long.
. "${top_srcdir:?run by make check}/tests/tap.sh"
[ "$(id -u)" = 0 ] || skip_all "needs root for network namespaces"
for tool in ip:iproute2 tc:iproute2 unshare:util-linux jq:jq; do
    command -v "${tool%:*}" >/dev/null || skip_all "${tool%:*} is not installed (${tool#*:})"
done
cd "${scratch:?}" || exit 1

# Two ends; all names begin with $name, and go by name whatever happens.
name=fclink$$
clean_up() {
    ip netns del ${name}a 2>/dev/null
    ip netns del ${name}b 2>/dev/null
    ip link del ${name}x 2>/dev/null
    rm -rf "$scratch"
}
trap clean_up EXIT
trap 'exit 1' INT TERM
net=198.18.77 # of the range for benchmarks; seen in these namespaces only
build() {
    ip netns add ${name}a && ip netns add ${name}b &&
        ip link add ${name}x netns ${name}a type veth peer name ${name}y netns ${name}b &&
        ip -n ${name}a addr add $net.1/24 dev ${name}x &&
        ip -n ${name}b addr add $net.2/24 dev ${name}y &&
        ip -n ${name}a link set lo up && ip -n ${name}b link set lo up &&
        ip -n ${name}a link set ${name}x up && ip -n ${name}b link set ${name}y up
}
build 2>why || skip_all "no network namespaces here: $(head -n 1 why)"

# shape RATE_A RATE_B: what each end sends at most. The queue is long: a test that leaves
# bytes in it would be caught by the next burst.
shape() {
    tc -n ${name}a qdisc replace dev ${name}x root tbf rate "$1" burst 16kb limit 32mb &&
        tc -n ${name}b qdisc replace dev ${name}y root tbf rate "$2" burst 16kb limit 32mb
}
shape 200mbit 200mbit 2>why || skip_all "no token bucket here: $(head -n 1 why)"

# mpirun runs in the first namespace and starts its daemon in the second by this agent; a
# host name of its own makes each a node.
cat >agent <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
shift
exec ip netns exec ${name}b unshare --uts sh -c 'hostname ${name}b; eval "\$1"' - "\$*"
END
chmod +x agent
export OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=$net.0/24 \
    OMPI_MCA_oob_tcp_if_include=$net.0/24 OMPI_MCA_plm_rsh_agent=$scratch/agent \
    OMPI_MCA_mpi_yield_when_idle=1 FABRICHECK_DEADLINE=30s

# measure DIR: one walk, that is one pair, with the longest bursts: on a busy machine an
# acknowledgement waits for its turn on a core.
measure() {
    # shellcheck disable=SC2016 # expanded by the inner shell
    timeout -k 5 100 ip netns exec ${name}a unshare --uts \
        sh -c 'hostname "$1"; shift; exec "$@"' - ${name}a \
        mpirun -q --bind-to none --host $net.1:1,$net.2:1 -np 2 \
        "$fabricheck" run --out "$1" --level full --probes pairs --pairs full >out 2>err
    status=$?
    show out
    [ -s "$1/journal.jsonl" ] || show err
    grep '"matrix"' "$1/journal.jsonl" | show
}
holds() { # DIR FILTER: of the first attempt's lines; the judge may ask for another
    jq -c 'select((.attempt // 1) == 1)' "$1/journal.jsonl" >lines.jsonl
    [ "$(jq -s "${@:2}" lines.jsonl)" = true ]
}

# rates NAME DIR MBIT_A MBIT_B: other load can only lower what is measured (a rank that
# waits for a core neither sends nor acknowledges), so the best of some tries tells; none may
# exceed the rate. Payload is 0.956 of full frames.
rates() {
    local each='[.[] | select(.type == "matrix") | .bw[0]] | length == 1 and
        all(.[0] * 8000 / $a | test_it) and all(.[1] * 8000 / $b | test_it)'
    local set=(--argjson a "$3" --argjson b "$4") above=0 try
    for try in 1 2 3 4 5; do
        measure "$2$try"
        holds "$2$try" "${set[@]}" "def test_it: . < 1.05; $each" || above=1
        holds "$2$try" "${set[@]}" "def test_it: . > 0.8; $each" && break
    done
    ok "$1: measured what the link was set to, each way ($3 and $4 Mbit/s)" \
        holds "$2$try" "${set[@]}" "def test_it: . > 0.8 and . < 1.05; $each"
    ok "$1: never more than that" [ $above = 0 ]
    ok "$1: the counters prove sockets, and a virtual interface gives no limit" holds "$2$try" \
        '[.[] | select(.type == "matrix")] | length == 1 and
            .[0].path[0].name == "sockets" and (.[0] | has("limit") == false)'
}
rates "an even link" even 200 200
shape 200mbit 80mbit
rates "an uneven link" uneven 200 80

# Seconds of the whole phase, by the journal's clock.
seconds_of() {
    jq -s '[.[] | select(.type == "phase" and .name == "pairs") | .time |
        (.[0:19] + "Z" | fromdate) + (.[19:23] | tonumber)] | .[1] - .[0]' "$1/journal.jsonl"
}
shape 2mbit 2mbit
measure slow
ok "a hundred times slower: seen" holds slow \
    '[.[] | select(.type == "matrix") | .bw[0][]] | length == 2 and all(. > 0 and . < 0.0025)'
ok "a hundred times slower takes less than ten times as long" \
    jq -en --argjson slow "$(seconds_of slow)" --argjson fast "$(seconds_of even1)" \
    '$slow < 10 * $fast'
done_testing
