#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `fabricheck bench`: every WHAT on 1, 2 and 3 ranks, read as users of nccl-tests read it;
# wrong results and hung ranks named; bad usage refused in one line; nothing written.
. "${top_srcdir:?run by make check}/tests/tap.sh"
command -v jq >/dev/null || skip_all "jq is not installed"
cd "${scratch:?}" || exit 1
collectives="all_reduce all_gather reduce_scatter broadcast reduce alltoall gather scatter sendrecv"

# ranks N ARGS…
ranks() {
    local n=$1
    shift
    if [ "$n" = 1 ]; then
        timeout 120 "$fabricheck" bench "$@" </dev/null
    else
        mpirun_n "$n" "$fabricheck" bench "$@" </dev/null
    fi
}

# The parser: rows are lines that do not begin with '#'. As printed, to three digits, busbw
# is algbw times the factor of the operation, and size over time is algbw.
cat >parse.awk <<'AWK'
function near(a, b) { return a < b * 1.012 + 1e-12 && b < a * 1.012 + 1e-12 }
function bad(why) { print "# " why ": " $0; failed = 1 }
BEGIN {
    factor = 1
    if (op == "all_reduce") factor = 2 * (n - 1) / n
    else if (op !~ /^(broadcast|reduce|sendrecv)$/) factor = (n - 1) / n
}
/^# Out of bounds values : 0 OK$/ { right = 1 }
/^# Avg bus bandwidth    : [0-9.e+-]+$/ { average = $NF }
/^#  Rank +[0-9]+ Group +[0-9]+ Pid +[0-9]+ on +[^ ]+ device +[0-9]+ \[/ { devices++ }
/^#/ { next }
NF != 13 { bad("not 13 columns"); next }
{
    rows++
    if ($1 <= last || $1 % $2) bad("size or count")
    last = $1
    for (i = 6; i <= 10; i += 4) {
        if (!($i > 0)) bad("no time")
        if (!near($(i + 1), $1 / $i / 1e3)) bad("algbw is not size / time")
        if (!near($(i + 2), $(i + 1) * factor)) bad("busbw is not algbw * " factor)
        if ($(i + 3) !~ wrong) bad("#wrong")
        sum += $(i + 2)
        sides++
    }
}
END {
    if (rows != want_rows || devices != n) bad(rows " rows, " devices " devices")
    if (!right || (sum > 0 && !near(average, sum / sides))) bad("footer")
    exit failed
}
AWK

# reads OP N ROWS [WRONG]: the table in `out`
reads() {
    awk -v op="$1" -v n="$2" -v want_rows="$3" -v wrong="${4:-^0$}" -f parse.awk out && return 0
    show out err
    return 1
}

for n in 1 2 3; do
    for op in $collectives; do
        ranks "$n" "$op" -b 48 -e 3072 -f 8 -n 5 >out 2>err
        ok "$op, $n ranks: status 0" [ $? = 0 ]
        ok "$op, $n ranks: the rows make sense" reads "$op" "$n" 3
    done
done

# The device's own benches: a row a rank, rank size type time rate peak share wrong node.
per_rank() { # RANKS SIZES FACTOR: rate is FACTOR (size) / time
    awk -v n="$1" -v sizes="$2" -v flop="$3" '
        /^# Out of bounds values : 0 OK$/ { right = 1 }
        /^#/ { next }
        {
            rows++
            work = flop ? 2 * $2 * $2 * $2 / 1e6 : 2 * $2 / 1e3
            if (NF != 9 || !($4 > 0) || !($5 > 0) || !($6 > 0) || $8 != 0 ||
                $1 != (rows - 1) % n || $5 / (work / $4) > 1.03 || $5 / (work / $4) < 0.97) {
                print "# " $0
                failed = 1
            }
        }
        END { exit failed || !right || rows != n * sizes }' out && return 0
    show out err
    return 1
}
for n in 1 2 3; do
    ranks "$n" gemm -n 5 >out 2>err
    ok "gemm, $n ranks: status 0" [ $? = 0 ]
    ok "gemm, $n ranks: a row a rank" per_rank "$n" 1 1
    ranks "$n" mem -b 64K -e 1M -f 16 -n 5 >out 2>err
    ok "mem, $n ranks: status 0" [ $? = 0 ]
    ok "mem, $n ranks: a row a rank and size" per_rank "$n" 2 0
done
ranks 1 gemm -d double -n 2 >out 2>err
ok "gemm in double" per_rank 1 1 1
ranks 2 mem -e 4K -n 2 >out 2>err
ok "mem with -e alone has that size" per_rank 2 1 0

# Pairs: every two ranks once, a row a pair.
every_pair() { # RANKS
    awk -v n="$1" '
        /^# Out of bounds values : 0 OK$/ { right = 1 }
        /^#/ { next }
        {
            if (NF < 9 || seen[$2, $3]++ || !($2 < $3) || !($5 > 0) || !($6 > 0) || !($7 > 0) || $8 != 0) {
                print "# " $0
                failed = 1
            }
            rows++
        }
        END { exit failed || !right || rows != n * (n - 1) / 2 }' out && return 0
    show out err
    return 1
}
for n in 2 3; do
    ranks $n pairs >out 2>err
    ok "pairs, $n ranks: status 0" [ $? = 0 ]
    ok "pairs, $n ranks: every pair" every_pair $n
done
ranks 3 pairs --rounds 1 --json >out 2>err
ok "pairs: one round of three ranks is one pair" jq -e '(.rows | length) == 1 and
    all(.rows[]; .a_to_b_GBps > 0 and .b_to_a_GBps > 0 and .latency_us > 0) and
    (.avg_bandwidth_GBps - (.rows[0] | (.a_to_b_GBps + .b_to_a_GBps) / 2) | fabs) < 1e-9' out

# Training: value rank unit median min max p99 samples.
has_values() { # RANKS STEPS
    awk -v n="$1" -v steps="$2" '
        /^# Replicas compared bit for bit after [0-9]+ steps : OK$/ { right = 1 }
        /^#/ { next }
        NF != 8 || $8 != steps || !($5 <= $4 && $4 <= $6) { print "# " $0; failed = 1 }
        $3 == "ms" && $1 != "exposed" && !($5 > 0) { print "# " $0; failed = 1 }
        $2 == "all" { all[$1] = $4 }
        $2 != "all" { own[$1]++ }
        END {
            exit failed || !right || !all["step"] || !all["mfu"] || own["compute"] != n ||
                (n > 1 && (own["comm"] != n || !("overlap" in all)))
        }' out && return 0
    show out err
    return 1
}
for n in 1 2 3; do
    ranks $n training --layers 64x128,128x64 --tokens 32 --steps 3 >out 2>err
    ok "training, $n ranks: status 0" [ $? = 0 ]
    ok "training, $n ranks: the values are there" has_values $n 3
done
ranks 2 training --layers 64x128 --tokens 8 --bucket 4K --sharded --steps 2 --json >out 2>err
ok "training: --sharded --bucket --json" jq -e '.form == "sharded" and .replicas_equal and
    .compared >= 2 and (.rows | length) == 10 and (.model | contains("8 tokens"))' out

# Options reach what they are for.
for dtype in float double int32 int8 bfloat16; do
    ranks 2 all_reduce -b 64 -e 64 -d $dtype -o avg -n 2 >out 2>err
    ok "-d $dtype -o avg" grep -qE "^ +64 +[0-9]+ +$dtype +avg +-1 " out
done
for op in sum prod min max; do
    ranks 2 reduce -b 64 -e 64 -o $op -r 1 -n 2 >out 2>err
    ok "-o $op -r 1" grep -qE "^ +64 +16 +float +$op +1 " out
done
ranks 2 all_gather -b 1K -e 1K -c 0 -n 2 >out 2>err
ok "-c 0: not verified, and said so" reads all_gather 2 1 '^N/A$'
ranks 3 all_gather -b 8 -e 32 -n 2 >out 2>err
ok "sizes of less than a block a rank are rounded" reads all_gather 3 2
on() { # "NODES" ARGS…
    local nodes=$1
    shift
    # shellcheck disable=SC2086 # one word a rank
    set -- $nodes -- "$@"
    local n=0 word
    for word; do [ "$word" = -- ] && break || n=$((n + 1)); done
    shift $((n + 1))
    mpirun_n $n "$on_nodes" "$nodes" "$fabricheck" bench "$@"
}
on "n0 n0 n1" all_reduce -b 1K -e 1K --comm node -n 2 >out 2>err
ok "--comm node: the largest node's two ranks" sh -c 'awk "!/^#/ && \$8 / \$7 < 1.02 && \$8 / \$7 > 0.98 { n++ } END { exit n != 1 }" out'
ok "--comm node: groups are nodes" grep -qE '^#  Rank  2 Group  1 Pid' out
on "n0 n0 n1" all_reduce -b 1K -e 1K --comm leaders -n 2 >out 2>err
ok "--comm leaders: two devices" [ "$(grep -c '^#  Rank' out)" = 2 ]
ranks 3 all_reduce -b 48K -e 48K --algorithm node -n 2 >out 2>err
ok "--algorithm node" reads all_reduce 3 1
ranks 3 reduce_scatter -b 3K -e 6K -n 2 --json >out 2>err
ok "--json: status 0" [ $? = 0 ]
ok "--json: one line" [ "$(wc -l <out)" = 1 ]
ok "--json: the rows" jq -e '.what == "reduce_scatter" and .ranks == 3 and .out_of_bounds == 0 and
    (.rows | length) == 2 and (.devices | length) == 3 and .avg_busbw_GBps > 0 and
    all(.rows[]; .size > 0 and .out_of_place.time_us > 0 and .in_place.wrong == 0 and
    ((.out_of_place | .busbw_GBps / .algbw_GBps * 3 / 2 - 1) | fabs) < 1e-9)' out
ranks 2 gemm -n 2 --json >out 2>err
ok "--json of gemm" jq -e '(.rows | length) == 2 and all(.rows[]; .rate > 0 and .wrong == 0)' out

# Wrong results: status 1, counted, and named by rank, offset and values.
# wrong_is_named FAULT PATTERN ARGS…
wrong_is_named() {
    local fault=$1 pattern=$2
    shift 2
    FABRICHECK_FAULT=$fault mpirun_n 3 "$double" bench "$@" >out 2>err
    local status=$?
    [ $status = 1 ] && grep -qE "$pattern" err && [ "$(grep -c 'wrong result' err)" = 2 ] &&
        grep -qE '^# Out of bounds values : [1-9][0-9]* FAILED$' out && grep -q '^# simulated' out &&
        return 0
    echo "# status $status"
    show out err
    return 1
}
wrong_at() { awk '!/^#/ && $9 + $13 > 0 { print $1 }' out; }
victim=$((RANDOM % 3))
for op in all_reduce alltoall; do
    ok "a wrong $op is named" wrong_is_named "$op:wrong:rank=$victim:from=30:bytes=6144" \
        "rank $victim .*: $op 6K .*element [0-9]+ is .*, expected " \
        "$op" -b 1536 -e 24K -f 4 -n 5
    ok "a wrong $op is counted where it is" [ "$(wrong_at)" = 6144 ]
done
FABRICHECK_FAULT=gemm:wrong:rank=$victim:from=3 mpirun_n 3 "$double" bench gemm -n 5 >out 2>err
ok "a wrong product: status 1" [ $? = 1 ]
ok "a wrong product is named" grep -qE "wrong result: rank $victim .*row [0-9]+, column" err

FABRICHECK_FAULT=sendrecv:wrong:rank=$victim:above=4096:from=9 mpirun_n 3 "$double" bench pairs >out 2>err
ok "a wrong pair: status 1" [ $? = 1 ]
ok "a wrong pair is named" grep -qE "wrong result: rank $victim .*rank $victim" err
ok "a wrong pair is counted" grep -qE '^# Out of bounds values : [1-9][0-9]* FAILED$' out
FABRICHECK_FAULT=axpy:wrong:rank=$victim:from=3 mpirun_n 3 "$double" \
    bench training --layers 64x64 --tokens 8 --steps 3 >out 2>err
ok "a replica that differs: status 1" [ $? = 1 ]
ok "a replica that differs is named" grep -qE "wrong result: .*rank $victim's weights differ" err
ok "a replica that differs is in the footer" grep -qE '^# Replicas .* : FAILED$' out

# What does not answer: status 3, named, in time; nothing is left.
FABRICHECK_DEADLINE=4s FABRICHECK_FAULT=reduce:hang:rank=1:from=9 \
    mpirun_n 2 "$double" bench reduce -e 1K >out 2>err
ok "a hung rank: status 3" [ $? = 3 ]
ok "a hung rank: the operation is named" grep -qE "stuck in 'reduce [0-9]+" err
FABRICHECK_DEADLINE=4s FABRICHECK_FAULT=all_reduce:dead:rank=1:from=9 \
    mpirun_n 2 "$double" bench all_reduce -e 1K >out 2>err
ok "a failing rank: status 3" [ $? = 3 ]
ok "a failing rank says so" grep -q "1 all_reduce] all_reduce: the transport reports an error" err
# shellcheck disable=SC2016 # for the ranks' shells
mpirun_n 2 sh -c '"$0" bench all_reduce -e 64 -n 2 >/dev/full; echo "status $?" >&2' "$fabricheck" 2>err
ok "a full standard output: status 3 on all ranks" [ "$(grep -c 'status 3' err)" = 2 ]
ok "a full standard output is told" grep -q "standard output could not be written" err
timeout 60 "$fabricheck" bench mem -b 4K -n 2 --json >/dev/full 2>err
ok "a full standard output for one rank and JSON" [ $? = 3 ]
timeout 60 "$fabricheck" bench all_reduce -e 900G >out 2>err
ok "more than the memory: status 3" [ $? = 3 ]
ok "more than the memory is told" grep -qE "-e: 900G: .*do not fit" err

# Bad usage: status 2, one line that names option and value, nothing on stdout.
one_line() { # PATTERN COMMAND…
    local pattern=$1
    shift
    "$@" >out 2>err
    local got=$?
    [ $got = 2 ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] && grep -qE -- "$pattern" err && return 0
    echo "# status $got; stdout $(wc -c <out) bytes"
    show err
    return 1
}
bad() { # PATTERN ARGS…: alone; the first of its kind on 3 ranks too
    local pattern=$1
    shift
    ok "alone: bench $*" one_line "$pattern" ranks 1 "$@"
}
bad3() {
    bad "$@"
    local pattern=$1
    shift
    ok "3 ranks: bench $*" one_line "$pattern" ranks 3 "$@"
}
bad3 "WHAT is missing \(all_reduce, .*mem"
bad3 "WHAT: 'all_reduces' is unknown \(all_reduce, .*mem" all_reduces
bad "WHAT: 'gemm' after 'mem'" mem gemm
for what in $collectives; do
    bad "-b: 1M is above -e 4K" "$what" -b 1M -e 4K
    bad "-d: 'nonsense' is no type of $what" "$what" -d nonsense
    bad "-d: 'half' is no type of $what" "$what" -d half
    bad "-n: 0 is below 1" "$what" -n 0
    bad "-b: '-8' is not a size" "$what" -b -8
    bad "-e: 0B? is below|-e: 0 " "$what" -e 0
    bad "-b: 6 bytes are no whole number of float" "$what" -b 6
    bad "-e: 12 bytes are no whole number of double" "$what" -d double -e 12
    bad "-w: 0 is below 1" "$what" -w 0
    bad "-f: 1 is below" "$what" -f 1
    bad "-c: '2' is none of|-c: .*'2'" "$what" -c 2
    bad "--algorithm: .*'ring'" "$what" --algorithm ring
    bad "--comm: .*'rail'" "$what" --comm rail
    bad "--comm: 'leaders' needs two nodes" "$what" --comm leaders
    case $what in
    all_reduce | reduce_scatter | reduce) bad "-o: .*'mean'" "$what" -o mean ;;
    *) bad "-o: 'sum' means nothing to $what" "$what" -o sum ;;
    esac
    case $what in
    broadcast | reduce | gather | scatter)
        bad "-r: 3 is no rank \(0 to 0\)" "$what" -r 3
        bad "-r: -1 is below 0" "$what" -r -1
        ;;
    *) bad "-r: '0' means nothing to $what" "$what" -r 0 ;;
    esac
done
bad3 "-r: 3 is no rank" broadcast -r 3
ok "3 ranks: an algorithm that lacks it" one_line "--algorithm: 'node' has no broadcast" \
    ranks 3 broadcast --algorithm node
bad3 "-o: 'sum' means nothing to all_gather" all_gather -o sum
for what in gemm mem; do
    bad "-n: 'x'" $what -n x
    bad "-n: 0 is below 1" $what -n 0
    bad "-w: '2' means nothing to $what" $what -w 2
    bad "-c: '0' means nothing to $what" $what -c 0
    bad "-r: '1' means nothing to $what" $what -r 1
    bad "-o: 'max' means nothing to $what" $what -o max
    bad "--comm: 'node' means nothing to $what" $what --comm node
    bad "--algorithm: 'mpi' means nothing to $what" $what --algorithm mpi
done
bad "WHAT: 'pairs' needs two ranks" pairs
bad "--rounds: 0 is below 1" pairs --rounds 0
bad "-n: '3' means nothing to pairs" pairs -n 3
bad "-b: '8' means nothing to pairs" pairs -b 8
bad "--preset: .*'13b'" training --preset 13b
bad3 "--layers: '8by8' is no layer" training --layers 8x8,8by8
bad "--preset 'tiny' and --layers exclude" training --preset tiny --layers 8x8
bad "--tokens: 0 is below 1" training --tokens 0
bad "--bucket: '-4' is not a size" training --bucket -4
bad "--steps: 0 is below 1" training --steps 0
bad "--comm: 'world' means nothing to training" training --comm world
bad "--sharded: 'true' means nothing to all_reduce" all_reduce --sharded
bad "-b: '4096' means nothing to gemm" gemm -b 4K
bad "-d: 'int8' is no type of gemm \(float, double\)" gemm -d int8
bad "-d: 'float' means nothing to mem" mem -d float
bad "-b: 2M is above -e 1M" mem -b 2M -e 1M
bad "-e: 10 bytes are no whole number of float" mem -e 10
bad "unknown option '--out'" all_reduce --out x
verbs="write_bw read_bw send_bw write_lat read_lat send_lat"
for what in $verbs; do
    bad "WHAT: '$what' needs two ranks" "$what"
    bad "-s: '-1' is not a size" "$what" -s -1
    bad "-n: 4 is below 5" "$what" -n 4
    bad "unknown option '--min-bytes'" "$what" --min-bytes 4
done
bad "-a: means all sizes" write_bw -a -s 8
bad "-d: 'c' is one device too many" read_bw -d a,b,c
bad "-m: 1000 is no MTU" send_bw -m 1000
bad "-b: latency has one direction" write_lat -b
bad "-q: latency is of one queue pair" send_lat -q 2
# A device that there is not: where there are others 2, where there is none 3; one line.
no_device() {
    local status
    ranks 2 write_bw -d no_such_device >out 2>err
    status=$?
    [ "$(wc -l <err)" = 1 ] && [ ! -s out ] || return
    if [ $status = 3 ]; then
        grep -q 'no RDMA device\|built without libibverbs' err
    else
        [ $status = 2 ] && grep -q "'\?no_such_device" err
    fi
}
ok "an RDMA device that there is not" no_device
show err
for what in "" $collectives gemm mem pairs training $verbs; do
    # shellcheck disable=SC2086 # nothing is no argument
    ok "bench $what --help" sh -c '"$@" >out 2>err && [ -s out ] && [ ! -s err ]' - \
        "$fabricheck" bench $what --help
done
no_op_in_help() { ! "$fabricheck" bench all_gather --help | grep -q -- '--op\|--root'; }
ok "--help shows only what a WHAT has" no_op_in_help

nothing_written() { [ -z "$(find . -type f ! -name out ! -name err ! -name parse.awk)" ]; }
ok "nothing was written" nothing_written
done_testing
