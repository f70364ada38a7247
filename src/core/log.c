// SPDX-License-Identifier: BSD-3-Clause
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    enum fc_log_level level;
    const char *node, *phase;
    int rank;
} state = {.level = FC_LOG_NORMAL, .rank = -1};

void fc_log_set_level(enum fc_log_level level)
{
    state.level = level;
}

void fc_log_set_who(const char *node, int rank)
{
    state.node = node;
    state.rank = rank;
}

void fc_log_set_phase(const char *phase)
{
    state.phase = phase;
}

void fc_log(enum fc_log_level level, const char *fmt, ...)
{
    if (level > state.level)
        return;
    char line[1024];
    size_t used = 0;
    if (state.rank >= 0) {
        int n = snprintf(line, sizeof line, "[%.200s:%d %.31s] ",
                         state.node ? state.node : "?", state.rank,
                         state.phase ? state.phase : "-");
        used = n > 0 ? (size_t)n : 0;
    }
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + used, sizeof line - used - 1, fmt, args);
    va_end(args);
    used = strlen(line);
    line[used++] = '\n';
    /* One write a line: lines of several ranks do not mix. Nothing can be done about a
     * closed stderr. */
    if (write(STDERR_FILENO, line, used) < 0)
        return;
}
