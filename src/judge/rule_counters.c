// SPDX-License-Identifier: BSD-3-Clause
/* Error counters of RDMA ports that grew while something was measured.
 *
 * What counts is growth in one stage, never the total since boot. Counters of a port's
 * own link or host become one finding a port; what was lost on the way could be the
 * fault of any part, so that it is one finding a counter that names the nodes without
 * failing them. A port whose counter stuck at its end grew by at least what is told. */
#include "judge/rules.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum whose { PORT, HOST, PATH };

static const struct row {
    const char *name;
    enum whose whose;
    double warn, fail; /* 0: never */
    const char *what, *cause, *remedy;
} rows[] = {
#define FC_PORT_COUNTER(name, whose, warn, fail, what, cause, remedy)                  \
    {name, whose, warn, fail, what, cause, remedy},
#include "judge/counters.def"
#undef FC_PORT_COUNTER
};

/* One record that is worth a word. */
struct grown {
    const struct fc_ev_record *record;
    const struct row *row;
    const char *nic; /* "mlx5_0:1" */
    const char *name, *stage;
};

/* "rx_prio3_discards" is as "rx_prioN_discards". */
static bool name_fits(const char *pattern, const char *name)
{
    while (*pattern && *name) {
        size_t digits = strspn(name, "0123456789");
        if (*pattern == 'N' && digits > 0) {
            pattern++;
            name += digits;
        } else if (*pattern++ != *name++) {
            return false;
        }
    }
    return *pattern == *name;
}

static const struct row *row_of(const char *name)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (name_fits(rows[i].name, name))
            return &rows[i];
    return NULL;
}

static bool read_grown(const struct fc_ev_record *r, struct grown *out)
{
    const json_t *params = json_object_get(r->line, "params");
    const char *name = fc_ev_text(params, "variant");
    const char *nic = fc_ev_text(json_object_get(r->line, "subject"), "nic");
    const char *stage = fc_ev_text(params, "op");
    if (strcmp(r->metric, "rdma.counter") != 0 || r->state != FC_EV_OK || !name ||
        r->node == FC_NONE || !isfinite(r->median))
        return false;
    const struct row *row = row_of(name);
    *out = (struct grown){r, row, nic ? nic : "?", name, stage ? stage : "the run"};
    return row && row->warn > 0 && r->median >= row->warn;
}

static bool is_fail(const struct grown *g)
{
    return g->row->fail > 0 && g->record->median >= g->row->fail;
}

static int compare_doubles(double a, double b)
{
    return (a > b) - (a < b);
}

/* Those of one finding stand together, the worst first: of a port, all that is its own;
 * of the way, each counter. */
static int by_finding(const void *pa, const void *pb)
{
    const struct grown *a = pa, *b = pb;
    int order = (int)a->row->whose - (int)b->row->whose;
    if (order == 0 && a->row->whose == PATH)
        order = (a->row > b->row) - (a->row < b->row);
    if (order == 0 && a->row->whose != PATH && a->record->node != b->record->node)
        order = a->record->node < b->record->node ? -1 : 1;
    if (order == 0 && a->row->whose != PATH)
        order = strcmp(a->nic, b->nic);
    if (order == 0)
        order = is_fail(b) - is_fail(a);
    if (order == 0 && a->row->whose != PATH)
        order = (a->row > b->row) - (a->row < b->row);
    if (order == 0)
        order = compare_doubles(b->record->median, a->record->median);
    if (order == 0 && a->record->node != b->record->node)
        order = a->record->node < b->record->node ? -1 : 1;
    return order ? order : a->record->seq < b->record->seq ? -1 : 1;
}

static bool same_finding(const struct grown *a, const struct grown *b)
{
    if (a->row->whose != b->row->whose)
        return false;
    if (a->row->whose == PATH)
        return a->row == b->row;
    return a->record->node == b->record->node && strcmp(a->nic, b->nic) == 0;
}

/* "link_downed +3, carrier_changes +6": each counter once, in its worst stage. */
static void list_counters(const struct grown *g, size_t count, char *out, size_t room)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < count && used < room; i++) {
        bool told = false;
        for (size_t j = 0; j < i; j++)
            told |= strcmp(g[j].name, g[i].name) == 0;
        if (!told)
            used +=
                (size_t)snprintf(out + used, room - used, "%s%s +%.0f", i ? ", " : "",
                                 fc_clip(g[i].name).s, g[i].record->median);
    }
}

static struct fc_finding finding(const struct fc_case *c, const struct grown *g,
                                 const struct fc_ev_record *const *evidence,
                                 size_t count)
{
    return (struct fc_finding){.severity = is_fail(g) ? FC_SEV_FAIL : FC_SEV_WARN,
                               .confidence = FC_CONF_MEDIUM,
                               .check = c->rule->id,
                               .node = FC_NONE,
                               .rank = -1,
                               .metric = g->record->metric,
                               .cause = g->row->cause,
                               .remedy = g->row->remedy,
                               .probe = g->record->probe[0] ? g->record->probe : NULL,
                               .evidence = evidence,
                               .evidences = count};
}

static void report_port(const struct fc_case *c, const struct grown *g, size_t count,
                        const struct fc_ev_record *const *evidence)
{
    char counters[320];
    struct fc_finding f = finding(c, g, evidence, count);
    f.node = g->record->node;
    f.subject = json_object_get(g->record->line, "subject");
    list_counters(g, count, counters, sizeof counters);
    fc_find(c->out, &f, "%s while %s was measured (%s)", g->row->what,
            fc_clip(g->stage).s, counters);
}

/* `odd` has room for all nodes. */
static void report_way(const struct fc_case *c, const struct grown *g, size_t count,
                       const struct fc_ev_record *const *evidence, size_t *odd)
{
    struct fc_finding f = finding(c, g, evidence, count);
    size_t ports = 0;
    for (size_t i = 0; i < count; i++) {
        bool node_known = false, port_known = false;
        for (size_t j = 0; j < i; j++) {
            bool same = g[j].record->node == g[i].record->node;
            node_known |= same;
            port_known |= same && strcmp(g[j].nic, g[i].nic) == 0;
        }
        if (!node_known)
            odd[f.odds++] = g[i].record->node;
        ports += !port_known;
    }
    f.odd = odd;
    fc_find(c->out, &f, "%s: %s +%.0f on %s %s while %s was measured%s", g->row->what,
            fc_clip(g->name).s, g->record->median,
            fc_node_who(c->ev, g->record->node, -1).s, fc_clip(g->nic).s,
            fc_clip(g->stage).s, ports > 1 ? ", and on other ports too" : "");
}

void fc_rule_counters(const struct fc_case *c)
{
    const struct fc_evidence *ev = c->ev;
    struct grown *list = malloc((ev->records + 1) * sizeof *list);
    const struct fc_ev_record **evidence =
        malloc((ev->records + 1) * sizeof(*evidence));
    size_t *odd = malloc((ev->nodes + 1) * sizeof *odd), count = 0;
    bool ok = list && evidence && odd;
    if (!ok)
        c->out->status = FC_NOMEM;
    for (size_t i = 0; ok && i < ev->records; i++)
        count += read_grown(&ev->record[i], &list[count]);
    if (count > 0)
        qsort(list, count, sizeof *list, by_finding);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && same_finding(&list[i], &list[end]); end++)
            evidence[end - i] = list[end].record;
        if (list[i].row->whose == PATH)
            report_way(c, &list[i], end - i, evidence, odd);
        else
            report_port(c, &list[i], end - i, evidence);
    }
    free(odd);
    free(evidence);
    free(list);
}
