#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Makes ./configure from a git checkout; a release tarball already has it.
set -e
cd "$(dirname "$0")"
mkdir -p build-aux
exec autoreconf --install --force --warnings=no-portability,no-obsolete
