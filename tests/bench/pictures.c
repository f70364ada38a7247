// SPDX-License-Identifier: BSD-3-Clause
/* What rank 0 of a run of 1024 nodes does with their pictures: a runtime that stands
 * for the other ranks hands their lines to fc_phase_commit, and the judge reads what
 * was written. The nodes have 8 GPUs, 10 NICs and 4 switches, in captured trees that
 * the product's readers read; a dozen of them are odd, each in its own way. All that
 * the other ranks do runs in a child process, whose memory does not count. One line
 * "name value target" a figure; show=1: what the judge says of the odd ones, too.
 */
#include "core/clock.h"
#include "core/journal.h"
#include "core/log.h"
#include "core/run.h"
#include "judge/judge.h"
#include "tests/unit/tree.h"
#include "topology/differ.h"
#include "topology/facts.h"

#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

enum { NODES = 1024, GPUS = 8, NICS = 10, ODD = 12, EVERY = 85 };

static void must(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "pictures: %s\n", what);
        exit(1);
    }
}

/* CPU time: neighbours on the machine do not count. */
static uint64_t cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * FC_NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- the nodes' trees ---- */

static void put(const char *root, const char *at, const char *name, const char *text)
{
    char path[440];
    snprintf(path, sizeof path, "%.340s/%.90s", at, name);
    tree_write(root, path, text);
}

struct function {
    const char *at; /* below /sys/devices */
    const char *class, *vendor, *device;
    int width, max_width, numa;
};

static void put_function(const char *root, const struct function *f)
{
    char at[300], link[300], target[300], number[16];
    snprintf(at, sizeof at, "/sys/devices/%s", f->at);
    put(root, at, "class", f->class);
    put(root, at, "vendor", f->vendor);
    put(root, at, "device", f->device);
    put(root, at, "current_link_speed", "32.0 GT/s PCIe");
    put(root, at, "max_link_speed", "32.0 GT/s PCIe");
    snprintf(number, sizeof number, "%d", f->width);
    put(root, at, "current_link_width", number);
    snprintf(number, sizeof number, "%d", f->max_width);
    put(root, at, "max_link_width", number);
    snprintf(number, sizeof number, "%d", f->numa);
    put(root, at, "numa_node", number);
    snprintf(link, sizeof link, "/sys/bus/pci/devices%s", strrchr(f->at, '/'));
    snprintf(target, sizeof target, "../../../devices/%s", f->at);
    tree_link(root, link, target);
}

static void put_gpu(const char *root, const char *port, int bus, int i, int odd)
{
    char at[300], info[200], path[200];
    snprintf(at, sizeof at, "%s/0000:%02x:00.0", port, bus);
    put_function(root, &(struct function){at, "0x030200", "0x10de",
                                          odd == 3 ? "0x2331" : "0x2330",
                                          odd == 4 && i == 3 ? 8 : 16,
                                          odd == 5 && i == 3 ? 8 : 16, i / 4});
    snprintf(path, sizeof path, "/proc/driver/nvidia/gpus/0000:%02x:00.0/information",
             bus);
    snprintf(info, sizeof info, "Model: \t NVIDIA %s\nGPU UUID: \t GPU-%08x-aaaa-bbbb",
             odd == 3 ? "H100 NVL" : "H100 80GB HBM3", i);
    tree_write(root, path, info);
}

static void put_port(const char *root, const char *at, int i, int odd)
{
    static const char *const files[][2] = {{"ports/1/phys_state", "5: LinkUp"},
                                           {"ports/1/link_layer", "InfiniBand"},
                                           {"ports/1/lid", "0x12"},
                                           {"ports/1/pkeys/0", "0xffff"},
                                           {"ports/1/pkeys/1", "0x8001"},
                                           {"ports/1/gid_attrs/types/0", "IB/RoCE v1"},
                                           {"board_id", "MT_0000000838"},
                                           {"hca_type", "MT4129"},
                                           {"node_guid", "b83f:d203:00aa:0000"}};
    char ib[400];
    snprintf(ib, sizeof ib, "/sys/devices/%s/infiniband/mlx5_%d", at, i);
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        put(root, ib, files[k][0], files[k][1]);
    put(root, ib, "fw_ver", odd == 10 ? "28.40.1000" : "28.41.1000");
    put(root, ib, "ports/1/state", odd == 8 && i == 2 ? "1: DOWN" : "4: ACTIVE");
    put(root, ib, "ports/1/rate",
        odd == 9 && i == 2 ? "200 Gb/sec (4X HDR)" : "400 Gb/sec (4X NDR)");
    put(root, ib, "ports/1/gids/0", "fe80:0000:0000:0000:b83f:d203:00aa:0000");
}

static void put_nic(const char *root, const char *port, int bus, int i, int odd)
{
    char at[300], net[400], text[32];
    snprintf(at, sizeof at, "%s/0000:%02x:00.0", port, bus);
    put_function(root, &(struct function){at, "0x020700", "0x15b3",
                                          odd == 11 ? "0x101b" : "0x1021", 16, 16,
                                          odd == 6 && i == 2 ? 1 : i / 5});
    put_port(root, at, i, odd);
    snprintf(net, sizeof net, "/sys/devices/%s/net/ib%d", at, i);
    put(root, net, "mtu", odd == 7 ? "2044" : "4092");
    put(root, net, "operstate", "up");
    snprintf(text, sizeof text, "%d", 400000);
    put(root, net, "speed", text);
}

/* A switch with its upstream port and one downstream port a device. */
static void put_switch(const char *root, int s, int odd)
{
    char root_port[64], up[128], down[200];
    int bus = 0x10 + 0x30 * s, numa = s / 2, slot = 0,
        nic = s < 2 ? s * 3 : 5 + (s - 2) * 3;
    int nics = s % 2 == 0 ? 3 : 2;
    snprintf(root_port, sizeof root_port, "pci0000:%02x/0000:%02x:01.0", bus, bus);
    snprintf(up, sizeof up, "%s/0000:%02x:00.0", root_port, bus + 1);
    put_function(root, &(struct function){root_port, "0x060400", "0x8086", "0x352a", 16,
                                          16, numa});
    put_function(root,
                 &(struct function){up, "0x060400", "0x1000", "0xc030", 16, 16, numa});
    for (int i = 0; i < 2 + nics; i++, slot++) {
        bool gpu = i < 2;
        int number = gpu ? 2 * s + i : nic + i - 2;
        if ((odd == 1 && gpu && number == 5) || (odd == 2 && !gpu && number == 3))
            continue; /* did not come up */
        snprintf(down, sizeof down, "%s/0000:%02x:%02x.0", up, bus + 2, slot);
        put_function(root, &(struct function){down, "0x060400", "0x1000", "0xc030", 16,
                                              16, numa});
        if (gpu)
            put_gpu(root, down, bus + 4 + slot, number, odd);
        else
            put_nic(root, down, bus + 4 + slot, number, odd);
    }
}

static void put_cpus(const char *root)
{
    char path[200], text[64];
    for (int cpu = 0; cpu < 16; cpu++) {
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/core_id",
                 cpu);
        snprintf(text, sizeof text, "%d", cpu % 8);
        tree_write(root, path, text);
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
        tree_write(root, path, cpu < 8 ? "0" : "1");
    }
    tree_write(root, "/sys/devices/system/cpu/online", "0-15");
    tree_write(root, "/sys/devices/system/node/node0/cpumap", "ff");
    tree_write(root, "/sys/devices/system/node/node1/cpumap", "ff00");
    tree_write(root, "/sys/devices/system/node/node0/meminfo",
               "Node 0 MemTotal:  1056570184 kB");
    tree_write(root, "/sys/devices/system/node/node1/meminfo",
               "Node 1 MemTotal:  1056980520 kB");
    tree_write(root, "/proc/cpuinfo", "model name\t: Fixture CPU 8468\nflags\t: fpu\n");
    tree_write(root, "/proc/meminfo", "MemTotal: 2113550704 kB\n");
}

static enum fc_status take(void *arg, const struct fc_facts *part, struct fc_error *err)
{
    (void)err;
    json_t *both =
        json_pack("{s:O, s:O}", "facts", part->values, "unreadable", part->unreadable);
    fc_facts_merge(arg, both);
    json_decref(both);
    return FC_OK;
}

/* As the worker of such a node reads it; odd 0: the usual one. */
static struct fc_facts read_node(int odd)
{
    char root[64];
    struct fc_facts facts;
    struct fc_error err = {""};
    tree_make(root, sizeof root);
    put_cpus(root);
    for (int s = 0; s < 4; s++)
        put_switch(root, s, odd);
    const struct fc_source source = {.root = root};
    must(fc_facts_init(&facts, &err) == FC_OK, err.text);
    must(fc_facts_host(&source, take, &facts, &err) == FC_OK, err.text);
    tree_remove(root);
    return facts;
}

/* ---- what the other ranks do ---- */

struct kind {
    struct fc_facts facts;
    struct fc_kin kin;
    json_t *picture, *differs;
};

static void make_kind(struct kind *kind, int odd, const struct kind *usual,
                      double *leader_s)
{
    json_t *of_class = NULL;
    struct fc_error err = {""};
    kind->facts = read_node(odd);
    json_t *topology = json_object_get(kind->facts.values, "topo.picture");
    must(topology != NULL, "a node without a picture");
    uint64_t start = cpu_ns();
    must(fc_facts_class(&kind->facts, &kind->kin.class, &of_class, &err) == FC_OK,
         err.text);
    kind->picture = json_pack("{s:o, s:O}", "facts", of_class, "topology", topology);
    must(fc_differ_print(kind->picture, &kind->kin.print, &err) == FC_OK, err.text);
    if (usual)
        must(fc_differ(kind->picture, usual->picture, &kind->differs, &err) == FC_OK,
             err.text);
    double seconds = (double)(cpu_ns() - start) / 1e9;
    *leader_s = seconds > *leader_s ? seconds : *leader_s;
    json_object_del(kind->facts.values, "topo.picture");
    must(!usual || kind->differs, "an odd node that does not differ");
}

static int odd_of(int node)
{
    int k = node % EVERY == 7 ? 1 + node / EVERY : 0;
    return k <= ODD - 1 ? k : 0;
}

static void put_line(FILE *out, json_t *line, int rank, int n)
{
    char src[32];
    snprintf(src, sizeof src, "%d.%d", rank, n);
    json_object_set_new(line, "src", json_string(src));
    must(json_dumpf(line, out, JSON_COMPACT) == 0 && putc('\n', out) != EOF, "a line");
    json_decref(line);
}

static void put_rank(FILE *out, const struct kind *kind, int rank, bool first,
                     const struct fc_facts *own)
{
    char name[32], class[32];
    snprintf(name, sizeof name, "node%04d", rank);
    snprintf(class, sizeof class, "%016" PRIx64, kind->kin.class);
    json_t *node = json_pack("{s:s, s:s, s:[i], s:s}", "type", "node", "name", name,
                             "ranks", rank, "class", class);
    if (first)
        json_object_set(node, "picture", kind->picture);
    if (kind->differs) {
        json_object_set(node, "differs", kind->differs);
        json_object_set_new(json_object_get(node, "differs"), "from",
                            json_string("node0000"));
    }
    put_line(out, node, rank, 0);
    json_object_set_new(kind->facts.values, "host.name", json_string(name));
    put_line(out,
             json_pack("{s:s, s:s, s:O, s:O}", "type", "fact", "node", name, "facts",
                       kind->facts.values, "unreadable", kind->facts.unreadable),
             rank, 1);
    put_line(out,
             json_pack("{s:s, s:s, s:i, s:O, s:O}", "type", "fact", "node", name,
                       "rank", rank, "facts", own->values, "unreadable",
                       own->unreadable),
             rank, 2);
}

/* Writes the lines of all ranks and where each rank's begin. */
static void be_the_others(const char *path, size_t *begin, double *leader_s,
                          struct fc_kin *kin)
{
    static struct kind kind[ODD];
    struct fc_facts own;
    struct fc_error err = {""};
    const struct fc_source here = {.root = ""};
    bool shown[ODD] = {false};
    FILE *out = fopen(path, "w");
    must(out != NULL, path);
    must(fc_facts_init(&own, &err) == FC_OK &&
             fc_facts_rank(&here, "Open MPI v4.1.4", &own, &err) == FC_OK,
         err.text);
    for (int k = 0; k < ODD; k++)
        make_kind(&kind[k], k, k ? &kind[0] : NULL, leader_s);
    for (int rank = 0; rank < NODES; rank++) {
        int k = odd_of(rank);
        bool first = true; /* kinds 4, 7 to 10 are of the usual class */
        for (int other = 0; other < ODD; other++)
            first &= !(shown[other] && kind[other].kin.class == kind[k].kin.class);
        begin[rank] = (size_t)ftell(out);
        kin[rank] = kind[k].kin;
        kin[rank].rank = rank;
        put_rank(out, &kind[k], rank, first, &own);
        shown[k] = true;
    }
    begin[NODES] = (size_t)ftell(out);
    must(fclose(out) == 0, path);
}

/* ---- the runtime that stands for them ---- */

struct others {
    const char *text;
    const size_t *begin;
    size_t given[NODES];
};

static enum fc_status start_max(struct fc_rte *rte, int64_t *inout, int n,
                                struct fc_error *err)
{
    (void)rte, (void)inout, (void)n, (void)err;
    return FC_OK;
}

static enum fc_status start_bcast(struct fc_rte *rte, void *data, int bytes, int root,
                                  struct fc_error *err)
{
    (void)rte, (void)data, (void)bytes, (void)root, (void)err;
    return FC_OK;
}

/* Of the lengths of what is gathered. */
static enum fc_status start_allgather(struct fc_rte *rte, const void *send, int bytes,
                                      void *recv, struct fc_error *err)
{
    const struct others *o = rte->backend;
    int64_t *length = recv;
    (void)send, (void)err;
    must(bytes == (int)sizeof *length, "another collective than the gather of lines");
    for (int r = 0; r < rte->size; r++)
        length[r] = (int64_t)(o->begin[r + 1] - o->begin[r]);
    return FC_OK;
}

static enum fc_status start_gather(struct fc_rte *rte, const void *send, int bytes,
                                   void *recv, const int *counts, const int *displs,
                                   struct fc_error *err)
{
    struct others *o = rte->backend;
    (void)send, (void)bytes, (void)err;
    for (int r = 0; r < rte->size; r++) {
        memcpy((char *)recv + displs[r], o->text + o->begin[r] + o->given[r],
               (size_t)counts[r]);
        o->given[r] += (size_t)counts[r];
    }
    return FC_OK;
}

static enum fc_status test(struct fc_rte *rte, bool *out_done, struct fc_error *err)
{
    (void)rte, (void)err;
    *out_done = true;
    return FC_OK;
}

/* ---- rank 0 ---- */

/* The largest memory since `forget`, without what is a file's. */
static double peak_MB(bool forget)
{
    char line[256];
    double kib = 0;
    if (forget)
        malloc_trim(0); /* what is free must not hide what is needed */
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (forget)
        must(file && fputs("5", file) >= 0 && fflush(file) == 0, "clear_refs");
    if (file)
        fclose(file);
    file = fopen("/proc/self/status", "r");
    must(file != NULL, "status");
    while (fgets(line, sizeof line, file))
        (void)sscanf(line, "VmHWM: %lf", &kib);
    fclose(file);
    return kib * 1024 / 1e6;
}

static void report(const char *name, double value, const char *target)
{
    printf("%s %.3f %s\n", name, value, target);
}

/* Fake lines of a run around what was gathered, so that the judge takes it. */
static void add_line(struct fc_journal *journal, const char *type, json_t *body)
{
    struct fc_error err = {""};
    must(fc_journal_line(journal, fc_line(type, body), &err) == FC_OK, err.text);
}

static void gather(struct others *o, const char *dir)
{
    static const struct fc_rte_ops ops = {.name = "others",
                                          .start_max = start_max,
                                          .start_bcast = start_bcast,
                                          .start_gather = start_gather,
                                          .start_allgather = start_allgather,
                                          .test = test};
    struct fc_rte rte = {
        .size = NODES, .ops = &ops, .backend = o, .wait_ns = 60 * FC_NS_PER_S};
    struct fc_run run = {.rte = &rte};
    struct fc_error err = {""};
    must(fc_journal_create(dir, &run.journal, &err) == FC_OK, err.text);
    must(fc_sink_open(0, &run.sink, &err) == FC_OK, err.text);
    add_line(run.journal, "run",
             json_pack("{s:s, s:s, s:i, s:i}", "schema", FC_JOURNAL_SCHEMA, "version",
                       "0", "ranks", NODES, "nodes", NODES));
    add_line(run.journal, "plan", json_pack("{s:[], s:[]}", "probes", "skipped"));
    double before = peak_MB(true);
    uint64_t start = cpu_ns();
    must(fc_phase_commit(&run, "config", &err) == FC_OK, err.text);
    report("topo_pictures_gather_s", (double)(cpu_ns() - start) / 1e9, "<=2");
    report("topo_pictures_gather_MB", peak_MB(false) - before, "<=100");
    add_line(run.journal, "end", json_pack("{s:s}", "status", "complete"));
    fc_sink_close(run.sink);
    fc_journal_close(run.journal);
}

static void judge(const char *dir)
{
    struct fc_journal_text text = {0};
    struct fc_error err = {""};
    json_t *verdict = NULL;
    size_t findings = 0, i;
    json_t *finding;
    double before = peak_MB(true);
    uint64_t start = cpu_ns();
    must(fc_journal_read(dir, &text, &err) == FC_OK, err.text);
    must(fc_judge(&text, NULL, &verdict, &err) == FC_OK, err.text);
    report("topo_pictures_judge_s", (double)(cpu_ns() - start) / 1e9, "<=2");
    report("topo_pictures_judge_MB", peak_MB(false) - before, "<=100");
    json_array_foreach(json_object_get(verdict, "findings"), i, finding)
    {
        const char *message = json_string_value(json_object_get(finding, "message"));
        bool odd = message && strstr(message, "unlike");
        findings += odd;
        if (odd && getenv("show"))
            printf("# %s\n", message);
    }
    printf("# %zu findings tell what nodes have otherwise\n", findings);
    json_decref(verdict);
    fc_journal_text_free(&text);
}

struct shared {
    size_t begin[NODES + 1];
    struct fc_kin kin[NODES];
    double leader_s;
};

int main(void)
{
    char root[64], path[128], dir[128];
    tree_make(root, sizeof root);
    snprintf(path, sizeof path, "%s/lines", root);
    snprintf(dir, sizeof dir, "%s/run", root);
    struct shared *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(shared != MAP_FAILED, "shared memory");
    pid_t child = fork();
    if (child == 0) {
        be_the_others(path, shared->begin, &shared->leader_s, shared->kin);
        _exit(0);
    }
    int status = 1;
    must(child > 0 && waitpid(child, &status, 0) == child && status == 0,
         "the child failed");
    int fd = open(path, O_RDONLY);
    size_t bytes = shared->begin[NODES];
    struct others o = {.begin = shared->begin};
    o.text = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    must(fd >= 0 && o.text != MAP_FAILED, path);
    fc_log_set_level(FC_LOG_QUIET);
    printf("# %d nodes, %d kinds of them, %.1f MB of lines\n", NODES, ODD,
           (double)bytes / 1e6);
    report("topo_pictures_leader_ms", shared->leader_s * 1e3, "");
    uint64_t start = cpu_ns();
    fc_kin_sort(shared->kin, NODES);
    int usual = fc_kin_usual(shared->kin, NODES, 0);
    report("topo_pictures_usual_ms", (double)(cpu_ns() - start) / 1e6, "");
    must(usual == 0, "node 0 should be the usual one");
    gather(&o, dir);
    judge(dir);
    tree_remove(root);
    return 0;
}
