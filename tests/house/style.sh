#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The house style, as far as a script can tell it.
# shellcheck source=tests/house/common.bash
. "${top_srcdir:?}/tests/house/common.bash"

sources=('*.c' '*.h' '*.def')
scripts=(quickstart autogen.sh .ci/run 'tests/run-unit' 'tests/results' '*.sh' '*.bash'
    tests/lab/verbs-guest/{boot,init,on-ports,prepare,rsh-agent}
    tests/lab/vcluster/{vcluster,head,node} 'slurm/*.sbatch')
makes=('*.mk' 'Makefile.am' 'configure.ac' 'm4/fc_*.m4')

# The licence in the first line, or in the second below a script's #!.
cat >"$scratch/licence.awk" <<'AWK'
function finish() { if (name != "" && !found) print name ": no SPDX line" }
FNR == 1 { finish(); name = FILENAME; found = 0; script = /^#!/ }
FNR <= 1 + script && /^(\/\/|#|dnl) SPDX-License-Identifier: BSD-3-Clause$/ { found = 1 }
END { finish() }
AWK
licence() { # top folder
    on_files "$1" awk -f "$scratch/licence.awk" -- "${sources[@]}" "${scripts[@]}" "${makes[@]}"
}

# Lengths of files, functions and lines; blanks; typedefs of structs. A function is what
# stands between a "{" and a "}" in the first column; its length counts both.
cat >"$scratch/lengths.awk" <<'AWK'
function say(why) { print FILENAME ":" FNR ": " why }
FNR == 1 { begin = 0 }
{ lines[FILENAME] = FNR }
/[ \t\r]$/ { say("blank at the end of the line") }
/\t/ { say("tab") }
# columns, not bytes: the bytes that continue a UTF-8 character do not count
{ text = $0; gsub(/[\200-\277]/, "", text) }
length(text) > 88 { say("longer than 88 columns") }
/^[ \t]*typedef[ \t]+(struct|union|enum)[^(]*$/ { say("typedef of a struct") }
/^\{/ { begin = FNR }
/^\}/ && begin {
    if (FNR - begin + 1 > 70) say("function of " FNR - begin + 1 " lines")
    begin = 0
}
END { for (file in lines) if (lines[file] >= 500) print file ": " lines[file] " lines" }
AWK
lengths() { # top folder
    on_files "$1" awk -f "$scratch/lengths.awk" -- "${sources[@]}" | sort
}

# Library code never prints and never ends the process.
cat >"$scratch/calls.awk" <<'AWK'
BEGIN {
    prints = "^(printf|vprintf|puts|putchar|perror|stdout|stderr|psignal|warn|warnx)$"
    ends = "^(exit|_exit|_Exit|quick_exit|abort|assert|err|errx)$"
    # the commands and how they end, the log; a worker's stdout is its parent's log
    may_print = "^src/(main|cli|cmd_[a-z_]*|finish|core/log|core/worker_main)\\.c$"
    # processes that hold nothing to clean up, and the watchdog, which ends a lost rank
    may_end = "^src/(main|core/leave|core/watchdog|core/worker_main|core/spawner[a-z_]*)\\.c$"
}
FNR == 1 { in_comment = 0 }
{
    code = $0
    # what is not code goes: strings first, then comments
    gsub(/\\["\\]/, "", code)
    gsub(/"[^"]*"/, "\"\"", code)
    if (in_comment) {
        if (!sub(/^.*\*\//, "", code)) next
        in_comment = 0
    }
    while (match(code, /\/\*/)) {
        rest = substr(code, RSTART + 2)
        code = substr(code, 1, RSTART - 1)
        if (!sub(/^.*\*\//, "", rest)) { in_comment = 1; break }
        code = code " " rest
    }
    sub(/\/\/.*/, "", code)
    if (code ~ /^[ \t]*#/) next
    # a name is a call when "(" follows; stdout and stderr are found as they are
    while (match(code, /[A-Za-z_][A-Za-z0-9_]*/)) {
        word = substr(code, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(code, RSTART - 1, 1) : ""
        code = substr(code, RSTART + RLENGTH)
        if (before ~ /[.>]/ || (word !~ /^std/ && code !~ /^[ \t]*\(/)) continue
        if (word ~ prints && FILENAME !~ may_print) print FILENAME ":" FNR ": " word
        if (word ~ ends && FILENAME !~ may_end) print FILENAME ":" FNR ": " word
    }
}
AWK
calls() { # top folder
    on_files "$1" awk -f "$scratch/calls.awk" -- 'src/*.c' 'training/*.c' \
        'collectives/*.c' 'rdma/*.c' 'device/*.c' 'topology/*.c'
}

# ---- proof that the checks above can fail ---------------------------------------------------

planted=$scratch/planted
mkdir -p "$planted/src/core" "$planted/device"
spdx='// SPDX-License-Identifier: BSD-3-Clause'
printf 'int x;\n%s\n' "$spdx" >"$planted/device/late.h"
printf '#!/bin/sh\n# %s\n' "${spdx#// }" >"$planted/good.sh"
printf '#!/bin/sh\n# SPDX-License-Identifier: GPL-3.0\n' >"$planted/bad.sh"
{
    printf '%s\nint f(void)\n{\n' "$spdx"
    printf '    ;\n%.0s' {1..69}
    printf '}\nint g(void)\n{\n'
    printf '    ;\n%.0s' {1..68}
    printf '}\n'
} >"$planted/src/core/long.c"
{
    printf '%s\n' "$spdx"
    printf '//\n%.0s' {1..499}
} >"$planted/src/core/many.h"
cat >"$planted/src/core/calls.c" <<'C'
// SPDX-License-Identifier: BSD-3-Clause
/* exit(1) in a comment, printf("x") too
 * abort() */
static const char text[] = "exit(1) \" abort() // ";
void f(void) { a->exit(1); b.printf("x"); fc_exit(2); /* abort() */ snprintf(a); }
void g(void) { exit (1); }
void h(void) { fprintf(stderr, "x"); assert(x); static_assert(1, "x"); }
void i(void) { _exit(1); } // the next one's printf("")
typedef struct y y;
int many_words_here = 1; // äöüäöüäöüäöüäöü fifteen columns, thirty bytes ..............
int many_words_here = 1; // äöüäöüäöüäöüäöü fifteen columns, thirty bytes ...............
	int tab; 
C
printf '%s\nvoid i(void) { _exit(1); fputs("x", stdout); }\n' "$spdx" >"$planted/src/core/watchdog.c"
printf '%s\nint m(void) { printf("x"); }\n' "$spdx" >"$planted/src/cmd_run.c"

ok_if_same "planted files without the licence are found" "$(licence "$planted")" \
    'bad.sh: no SPDX line
device/late.h: no SPDX line'
ok_if_same "planted lengths and blanks are found" "$(lengths "$planted")" \
    'src/core/calls.c:11: longer than 88 columns
src/core/calls.c:12: blank at the end of the line
src/core/calls.c:12: tab
src/core/calls.c:9: typedef of a struct
src/core/long.c:73: function of 71 lines
src/core/many.h: 500 lines'
ok_if_same "planted calls are found, and nothing else" "$(calls "$planted")" \
    'src/core/calls.c:6: exit
src/core/calls.c:7: stderr
src/core/calls.c:7: assert
src/core/calls.c:8: _exit
src/core/watchdog.c:2: stdout'

# ---- the house ------------------------------------------------------------------------------

ok_if_empty "licence in every file" "$(licence "$top")"
ok_if_empty "lengths of files (under 500), functions (70) and lines (88)" "$(lengths "$top")"
ok_if_empty "library code never prints, never exits" "$(calls "$top")"

if ! command -v shellcheck >/dev/null; then
    skip "shellcheck" "shellcheck is not installed"
else
    ok_if_empty "shellcheck" "$(on_files "$top" shellcheck -x -f gcc -S warning -- "${scripts[@]}" 2>&1)"
fi

version=$(clang-format --version 2>/dev/null | sed -n 's/.*version \([0-9]*\).*/\1/p')
if [ "$version" != 14 ]; then
    skip "clang-format" "clang-format 14 is not installed (found: ${version:-none})"
else
    ok_if_empty "clang-format" "$(on_files "$top" clang-format --dry-run -- '*.c' '*.h' 2>&1 |
        sed -n 's/:[0-9:]* warning: code should be.*/: not as clang-format writes it/p' | sort -u)"
fi
done_testing
