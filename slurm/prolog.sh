#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# A prolog: notes what only root can read of this node (ACS, the kernel's log of GPU errors, the
# serial number), where "fabricheck run" of the job's user finds it.
#
# To install, copy it to every node, say as /etc/slurm/prolog.d/fabricheck.sh, executable and
# root's; in slurm.conf: Prolog=/etc/slurm/prolog.d/*
# A job never waits for it more than a few seconds and never fails because of it.
#
# FABRICHECK is the program. Slurm gives a prolog no PATH, so that it is looked for here.
PATH=/opt/fabricheck/bin:/usr/local/bin:/usr/bin:/bin
export PATH

# In the background: whoever waits for a process that hangs in the kernel hangs as well.
timeout -k 1 5 "${FABRICHECK:-fabricheck}" facts -o "${FABRICHECK_FACTS:-/run/fabricheck/facts.json}" \
    </dev/null >/dev/null 2>&1 &
facts=$!
tries=0
while kill -0 "$facts" 2>/dev/null && [ "$tries" -lt 70 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
exit 0
