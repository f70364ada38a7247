// SPDX-License-Identifier: BSD-3-Clause
#include "collectives/path.h"

#include <dirent.h>
#include <math.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ENDS_MAX = 64, NAME_MAX_BYTES = 40 };

/* One network interface or RDMA port: where its counters are, and what they said. */
struct end {
    char name[NAME_MAX_BYTES]; /* "eth0", "mlx5_0/1" */
    char dir[320];             /* of the two counters */
    const char *rx, *tx;       /* their files */
    double unit;               /* bytes a count */
    bool verbs, physical, loopback;
    bool over_verbs;  /* IPoIB: its bytes move the port's counters as well */
    double rate_GBps; /* NaN: not known */
    double begin, moved;
};

struct fc_path_watch {
    struct end end[ENDS_MAX];
    size_t ends;
};

static bool read_text(const char *dir, const char *file, char *out, size_t bytes)
{
    char path[400];
    snprintf(path, sizeof path, "%.319s/%.60s", dir, file);
    FILE *in = fopen(path, "re");
    bool ok = in && fgets(out, (int)bytes, in);
    if (in)
        fclose(in);
    return ok;
}

static double read_number(const char *dir, const char *file)
{
    char text[64];
    return read_text(dir, file, text, sizeof text) ? strtod(text, NULL) : (double)NAN;
}

/* Where the interface's speed is what a cable does, not what a driver makes up. */
static bool is_physical(const char *net)
{
    static const char *const virtual[] = {
        "virtio_net", "veth", "vmxnet3", "hv_netvsc", "xen_netfront", "tun", "netvsc"};
    char path[400], target[256];
    snprintf(path, sizeof path, "%.319s/device/driver", net);
    ssize_t n = readlink(path, target, sizeof target - 1);
    if (n <= 0)
        return false;
    target[n] = '\0';
    const char *slash = strrchr(target, '/');
    for (size_t i = 0; i < sizeof virtual / sizeof *virtual; i++)
        if (strcmp(slash ? slash + 1 : target, virtual[i]) == 0)
            return false;
    return true;
}

static void add(struct fc_path_watch *watch, const struct end *end)
{
    double rx = read_number(end->dir, end->rx), tx = read_number(end->dir, end->tx);
    if (watch->ends < ENDS_MAX && isfinite(rx) && isfinite(tx))
        watch->end[watch->ends++] = *end;
}

static void add_net(struct fc_path_watch *watch, const char *class, const char *name)
{
    struct end end = {.rx = "rx_bytes", .tx = "tx_bytes", .unit = 1};
    char net[320];
    snprintf(net, sizeof net, "%.200s/%.60s", class, name);
    snprintf(end.name, sizeof end.name, "%.39s", name);
    snprintf(end.dir, sizeof end.dir, "%.300s/statistics", net);
    end.physical = is_physical(net);
    end.loopback = strcmp(name, "lo") == 0;
    end.over_verbs = read_number(net, "type") == ARPHRD_INFINIBAND;
    double mbit = end.physical ? read_number(net, "speed") : (double)NAN;
    end.rate_GBps = mbit > 0 ? mbit / 8e3 : (double)NAN;
    add(watch, &end);
}

/* A port of an HCA. InfiniBand counts words of four bytes; EFA counts bytes. */
static void add_port(struct fc_path_watch *watch, const char *ports, const char *device,
                     const char *port)
{
    struct end end = {.verbs = true, .physical = true, .rate_GBps = (double)NAN};
    char dir[320], rate[64];
    snprintf(dir, sizeof dir, "%.250s/%.20s", ports, port);
    snprintf(end.name, sizeof end.name, "%.30s/%.6s", device, port);
    if (read_text(dir, "rate", rate, sizeof rate)) {
        double gbit = strtod(rate, NULL);
        end.rate_GBps = gbit > 0 ? gbit / 8 : (double)NAN;
    }
    size_t before = watch->ends;
    snprintf(end.dir, sizeof end.dir, "%.300s/counters", dir);
    end.rx = "port_rcv_data";
    end.tx = "port_xmit_data";
    end.unit = 4;
    add(watch, &end);
    if (watch->ends > before)
        return;
    snprintf(end.dir, sizeof end.dir, "%.300s/hw_counters", dir);
    end.rx = "rx_bytes";
    end.tx = "tx_bytes";
    end.unit = 1;
    add(watch, &end);
}

typedef void entry_fn(struct fc_path_watch *watch, const char *dir, const char *owner,
                      const char *name);

static void each_entry(struct fc_path_watch *watch, const char *dir, const char *owner,
                       entry_fn *fn)
{
    struct dirent **list = NULL;
    int n = scandir(dir, &list, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.')
            fn(watch, dir, owner, list[i]->d_name);
        free(list[i]);
    }
    free(list);
}

static void on_net(struct fc_path_watch *watch, const char *dir, const char *owner,
                   const char *name)
{
    (void)owner;
    add_net(watch, dir, name);
}

static void on_port(struct fc_path_watch *watch, const char *dir, const char *owner,
                    const char *name)
{
    add_port(watch, dir, owner, name);
}

static void on_hca(struct fc_path_watch *watch, const char *dir, const char *owner,
                   const char *name)
{
    char ports[300];
    (void)owner;
    snprintf(ports, sizeof ports, "%.200s/%.60s/ports", dir, name);
    each_entry(watch, ports, name, on_port);
}

enum fc_status fc_path_open(const char *root, struct fc_path_watch **out,
                            struct fc_error *err)
{
    char dir[256];
    struct fc_path_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return fc_fail(err, FC_NOMEM, "out of memory for the interfaces' counters");
    snprintf(dir, sizeof dir, "%.200s/sys/class/infiniband", root);
    each_entry(watch, dir, "", on_hca);
    snprintf(dir, sizeof dir, "%.200s/sys/class/net", root);
    each_entry(watch, dir, "", on_net);
    *out = watch;
    return FC_OK;
}

void fc_path_close(struct fc_path_watch *watch)
{
    free(watch);
}

/* Sent and received: of a loopback both count the same bytes, so the larger one. */
static double count(const struct end *end)
{
    double rx = read_number(end->dir, end->rx), tx = read_number(end->dir, end->tx);
    return end->unit * (rx > tx ? rx : tx);
}

void fc_path_begin(struct fc_path_watch *watch)
{
    for (size_t i = 0; i < watch->ends; i++)
        watch->end[i].begin = count(&watch->end[i]);
}

/* Which counters are looked at. */
enum kind { LOOPBACK, INTERFACES, REAL_INTERFACES, OVER_VERBS, PORTS };

static bool is_kind(const struct end *end, enum kind kind)
{
    switch (kind) {
    case LOOPBACK:
        return end->loopback;
    case INTERFACES:
        return !end->verbs;
    case REAL_INTERFACES:
        return !end->verbs && end->physical;
    case OVER_VERBS:
        return end->over_verbs;
    case PORTS:
        break;
    }
    return end->verbs;
}

static const struct end *busiest(const struct fc_path_watch *watch, enum kind kind,
                                 const bool *taken)
{
    const struct end *best = NULL;
    for (size_t i = 0; i < watch->ends; i++) {
        const struct end *end = &watch->end[i];
        if (!taken[i] && is_kind(end, kind) && end->moved > 0 &&
            (!best || end->moved > best->moved))
            best = end;
    }
    return best;
}

/* The fewest parts of a kind that together moved the payload, the busiest first: what
 * moved less beside them is other traffic. False when all of them did not. */
static bool carried(const struct fc_path_watch *watch, double payload, enum kind kind,
                    struct fc_path *out)
{
    double moved = 0, rate = 0;
    char names[100] = "";
    bool taken[ENDS_MAX] = {false};
    while (moved < payload) {
        const struct end *end = busiest(watch, kind, taken);
        size_t used = strlen(names);
        if (!end)
            return false;
        taken[end - watch->end] = true;
        moved += end->moved;
        rate += end->physical ? end->rate_GBps : (double)NAN;
        snprintf(names + used, sizeof names - used, "%s%s", used ? " and " : "",
                 end->name);
    }
    snprintf(out->name, sizeof out->name, kind == PORTS ? "verbs" : "sockets");
    snprintf(out->how, sizeof out->how, "%s moved %.3g MB for %.3g MB of payload",
             names, moved / 1e6, payload / 1e6);
    out->link_GBps = rate;
    return true;
}

static void unknown(struct fc_path *out, const char *how)
{
    snprintf(out->name, sizeof out->name, "unknown");
    snprintf(out->how, sizeof out->how, "%s", how);
}

/* Between machines, or between a lab's nodes. A bond and the interface below it count
 * the same bytes: the real one counts. */
static bool find_carrier(const struct fc_path_watch *watch, double payload,
                         struct fc_path *out)
{
    struct fc_path ports = *out;
    if (carried(watch, payload, OVER_VERBS, out))
        return true;
    bool sockets = carried(watch, payload, REAL_INTERFACES, out) ||
                   carried(watch, payload, INTERFACES, out);
    bool verbs = carried(watch, payload, PORTS, &ports);
    if (verbs && sockets) {
        *out = (struct fc_path){.link_GBps = (double)NAN};
        unknown(out, "interfaces and RDMA ports both moved the payload");
    } else if (verbs) {
        *out = ports;
    }
    return verbs || sockets;
}

void fc_path_end(struct fc_path_watch *watch, uint64_t payload_bytes,
                 enum fc_path_span span, struct fc_path *out)
{
    double payload = (double)payload_bytes;
    *out = (struct fc_path){.link_GBps = (double)NAN};
    for (size_t i = 0; i < watch->ends; i++)
        watch->end[i].moved = count(&watch->end[i]) - watch->end[i].begin;
    if (payload_bytes < FC_PATH_PAYLOAD_MIN) {
        unknown(out, "too few bytes to tell from other traffic");
        return;
    }
    if (span == FC_PATH_NODE ? carried(watch, payload, LOOPBACK, out)
                             : find_carrier(watch, payload, out))
        return;
    if (span == FC_PATH_FABRIC) {
        unknown(out, "no interface or port moved the payload");
        return;
    }
    snprintf(out->name, sizeof out->name, "shared memory");
    snprintf(out->how, sizeof out->how,
             span == FC_PATH_NODE
                 ? "one node, and its loopback moved less than %.3g MB"
                 : "one kernel, and no interface or port moved %.3g MB",
             payload / 1e6);
}
