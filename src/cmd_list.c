// SPDX-License-Identifier: BSD-3-Clause
/* `fabricheck list`: what can be measured, what is checked, and what is expected. */
#include "commands.h"

#include "core/metric.h"
#include "core/option.h"
#include "core/watchdog.h"
#include "judge/expectation.h"
#include "judge/rules.h"
#include "probes.h"
#include "rejudge.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

struct list_options {
    char *profile;
};

static const struct fc_option table[] = {
    {.name = "profile",
     .type = FC_OPT_STRING,
     .offset = offsetof(struct list_options, profile),
     .arg = "FILE",
     .help = "show the floors of this profile, not the built-in ones"},
    FC_OPTION_END,
};

static void print_help(void)
{
    printf("usage: fabricheck list [options]\n\n"
           "Shows the probes, the metrics they measure, the checks that are made of "
           "them,\n"
           "and the floors in force with their reasons.\n\n");
    fc_options_help(table, stdout);
}

static void list_probes(void)
{
    printf("probes (in the order of a run)\n");
    for (const struct fc_probe *const *p = fc_probes; *p; p++)
        printf("  %-28s %s\n", (*p)->name, (*p)->help);
}

static void list_metrics(void)
{
    printf("\nmetrics\n");
    for (size_t i = 0; i < fc_metric_count(); i++) {
        const struct fc_metric *m = fc_metric_at(i);
        printf("  %-28s %-8s %-12s %s\n", m->name, m->unit, m->probe, m->help);
    }
}

static void list_checks(void)
{
    printf("\nchecks\n");
    for (size_t i = 0; fc_rule_at(i); i++)
        printf("  %-28s %s\n", fc_rule_at(i)->id, fc_rule_at(i)->title);
}

struct share_text {
    char s[24];
};

static struct share_text share(double value)
{
    struct share_text text = {"-"};
    if (isfinite(value))
        snprintf(text.s, sizeof text.s, "%.3g", value);
    return text;
}

static void list_floors(const struct fc_expectation *e)
{
    printf(
        "\nfloors and effects of profile %s (share of the limit; share below equals)\n",
        e->name);
    for (size_t i = 0; i < fc_metric_count(); i++) {
        const struct fc_metric *m = fc_metric_at(i);
        const struct fc_floor *row = fc_floor_find(m->name);
        double floor = fc_expectation_floor(e, m), effect = fc_expectation_effect(e, m);
        bool own = row && isfinite(floor) && isfinite(effect) && floor == row->floor &&
                   effect == row->effect;
        if (!isfinite(floor) && !isfinite(effect))
            continue;
        printf("  %-28s %-5s %-5s %s\n", m->name, share(floor).s, share(effect).s,
               own ? row->basis : "set by the profile");
    }
    if (e->nodes >= 0)
        printf("  expect.nodes %lld\n", (long long)e->nodes);
    if (e->gpus >= 0)
        printf("  expect.gpus %lld\n", (long long)e->gpus);
    if (e->nics >= 0)
        printf("  expect.nics %lld\n", (long long)e->nics);
    if (e->nic_gbps >= 0)
        printf("  expect.nic_gbps %lld\n", (long long)e->nic_gbps);
}

static enum fc_status list(const struct list_options *o, struct fc_error *err)
{
    json_t *profile = NULL;
    struct fc_expectation e = {0};
    enum fc_status status = fc_rejudge_profile(o->profile, &profile, err);
    if (status == FC_OK)
        status = fc_expectation_open(profile, &e, err);
    if (status == FC_OK) {
        list_probes();
        list_metrics();
        list_checks();
        list_floors(&e);
        fc_expectation_close(&e);
    }
    json_decref(profile);
    return status;
}

enum fc_status fc_cmd_list(const struct fc_backends *backends, int argc, char **argv,
                           int *out_exit, struct fc_error *err)
{
    struct list_options o = {.profile = NULL};
    bool done = false;
    (void)backends;
    enum fc_status status =
        fc_command_begin(table, argc, argv, &o, NULL, print_help, &done, err);
    if (status == FC_OK && !done)
        status = list(&o, err);
    *out_exit = FC_EXIT_PASS;
    fc_options_free(table, &o);
    return status;
}
