// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include "core/log.h"
#include "core/units.h"
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* What a rank says of its device. */
struct card {
    char kind[16], name[128];
    int32_t group, pid, cores;
};

static enum fc_status read_card(struct fc_device *device, int group, struct card *out,
                                struct fc_error *err)
{
    struct fc_device_info info = {.kind = ""};
    enum fc_status status = device->ops->info(device, &info, err);
    *out =
        (struct card){.group = group, .pid = (int32_t)getpid(), .cores = info.threads};
    snprintf(out->kind, sizeof out->kind, "%s", info.kind);
    snprintf(out->name, sizeof out->name, "%s", info.name);
    return status;
}

static void show_card(const struct fc_bench *bench, int rank, const struct card *card)
{
    const struct fc_rte *rte = bench->run->rte;
    const struct fc_rte_place *place = &rte->place[rank];
    const char *node = rte->node_name[place->node];
    if (bench->object)
        json_array_append_new(json_object_get(bench->object, "devices"),
                              json_pack("{s:i, s:i, s:i, s:s, s:s, s:s, s:i}", "rank",
                                        rank, "group", card->group, "pid", card->pid,
                                        "node", node, "kind", card->kind, "name",
                                        card->name, "cores", card->cores));
    else
        fprintf(bench->out,
                "#  Rank %2d Group %2d Pid %6d on %10s device %2d [%s] %s, %d core%s\n",
                rank, card->group, card->pid, node, place->local_rank, card->kind,
                card->name, card->cores, card->cores == 1 ? "" : "s");
}

enum fc_status fc_bench_devices(struct fc_bench *bench, int group, struct fc_error *err)
{
    struct fc_rte *rte = bench->run->rte;
    struct card mine;
    struct card *all = calloc((size_t)rte->size, sizeof *all);
    if (!all)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks", rte->size);
    enum fc_status status = read_card(bench->run->device, group, &mine, err);
    status = fc_rte_agree(rte, "device's name", status, err);
    if (status == FC_OK)
        status = fc_rte_allgather(rte, "devices", &mine, sizeof mine, all, err);
    if (status == FC_OK && bench->object)
        json_object_set_new(bench->object, "devices", json_array());
    else if (status == FC_OK && bench->out)
        fprintf(bench->out, "# Using devices\n");
    for (int r = 0; status == FC_OK && rte->rank == 0 && r < rte->size; r++)
        if (all[r].group >= 0)
            show_card(bench, r, &all[r]);
    free(all);
    return status;
}

enum fc_status fc_bench_room(const struct fc_bench *bench, uint64_t bytes,
                             struct fc_error *err)
{
    struct fc_device *device = bench->run->device;
    struct fc_device_info info = {.kind = ""};
    enum fc_status status = device->ops->info(device, &info, err);
    if (status != FC_OK || !info.memory_bytes || bytes <= info.memory_bytes / 2)
        return status;
    return fc_fail(err, FC_NOMEM,
                   "-e: %s: two buffers of that size do not fit the %s of memory that "
                   "are free for rank %d",
                   fc_format_size(bytes).s, fc_format_size(info.memory_bytes).s,
                   bench->run->rte->rank);
}

enum fc_status fc_bench_agree(struct fc_bench *bench, enum fc_status own,
                              struct fc_error *err)
{
    enum fc_status status = fc_rte_agree(bench->run->rte, bench->what->name, own, err);
    if (status != FC_WRONG)
        return status;
    bench->wrong++;
    if (bench->run->rte->rank == 0)
        fc_log(FC_LOG_QUIET, "wrong result: %s", err->text);
    return FC_OK;
}
