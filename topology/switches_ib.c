// SPDX-License-Identifier: BSD-3-Clause
/* What ibnetdiscover prints: sections of switches and channel adapters with a line a
 * port, or, with -p, a line a link. A link between an adapter and a switch stands in
 * it twice; both are read, since dumps are cut and filtered. The first word of an
 * adapter's description is the node, the second the HCA ("node7 mlx5_0"). */
#include "topology/switches_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char digits[] = "0123456789";

/* One end of a link. */
struct end {
    bool is_switch, is_adapter;
    struct fc_span guid, port, name; /* name: the description */
};

static struct fc_span after(struct fc_span span, const char *at)
{
    return (struct fc_span){at, span.bytes - (size_t)(at - span.at)};
}

static bool all_of(struct fc_span span, const char *set)
{
    for (size_t i = 0; i < span.bytes; i++)
        if (!span.at[i] || !strchr(set, span.at[i]))
            return false;
    return span.bytes > 0;
}

/* What stands between the next `open` and the `close` after it, taken from *rest. */
static bool take_between(struct fc_span *rest, char open, char close,
                         struct fc_span *out)
{
    const char *from = rest->bytes ? memchr(rest->at, open, rest->bytes) : NULL;
    if (!from)
        return false;
    struct fc_span inner = after(*rest, from + 1);
    const char *end = inner.bytes ? memchr(inner.at, close, inner.bytes) : NULL;
    if (!end)
        return false;
    *out = (struct fc_span){inner.at, (size_t)(end - inner.at)};
    *rest = after(inner, end + 1);
    return true;
}

/* The adapter is a node's, the other end its leaf switch. */
static enum fc_status add_link(const struct end *a, const struct end *b,
                               struct fc_switches_list *out, struct fc_error *err)
{
    const struct end *adapter = a->is_adapter ? a : b, *leaf = a->is_adapter ? b : a;
    char rail[256], name[256];
    if (!adapter->is_adapter || !leaf->is_switch)
        return FC_OK;
    struct fc_span rest = adapter->name, node = fc_span_word(&rest);
    struct fc_span hca = fc_span_word(&rest), what = fc_span_trim(leaf->name);
    if (node.bytes == 0 || leaf->guid.bytes == 0)
        return FC_OK;
    snprintf(
        rail, sizeof rail, "%.*s %.*s %.*s", (int)(hca.bytes < 100 ? hca.bytes : 100),
        hca.at, (int)(adapter->guid.bytes < 40 ? adapter->guid.bytes : 40),
        adapter->guid.at, (int)(adapter->port.bytes < 20 ? adapter->port.bytes : 20),
        adapter->port.at);
    snprintf(name, sizeof name, "%.*s%s0x%.*s%s",
             (int)(what.bytes < 100 ? what.bytes : 100), what.at,
             what.bytes ? " (" : "",
             (int)(leaf->guid.bytes < 40 ? leaf->guid.bytes : 40), leaf->guid.at,
             what.bytes ? ")" : "");
    return fc_switches_add(out, node, (struct fc_span){rail, strlen(rail)},
                           (struct fc_span){name, strlen(name)}, err);
}

/* --- sections --- */

static bool blank_after(struct fc_span line, size_t bytes)
{
    return line.bytes > bytes && (line.at[bytes] == ' ' || line.at[bytes] == '\t');
}

/* "S-0200000000000007" or "H-…". */
static void set_id(struct end *e, struct fc_span id)
{
    bool has = id.bytes > 2 && id.at[1] == '-';
    e->is_switch = has && id.at[0] == 'S';
    e->is_adapter = has && id.at[0] == 'H';
    e->guid = has ? after(id, id.at + 2) : (struct fc_span){"", 0};
}

/* The first text in quotes behind the comment's mark. */
static struct fc_span comment_of(struct fc_span rest)
{
    const char *mark = rest.bytes ? memchr(rest.at, '#', rest.bytes) : NULL;
    struct fc_span text = {"", 0};
    if (mark) {
        rest = after(rest, mark + 1);
        (void)take_between(&rest, '"', '"', &text);
    }
    return text;
}

static bool is_head(struct fc_span line)
{
    struct fc_span rest = line, ports;
    (void)fc_span_word(&rest);
    ports = fc_span_word(&rest);
    rest = fc_span_trim(rest);
    return ((fc_span_begins(line, "Switch") && blank_after(line, 6)) ||
            (fc_span_begins(line, "Ca") && blank_after(line, 2)) ||
            (fc_span_begins(line, "Rt") && blank_after(line, 2))) &&
           all_of(ports, digits) && rest.bytes && *rest.at == '"';
}

/* Switch 41 "S-0200000000000007"  # "MF0;site:MQM8700/U1" enhanced port 0 lid 556
 * Of one that is cut, what follows belongs to nobody. */
static void read_head(struct fc_span line, struct end *out)
{
    struct fc_span id;
    *out = (struct end){0};
    if (!take_between(&line, '"', '"', &id))
        return;
    out->name = comment_of(line);
    set_id(out, id);
}

/* [1](guid) "S-0200000000000007"[9]  # lid 3191 lmc 0 "MF0;site:MQM8700/U1" lid 556 */
static enum fc_status read_port(struct fc_span line, const struct end *section,
                                struct fc_switches_list *out, struct fc_error *err)
{
    struct end own = *section, peer = {0};
    struct fc_span id;
    if (!take_between(&line, '[', ']', &own.port) ||
        !take_between(&line, '"', '"', &id) ||
        !take_between(&line, '[', ']', &peer.port))
        return FC_OK;
    set_id(&peer, id);
    peer.name = comment_of(line);
    return add_link(&own, &peer, out, err);
}

/* --- a line a link --- */

/* CA   134  1 0x0200000000000001 …: what it is, LID, port, GUID. */
static bool take_end(struct fc_span *line, struct end *out)
{
    struct fc_span kind = fc_span_word(line), lid = fc_span_word(line);
    out->port = fc_span_word(line);
    out->guid = fc_span_word(line);
    if (kind.bytes != 2 || !all_of(lid, digits) || !all_of(out->port, digits) ||
        !fc_span_begins(out->guid, "0x") || out->guid.bytes < 3)
        return false;
    out->guid = after(out->guid, out->guid.at + 2);
    out->is_switch = fc_span_begins(kind, "SW");
    out->is_adapter = fc_span_begins(kind, "CA");
    return true;
}

/* … 4x EDR - SW 1719 10 0x0200000000000002 ( 'o0001 HCA-1' - 'ib-i1l1s01' ) */
static enum fc_status read_link(struct fc_span line, struct fc_switches_list *out,
                                struct fc_error *err)
{
    static const char between[] = "' - '";
    struct end a = {0}, b = {0};
    if (!take_end(&line, &a))
        return FC_OK;
    (void)fc_span_word(&line); /* width and rate */
    (void)fc_span_word(&line);
    struct fc_span dash = fc_span_word(&line);
    if (dash.bytes != 1 || *dash.at != '-' || !take_end(&line, &b))
        return FC_OK;
    line = fc_span_trim(line);
    if (!fc_span_begins(line, "( '") || line.bytes < 6)
        return FC_OK;
    line = after(line, line.at + 3);
    const char *middle = memmem(line.at, line.bytes, between, strlen(between));
    if (!middle)
        return FC_OK;
    a.name = (struct fc_span){line.at, (size_t)(middle - line.at)};
    b.name = after(line, middle + strlen(between));
    const char *end = memrchr(b.name.at, '\'', b.name.bytes);
    if (!end)
        return FC_OK;
    b.name.bytes = (size_t)(end - b.name.at);
    return add_link(&a, &b, out, err);
}

/* --- the whole --- */

bool fc_switches_ib_line(struct fc_span line)
{
    struct end end;
    return is_head(line) || take_end(&line, &end) ||
           fc_span_begins(line, "switchguid=0x") || fc_span_begins(line, "caguid=0x");
}

enum fc_status fc_switches_ib(struct fc_span text, struct fc_switches_list *out,
                              struct fc_error *err)
{
    struct end section = {0};
    struct fc_span line;
    enum fc_status status = FC_OK;
    while (status == FC_OK && fc_span_line(&text, &line)) {
        line = fc_span_trim(line);
        if (is_head(line))
            read_head(line, &section);
        else if (line.bytes && *line.at == '[')
            status = read_port(line, &section, out, err);
        else
            status = read_link(line, out, err);
    }
    return status;
}
