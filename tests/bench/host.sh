#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The host device's benchmark: one line "name value target" a figure, ratios taken in
# one run, in turn, as medians. Wants an idle machine. Run it from the build's folder, or
# with top_builddir set; words after it go to host_gemm (repeats, then sizes).
set -eu -o pipefail
build=${top_builddir:-.}
make -s -C "$build" tests/bench/host_gemm
"$build/tests/bench/host_gemm" "$@" | grep -v '^#'
