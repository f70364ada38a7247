// SPDX-License-Identifier: BSD-3-Clause
#include "core/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum fc_status fc_fail(struct fc_error *err, enum fc_status status, const char *fmt,
                       ...)
{
    if (err) {
        va_list args;
        va_start(args, fmt);
        vsnprintf(err->text, sizeof err->text, fmt, args);
        va_end(args);
    }
    return status;
}

void fc_prefix(struct fc_error *err, const char *fmt, ...)
{
    if (!err)
        return;
    struct fc_error old = *err;
    va_list args;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
    size_t used = strlen(err->text);
    const char *const parts[] = {": ", old.text};
    for (size_t i = 0; i < 2; i++) {
        size_t room = sizeof err->text - 1 - used;
        size_t take = strnlen(parts[i], room);
        memcpy(err->text + used, parts[i], take);
        used += take;
    }
    err->text[used] = '\0';
}

const char *fc_status_name(enum fc_status status)
{
    static const char *const names[] = {
        [FC_OK] = "ok",
        [FC_UNSUPPORTED] = "skipped",
        [FC_UNREADABLE] = "unreadable",
        [FC_WRONG] = "failed",
        [FC_TIMEOUT] = "timeout",
        [FC_FAILED] = "failed",
        [FC_NOMEM] = "out of memory",
        [FC_IO] = "input/output error",
        [FC_USAGE] = "wrong usage",
        [FC_LOST] = "lost",
    };
    size_t i = (size_t)status;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}
