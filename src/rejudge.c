// SPDX-License-Identifier: BSD-3-Clause
#include "rejudge.h"

#include "core/journal.h"
#include "judge/judge.h"
#include "judge/merge.h"
#include "judge/profile.h"
#include "leaves.h"

#include <stdlib.h>
#include <string.h>

const struct fc_renderer *fc_renderer_find(const char *name)
{
    for (const struct fc_renderer *r = fc_renderers; r->name; r++)
        if (strcmp(r->name, name) == 0)
            return r;
    return NULL;
}

enum fc_status fc_rejudge_profile(const char *path, json_t **out, struct fc_error *err)
{
    if (path) {
        enum fc_status status = fc_profile_load(path, out, err);
        if (status != FC_OK)
            fc_prefix(err, "--profile");
        return status;
    }
    *out = fc_profile_default();
    return *out ? FC_OK : fc_fail(err, FC_NOMEM, "out of memory for the profile");
}

static enum fc_status read_all(const struct fc_words *runs, struct fc_journal_text *out,
                               struct fc_error *err)
{
    struct fc_journal_text *part = calloc(runs->count, sizeof *part);
    enum fc_status status =
        part ? FC_OK
             : fc_fail(err, FC_NOMEM, "out of memory for %zu runs", runs->count);
    for (size_t i = 0; status == FC_OK && i < runs->count; i++)
        status = fc_journal_read(runs->word[i], &part[i], err);
    if (status == FC_OK)
        status = fc_journal_merge(part, (const char *const *)runs->word, runs->count,
                                  out, err);
    for (size_t i = 0; part && i < runs->count; i++)
        fc_journal_text_free(&part[i]);
    free(part);
    return status;
}

enum fc_status fc_rejudge(const struct fc_words *runs, const char *profile_path,
                          const char *switches, json_t **out_report,
                          struct fc_error *err)
{
    struct fc_journal_text text = {0};
    json_t *profile = NULL;
    enum fc_status status = FC_OK;
    if (profile_path)
        status = fc_rejudge_profile(profile_path, &profile, err);
    if (status == FC_OK)
        status = read_all(runs, &text, err);
    if (status == FC_OK && switches)
        status = fc_leaves_apply(&text, switches, err);
    if (status == FC_OK) {
        status = fc_judge(&text, profile, out_report, err);
        if (status != FC_OK)
            fc_prefix(err, "'%.200s'", runs->word[0]);
    }
    fc_journal_text_free(&text);
    json_decref(profile);
    return status;
}
