// SPDX-License-Identifier: BSD-3-Clause
#include "topology/facts_load.h"

#include "core/clock.h"
#include "core/units.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PROCESSES_MAX = 1 << 17, DEPTH_MAX = 64, TOP_MAX = 5 };

/* The next `n` numbers of `text`; false when there are fewer. Negative ones wrap. */
static bool take_numbers(const char *text, uint64_t *out, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *end;
        out[i] = strtoull(text, &end, 10);
        if (end == text)
            return false;
        text = end;
    }
    return true;
}

static bool parse_total(const char *text, struct fc_load_look *out)
{
    enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
    uint64_t t[FIELDS]; /* guests' time, which follows, is in user already */
    if (strncmp(text, "cpu ", 4) != 0 || !take_numbers(text + 4, t, FIELDS))
        return false;
    out->busy = t[USER] + t[NICE] + t[SYSTEM] + t[IRQ] + t[SOFTIRQ];
    out->steal = t[STEAL];
    out->total = out->busy + t[IDLE] + t[IOWAIT] + t[STEAL];
    for (const char *c = strstr(text, "\ncpu"); c; c = strstr(c + 1, "\ncpu"))
        out->cpus++;
    return true;
}

static bool read_total(const struct fc_source *source, struct fc_load_look *out,
                       struct fc_gap *gap)
{
    enum { BYTES = 64 * 1024 };
    char *text = malloc(BYTES);
    if (!text) {
        fc_gap_set(gap, "error", "no right helps: out of memory");
        return false;
    }
    bool good = fc_source_read(source, "/proc/stat", text, BYTES, gap);
    if (good && !parse_total(text, out)) {
        fc_gap_set(gap, "unsupported", "no right helps: /proc/stat has no CPU times");
        good = false;
    }
    free(text);
    return good;
}

/* "pid (name) state parent …"; the name may hold anything: its end is the last ')'. */
static bool parse_process(const char *text, struct fc_load_process *out)
{
    /* fields after the state, counted from 0 */
    enum { PARENT = 0, FLAGS = 5, USER = 10, SYSTEM = 11, FIELDS = 12 };
    const uint64_t kernel_thread = 0x00200000; /* PF_KTHREAD */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    uint64_t field[FIELDS], pid;
    if (!open || !close || close < open || strlen(close) < 4 ||
        !take_numbers(text, &pid, 1) || !take_numbers(close + 3, field, FIELDS) ||
        (field[FLAGS] & kernel_thread))
        return false;
    out->pid = (int)pid;
    out->state = close[2];
    out->parent = (int)field[PARENT];
    out->ticks = field[USER] + field[SYSTEM];
    snprintf(out->name, sizeof out->name, "%.*s", (int)(close - open - 1), open + 1);
    return true;
}

static bool read_process(const struct fc_source *source, const char *pid,
                         struct fc_load_process *out)
{
    char path[288], full[4096], text[1024];
    struct fc_gap gap;
    struct stat st;
    snprintf(path, sizeof path, "/proc/%s", pid);
    if (!fc_source_path(source, path, full, sizeof full, &gap) || stat(full, &st) != 0)
        return false;
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    out->uid = st.st_uid;
    return fc_source_read(source, path, text, sizeof text, &gap) &&
           parse_process(text, out);
}

static int by_pid(const void *a, const void *b)
{
    int x = ((const struct fc_load_process *)a)->pid;
    int y = ((const struct fc_load_process *)b)->pid;
    return (x > y) - (x < y);
}

static bool add_process(struct fc_load_look *look, size_t *room,
                        const struct fc_load_process *one)
{
    if (look->count == *room) {
        size_t more = *room ? 2 * *room : 512;
        void *grown = realloc(look->process, more * sizeof *look->process);
        if (!grown)
            return false;
        look->process = grown;
        *room = more;
    }
    look->process[look->count++] = *one;
    return true;
}

bool fc_load_look(const struct fc_source *source, struct fc_load_look *out,
                  struct fc_gap *gap)
{
    struct fc_load_look look = {0};
    char full[4096];
    size_t room = 0;
    bool good = true;
    if (!read_total(source, &look, gap) ||
        !fc_source_path(source, "/proc", full, sizeof full, gap))
        return false;
    DIR *dir = opendir(full);
    for (struct dirent *e;
         dir && good && look.count < PROCESSES_MAX && (e = readdir(dir));) {
        struct fc_load_process one = {0};
        if (e->d_name[0] >= '1' && e->d_name[0] <= '9' &&
            read_process(source, e->d_name, &one))
            good = add_process(&look, &room, &one);
    }
    if (dir)
        closedir(dir);
    if (!good) {
        fc_load_look_free(&look);
        fc_gap_set(gap, "error", "no right helps: out of memory");
        return false;
    }
    if (look.count > 0)
        qsort(look.process, look.count, sizeof *look.process, by_pid);
    *out = look;
    return true;
}

void fc_load_look_free(struct fc_load_look *look)
{
    free(look->process);
    *look = (struct fc_load_look){0};
}

static const struct fc_load_process *find(const struct fc_load_look *look, int pid)
{
    struct fc_load_process key = {.pid = pid};
    if (look->count == 0)
        return NULL;
    return bsearch(&key, look->process, look->count, sizeof key, by_pid);
}

static bool listed(const int *pids, size_t n, int pid)
{
    for (size_t i = 0; i < n; i++)
        if (pids[i] == pid)
            return true;
    return false;
}

/* A rank, what descends from one, or the launcher that is a rank's parent. */
static bool is_own(const struct fc_load_look *look, const int *pids, size_t n,
                   const struct fc_load_process *p)
{
    for (size_t i = 0; i < n; i++) {
        const struct fc_load_process *rank = find(look, pids[i]);
        if (rank && rank->parent == p->pid && p->pid != 1)
            return true;
    }
    for (int depth = 0; p && depth < DEPTH_MAX; depth++) {
        if (listed(pids, n, p->pid))
            return true;
        p = p->parent > 1 ? find(look, p->parent) : NULL;
    }
    return false;
}

struct busy {
    const struct fc_load_process *process;
    double share; /* of one CPU */
};

static int by_share(const void *a, const void *b)
{
    double x = ((const struct busy *)a)->share, y = ((const struct busy *)b)->share;
    return (x < y) - (x > y);
}

static double round3(double x)
{
    return round(x * 1000) / 1000;
}

static void set_top(struct fc_facts *out, struct busy *busy, size_t n)
{
    json_t *top = json_array();
    if (n > 0)
        qsort(busy, n, sizeof *busy, by_share);
    for (size_t i = 0; i < n && i < TOP_MAX; i++) {
        const struct fc_load_process *p = busy[i].process;
        json_t *one =
            json_pack("{s:o, s:i, s:i, s:f}", "name", fc_facts_string(p->name), "pid",
                      p->pid, "uid", (int)p->uid, "share", round3(busy[i].share));
        if (json_array_append_new(top, one) != 0)
            out->short_of_memory = true;
    }
    fc_facts_set(out, "load.top", top);
}

static void set_shares(struct fc_facts *out, double other, double steal, double total)
{
    struct fc_gap gap;
    if (total > 0) {
        fc_facts_set(out, "load.other_share",
                     json_real(round3(fmax(other, 0) / total)));
        fc_facts_set(out, "load.steal_share", json_real(round3(steal / total)));
        return;
    }
    fc_gap_set(&gap, "error",
               "no right helps: /proc/stat did not move between two looks");
    fc_facts_gap(out, "load.other_share", &gap);
    fc_facts_gap(out, "load.steal_share", &gap);
}

void fc_load_compare(const struct fc_load_look *before,
                     const struct fc_load_look *after, const int *pids, size_t n,
                     struct fc_facts *out)
{
    double total = (double)(after->total - before->total), own = 0;
    double cpus = after->cpus ? (double)after->cpus : 1;
    double window = total / cpus; /* ticks that passed */
    size_t others = 0;
    struct busy *busy = calloc(after->count + 1, sizeof *busy);
    if (!busy) {
        out->short_of_memory = true;
        return;
    }
    for (size_t i = 0; i < after->count; i++) {
        const struct fc_load_process *p = &after->process[i],
                                     *old = find(before, p->pid);
        /* A process id that was used anew has less time than before. */
        uint64_t was = old && old->ticks <= p->ticks ? old->ticks : 0;
        double share = window > 0 ? (double)(p->ticks - was) / window : 0;
        if (is_own(after, pids, n, p)) {
            own += (double)(p->ticks - was);
            continue;
        }
        /* Its main thread wanted a CPU twice, or any of its threads got a good part of
         * one: what merely woke up between the looks is neither. */
        if ((old && old->state == 'R' && p->state == 'R') || share >= 0.25)
            busy[others++] = (struct busy){p, share};
    }
    double other = (double)(after->busy - before->busy) - own;
    set_shares(out, other, (double)(after->steal - before->steal), total);
    fc_facts_int(out, "load.other_running", (int64_t)others);
    set_top(out, busy, others);
    free(busy);
}

static void set_average(const struct fc_source *source, struct fc_facts *out)
{
    char text[128];
    double value;
    struct fc_gap gap;
    if (!fc_source_read(source, "/proc/loadavg", text, sizeof text, &gap)) {
        fc_facts_gap(out, "load.average", &gap);
        return;
    }
    text[strcspn(text, " ")] = '\0';
    if (fc_parse_double(text, &value)) {
        fc_facts_set(out, "load.average", json_real(value));
    } else {
        fc_gap_set(&gap, "unsupported",
                   "no right helps: /proc/loadavg holds no number");
        fc_facts_gap(out, "load.average", &gap);
    }
}

enum fc_status fc_facts_load(const struct fc_source *source, const int *pids, size_t n,
                             uint64_t window_ns, struct fc_facts *out,
                             struct fc_error *err)
{
    static const char *const keys[] = {"load.other_share", "load.steal_share",
                                       "load.other_running", "load.top"};
    struct fc_load_look before = {0}, after = {0};
    struct fc_gap gap;
    set_average(source, out);
    bool good = fc_load_look(source, &before, &gap);
    if (good) {
        fc_sleep_ns(window_ns);
        good = fc_load_look(source, &after, &gap);
    }
    if (good)
        fc_load_compare(&before, &after, pids, n, out);
    else
        for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
            fc_facts_gap(out, keys[i], &gap);
    fc_load_look_free(&before);
    fc_load_look_free(&after);
    return fc_facts_check(out, err);
}
