// SPDX-License-Identifier: BSD-3-Clause
#include "core/sink.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fc_sink {
    pthread_mutex_t lock;
    int rank;
    uint64_t made; /* lines ever added: the N of "src" */
    char **line;
    size_t *length;
    size_t count, room;
};

enum fc_status fc_sink_open(int rank, struct fc_sink **out, struct fc_error *err)
{
    struct fc_sink *sink = calloc(1, sizeof *sink);
    if (!sink)
        return fc_fail(err, FC_NOMEM, "out of memory for the record sink");
    sink->rank = rank;
    pthread_mutex_init(&sink->lock, NULL);
    *out = sink;
    return FC_OK;
}

void fc_sink_close(struct fc_sink *sink)
{
    if (!sink)
        return;
    for (size_t i = 0; i < sink->count; i++)
        free(sink->line[i]);
    free(sink->line);
    free(sink->length);
    pthread_mutex_destroy(&sink->lock);
    free(sink);
}

static bool make_room(struct fc_sink *sink)
{
    if (sink->count < sink->room)
        return true;
    size_t room = sink->room ? 2 * sink->room : 64;
    char **line = realloc(sink->line, room * sizeof *line);
    if (!line)
        return false;
    sink->line = line;
    size_t *length = realloc(sink->length, room * sizeof *length);
    if (!length)
        return false;
    sink->length = length;
    sink->room = room;
    return true;
}

/* "{…}" becomes "{…,"src":"RANK.N"}\n". */
static char *stamp(const char *line, int rank, uint64_t n, size_t *out_length)
{
    size_t length = strlen(line);
    char tail[64];
    if (length < 2 || line[0] != '{' || line[length - 1] != '}')
        return NULL;
    int tail_length = snprintf(tail, sizeof tail, "%s\"src\":\"%d.%llu\"}\n",
                               length > 2 ? "," : "", rank, (unsigned long long)n);
    char *text = malloc(length + (size_t)tail_length);
    if (!text)
        return NULL;
    memcpy(text, line, length - 1);
    memcpy(text + length - 1, tail, (size_t)tail_length + 1);
    *out_length = length - 1 + (size_t)tail_length;
    return text;
}

enum fc_status fc_sink_add_line(struct fc_sink *sink, char *line, struct fc_error *err)
{
    if (!line)
        return fc_fail(err, FC_NOMEM, "out of memory for a journal line");
    enum fc_status status = FC_OK;
    pthread_mutex_lock(&sink->lock);
    size_t length = 0;
    char *text = make_room(sink) ? stamp(line, sink->rank, sink->made, &length) : NULL;
    if (text) {
        sink->line[sink->count] = text;
        sink->length[sink->count++] = length;
        sink->made++;
    } else {
        status = fc_fail(err, FC_NOMEM, "out of memory for a journal line");
    }
    pthread_mutex_unlock(&sink->lock);
    free(line);
    return status;
}

enum fc_status fc_sink_add(struct fc_sink *sink, const struct fc_record *record,
                           struct fc_error *err)
{
    return fc_sink_add_line(sink, fc_record_line(record), err);
}

enum fc_status fc_sink_peek(struct fc_sink *sink, char **out_text, size_t *out_bytes,
                            size_t *out_lines, struct fc_error *err)
{
    enum fc_status status = FC_OK;
    pthread_mutex_lock(&sink->lock);
    size_t bytes = 0;
    for (size_t i = 0; i < sink->count; i++)
        bytes += sink->length[i];
    char *text = bytes ? malloc(bytes) : NULL;
    if (bytes && !text) {
        status =
            fc_fail(err, FC_NOMEM, "out of memory for %zu journal lines", sink->count);
    } else {
        char *at = text;
        for (size_t i = 0; i < sink->count; i++) {
            memcpy(at, sink->line[i], sink->length[i]);
            at += sink->length[i];
        }
        *out_text = text;
        *out_bytes = bytes;
        *out_lines = sink->count;
    }
    pthread_mutex_unlock(&sink->lock);
    return status;
}

void fc_sink_drop(struct fc_sink *sink, size_t lines)
{
    pthread_mutex_lock(&sink->lock);
    if (lines > sink->count)
        lines = sink->count;
    for (size_t i = 0; i < lines; i++)
        free(sink->line[i]);
    sink->count -= lines;
    if (sink->count) {
        memmove(sink->line, sink->line + lines, sink->count * sizeof *sink->line);
        memmove(sink->length, sink->length + lines, sink->count * sizeof *sink->length);
    }
    pthread_mutex_unlock(&sink->lock);
}
