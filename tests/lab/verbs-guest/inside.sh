#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: inside.sh PREFIX runs each function of cases-*.sh whose name begins with PREFIX,
# in the order of their names, as one TAP stream; FC_LAB_CASES (a regular expression) chooses
# among them. After each all ports are healed, so that a case cannot harm the next one.
. "${top_srcdir:?}/tests/tap.sh"
# shellcheck source=tests/lab/verbs-guest/guest.sh
. "${FC_GUEST:?run by boot}"
cd "${scratch:?}" || exit 1
for file in "${FC_GUEST%/*}"/cases-*.sh; do
    # shellcheck source=/dev/null
    . "$file"
done
ran=0
for name in $(compgen -A function "$1_"); do
    [[ $name =~ ${FC_LAB_CASES:-.} ]] || continue
    begin=$SECONDS
    "$name"
    ok "$name: all ports work again" heal_all
    echo "# $name: $((SECONDS - begin)) s"
    ran=$((ran + 1))
done
ok "there were cases" [ "$ran" -gt 0 ]
done_testing
