// SPDX-License-Identifier: BSD-3-Clause
/* The pairs probe called as the runner calls it for a retest, with suspects of our own
 * choice: `pairs_retest DIR SUSPECT…` leaves DIR/journal.jsonl. A suspect is a rank, or
 * "NODE-PARTNER/N": a pair, and how many at the same time. Run by tests/mpi/pairs.sh,
 * which looks at the lines. */
#include "collectives/comm.h"
#include "collectives/probe_pairs.h"
#include "core/clock.h"
#include "core/journal.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>

static enum fc_status open_run(struct fc_run *run, const char *dir,
                               struct fc_error *err)
{
    enum fc_status status = fc_rte_open(&run->rte, NULL, err);
    if (status == FC_OK)
        status = fc_sink_open(run->rte->rank, &run->sink, err);
    if (status == FC_OK && run->rte->rank == 0) {
        status = fc_journal_create(dir, &run->journal, err);
        if (status == FC_OK)
            status = fc_journal_line(
                run->journal,
                fc_line("run", json_pack("{s:s}", "schema", FC_JOURNAL_SCHEMA)), err);
    }
    if (status == FC_OK)
        status = fc_device_host_open(run->rte->rank, run->rte->size, &run->device, err);
    if (status == FC_OK)
        status = fc_comm_mpi_open(0, &run->world, err);
    return status;
}

static enum fc_status walk(struct fc_run *run, const struct fc_focus *focus,
                           struct fc_error *err)
{
    const struct fc_probe *probe = &fc_probe_pairs;
    void *state = NULL;
    enum fc_status status = probe->setup(run, &state, err);
    if (status == FC_OK)
        status = probe->run(run, state, focus, err);
    probe->teardown(run, state);
    return status == FC_OK ? fc_phase_commit(run, "commit", err) : status;
}

static void read_suspect(const char *text, const struct fc_run *run,
                         struct fc_focus *focus)
{
    struct fc_focus_pair p;
    if (sscanf(text, "%d-%d/%d", &p.node, &p.partner, &p.concurrency) == 3)
        focus->pair[focus->pairs++] = p;
    else
        focus->mine = focus->mine || atoi(text) == run->rte->rank;
}

int main(int argc, char **argv)
{
    struct fc_focus_pair pair[16];
    struct fc_error err = {""};
    struct fc_settings settings = {.level = FC_LEVEL_QUICK,
                                   .work_ns = 60 * FC_NS_PER_S};
    struct fc_run run = {.settings = &settings, .seed = fc_now_ns()};
    struct fc_focus focus = {.attempt = 2, .pair = pair};
    if (argc < 3 || argc > 18)
        return 2;
    enum fc_status status = open_run(&run, argv[1], &err);
    if (status == FC_OK)
        status = fc_rte_bcast(run.rte, "seed", &run.seed, sizeof run.seed, 0, &err);
    for (int i = 2; status == FC_OK && i < argc; i++)
        read_suspect(argv[i], &run, &focus);
    if (status == FC_OK)
        status = walk(&run, &focus, &err);
    if (status != FC_OK) {
        fprintf(stderr, "pairs_retest: %s\n", err.text);
        return 1; /* the launcher ends the others */
    }
    run.world->ops->close(run.world);
    run.device->ops->close(run.device);
    fc_journal_close(run.journal);
    fc_sink_close(run.sink);
    fc_rte_close(run.rte);
    return 0;
}
