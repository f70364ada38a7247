#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What this machine says of how it is set up: nothing is wrong with it as it is, and a
# launch that is told harmful things is told so. One rank a run, for the config probe.
. "${top_srcdir:?run by make check}/tests/tap.sh"
cd "${scratch:?}" || exit 1
for v in $(compgen -e | grep -E '^(NCCL_|UCX_|FI_)'); do unset "$v"; done
export HOME=$scratch

# findings NAME [LAUNCH…]: of setup.*, as "severity check message".
findings() {
    local name=$1
    shift
    "$@" "$fabricheck" run -q --probes config --out "$name" >"$name.out" 2>&1
    jq -r '.findings[] | select(.check | startswith("setup.")) |
        "\(.severity) \(.check) \(.message)"' "$name/report.json"
}

# says NAME PATTERN…: exactly so many findings beyond those of the machine as it is, each
# of one pattern.
touch as_it_is
says() {
    local name=$1 found
    shift
    found=$(findings "$name" env "${given[@]}" | grep -vxFf as_it_is)
    matches "$found" "$@"
}

matches() { # FINDINGS PATTERN…
    local found=$1 pattern bad=0
    shift
    [ "$(grep -c . <<<"$found")" = $# ] || bad=1
    for pattern in "$@"; do
        grep -qE -- "$pattern" <<<"$found" || bad=1
    done
    [ "$bad" = 0 ] && return 0
    show <<<"$found"
    return 1
}

command -v jq >/dev/null || skip_all "no jq"
given=(A=b)
if [ -e /sys/class/infiniband ] || [ -e /proc/driver/nvidia ] || [ -e /etc/nccl.conf ]; then
    findings plain env A=b >as_it_is
    skip "as it is: nothing" "a machine with more to set up"
else
    ok "as it is: nothing" says plain
fi

printf '# of the site\nNCCL_PROTO=Simple\n' >.nccl.conf
ok "a file of NCCL's is named" says file 'warn setup.nccl .*NCCL_PROTO, of ~/.nccl.conf'
printf 'NCCL_P2P_DISABLE=1\n' >own.conf
given=(NCCL_CONF_FILE="$scratch/own.conf")
ok "NCCL_CONF_FILE takes its place" says given 'setup.nccl .*NCCL_P2P_DISABLE, of .*/own.conf'
given=(NCCL_CONF_FILE="$scratch/own.conf" NCCL_P2P_DISABLE=0)
ok "and the environment that of the file" says override

rm -f .nccl.conf
given=(NCCL_SOCKET_IFNAME=nosuch)
ok "a pattern that takes no interface" says pattern 'warn setup.interface .*NCCL_SOCKET_IFNAME=nosuch'
given=(NCCL_SOCKET_IFNAME=lo)
ok "loopback is meant for one machine" says loopback

two_ranks() { # LIST PATTERN…: two ranks on those CPUs
    local list=$1 found
    shift
    found=$(findings "cpus-$list" mpirun_n 2 taskset -c "$list" | grep setup.sharing)
    matches "$found" "$@"
}
mapfile -t cpus < <(taskset -cp $$ | sed 's/.*: //' | tr , '\n' |
    awk -F- '{ for (i = $1; i <= ($2 == "" ? $1 : $2); i++) print i }')
if [ "${#cpus[@]}" -lt 2 ] || [ "$(lscpu -p=core | grep -v '#' | sort -u | wc -l)" -lt 2 ]; then
    skip "ranks that share a core" "one core"
else
    ok "two ranks on one CPU of several" two_ranks "${cpus[0]}" 'warn setup.sharing '
    ok "two ranks on all of them" two_ranks "$(IFS=,; echo "${cpus[*]}")"
fi
done_testing
