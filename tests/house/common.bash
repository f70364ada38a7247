# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the house's own tests share beyond tests/tap.sh: findings, and the list of files.
set -o pipefail
export LC_ALL=C
# shellcheck disable=SC2034 # read by who sources this
top=${top_srcdir:?run by make check}
: "${top_builddir:?run by make check}"
# shellcheck source=tests/tap.sh
. "$top/tests/tap.sh"

# Passes when $2 (what was found wrong) is empty; else each of its lines is a comment.
ok_if_empty() { # name findings
    findings=$2
    ok "$1" no_findings
    [ -z "$2" ] || printf '%s\n' "$2" | sed 's/^/# /'
}
no_findings() { [ -z "$findings" ]; }

# Passes when $2 is exactly the text $3: the proof that a check can fail.
ok_if_same() { # name found expected
    ok_if_empty "$1" "$(diff <(printf '%s\n' "$3") <(printf '%s\n' "$2"))"
}

# Runs a command in folder $1 on the project's own files there that match one of the
# patterns: those that git knows or would add; in a tarball all but what a build makes.
on_files() { # folder command... -- patterns...
    local dir=$1 command=() list
    shift
    while [ "$1" != -- ]; do
        command+=("$1")
        shift
    done
    shift
    list=$(mktemp -p "$scratch")
    (
        cd -- "$dir" || exit 1
        if [ -e .git ] && git ls-files >/dev/null 2>&1; then
            # a file may be deleted and not yet committed
            git ls-files -z -co --exclude-standard -- "$@" |
                while IFS= read -r -d '' file; do [ ! -f "$file" ] || printf '%s\0' "$file"; done
        else
            files_by_find "$@"
        fi | sort -z -u >"$list"
        [ ! -s "$list" ] || xargs -0 "${command[@]}" <"$list"
    )
}

files_by_find() { # patterns...
    local pattern names=()
    for pattern in "$@"; do
        names+=(-o -path "./${pattern}")
    done
    find . \( -name 'build*' -o -name autom4te.cache -o -name 'fabricheck-*' \) -prune -o \
        -type f ! -name 'configure*' ! -name '*~' ! -name Makefile.in ! -name aclocal.m4 \
        \( "${names[@]:1}" \) -printf '%P\0'
}
