// SPDX-License-Identifier: BSD-3-Clause
#include "core/log.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct {
    enum fc_log_level level;
    const char *node, *phase;
    int rank;
    bool drawn; /* a step stands on the terminal's last line */
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

/* "[node:rank phase] " in front of what a rank says. */
static size_t put_who(char *line, size_t room)
{
    if (state.rank < 0)
        return 0;
    int n = snprintf(line, room, "[%.200s:%d %.31s] ", state.node ? state.node : "?",
                     state.rank, state.phase ? state.phase : "-");
    return n > 0 ? (size_t)n : 0;
}

/* One write a line: lines of several ranks do not mix. Nothing can be done about a
 * closed stderr. */
static void put(const char *line, size_t bytes)
{
    if (write(STDERR_FILENO, line, bytes) < 0)
        return;
}

/* Takes the drawn step away, so that what follows begins in the first column. */
static void wipe(void)
{
    static const char erase[] = "\r\033[K";
    if (state.drawn)
        put(erase, sizeof erase - 1);
    state.drawn = false;
}

void fc_log_step(const char *step)
{
    if (state.level == FC_LOG_VERBOSE || !step) {
        wipe();
        if (step)
            fc_log(FC_LOG_VERBOSE, "%s", step);
        return;
    }
    if (state.level == FC_LOG_QUIET || !isatty(STDERR_FILENO))
        return;
    char line[256];
    wipe();
    size_t used = put_who(line, sizeof line);
    int n = snprintf(line + used, sizeof line - used, "%.60s …", step);
    put(line, used + (n > 0 ? strlen(line + used) : 0));
    state.drawn = true;
}

void fc_log(enum fc_log_level level, const char *fmt, ...)
{
    if (level > state.level)
        return;
    char line[1024];
    size_t used = put_who(line, sizeof line);
    va_list args;
    va_start(args, fmt);
    vsnprintf(line + used, sizeof line - used - 1, fmt, args);
    va_end(args);
    used = strlen(line);
    line[used++] = '\n';
    wipe();
    put(line, used);
}
