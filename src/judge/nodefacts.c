// SPDX-License-Identifier: BSD-3-Clause
#include "judge/nodefacts.h"

#include "judge/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* CPUs that others may keep busy. Of 200 ms of looking daemons' blips are seen as well;
 * over a whole phase a third of a CPU is enough to hold up ranks that spin. */
static const double other_cpus_max = 0.7, other_cpus_max_phase = 0.3;
static const double steal_share_max = 0.05;

enum { MAX_CPUS = 1 << 15 };

#define FC_FACT(key_, equal_, help_) {.key = key_, .equal = equal_, .help = help_},
static const struct fc_fact_key keys[] = {
#include "core/facts.def"
};

const struct fc_fact_key *fc_fact_key_at(size_t i)
{
    return i < sizeof keys / sizeof *keys ? &keys[i] : NULL;
}

/* A value as text that is equal for equal values. */
static const char *value_text(const struct fc_evidence *ev, const json_t *value)
{
    if (json_is_string(value))
        return json_string_value(value);
    char *dumped = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
    const char *text = dumped ? fc_ev_intern(ev, dumped) : NULL;
    free(dumped);
    return text;
}

struct said {
    size_t node;
    const char *text;
};

static int by_node_and_text(const void *pa, const void *pb)
{
    const struct said *a = pa, *b = pb;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return strcmp(a->text, b->text);
}

/* Joins what the ranks of a node say, each text once. */
static const char *join(const struct fc_evidence *ev, const struct said *said,
                        size_t count)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    for (size_t i = 0; i < count; i++)
        if (i == 0 || strcmp(said[i].text, said[i - 1].text) != 0)
            fprintf(out, "%s%s", i ? " | " : "", said[i].text);
    const char *kept = fclose(out) == 0 ? fc_ev_intern(ev, text) : NULL;
    free(text);
    return kept;
}

bool fc_nodefacts(const struct fc_evidence *ev, const char *key, const char **out)
{
    struct said *said = malloc((ev->facts ? ev->facts : 1) * sizeof *said);
    size_t count = 0;
    bool ok = said != NULL;
    for (size_t i = 0; i < ev->nodes; i++)
        out[i] = NULL;
    for (size_t i = 0; ok && i < ev->facts; i++) {
        const json_t *value = json_object_get(ev->fact[i].facts, key);
        if (!value || json_is_null(value))
            continue;
        said[count] = (struct said){ev->fact[i].node, value_text(ev, value)};
        ok = said[count++].text != NULL;
    }
    if (ok)
        qsort(said, count, sizeof *said, by_node_and_text);
    for (size_t i = 0; ok && i < count;) {
        size_t end = i + 1;
        while (end < count && said[end].node == said[i].node)
            end++;
        bool same = strcmp(said[i].text, said[end - 1].text) == 0;
        out[said[i].node] = same ? said[i].text : join(ev, said + i, end - i);
        ok = out[said[i].node] != NULL;
        i = end;
    }
    free(said);
    return ok;
}

double fc_nodefact_number(const struct fc_evidence *ev, size_t node, const char *key)
{
    size_t count;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value = json_object_get(fact[i].facts, key);
        if (json_is_number(value))
            return json_number_value(value);
    }
    return (double)NAN;
}

const json_t *fc_nodefact_json(const struct fc_evidence *ev, size_t node,
                               const char *key)
{
    size_t count;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &count);
    for (size_t i = 0; i < count; i++) {
        const json_t *value =
            fact[i].rank < 0 ? json_object_get(fact[i].facts, key) : NULL;
        if (value && !json_is_null(value))
            return value;
    }
    return NULL;
}

/* Marks the CPUs of "0-3,8"; false for text that is no such list. */
static bool mark_cpus(const char *list, unsigned char *cpu)
{
    while (*list) {
        char *end;
        unsigned long from = strtoul(list, &end, 10), to = from;
        if (end == list)
            return false;
        if (*end == '-') {
            list = end + 1;
            to = strtoul(list, &end, 10);
            if (end == list)
                return false;
        }
        for (unsigned long i = from; i <= to && i < MAX_CPUS; i++)
            cpu[i] = 1;
        list = end + (*end == ',');
        if (list == end && *end)
            return false;
    }
    return true;
}

size_t fc_nodefacts_cpus(const struct fc_evidence *ev, size_t node)
{
    unsigned char *cpu = calloc(MAX_CPUS, 1);
    size_t cpus = 0, count;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &count);
    bool readable = true;
    for (size_t i = 0; cpu && readable && i < count; i++) {
        const char *list = fc_ev_text(fact[i].facts, "affinity.list");
        readable = !list || mark_cpus(list, cpu);
    }
    for (size_t i = 0; cpu && readable && i < MAX_CPUS; i++)
        cpus += cpu[i];
    free(cpu);
    return cpus;
}

/* The busiest of the others, " (python3, …)". */
static struct fc_clip top_text(const json_t *top)
{
    char *text = NULL;
    size_t bytes = 0, i;
    json_t *one;
    struct fc_clip clip = fc_clip("");
    FILE *out = json_is_array(top) && json_array_size(top)
                    ? open_memstream(&text, &bytes)
                    : NULL;
    if (!out)
        return clip;
    json_array_foreach(top, i, one)
    {
        const char *name = fc_ev_text(one, "name");
        double share = json_number_value(json_object_get(one, "share"));
        if (name && i < 3)
            fprintf(out, "%s%s %.0f %%", i ? ", " : "busiest: ", fc_clip(name).s,
                    share >= 0.0 && share < 1e6 ? 100.0 * share : 0.0);
    }
    if (fclose(out) == 0)
        clip = fc_clip(text);
    free(text);
    return clip;
}

static double threads_of(const struct fc_evidence *ev, size_t node)
{
    double threads = fc_nodefact_number(ev, node, "cpu.threads");
    return threads >= 1.0 && threads < 1e6 ? threads : 1.0;
}

/* CPUs that others kept busy, and the share that a hypervisor took; 0 for what is no
 * such number. */
struct load {
    double cpus, steal;
    double cpus_max; /* from here on it matters */
};

static struct load load_of(const struct fc_evidence *ev, const struct fc_ev_fact *fact)
{
    double share = json_number_value(json_object_get(fact->facts, "load.other_share"));
    double steal = json_number_value(json_object_get(fact->facts, "load.steal_share"));
    bool share_ok = share >= 0.0 && share <= 1.0,
         steal_ok = steal >= 0.0 && steal <= 1.0;
    return (struct load){.cpus = share_ok ? share * threads_of(ev, fact->node) : 0.0,
                         .steal = steal_ok ? steal : 0.0,
                         .cpus_max =
                             fact->phase ? other_cpus_max_phase : other_cpus_max};
}

static struct fc_load_text describe_load(const struct fc_ev_fact *fact,
                                         struct load load)
{
    struct fc_load_text text = {""};
    struct fc_clip busiest = top_text(json_object_get(fact->facts, "load.top"));
    char when[64] = "before the measurements";
    /* A name that is cut might end inside a character. */
    if (fact->phase && strlen(fact->phase) < 32)
        snprintf(when, sizeof when, "while phase %s measured", fact->phase);
    else if (fact->phase)
        snprintf(when, sizeof when, "while a phase measured");
    if (load.cpus >= load.cpus_max)
        snprintf(text.s, sizeof text.s, "other processes kept %.1f CPUs busy %s",
                 load.cpus, when);
    else
        snprintf(text.s, sizeof text.s,
                 "the hypervisor gave %.0f %% of the CPU time to others %s",
                 100.0 * load.steal, when);
    size_t used = strlen(text.s);
    bool fits = used + strlen(busiest.s) + 4 < sizeof text.s;
    if (load.cpus >= load.cpus_max && busiest.s[0] && fits)
        snprintf(text.s + used, sizeof text.s - used, " (%s)", busiest.s);
    return text;
}

static bool matters(struct load load)
{
    return load.cpus >= load.cpus_max || load.steal >= steal_share_max;
}

struct fc_load_text fc_nodefacts_load(const struct fc_evidence *ev, size_t node,
                                      const char *phase)
{
    const struct fc_ev_fact *worst = NULL;
    struct load worst_load = {0, 0, 0};
    size_t count;
    const struct fc_ev_fact *fact = fc_ev_facts_of(ev, node, &count);
    bool looked = false; /* while the phase, or any, measured */
    for (size_t i = 0; i < count; i++)
        looked = looked || (fact[i].phase && (!phase || !strcmp(fact[i].phase, phase)));
    for (size_t i = 0; i < count; i++) {
        bool counts = looked
                          ? fact[i].phase && (!phase || !strcmp(fact[i].phase, phase))
                          : fact[i].phase == NULL;
        struct load load = load_of(ev, &fact[i]);
        if (!counts || !matters(load))
            continue;
        if (!worst || load.cpus > worst_load.cpus ||
            (load.cpus == worst_load.cpus && load.steal > worst_load.steal)) {
            worst = &fact[i];
            worst_load = load;
        }
    }
    return worst ? describe_load(worst, worst_load) : (struct fc_load_text){""};
}

bool fc_nodefacts_crowded(const struct fc_evidence *ev, const char **out)
{
    bool ok = true;
    for (size_t i = 0; ok && i < ev->nodes; i++) {
        size_t cpus = ev->node[i].ranks > 1 ? fc_nodefacts_cpus(ev, i) : 0;
        char *text = NULL;
        out[i] = NULL;
        if (cpus == 0 || ev->node[i].ranks <= cpus)
            continue;
        int n = asprintf(&text, "%zu ranks share %zu CPUs", ev->node[i].ranks, cpus);
        out[i] = n >= 0 ? fc_ev_intern(ev, text) : NULL;
        if (n >= 0)
            free(text);
        ok = out[i] != NULL;
    }
    return ok;
}
