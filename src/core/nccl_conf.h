// SPDX-License-Identifier: BSD-3-Clause
/* NCCL's variables as NCCL itself would see them: the environment, then the file that
 * NCCL_CONF_FILE names or else ~/.nccl.conf, then /etc/nccl.conf; the first that has a
 * name wins. In files a line is NAME=value, to its end and without trimming; a line
 * that begins with # is none.
 * Collective: no. Refuses to know: what a variable means.
 */
#ifndef FC_CORE_NCCL_CONF_H
#define FC_CORE_NCCL_CONF_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

struct fc_nccl_conf;

struct fc_nccl_source {
    const char *const *env; /* "NAME=value", NULL-ended; as environ */
    const char *home;       /* NULL: the user's, of the password file */
    const char *root;       /* stands for "/" of /etc/nccl.conf; "" on a real machine */
};

/* Reads all of it; files that are not there or cannot be read are as empty, as they are
 * to NCCL. The caller closes *out. Collective: no. */
enum fc_status fc_nccl_conf_open(const struct fc_nccl_source *source,
                                 struct fc_nccl_conf **out,
                                 struct fc_error *err) FC_MUST_USE;
/* NULL-safe. Collective: no. */
void fc_nccl_conf_close(struct fc_nccl_conf *conf);

/* The value, borrowed; NULL: not set, or empty, which NCCL takes for the same.
 * *out_origin (may be NULL): "environment", or the file. Collective: no. */
const char *fc_nccl_conf_get(const struct fc_nccl_conf *conf, const char *name,
                             const char **out_origin);
/* A whole number as NCCL reads it: what is no number is 0 to it. *out_odd: the text is
 * not a whole number (may be NULL). `fallback` where it is not set or out of range.
 * Collective: no. */
int64_t fc_nccl_conf_int(const struct fc_nccl_conf *conf, const char *name,
                         int64_t fallback, bool *out_odd);

#endif
