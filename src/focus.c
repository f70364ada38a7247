// SPDX-License-Identifier: BSD-3-Clause
#include "focus.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_mine(const struct fc_run *run, const json_t *suspects)
{
    size_t i;
    json_t *suspect;
    json_array_foreach(suspects, i, suspect)
    {
        const json_t *rank = json_object_get(suspect, "rank");
        const char *node = json_string_value(json_object_get(suspect, "node"));
        if (json_is_integer(rank) ? json_integer_value(rank) == run->rte->rank
                                  : !node || strcmp(node, fc_run_node(run)) == 0)
            return true;
    }
    return false;
}

/* Node name -> number, a new reference. */
static json_t *number_nodes(const struct fc_rte *rte)
{
    json_t *numbers = json_object();
    for (int i = 0; i < rte->nodes; i++)
        json_object_set_new(numbers, rte->node_name[i], json_integer(i));
    return numbers;
}

/* -1: it does not take part. */
static int number_of(const json_t *numbers, const json_t *name)
{
    const json_t *number =
        json_is_string(name) ? json_object_get(numbers, json_string_value(name)) : NULL;
    return number ? (int)json_integer_value(number) : -1;
}

static int concurrency_of(const json_t *suspect)
{
    json_int_t n = json_integer_value(json_object_get(suspect, "concurrency"));
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

static size_t count_partners(const json_t *suspects, size_t *out_most)
{
    size_t i, count = 0;
    json_t *suspect;
    *out_most = 0;
    json_array_foreach(suspects, i, suspect)
    {
        size_t own = json_array_size(json_object_get(suspect, "partners"));
        *out_most = own > *out_most ? own : *out_most;
        count += own;
    }
    return count;
}

/* Every suspect's first partner comes before anybody's second: where time runs out, all
 * have had about as many. */
static void list_pairs(const json_t *suspects, const json_t *numbers, size_t most,
                       struct fc_focus *out)
{
    size_t i;
    json_t *suspect;
    for (size_t turn = 0; turn < most; turn++)
        json_array_foreach(suspects, i, suspect)
        {
            const json_t *partners = json_object_get(suspect, "partners");
            struct fc_focus_pair pair = {
                .node = number_of(numbers, json_object_get(suspect, "node")),
                .partner = number_of(numbers, json_array_get(partners, turn)),
                .concurrency = concurrency_of(suspect)};
            if (pair.node >= 0 && pair.partner >= 0 && pair.node != pair.partner)
                out->pair[out->pairs++] = pair;
        }
}

enum fc_status fc_focus_open(const struct fc_run *run, const json_t *suspects,
                             int attempt, struct fc_focus *out, struct fc_error *err)
{
    size_t most, count = count_partners(suspects, &most);
    json_t *numbers = number_nodes(run->rte);
    *out = (struct fc_focus){.attempt = attempt,
                             .mine = is_mine(run, suspects),
                             .pair = calloc(count + 1, sizeof *out->pair)};
    if (out->pair && numbers)
        list_pairs(suspects, numbers, most, out);
    bool ok = out->pair && numbers;
    json_decref(numbers);
    return ok ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory for the suspects");
}

void fc_focus_close(struct fc_focus *focus)
{
    free(focus->pair);
    *focus = (struct fc_focus){0};
}
