# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# What the judge says of pictures and of fixtures; sourced by tests/topo/*.sh behind tap.sh.
fixtures=$top_srcdir/tests/fixtures/judge
pictures=$top_srcdir/tests/fixtures/topo
files=${FC_SHARED:-$top_srcdir/../shared}/corpus/files

put() { # FILE TEXT
    mkdir -p "${1%/*}"
    printf '%s\n' "$2" >"$1"
}

# judged ARGS…: judges nodes that look like these pictures (arguments of journal_of); the
# report is in `report`.
judged() {
    "$top_builddir/tests/topo/journal_of" "$@" >journal.jsonl 2>err || { show err; return 1; }
    timeout 20 "$fabricheck" judge journal.jsonl --json >report 2>err
    [ -s report ]
}
judged_fixture() { # NAME
    timeout 20 "$fabricheck" judge "$fixtures/$1.jsonl" --json >report 2>err
    [ -s report ]
}

# found SEVERITIES: the findings that are so severe: "fail topology.link n2; warn x n1 x2".
found() {
    jq -r --arg s "$1" '. as $r | .findings[] | select(.severity | test($s)) | .id as $id |
        "\(.severity) \(.check) \([$r.nodes[] | select(.findings | index($id)) | .name] | join(","))"' report |
        sort | uniq -c | sed -E 's/^ *1 (.*)/\1/; s/^ *([0-9]+) (.*)/\2 x\1/' | paste -sd ';' | sed 's/;/; /g'
}
says() { # SEVERITIES EXPECTED ("" is silence)
    [ "$(found "$1")" = "$2" ] && return 0
    jq -r '.findings[] | "# \(.severity) \(.check): \(.message)"' report
    return 1
}
# silent: no finding but infos.
silent() { says 'fail|warn' ""; }

picture_is_silent() { judged "$@" && silent; }
picture_says() { # EXPECTED ARGS…
    local want=$1
    shift
    judged "$@" && says 'fail|warn' "$want"
}
fixture_is_silent() { judged_fixture "$1" && silent; }
fixture_fires() { judged_fixture "$1" && found 'fail|warn' | grep -q " $2 "; }

# tree_of_ibstat FILE FOLDER: /sys/class/infiniband as it would be of this `ibstat`.
tree_of_ibstat() {
    local path value
    rm -rf "$2"
    awk -v top="$2/sys/class/infiniband/" '
        function out(path, value) { print top path "\t" value }
        { sub(/\r$/, "") }
        /^CA / { ca = $2; gsub(/\047/, "", ca) }
        /CA type:/ { out(ca "/hca_type", $3) }
        /Firmware version:/ { out(ca "/fw_ver", $3) }
        /^\tPort [0-9]+:/ { at = ca "/ports/" ($2 + 0) "/" }
        /^\t\tState:/ { out(at "state", $2 == "Active" ? "4: ACTIVE" : "1: DOWN") }
        /Physical state:/ { out(at "phys_state", "5: " $3) }
        /Rate:/ { out(at "rate", $2 " Gb/sec") }
        /Link layer:/ { out(at "link_layer", $3) }' "$1" |
        while IFS=$'\t' read -r path value; do put "$path" "$value"; done
}
