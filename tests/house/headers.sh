#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Each header compiles alone, and twice in one file: it includes what it needs, and has a guard.
# shellcheck source=tests/house/common.bash
. "${top_srcdir:?}/tests/house/common.bash"

# The build's own compiler and flags, as configure found them.
read -r -a compile < <(cd "${top_builddir:?}" &&
    printf '%s\n' '@CC@ @CPPFLAGS@ @FC_CFLAGS@ @MPI_CFLAGS@ @HWLOC_CFLAGS@ @OPENBLAS_CFLAGS@ @JANSSON_CFLAGS@ @INIH_CFLAGS@ @XXHASH_CFLAGS@ @LIBXML2_CFLAGS@ @VERBS_CFLAGS@' |
    ./config.status -q --file=-)
compile+=(-D_GNU_SOURCE -Werror -fsyntax-only -x c)

one_header() { # top folder, header below it
    local name=${2#src/}
    printf '#include "%s"\n#include "%s"\nint fc_not_empty;\n' "$name" "$name" >"$scratch/one.c"
    "${compile[@]}" -I"$top_builddir" -I"$1/src" -I"$1" "$scratch/one.c" 2>&1 |
        grep -m 1 -E 'error' | sed "s|^|$2: |"
}

check() { # top folder
    local file
    while IFS= read -r file; do
        one_header "$1" "$file"
    done < <(on_files "$1" printf '%s\n' -- 'src/*.h' 'training/*.h' 'collectives/*.h' 'rdma/*.h' \
        'device/*.h' 'topology/*.h')
}

planted=$scratch/planted
mkdir -p "$planted/device"
printf '#ifndef A\n#define A\n#include <stddef.h>\nsize_t a(void);\n#endif\n' >"$planted/device/good.h"
printf '#ifndef B\n#define B\nsize_t b(void);\n#endif\n' >"$planted/device/needs_more.h"
printf 'struct c { int c; };\n' >"$planted/device/no_guard.h"

ok_if_same "planted headers that do not compile alone are found" \
    "$(check "$planted" | cut -d: -f1)" 'device/needs_more.h
device/no_guard.h'
ok_if_empty "there are headers to compile" \
    "$([ "$(on_files "$top" printf '%s\n' -- 'src/*.h' | wc -l)" -gt 20 ] || echo "hardly any header found")"
ok_if_empty "each header compiles alone and twice" "$(check "$top")"
done_testing
