#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# On the head: inside.sh runs each function case_* of cases-*.sh, in the order of their names, as
# one TAP stream; FC_LAB_CASES (a regular expression) chooses among them. After each all is
# healed, so that a case cannot harm the next one.
# shellcheck source=tests/lab/vcluster/cluster.sh
. "${FC_CLUSTER:?run by vcluster}"
own=$TMPDIR
export TMPDIR=$cluster/work # all nodes see it
mkdir -m 1777 "$TMPDIR" || exit 1
. "${top_srcdir:?}/tests/tap.sh"
export TMPDIR=$own
cd "${scratch:?}" || exit 1
for file in "${FC_CLUSTER%/*}"/cases-*.sh; do
    # shellcheck source=/dev/null
    . "$file"
done
ran=0
for name in $(compgen -A function case_); do
    [[ $name =~ ${FC_LAB_CASES:-.} ]] || continue
    begin=$SECONDS
    "$name"
    ok "$name: all nodes are idle again" heal_all
    echo "# $name: $((SECONDS - begin)) s"
    ran=$((ran + 1))
done
ok "there were cases" [ "$ran" -gt 0 ]
done_testing
