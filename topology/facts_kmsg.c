// SPDX-License-Identifier: BSD-3-Clause
/* Xids: what NVIDIA's driver says of a GPU in the kernel's log, since it booted. The
 * messages of one GPU and number are one entry, with how many there were and when the
 * last one came: a program's fault may write thousands. A GPU that falls off the bus
 * may leave no Xid, only a sentence.
 *
 * Lines may begin as /dev/kmsg has them ("6,3973,227996636,-;"), as dmesg prints them
 * ("[ 1843.308145] "), or with nothing. */
#include "topology/facts_root.h"
#include "topology/model_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_ENTRIES = 256, MAX_MESSAGES = 1 << 17, NAMED_FOR = 4 };

struct entry {
    char bdf[24];
    int xid; /* -1: the sentence alone */
    int64_t count;
    int64_t boot_s; /* of the last, after the boot; -1: not told */
    char text[120]; /* of the last, behind the number */
};

struct log {
    struct entry entry[MAX_ENTRIES];
    size_t entries;
    char named[24]; /* the GPU that a line has named, */
    int named_for;  /* and for how many lines more it is meant */
};

static int64_t boot_seconds(const char *line)
{
    char *end;
    if (line[0] == '[') {
        line += 1 + strspn(line + 1, " ");
        long long seconds = strtoll(line, &end, 10);
        return end > line && *end == '.' && seconds >= 0 ? seconds : -1;
    }
    for (int field = 0; field < 3; field++) {
        unsigned long long value = strtoull(line, &end, 10);
        if (end == line || *end != ',')
            return -1;
        if (field == 2)
            return (int64_t)(value / 1000000);
        line = end + 1;
    }
    return -1;
}

/* "0000:4f:00", "0000:4f:00.0" or "4f:00.0". */
static bool read_bdf(const char *text, char *out, size_t bytes)
{
    char word[32];
    int n = snprintf(word, sizeof word - 2, "%.*s",
                     (int)strspn(text, "0123456789abcdefABCDEF:."), text);
    if (n <= 0 || n >= (int)sizeof word - 2)
        return false;
    while (n > 0 && strchr(":.", word[n - 1]))
        word[--n] = '\0';
    if (!strchr(word, '.'))
        memcpy(word + n, ".0", 3);
    return fc_topo_bdf(word, out, bytes);
}

static void add(struct log *log, const char *bdf, int xid, int64_t boot_s,
                const char *text)
{
    struct entry *e = log->entry;
    size_t i = 0;
    while (i < log->entries && (e[i].xid != xid || strcmp(e[i].bdf, bdf) != 0))
        i++;
    if (i == MAX_ENTRIES)
        return;
    if (i == log->entries) {
        log->entries++;
        e[i] = (struct entry){.xid = xid, .boot_s = -1};
        snprintf(e[i].bdf, sizeof e[i].bdf, "%s", bdf);
    }
    e[i].count++;
    e[i].boot_s = boot_s >= 0 ? boot_s : e[i].boot_s;
    char line[sizeof e->text * 2];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(text, "\n"), text);
    fc_topo_text(e[i].text, sizeof e[i].text, line);
}

/* "NVRM: Xid (PCI:0000:4f:00): 79, pid=..."; older drivers leave "PCI:" out. */
static bool take_xid(struct log *log, const char *line)
{
    static const char mark[] = "NVRM: Xid (";
    char bdf[24], *end;
    const char *at = strstr(line, mark);
    const char *colon = at ? strstr(at, "): ") : NULL;
    if (!colon)
        return false;
    at += sizeof mark - 1;
    at += strncmp(at, "PCI:", 4) == 0 ? 4 : 0;
    long xid = strtol(colon + 3, &end, 10);
    if (end == colon + 3 || xid < 0 || xid > 9999 || !read_bdf(at, bdf, sizeof bdf))
        return false;
    add(log, bdf, (int)xid, boot_seconds(line), end + strspn(end, ", "));
    return true;
}

/* "NVRM: The NVIDIA GPU 0000:b3:00.0", and in it or in a line after it "fallen off the
 * bus"; "NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus." */
static void take_loss(struct log *log, const char *line)
{
    static const char *const marks[] = {"NVRM: The NVIDIA GPU ", "NVRM: GPU "};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = strstr(line, marks[i]);
        if (at && read_bdf(at + strlen(marks[i]), log->named, sizeof log->named))
            log->named_for = NAMED_FOR;
    }
    if (log->named_for > 0 && strstr(line, "fallen off the bus"))
        add(log, log->named, -1, boot_seconds(line), "fallen off the bus");
    log->named_for -= log->named_for > 0;
}

static void take(struct log *log, const char *line)
{
    if (!take_xid(log, line))
        take_loss(log, line);
}

/* One read is one message; EPIPE: some were lost. */
static void read_device(struct log *log, int fd)
{
    char message[8192];
    for (int i = 0; i < MAX_MESSAGES; i++) {
        ssize_t n = read(fd, message, sizeof message - 1);
        if (n < 0 && errno == EPIPE)
            continue;
        if (n <= 0)
            return;
        message[n] = '\0';
        take(log, message);
    }
}

static void read_lines(struct log *log, int fd)
{
    char *line = NULL;
    size_t room = 0;
    int copy = dup(fd);
    FILE *file = copy >= 0 ? fdopen(copy, "r") : NULL;
    for (int i = 0; file && i < MAX_MESSAGES && getline(&line, &room, file) > 0; i++)
        take(log, line);
    free(line);
    if (file)
        fclose(file);
    else if (copy >= 0)
        close(copy);
}

/* Seconds since the boot, now; -1: not known. */
static int64_t uptime(const struct fc_source *source)
{
    char text[64], *end;
    struct fc_gap gap;
    if (!fc_source_read(source, "/proc/uptime", text, sizeof text, &gap))
        return -1;
    long long seconds = strtoll(text, &end, 10);
    return end > text && *end == '.' && seconds >= 0 ? seconds : -1;
}

static json_t *known(int64_t value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

static json_t *entries_json(const struct log *log, int64_t now_s)
{
    json_t *list = json_array();
    for (size_t i = 0; i < log->entries; i++) {
        const struct entry *e = &log->entry[i];
        bool both = e->boot_s >= 0 && now_s >= e->boot_s;
        json_array_append_new(
            list, json_pack("{s:s, s:o, s:I, s:o, s:o, s:s}", "bdf", e->bdf, "xid",
                            known(e->xid), "count", (json_int_t)e->count, "boot_s",
                            known(e->boot_s), "ago_s",
                            known(both ? now_s - e->boot_s : -1), "text", e->text));
    }
    return list;
}

void fc_facts_xids(const struct fc_source *source, struct fc_facts *out)
{
    static const char path[] = "/dev/kmsg";
    char full[4096];
    struct fc_gap gap;
    struct stat st;
    struct log *log = calloc(1, sizeof *log);
    if (!log) {
        out->short_of_memory = true;
        return;
    }
    int fd = -1;
    if (fc_source_path(source, path, full, sizeof full, &gap)) {
        if (source->note)
            source->note(source->arg, path);
        fd = open(full, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0)
            fc_gap_errno(&gap, source, path, errno);
    }
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        read_lines(log, fd);
    else if (fd >= 0)
        read_device(log, fd);
    if (fd >= 0) {
        fc_facts_set(out, "root.xids", entries_json(log, uptime(source)));
        close(fd);
    } else {
        fc_facts_gap(out, "root.xids", &gap);
    }
    free(log);
}
