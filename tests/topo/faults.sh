#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doc/faults.md against what there is: each rule in it exists, fires in the fixture named for
# that and is silent in the other one; and each fault and trap of the public reports
# (${FC_SHARED:-../shared}/corpus/FAULTS.md, where it is there) has a line.
# shellcheck source=tests/tap.sh
. "${top_srcdir:?run by make check}/tests/tap.sh"
page=$top_srcdir/doc/faults.md
fixtures=$top_srcdir/tests/fixtures/judge
bank=${FC_SHARED:-$top_srcdir/../shared}/corpus/FAULTS.md
cd "${scratch:?}" || exit 1

"$fabricheck" list >list || exit 1
# rows of five columns whose second one is a rule: "RULE FIRES SILENT"
awk -F'|' 'NF == 6 && $3 ~ /`/ { gsub(/[` ]/, "", $3); gsub(/ /, "", $4); gsub(/ /, "", $5); print $3, $4, $5 }' \
    "$page" >rows
ok "the page has a table of rules" test "$(wc -l <rows)" -gt 25

fires() { grep -q " $1 " "$fixtures/$2.expect"; }
is_whole() { # RULE FIRES SILENT
    grep -qE "^ *$1( |$)" list || { echo "# no rule $1"; return 1; }
    [ -r "$fixtures/$2.jsonl" ] && fires "$1" "$2" || { echo "# it does not fire in $2"; return 1; }
    [ -r "$fixtures/$3.jsonl" ] && ! fires "$1" "$3" || { echo "# it is not silent in $3"; return 1; }
}
while read -r rule fire silent; do
    ok "$rule fires in $fire, not in $silent" is_whole "$rule" "$fire" "$silent"
done <rows
ok "planted rows are found" eval '! is_whole no.rule gpu-missing healthy >/dev/null &&
    ! is_whole expect.gpus healthy healthy >/dev/null && ! is_whole expect.gpus gpu-missing gpu-missing >/dev/null'

# all rules about pictures and settings are in it
grep -oE '^ *(topology|setup|gpu)\.[a-z_]+' list | tr -d ' ' | sort -u >rules
cut -d ' ' -f 1 rows | sort -u >named
ok "every rule about pictures and settings has a row" \
    eval '[ "$(wc -l <rules)" -gt 15 ] && [ -z "$(comm -23 rules named)" ]'
comm -23 rules named | show

if [ -r "$bank" ]; then
    grep -oE '^\*\*F[0-9]+\*\*' "$bank" | tr -d '*' | sort -u >faults
    grep -oE '\bF[0-9]+' "$page" | sort -u >told
    ok "every fault of the reports has a line" eval '[ "$(wc -l <faults)" -gt 50 ] && [ -z "$(comm -23 faults told)" ]'
    comm -23 faults told | show
    ok "no line is of a fault that is not there" eval '[ -z "$(comm -13 faults told)" ]'
    comm -13 faults told | show
    grep -oE '^T[0-9]+ ' "$bank" | tr -d ' ' | sort -u >traps
    grep -oE '^\| T[0-9]+ ' "$page" | tr -d '| ' | sort -u >told
    ok "every trap has a line" eval '[ "$(wc -l <traps)" = 14 ] && cmp traps told'
else
    skip "every fault and trap of the reports has a line" "no corpus of real machines' files in ${bank%/FAULTS.md}"
fi
done_testing
