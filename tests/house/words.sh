#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# No file names a folder of one developer's machine or a package registry's host: they mean
# nothing to anybody else. (The patterns have a bracket, so that they do not find themselves.)
# shellcheck source=tests/house/common.bash
. "${top_srcdir:?}/tests/house/common.bash"

patterns=(
    '(^|[^A-Za-z0-9_.$}/-])/wor[k]/'
    '(^|[^A-Za-z0-9_.$}-])/tmp/buil[d]'
    '(^|[^A-Za-z0-9_.$}/-])/roo[t]/'
    '(deb|security|snapshot)[.]debian[.]or[g]'
    '(archive|ports)[.]ubuntu[.]co[m]'
    'registry[.]npmj[s]'
    '(files[.]pythonhosted|pypi)[.]or[g]'
    'proxy[.]golan[g]'
    '(crates|docker|quay)[.]i[o]'
    '(ghcr[.]io|gcr[.]i[o])'
)

check() { # top folder
    on_files "$1" grep -HInE "$(IFS='|'; echo "${patterns[*]}")" -- '*'
}

planted=$scratch/planted
mkdir -p "$planted"
{
    # shellcheck disable=SC2016 # the dollar is meant
    printf 'see /wor%s/main/x\nthe framework/work/shop is fine, so is $HOME/work/x\n' k
    printf 'cp a /tmp/buil%s-1/x\ndeb.debian.or%s\n' d g
} >"$planted/notes.md"
expected='notes.md:1
notes.md:3
notes.md:4'

ok_if_same "planted words are found, and nothing else" \
    "$(check "$planted" | cut -d: -f1,2)" "$expected"
ok_if_empty "no machine's folders and no registry's hosts" "$(check "$top")"
done_testing
