#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The pairs probe: every pair once in disjoint rounds, verified, over members that are nodes
# (or the ranks of one node), and what a wrong, dead, hung or slow member does to it.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
export FABRICHECK_DEADLINE=10s

# holds FILTER: of the last run's lines as one array. A retest, which the judge may ask for
# on any machine that is not quiet, is left out.
holds() {
    [ "$(jq -s "$@" lines.jsonl)" = true ] && return 0
    grep '"matrix"' lines.jsonl | show
    return 1
}

# walked NAME MEMBERS ROUNDS: what must hold of any healthy walk of whole rounds.
walked() {
    local name=$1 members=$2 rounds=$3 pairs
    pairs=$((rounds * (members / 2)))
    ok "$name: one line a round, $rounds of them" holds --argjson n "$rounds" \
        '[.[] | select(.type == "matrix") | .round] | . == [range($n)]'
    ok "$name: $pairs pairs, none twice, lower rank first" holds --argjson n $pairs \
        '[.[] | select(.type == "matrix") | .pair[]] |
            length == $n and (unique | length) == $n and all(.[0] < .[1])'
    ok "$name: nobody is in two pairs of a round" holds \
        '[.[] | select(.type == "matrix") | .pair | flatten | length == (unique | length)] | all'
    ok "$name: the seed of the run is in each line" holds \
        '(map(select(.type == "run"))[0].seed) as $s |
            [.[] | select(.type == "matrix") | .seed == $s] | all'
    ok "$name: both ways and latency of each pair, nothing wrong" holds \
        '[.[] | select(.type == "matrix") | has("wrong") == false and has("status") == false
            and (.pair | length) == (.bw | length) and (.pair | length) == (.latency | length)
            and (.bw | flatten | all(. > 0)) and (.latency | all(. > 0)) and .samples > 0
            and .concurrency == (.pair | length)] | all'
    ok "$name: two summaries within what the pairs had" holds --argjson n "$members" \
        '([.[] | select(.type == "matrix") | .bw[][]]) as $bw |
            ([.[] | select(.type == "matrix") | .latency[]]) as $lat |
            def within($x): .min == ($x | min) and .max == ($x | max) and
                .samples == ($x | length) and .params.n == $n and .status == "ok";
            [.[] | select(.metric == "pair.bw")] as $b |
            [.[] | select(.metric == "pair.latency")] as $l |
            ($b | length) == 1 and ($l | length) == 1 and
            ($b[0] | within($bw)) and ($l[0] | within($lat))'
}

# start RANKS NODES PROGRAM ARGS…: one run of the probe alone in ./run; NODES "": one node.
start() {
    local ranks=$1 nodes=$2 program=$3
    shift 3
    rm -rf run
    if [ -n "$nodes" ]; then
        mpirun_n "$ranks" "$on_nodes" "$nodes" "$program" run --out run --probes pairs "$@" \
            >out 2>err
    else
        mpirun_n "$ranks" "$program" run --out run --probes pairs "$@" >out 2>err
    fi
    status=$?
    show out
    jq -c 'select((.attempt // .params.attempt // 1) == 1)' run/journal.jsonl >lines.jsonl
    return $status
}

for n in 2 3 4 8; do
    start $n "" "$fabricheck" --pairs full
    walked "$n ranks of one node" $n $((n - 1 + n % 2))
done
# On a crowded machine a pair may move too little to tell.
ok "inside a node no interface carried it, and that gives no limit" holds \
    '[.[] | select(.type == "matrix") | has("limit") == false and (.path | all(.name ==
        "shared memory" or (.name == "unknown" and (.how | startswith("too few")))))] | all'
for n in 3 4; do
    start $n "n0 n1 n2 n3" "$fabricheck" --pairs full
    walked "$n nodes" $n $((n - 1 + n % 2))
done
start 4 "a a b b" "$fabricheck"
walked "2+2" 2 1
ok "2+2: the nodes' first ranks met" holds \
    '[.[] | select(.type == "matrix") | .pair] == [[[0, 2]]]'
start 4 "a a b a" "$fabricheck"
walked "3+1" 2 1
start 8 "n0 n1 n2 n3 n4 n5 n6 n7" "$fabricheck" --pairs 2
walked "--pairs 2 of 8 nodes" 8 2
ok "--pairs 2: of 7 rounds" holds '[.[] | select(.type == "matrix") | .rounds == 7] | all'
printf '[run]\npairs = 1\n' >one.ini
start 4 "n0 n1 n2 n3" "$fabricheck" --profile one.ini
walked "pairs = 1 in a profile" 4 1
rm -rf run
"$fabricheck" run --out run --probes pairs >out 2>err
ok "one rank has nobody: INCONCLUSIVE" [ $? = 3 ]
ok "one rank has nobody: said so" grep -q "nobody to pair with" out

# A retest: only pairs with a suspect, who meet everyone; a summary only of all pairs.
retest() { # RANKS SUSPECT…
    rm -rf run
    mpirun_n "$1" "$top_builddir/tests/mpi/pairs_retest" run "${@:2}" >out 2>err
    status=$?
    show err
    cp run/journal.jsonl lines.jsonl
}
retest 5 3
ok "retest of one: ran" [ $status = 0 ]
ok "retest of one: alone with everyone once, one pair a round" holds \
    '[.[] | select(.type == "matrix")] | all(.attempt == 2 and .concurrency == 1) and
        ([.[].pair[] - [3] | .[0]] | sort) == [0, 1, 2, 4]'
ok "retest of one: no word on all pairs" holds '[.[] | select(.type == "record")] == []'
retest 6 0 5
ok "retest of two: every pair that has one of them, once" holds \
    '[.[] | select(.type == "matrix") | .pair[]] | sort ==
        ([range(6) as $a | range($a + 1; 6) as $b | [$a, $b] |
            select(.[0] == 0 or .[1] == 5)] | sort)'
retest 4 0 1 2 3
ok "retest of all: summaries of attempt 2" holds \
    '[.[] | select(.type == "record") | [.metric, .params.attempt]] ==
        [["pair.bw", 2], ["pair.latency", 2]]'

# A retest of chosen pairs: these and no others, no more at once than each allows.
retest 8 0-3/1 6-5/1 0-2/1 2-0/1
ok "chosen pairs: ran" [ $status = 0 ]
ok "chosen pairs: each once, alone, in the order asked for" holds \
    '[.[] | select(.type == "matrix")] | map([.round, .rounds, .concurrency, .pair]) ==
        [[0, 3, 1, [[0, 3]]], [1, 3, 1, [[5, 6]]], [2, 3, 1, [[0, 2]]]] and
        all(.attempt == 2 and (.bw | flatten | all(. > 0)))'
ok "chosen pairs: no word on all pairs" holds '[.[] | select(.type == "record")] == []'
retest 8 0-3/2 6-5/2 1-2/2 7-4/1
ok "chosen pairs: two at once, but for the one that wants to be alone" holds \
    '[.[] | select(.type == "matrix") | [.concurrency, .pair]] ==
        [[2, [[0, 3], [5, 6]]], [1, [[1, 2]]], [1, [[4, 7]]]]'

# Faults. The victim, and the other end of a link, are drawn.
victim=$((RANDOM % 4)) other=$(((victim + 1 + RANDOM % 3) % 4))
nodes="n0 n1 n2 n3"
judged() { "$double" judge run --json >report.json 2>judge-err; }
# finding CHECK TEXT: there is one whose message holds TEXT.
finding() {
    [ "$(jq --arg c "$1" --arg t "$2" '[.findings[] | select(.check == $c and
        (.message | contains($t)))] | length' report.json)" -gt 0 ] && return 0
    jq -c '.findings[] | [.check, .subject, .message]' report.json | show
    return 1
}

FABRICHECK_FAULT=sendrecv:wrong:rank=$victim:peer=$other:above=1024 \
    start 4 "$nodes" "$double" --pairs full
ok "wrong data: the run fails" [ $status = 1 ]
ok "wrong data: one pair's record, of the receiver, with offset and values" holds \
    --arg v "n$victim" --arg o "n$other" --argjson rank $victim \
    --arg text "from rank $other to rank $victim: byte " \
    '[.[] | select(.metric == "pair.bw" and .subject.kind == "pair")] | length == 1 and
        (.[0] | .subject.node == $v and .subject.peer == $o and .subject.rank == $rank and
        .wrong > 0 and .status == "failed" and (.reason | startswith($text) and
        test("element [0-9]+\\) is -?[0-9]+, expected -?[0-9]+ ")))'
ok "wrong data: the matrix has it on the receiver's side of that pair alone" holds \
    --argjson v $victim --argjson o $other \
    '[.[] | select(.type == "matrix") | . as $m | range(.pair | length) |
        {pair: $m.pair[.], wrong: ($m.wrong // [])[.], status: ($m.status // [])[.]}] |
        all(if (.pair | sort) == ([$v, $o] | sort)
            then .status == "failed" and .wrong[if .pair[1] == $v then 0 else 1 end] > 0 and
                .wrong[if .pair[1] == $v then 1 else 0 end] == 0
            else (.wrong // [0, 0]) == [0, 0] and (.status // "ok") == "ok" end)'
judged
ok "wrong data: the judge names both ends" finding pair.wrong \
    "from rank $other to rank $victim"

FABRICHECK_FAULT=sendrecv:dead:rank=$victim:from=20 start 4 "$nodes" "$double"
judged
ok "dead: the judge tells whose transport" finding pair.failed "rank $victim with rank "
FABRICHECK_FAULT=sendrecv:hang:rank=$victim:from=20 start 4 "$nodes" "$double"
judged
ok "hung: the wait is named by round and partner" finding collective.hung "'pairs round "
ok "hung: the victim or its partner says so" grep -qE "'pairs round [0-9]+ with n[0-9]'" err

# A slow member: its pairs are the slow ones. A slow link: that pair alone; whatever was
# slow in one round has ended before the next. Ratios of medians, far from the threshold.
median_of='def median: sort | .[length / 2 | floor];'
FABRICHECK_FAULT=sendrecv:slow:rank=$victim:above=1024:by=60 \
    start 4 "$nodes" "$double" --pairs full
ok "slow member: its pairs are the slow ones" holds --argjson v $victim "$median_of"'
    [.[] | select(.type == "matrix") | [.pair, .bw] | transpose[]] |
    (map(select(.[0] | index($v)) | .[1][]) | median) as $slow |
    (map(select(.[0] | index($v) | not) | .[1][]) | median) as $fast | $slow * 3 < $fast'
FABRICHECK_FAULT=sendrecv:slow:rank=$victim:peer=$other:above=1024:by=200 \
    start 4 "$nodes" "$double" --pairs full
ok "slow link: that pair alone, and nothing of it in the rounds after" holds \
    --argjson v $victim --argjson o $other "$median_of"'
    [.[] | select(.type == "matrix") | [.pair, .bw] | transpose[]] |
    (map(select(.[0] | sort == ([$v, $o] | sort)) | .[1][]) | max) as $slow |
    (map(select(.[0] | sort != ([$v, $o] | sort) and (index($v) or index($o))) | .[1][]) |
        median) as $fast | $slow * 3 < $fast'

# The runner does what the judge asks for: a slow node is measured again with nodes that are
# well, and nobody else is. All are paced, so that other load hides little; where it hides the
# slow one even so, the judge suspects nobody, and the next of some runs must tell.
paced() { # RANK NS: a byte takes that long
    echo "sendrecv:paced:rank=$1:above=1024:by=$2"
}
faults=$(paced $victim 200)
for rank in 0 1 2 3 4; do [ $rank = $victim ] || faults+=,$(paced $rank 20); done
for _ in 1 2 3 4 5; do
    FABRICHECK_FAULT=$faults OMPI_MCA_mpi_yield_when_idle=1 \
        start 5 "n0 n1 n2 n3 n4" "$double" --level full --pairs full >/dev/null
    cp run/journal.jsonl lines.jsonl
    grep -q '"type":"suspects".*"metric":"pair.bw"' lines.jsonl && break
done
show out
ok "asked for again: the slow node, and with whom" holds --arg v n$victim \
    '[.[] | select(.type == "suspects") | .suspects[] | select(.metric == "pair.bw" and
        .node == $v and .concurrency > 0 and (.partners | length) > 0)] | length == 1'
ok "asked for again: these pairs, no others, and no more at once" holds \
    '([.[] | select(.type == "suspects") | .suspects[] | select(.partners) | . as $s |
        .partners[] | [.[1:], $s.node[1:]] | map(tonumber) | sort] | unique) as $asked |
        ([.[] | select(.type == "suspects") | .suspects[].concurrency // empty] | max) as $most |
        [.[] | select(.type == "matrix" and .attempt == 2)] | length > 0 and
        ([.[].pair[]] | sort) == $asked and
        all(.concurrency == (.pair | length) and .concurrency <= $most)'
done_testing
