#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Real kernel verbs: a QEMU guest with RDMA ports (doc/labs.md). Two boots: one guest with four
# ports, in which every case_* of tests/lab/verbs-guest/cases-*.sh runs, and two guests as true
# hosts for every pair_*. FC_LAB_CASES chooses cases by a regular expression.
. "${top_srcdir:?run by make check}/tests/tap.sh"
lab=$top_srcdir/tests/lab/verbs-guest
for tool in ib_write_bw:perftest ibv_rc_pingpong:ibverbs-utils rdma:iproute2 tc:iproute2; do
    command -v "${tool%:*}" >/dev/null || skip_all "${tool%:*} is not installed (${tool#*:})"
done
[ -e /etc/libibverbs.d/rxe.driver ] || skip_all "libibverbs has no driver for rxe (ibverbs-providers)"
"$lab/prepare" >/dev/null 2>"$scratch/missing"
status=$?
[ $status != 77 ] || skip_all "$(tail -n 1 "$scratch/missing")"
ok "the guest's kernel and initrd are there" [ $status = 0 ]
show "$scratch/missing"

export TMPDIR=$scratch
wanted() { # PREFIX
    sed -n "s/^\($1_[a-z0-9_]*\)() .*/\1/p" "$lab"/cases-*.sh | grep -qE -- "${FC_LAB_CASES:-.}"
}
if wanted case; then
    relay "one guest" "$lab/boot" --ports 4 --mtu 9000 --timeout 600 bash "$lab/inside.sh" case
fi
if wanted pair; then
    relay "two guests" "$lab/boot" --two --timeout 250 bash "$lab/inside.sh" pair
fi
nothing_left() { [ -z "$(find "$scratch" -name 'fc-guest-*')" ]; }
ok "boot left nothing behind" nothing_left
done_testing
