#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A node's health check: one line as Nagios wants it, status 0 OK, 2 CRITICAL, 3 UNKNOWN.
#
# To install, copy it to every node, executable and root's; in slurm.conf:
#   HealthCheckProgram=/etc/slurm/fabricheck-healthcheck.sh
#   HealthCheckInterval=600
#   HealthCheckNodeState=IDLE,CYCLE
# It only looks at how the node is made and set up, which disturbs no job. What it takes to be
# healthy is in a profile (README): how many GPUs the node must have, for instance.
#
# Adapt these, or set them in the environment (a prolog or epilog may call it too):
#   FABRICHECK          the program
#   FABRICHECK_PROFILE  the profile (default: /etc/fabricheck/node.ini, if it is there)
#   FABRICHECK_ACTIVE   1: measures CPU and memory too, for up to half a minute; only with
#                       HealthCheckNodeState=IDLE, or in a prolog or epilog of exclusive nodes
#   FABRICHECK_DRAIN    0: do not drain this node when it is CRITICAL
PATH=/opt/fabricheck/bin:/usr/local/bin:/usr/bin:/bin
export PATH
set -u
profile=${FABRICHECK_PROFILE:-/etc/fabricheck/node.ini}
probes=config limit=20
[ "${FABRICHECK_ACTIVE:-0}" != 1 ] || probes=config,device limit=60

out=$(mktemp -d) || { echo "UNKNOWN - no folder for results" && exit 3; }
trap 'rm -rf -- "$out"' EXIT
options=(--level quick --quiet --probes "$probes" --out "$out/run")
[ ! -r "$profile" ] || options+=(--profile "$profile")

# Without the variables of a job around it, which speak of other processes than this one.
text=$(timeout -k 2 "$limit" env -i PATH="$PATH" "${FABRICHECK:-fabricheck}" run "${options[@]}" 2>&1)
status=$?
text=$(tail -n 1 <<<"$text")
case $status in
0) echo "OK - ${text#verdict: }" && exit 0 ;;
1) ;;
124 | 137) echo "UNKNOWN - no answer after $limit s" && exit 3 ;;
*) echo "UNKNOWN - ${text#verdict: }" && exit 3 ;;
esac

text=${text#verdict: FAIL }
node=${SLURMD_NODENAME:-$(hostname -s)}
echo "CRITICAL - $text"
if [ "${FABRICHECK_DRAIN:-1}" = 1 ] && command -v scontrol >/dev/null &&
    [[ $(sinfo -h -n "$node" -o %T) != *drain* ]]; then
    scontrol update "nodename=$node" state=drain "reason=fabricheck: ${text:0:200}" >&2
fi
exit 2
