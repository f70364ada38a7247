#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Bad input: exactly one line on stderr that names the option and the value, exit status 2
# on all ranks, nothing on stdout, nothing written.
. "${top_srcdir:?run by make check}/tests/tap.sh"
cd "${scratch:?}" || exit 1

# one_line STATUS PATTERN COMMAND…
one_line() {
    local status=$1 pattern=$2
    shift 2
    "$@" >out 2>err
    local got=$?
    [ "$got" = "$status" ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] &&
        grep -qE -- "$pattern" err && return 0
    echo "# status $got, expected $status; stdout $(wc -c <out) bytes; stderr:"
    show err
    return 1
}

nothing_written() {
    [ -z "$(find . -path ./held -prune -o \( -name 'fabricheck-*' -o -name '*.jsonl' \) -print)" ]
}

# bad PATTERN ARGS…: of the program itself, alone and on 3 ranks.
bad() {
    local pattern=$1
    shift
    ok "alone: $*" one_line 2 "$pattern" "$fabricheck" "$@"
    ok "3 ranks: $*" one_line 2 "$pattern" mpirun_n 3 "$fabricheck" "$@"
}

bad "unknown option '--bogus'" run --bogus
bad "unknown option '-Z'" run -Z
bad "--level: .*'fast'.*quick" run --level fast
bad "--level.*(argument|value)" run --level
bad "--probes: .*'pears'" run --probes device,pears
bad "--skip: .*'x'" run --skip x
bad "--skip: 'device' is demanded" run --probes device --skip device
bad "--device: .*'tpu'" run --device tpu
bad "-b: .*'12Q'" run -b 12Q
bad "-b: .*1M.*-e.*4K" run -b 1M -e 4K
bad "-b: .*-4" run -b -4
bad "-b: 6 bytes" run -b 6
bad "-e: .*'99999999999G'" run -e 99999999999G
bad "-f: .*1" run -f 1
bad "--pairs: 'some'.*'full'.*number" run --pairs some
bad "--pairs: '0'" run --pairs 0
bad "--pairs: '-3'" run --pairs=-3
bad "--pairs: '2.5'" run --pairs 2.5
bad "--pairs: '99999999999999999999'" run --pairs 99999999999999999999
bad "--pairs: ''" run --pairs ""
bad "--expect-nodes: .*0" run --expect-nodes 0
bad "--expect-nodes: .*'two'" run --expect-nodes two
bad "--label: 'novalue'" run --label novalue
bad "--out" run --out ""
bad "'stray'" run stray
bad "unknown command 'jugde'" jugde
ok "nothing was written" nothing_written

# What only rank 0 can see is told to all.
bad "--profile.*/nonexistent.ini" run --profile /nonexistent.ini --out p1
printf '[floor]\ndevice.gemm.fp32 = much\n' >bad.ini
bad "--profile.*bad.ini.*(2|device.gemm.fp32)" run --profile bad.ini --out p2
printf '[run]\nlevel = fast\n' >bad2.ini
bad "--profile.*level.*'fast'" run --profile bad2.ini --out p3
printf '[run]\nnonsense = 1\n' >bad3.ini
bad "--profile.*nonsense" run --profile bad3.ini --out p4
head -c 3000 /dev/urandom >bad4.ini
bad "--profile.*bad4.ini" run --profile bad4.ini --out p5
touch file
bad "--out: .*'file/run'" run --out file/run
mkdir held
echo '{"type":"run"}' >held/journal.jsonl
cp held/journal.jsonl before
bad "--out: 'held' already holds a run" run --out held
ok "an old run is not touched" cmp held/journal.jsonl before
if [ "$(id -u)" != 0 ]; then
    mkdir -m 555 sealed
    bad "--out: .*'sealed/run'" run --out sealed/run
else
    bad "--out: .*'/proc/fabricheck'" run --out /proc/fabricheck
fi
ok "still nothing was written" nothing_written

# Offline commands.
for command in judge report; do
    ok "$command without a run" one_line 2 "RUN" "$fabricheck" "$command"
    ok "$command of nothing" one_line 2 "/nonexistent" "$fabricheck" "$command" /nonexistent
    ok "$command of a foreign file" one_line 2 "bad4.ini" "$fabricheck" "$command" bad4.ini
    ok "$command of a foreign journal" one_line 2 "held" "$fabricheck" "$command" held
done
ok "report in an unknown format" one_line 2 "--format: .*'pdf'" \
    "$fabricheck" report held --format pdf
ok "an impatient deadline" one_line 2 "FABRICHECK_DEADLINE: 'soon'" \
    env FABRICHECK_DEADLINE=soon "$fabricheck" run

# A wrong launch is seen before a folder is made.
ok "srun without PMI" one_line 2 "wrong launch.*srun" env SLURM_JOB_ID=7 SLURM_STEP_ID=0 \
    SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=4 SLURM_PROCID=0 SLURM_LOCALID=0 "$fabricheck" run
ok "a bare process in a job of 4 tasks" one_line 2 "wrong launch.*srun" env SLURM_JOB_ID=7 \
    SLURM_NTASKS=4 "$fabricheck" run
ok "no folder after a wrong launch" nothing_written

help_works() { "$fabricheck" "$@" >out 2>err && [ -s out ] && [ ! -s err ]; }
for command in run judge report bench list; do
    ok "$command --help" help_works "$command" --help
done
ok "--help" help_works --help
ok "--version" help_works --version
ok "list" help_works list
no_mpi_output() { ! grep -qi "mpi_init\|orte\|prte" err; }
ok "offline commands start no MPI" no_mpi_output
ok "no command: usage, status 2" sh -c '"$0" >out 2>err; [ $? = 2 ] && [ ! -s out ]' "$fabricheck"
ok "a full standard output is told" sh -c '"$0" list >/dev/full 2>err; [ $? = 3 ]' "$fabricheck"
done_testing
