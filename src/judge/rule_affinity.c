// SPDX-License-Identifier: BSD-3-Clause
/* Do the ranks of a node run on enough CPUs, and near the GPUs and NICs that they feed?
 * NCCL's threads run under their rank's mask: a launcher that gives each rank one core,
 * or all ranks one package, makes collectives many times slower, and nothing says so.
 *
 * Which GPU a rank uses is not known here; with a rank for each GPU it is enough to
 * count, for each package with GPUs, how many ranks may run there. */
#include "judge/nodefacts.h"
#include "judge/rules.h"
#include "judge/setup.h"

#include "topology/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NCCL wants two proxy threads or more, a service thread and the rank's own. */
enum { CORES_A_RANK = 4 };

struct masks {
    struct fc_cpuset *rank; /* [ranks], CPUs; NULL: not told, or no memory */
    struct fc_cpuset all;
    size_t ranks;
};

/* Every rank's, or none: half of them would mislead. */
static struct masks masks_of(const struct fc_case *c, size_t node)
{
    struct masks m = {NULL, {{0}}, 0};
    size_t n;
    const struct fc_ev_fact *fact = fc_ev_facts_of(c->ev, node, &n);
    m.rank = calloc(n + 1, sizeof *m.rank);
    if (!m.rank)
        c->out->status = FC_NOMEM;
    bool good = m.rank != NULL;
    for (size_t i = 0; good && i < n; i++) {
        const char *list = fc_ev_text(fact[i].facts, "affinity.list");
        if (fact[i].rank < 0 || fact[i].phase)
            continue;
        good = list && *list && fc_cpuset_list(list, &m.rank[m.ranks]);
        if (good)
            fc_cpuset_merge(&m.all, &m.rank[m.ranks++]);
    }
    if (good && m.ranks > 0 && m.ranks == c->ev->node[node].ranks)
        return m;
    free(m.rank);
    return (struct masks){NULL, {{0}}, 0};
}

/* The lowest thread of each thread's core. */
struct cores {
    unsigned short first[FC_CPUSET_MAX];
};

static void read_cores(const struct fc_evidence *ev, size_t node, struct cores *out)
{
    const json_t *list = fc_setup_array(ev, node, "cpu.siblings");
    for (unsigned i = 0; i < FC_CPUSET_MAX; i++)
        out->first[i] = (unsigned short)i;
    for (size_t i = 0; i < json_array_size(list); i++) {
        struct fc_cpuset core;
        const char *text = json_string_value(json_array_get(list, i));
        if (!text || !fc_cpuset_list(text, &core))
            continue;
        int first = fc_cpuset_next(&core, 0);
        for (int cpu = first; cpu >= 0; cpu = fc_cpuset_next(&core, cpu + 1))
            out->first[cpu] = (unsigned short)first;
    }
}

/* Each core by its lowest thread. */
static struct fc_cpuset as_cores(const struct cores *cores, const struct fc_cpuset *set)
{
    struct fc_cpuset out = {{0}};
    for (int cpu = fc_cpuset_next(set, 0); cpu >= 0; cpu = fc_cpuset_next(set, cpu + 1))
        fc_cpuset_add(&out, cores->first[cpu]);
    return out;
}

/* What the ranks of a node have, counted in cores. */
struct share {
    bool known;
    size_t ranks, cores; /* the ranks that have the fewest, and their cores together */
    struct fc_cpuset where;
    size_t used, idle, node; /* cores: of all ranks; allowed, but of no rank; of all */
    bool is_kept;            /* it is the control group that allows no more */
};

/* The cores of the node: cpu.cores, or what the lists hold. */
static size_t cores_of_node(const struct fc_evidence *ev, size_t node, size_t at_least)
{
    double cores = fc_nodefact_number(ev, node, "cpu.cores");
    size_t n = cores >= 1 && cores <= FC_CPUSET_MAX ? (size_t)cores : 0;
    return n > at_least ? n : at_least;
}

/* Of each rank's cores, and the ranks that have no others: the worst ratio. */
static void find_fewest(const struct fc_cpuset *rank, size_t ranks, struct share *out)
{
    for (size_t i = 0; i < ranks; i++) {
        size_t inside = 0, cores = fc_cpuset_count(&rank[i]);
        for (size_t j = 0; j < ranks; j++)
            inside += fc_cpuset_contains(&rank[i], &rank[j]);
        if (out->ranks == 0 || cores * out->ranks < out->cores * inside) {
            out->ranks = inside;
            out->cores = cores;
            out->where = rank[i];
        }
    }
}

static struct share share_of(const struct fc_case *c, size_t node)
{
    struct share s = {.known = false};
    struct masks m = masks_of(c, node);
    struct cores *cores = m.rank ? malloc(sizeof *cores) : NULL;
    struct fc_cpuset allowed;
    if (m.rank && !cores)
        c->out->status = FC_NOMEM;
    if (cores) {
        read_cores(c->ev, node, cores);
        for (size_t i = 0; i < m.ranks; i++)
            m.rank[i] = as_cores(cores, &m.rank[i]);
        find_fewest(m.rank, m.ranks, &s);
        m.all = as_cores(cores, &m.all);
        s.used = fc_cpuset_count(&m.all);
        s.node = cores_of_node(c->ev, node, s.used);
        s.idle = s.node - s.used;
        const char *list = fc_setup_text(c->ev, node, "cgroup.cpuset");
        if (*list && fc_cpuset_list(list, &allowed)) {
            allowed = as_cores(cores, &allowed);
            size_t n = fc_cpuset_count(&allowed);
            s.idle = n > s.used ? n - s.used : 0;
            s.is_kept = n < s.node;
        }
        s.known = s.ranks > 0;
    }
    free(cores);
    free(m.rank);
    return s;
}

/* ---- ranks that share cores ---- */

static enum fc_setup_level share_level(const struct fc_case *c, size_t node,
                                       struct fc_setup_why *why)
{
    char list[64];
    if (c->ev->node[node].ranks < 2)
        return FC_SETUP_FINE;
    struct share s = share_of(c, node);
    if (!s.known || s.ranks <= s.cores || s.idle == 0)
        return FC_SETUP_FINE;
    fc_cpuset_print(&s.where, list, sizeof list);
    snprintf(why->s, sizeof why->s, "%zu ranks on %zu core%s (CPUs %s), %zu idle",
             s.ranks, s.cores, s.cores > 1 ? "s" : "", list, s.idle);
    return FC_SETUP_WARN;
}

void fc_rule_setup_sharing(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "several launchers or jobs that each bind from the first core on, or a "
              "binding to threads of one core";
    f.remedy = "let one launcher bind (srun --cpu-bind=cores, mpirun --bind-to core), "
               "or bind to nothing";
    fc_setup_report(c, &f, share_level,
                    "ranks share cores while others are used by none");
}

/* ---- ranks with few cores ---- */

/* One rank for each GPU, as training has it. */
static bool feeds_gpus(const struct fc_evidence *ev, size_t node)
{
    size_t gpus = fc_setup_gpus(ev, node, "");
    return gpus > 0 && ev->node[node].ranks >= gpus;
}

/* The control group's time for all ranks together; what a rank's threads cannot see. */
static enum fc_setup_level quota_level(const struct fc_case *c, size_t node,
                                       struct fc_setup_why *why)
{
    double cpus = fc_nodefact_number(c->ev, node, "cgroup.cpus");
    size_t ranks = c->ev->node[node].ranks;
    double mask = (double)fc_nodefacts_cpus(c->ev, node);
    if (!(cpus > 0) || ranks == 0 || cpus >= mask)
        return FC_SETUP_FINE;
    snprintf(why->s, sizeof why->s, "time of %g CPUs for %zu ranks that may run on %g",
             cpus, ranks, mask);
    if (feeds_gpus(c->ev, node) && cpus < (double)(CORES_A_RANK * ranks))
        return FC_SETUP_WARN;
    return cpus < (double)ranks ? FC_SETUP_INFO : FC_SETUP_FINE;
}

static enum fc_setup_level few_level(const struct fc_case *c, size_t node,
                                     struct fc_setup_why *why)
{
    if (!feeds_gpus(c->ev, node))
        return FC_SETUP_FINE;
    struct share s = share_of(c, node);
    bool few = s.known && s.cores < CORES_A_RANK * s.ranks;
    /* a small machine has no more to give: then each has its part */
    if (!few || s.node * s.ranks < 2 * s.cores * c->ev->node[node].ranks)
        return FC_SETUP_FINE;
    snprintf(why->s, sizeof why->s, "%zu rank%s on %zu core%s of %zu%s", s.ranks,
             s.ranks > 1 ? "s" : "", s.cores, s.cores > 1 ? "s" : "", s.node,
             s.is_kept && s.idle == 0 ? ", all that the control group allows" : "");
    return FC_SETUP_WARN;
}

void fc_rule_setup_cores(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "a launcher that gives a task one core unless told otherwise (Slurm's "
              "--cpus-per-task), or a job that was given a part of the node";
    f.remedy = "give each task its part of the node's cores: --cpus-per-task, "
               "--exclusive, or no binding at all";
    fc_setup_report(c, &f, few_level,
                    "ranks have fewer than 4 cores each, too few for NCCL's threads, "
                    "while the node has more");
    f.cause = "a limit of the container or pod (cpu.max), which counts time and not "
              "CPUs: threads are stopped in the middle of their work";
    f.remedy = "raise the limit to the CPUs that the ranks may use, or take it away";
    fc_setup_report(c, &f, quota_level,
                    "the control group gives the ranks little time");
}

/* ---- ranks far from what they feed ---- */

/* GPUs and NICs that hang on one package. */
struct place {
    const char *cpus, *first; /* the list, and one of them */
    size_t gpus, nics, ranks; /* ranks that may run there */
};

enum { PLACES_MAX = 64 };

static size_t read_places(const struct fc_evidence *ev, size_t node, struct place *out)
{
    const json_t *list = fc_setup_array(ev, node, "topo.local_cpus");
    size_t places = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);
        const char *cpus = fc_setup_member(o, "cpus");
        bool gpu = strcmp(fc_setup_member(o, "what"), "gpu") == 0;
        size_t p = 0;
        while (p < places && strcmp(out[p].cpus, cpus) != 0)
            p++;
        if (p == PLACES_MAX || !*cpus)
            continue;
        if (p == places)
            out[places++] = (struct place){cpus, fc_setup_member(o, "name"), 0, 0, 0};
        out[p].gpus += gpu;
        out[p].nics += !gpu;
    }
    return places;
}

/* GPUs: fewer ranks than GPUs may run beside them. NICs: where there are no GPUs, none
 * may. */
static bool is_far(const struct place *place, bool has_gpus)
{
    return has_gpus ? place->ranks < place->gpus : place->nics > 0 && place->ranks == 0;
}

static enum fc_setup_level far_level(const struct fc_case *c, size_t node,
                                     struct fc_setup_why *why)
{
    struct place place[PLACES_MAX];
    bool has_gpus = fc_setup_gpus(c->ev, node, "") > 0, found = false;
    if (has_gpus ? !feeds_gpus(c->ev, node) : c->ev->node[node].ranks < 2)
        return FC_SETUP_FINE;
    size_t places = read_places(c->ev, node, place);
    struct masks m = places > 1 ? masks_of(c, node) : (struct masks){NULL, {{0}}, 0};
    for (size_t p = 0; m.rank && p < places && !found; p++) {
        struct fc_cpuset cpus;
        if (!fc_cpuset_list(place[p].cpus, &cpus))
            continue;
        for (size_t i = 0; i < m.ranks; i++)
            place[p].ranks += fc_cpuset_intersects(&m.rank[i], &cpus);
        found = is_far(&place[p], has_gpus);
        if (found)
            snprintf(why->s, sizeof why->s,
                     "%zu of %zu ranks may run on CPUs %.60s, beside %zu GPUs and %zu "
                     "NICs (%.40s)",
                     place[p].ranks, m.ranks, place[p].cpus, place[p].gpus,
                     place[p].nics, place[p].first);
    }
    free(m.rank);
    return found ? FC_SETUP_WARN : FC_SETUP_FINE;
}

void fc_rule_setup_far(const struct fc_case *c)
{
    struct fc_finding f = fc_finding_of_config(c, FC_SEV_WARN, FC_NONE);
    f.cause = "a binding by number of rank, not by the place of GPUs; all that these "
              "ranks send goes through the link between the processors";
    f.remedy = "bind by GPU (srun --gpu-bind=closest, mpirun --map-by "
               "ppr:N:package --bind-to none), or bind to nothing";
    fc_setup_report(c, &f, far_level,
                    "too few ranks may run near some of the GPUs or NICs");
}
