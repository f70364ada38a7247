// SPDX-License-Identifier: BSD-3-Clause
/* Control operations, written once over the backends' nonblocking primitives. */
#include "core/rte.h"

#include "core/clock.h"
#include "core/launch.h"
#include "core/watchdog.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Pieces of a gather: all ranks' pieces of one round fit in this on rank 0. */
enum { GATHER_ROUND_BYTES = 256 << 20, GATHER_PIECE_MAX = 4 << 20, AGREE_TEXT = 512 };

/* How long a waiting rank sleeps between two looks: short at first, so that an
 * agreement costs little, then long enough to leave the cores to whoever works. */
static uint64_t nap_ns(unsigned looks)
{
    if (looks < 20)
        return 20 * FC_NS_PER_US;
    return looks < 200 ? 200 * FC_NS_PER_US : 2 * FC_NS_PER_MS;
}

/* Waits for the started operation. Passing the deadline is FC_LOST: the operation is
 * still in flight and no other may follow it. The watchdog stands behind this wait with
 * twice the time, for the case that the test itself never returns. */
static enum fc_status wait_for(struct fc_rte *rte, const char *name,
                               struct fc_error *err)
{
    uint64_t deadline = fc_now_ns() + rte->wait_ns;
    enum fc_status status = FC_OK;
    bool done = false;
    fc_watchdog_push(rte->watchdog, name, FC_WAIT_CONTROL, 2 * rte->wait_ns);
    for (unsigned looks = 0;; looks++) {
        status = rte->ops->test(rte, &done, err);
        if (status != FC_OK || done)
            break;
        if (fc_now_ns() > deadline) {
            status = fc_fail(err, FC_LOST,
                             "rank %d waited %.0f s for the other ranks in '%s'",
                             rte->rank, (double)rte->wait_ns / 1e9, name);
            break;
        }
        fc_sleep_ns(nap_ns(looks));
    }
    fc_watchdog_pop(rte->watchdog);
    return status == FC_OK ? FC_OK : FC_LOST;
}

static enum fc_status lost(enum fc_status status)
{
    return status == FC_OK ? FC_OK : FC_LOST;
}

enum fc_status fc_rte_max(struct fc_rte *rte, const char *name, int64_t *inout, int n,
                          struct fc_error *err)
{
    if (lost(rte->ops->start_max(rte, inout, n, err)) != FC_OK)
        return FC_LOST;
    return wait_for(rte, name, err);
}

enum fc_status fc_rte_max_double(struct fc_rte *rte, const char *name, double *inout,
                                 struct fc_error *err)
{
    /* The bits of a double order like an integer once negative ones are flipped. */
    int64_t bits;
    memcpy(&bits, inout, sizeof bits);
    if (bits < 0)
        bits ^= INT64_MAX;
    enum fc_status status = fc_rte_max(rte, name, &bits, 1, err);
    if (status != FC_OK)
        return status;
    if (bits < 0)
        bits ^= INT64_MAX;
    memcpy(inout, &bits, sizeof bits);
    return FC_OK;
}

enum fc_status fc_rte_bcast(struct fc_rte *rte, const char *name, void *data,
                            size_t bytes, int root, struct fc_error *err)
{
    char *at = data;
    do {
        int piece = bytes > GATHER_PIECE_MAX ? GATHER_PIECE_MAX : (int)bytes;
        if (lost(rte->ops->start_bcast(rte, at, piece, root, err)) != FC_OK ||
            wait_for(rte, name, err) != FC_OK)
            return FC_LOST;
        at += piece;
        bytes -= (size_t)piece;
    } while (bytes);
    return FC_OK;
}

enum fc_status fc_rte_agree(struct fc_rte *rte, const char *name, enum fc_status status,
                            struct fc_error *err)
{
    if (status == FC_LOST)
        return FC_LOST;
    /* [0]: the worst status; [1]: the lowest failing rank, counted down from the size.
     * */
    int64_t worst[2] = {(int64_t)status, status == FC_OK ? 0 : rte->size - rte->rank};
    struct fc_error own = *err;
    if (fc_rte_max(rte, name, worst, 2, err) != FC_OK)
        return FC_LOST;
    if (worst[0] == FC_OK)
        return FC_OK;
    int speaker = rte->size - (int)worst[1];
    char text[AGREE_TEXT];
    memset(text, 0, sizeof text);
    if (speaker == rte->rank)
        memcpy(text, own.text, strnlen(own.text, sizeof text - 1));
    if (fc_rte_bcast(rte, name, text, sizeof text, speaker, err) != FC_OK)
        return FC_LOST;
    if (rte->size > 1 && worst[0] != FC_USAGE)
        return fc_fail(err, (enum fc_status)worst[0], "rank %d (%.64s): %.400s",
                       speaker, rte->node_name[rte->place[speaker].node], text);
    return fc_fail(err, (enum fc_status)worst[0], "%s", text);
}

enum fc_status fc_rte_bcast_json(struct fc_rte *rte, const char *name, json_t **inout,
                                 struct fc_error *err)
{
    return fc_rte_bcast_json_from(rte, name, inout, 0, err);
}

enum fc_status fc_rte_bcast_json_from(struct fc_rte *rte, const char *name,
                                      json_t **inout, int root, struct fc_error *err)
{
    char *text = NULL;
    int64_t bytes = 0;
    if (rte->rank == root && *inout) {
        text = json_dumps(*inout, JSON_COMPACT | JSON_ENCODE_ANY);
        bytes = text ? (int64_t)strlen(text) : -1;
    }
    enum fc_status status = fc_rte_bcast(rte, name, &bytes, sizeof bytes, root, err);
    if (status == FC_OK && bytes > 0) {
        if (!text)
            text = malloc((size_t)bytes + 1);
        /* No rank may leave here: the others are about to enter the broadcast. */
        if (!text)
            status = fc_fail(err, FC_LOST, "out of memory in '%s'", name);
        else
            status = fc_rte_bcast(rte, name, text, (size_t)bytes, root, err);
    }
    if (status == FC_OK && bytes < 0)
        status = fc_fail(err, FC_NOMEM, "out of memory in '%s'", name);
    if (status == FC_OK && rte->rank != root)
        *inout = bytes ? json_loadb(text, (size_t)bytes, JSON_DECODE_ANY, NULL) : NULL;
    free(text);
    return status;
}

enum fc_status fc_rte_allgather(struct fc_rte *rte, const char *name, const void *send,
                                size_t bytes, void *recv, struct fc_error *err)
{
    if (lost(rte->ops->start_allgather(rte, send, (int)bytes, recv, err)) != FC_OK)
        return FC_LOST;
    return wait_for(rte, name, err);
}

struct gather {
    int *counts, *displs;
    char *pieces;
};

static void gather_free(struct gather *g)
{
    free(g->counts);
    free(g->displs);
    free(g->pieces);
}

/* One round: every rank's next piece, whose length rank 0 knows from `left`. */
static enum fc_status gather_round(struct fc_rte *rte, const char *name,
                                   const char *data, int bytes, int64_t *left,
                                   int piece, struct gather *g, fc_rte_take_fn take,
                                   void *arg, enum fc_status *out_taken,
                                   struct fc_error *err)
{
    int total = 0;
    for (int r = 0; r < rte->size && rte->rank == 0; r++) {
        g->counts[r] = left[r] < piece ? (int)left[r] : piece;
        g->displs[r] = total;
        total += g->counts[r];
    }
    if (lost(rte->ops->start_gather(rte, data, bytes, g->pieces, g->counts, g->displs,
                                    err)) != FC_OK ||
        wait_for(rte, name, err) != FC_OK)
        return FC_LOST;
    for (int r = 0; r < rte->size && rte->rank == 0; r++) {
        if (g->counts[r] && *out_taken == FC_OK)
            *out_taken =
                take(arg, r, g->pieces + g->displs[r], (size_t)g->counts[r], err);
        left[r] -= g->counts[r];
    }
    return FC_OK;
}

enum fc_status fc_rte_gather(struct fc_rte *rte, const char *name, const void *data,
                             size_t bytes, fc_rte_take_fn take, void *arg,
                             struct fc_error *err)
{
    int piece = GATHER_ROUND_BYTES / rte->size;
    if (piece > GATHER_PIECE_MAX)
        piece = GATHER_PIECE_MAX;
    size_t ranks = (size_t)rte->size;
    int64_t mine = (int64_t)bytes, largest = mine;
    int64_t *left = calloc(ranks, sizeof *left);
    struct gather g = {calloc(ranks, sizeof *g.counts), calloc(ranks, sizeof *g.displs),
                       NULL};
    enum fc_status status = FC_OK, taken = FC_OK;
    if (!left || !g.counts || !g.displs)
        status = fc_fail(err, FC_LOST, "out of memory in '%s'", name);
    if (status == FC_OK)
        status = fc_rte_allgather(rte, name, &mine, sizeof mine, left, err);
    int64_t sum = 0;
    for (size_t r = 0; status == FC_OK && r < ranks; r++) {
        largest = left[r] > largest ? left[r] : largest;
        sum += left[r] < piece ? left[r] : piece;
    }
    if (status == FC_OK && rte->rank == 0 && sum && !(g.pieces = malloc((size_t)sum)))
        status = fc_fail(err, FC_LOST, "out of memory in '%s'", name);
    for (int64_t at = 0; status == FC_OK && at < largest; at += piece) {
        int64_t rest = mine - at;
        int now = rest <= 0 ? 0 : rest < piece ? (int)rest : piece;
        status = gather_round(rte, name, (const char *)data + (now ? at : 0), now, left,
                              piece, &g, take, arg, &taken, err);
    }
    free(left);
    gather_free(&g);
    return status != FC_OK ? status : taken;
}

enum fc_status fc_rte_barrier(struct fc_rte *rte, const char *name,
                              struct fc_error *err)
{
    int64_t nothing = 0;
    return fc_rte_max(rte, name, &nothing, 1, err);
}

enum fc_status fc_rte_barrier_spin(struct fc_rte *rte, struct fc_error *err)
{
    fc_watchdog_push(rte->watchdog, "barrier before a timed section", FC_WAIT_CONTROL,
                     2 * rte->wait_ns);
    enum fc_status status = rte->ops->barrier_spin(rte, err);
    fc_watchdog_pop(rte->watchdog);
    return lost(status);
}

/* What decides a rank's node. Equal keys are one node. */
struct node_key {
    int leader; /* lowest world rank that shares memory; -1 when the name was given */
    char name[252];
};

static enum fc_status number_nodes(struct fc_rte *rte, const struct node_key *key,
                                   struct fc_error *err)
{
    size_t ranks = (size_t)rte->size;
    rte->place = calloc(ranks, sizeof *rte->place);
    rte->node_name = calloc(ranks, sizeof *rte->node_name);
    rte->node_size = calloc(ranks, sizeof *rte->node_size);
    int *first = calloc(ranks, sizeof *first);
    if (!rte->place || !rte->node_name || !rte->node_size || !first) {
        free(first);
        return fc_fail(err, FC_NOMEM, "out of memory for %d ranks", rte->size);
    }
    for (int r = 0; r < rte->size; r++) {
        int node = 0;
        while (node < rte->nodes &&
               memcmp(&key[first[node]], &key[r], sizeof *key) != 0)
            node++;
        if (node == rte->nodes)
            first[rte->nodes++] = r;
        rte->place[r] = (struct fc_rte_place){node, rte->node_size[node]++};
    }
    for (int node = 0; node < rte->nodes; node++) {
        int twins = 1;
        for (int other = 0; other < node; other++)
            twins += strcmp(key[first[other]].name, key[first[node]].name) == 0;
        char name[300];
        if (twins > 1)
            snprintf(name, sizeof name, "%s~%d", key[first[node]].name, twins);
        else
            snprintf(name, sizeof name, "%s", key[first[node]].name);
        rte->duplicate_hosts += twins > 1;
        rte->node_name[node] = strdup(name);
        if (!rte->node_name[node]) {
            free(first);
            return fc_fail(err, FC_NOMEM, "out of memory for %d nodes", rte->nodes);
        }
    }
    free(first);
    rte->node = rte->place[rte->rank].node;
    rte->local_rank = rte->place[rte->rank].local_rank;
    rte->local_size = rte->node_size[rte->node];
    return FC_OK;
}

static enum fc_status find_nodes(struct fc_rte *rte, int leader, struct fc_error *err)
{
    const char *given = getenv("FABRICHECK_NODE");
    struct node_key mine;
    memset(&mine, 0, sizeof mine);
    mine.leader = given && *given ? -1 : leader;
    snprintf(mine.name, sizeof mine.name, "%.251s",
             given && *given ? given : rte->hostname);
    struct node_key *key = calloc((size_t)rte->size, sizeof *key);
    if (!key)
        return fc_fail(err, FC_LOST, "out of memory for %d ranks", rte->size);
    enum fc_status status =
        fc_rte_allgather(rte, "node names", &mine, sizeof mine, key, err);
    if (status == FC_OK)
        status = number_nodes(rte, key, err);
    free(key);
    return status;
}

enum fc_status fc_rte_open(struct fc_rte **out, struct fc_watchdog *watchdog,
                           struct fc_error *err)
{
    struct fc_rte *rte = calloc(1, sizeof *rte);
    if (!rte)
        return fc_fail(err, FC_NOMEM, "out of memory for the runtime");
    rte->size = 1;
    rte->watchdog = watchdog;
    rte->wait_ns = 60 * FC_NS_PER_S;
    if (gethostname(rte->hostname, sizeof rte->hostname - 1) != 0)
        snprintf(rte->hostname, sizeof rte->hostname, "localhost");
    struct fc_launch launch;
    fc_launch_read(&launch);
    int leader = 0;
    enum fc_status status = fc_launch_by_mpi(&launch)
                                ? fc_rte_mpi_open(rte, &leader, err)
                                : fc_rte_self_open(rte, err);
    if (status == FC_OK)
        status = find_nodes(rte, leader, err);
    if (status != FC_OK) {
        fc_rte_close(rte);
        return status;
    }
    *out = rte;
    return FC_OK;
}

void fc_rte_close(struct fc_rte *rte)
{
    if (!rte)
        return;
    if (rte->ops)
        rte->ops->close(rte);
    for (int node = 0; rte->node_name && node < rte->nodes; node++)
        free(rte->node_name[node]);
    free(rte->node_name);
    free(rte->node_size);
    free(rte->place);
    free(rte);
}
