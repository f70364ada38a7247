// SPDX-License-Identifier: BSD-3-Clause
/* Port counters from folders that stand for /sys: what they mean, what grew, what that
 * proves; and ethtool's, with the kernel's answers made here. */
#include "rdma/counters.h"
#include "rdma/ethtool.h"
#include "rdma_build.h"
#include "tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>

#define IB "/sys/class/infiniband/mlx5_0/ports/1/"
#define NET "/sys/class/net/eth7/"

static char root[128];
static struct fc_error err;
static struct fc_rdma_ports *ports;
static struct fc_rdma_port *port;

/* ---- the kernel's side of ethtool ---- */

static struct {
    bool on, no_socket;
    int fail_at; /* the call of this number fails; 0: none */
    int calls;
    uint32_t stats; /* how many it has */
    uint32_t grows; /* more than it said, at the later calls */
} kernel;

int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);
int __real_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol);

int __wrap_socket(int domain, int type, int protocol)
{
    errno = EMFILE;
    return kernel.no_socket ? -1 : __real_socket(domain, type, protocol);
}

static void put_name(uint8_t *at, const char *name)
{
    memset(at, 0, ETH_GSTRING_LEN);
    memcpy(at, name, strlen(name) < ETH_GSTRING_LEN ? strlen(name) : ETH_GSTRING_LEN);
}

static const char *const stat_names[] = {"rx_prio3_pause", "rx3_packets",
                                         "rx_vport_rdma_unicast_bytes",
                                         "a_name_of_exactly_32_characters_"};
static const char *const mode_names[] = {"Autoneg", "25000baseCR/Full",
                                         "400000baseCR4/Full", "800000baseCR8/Full"};

static int answer(void *data)
{
    uint32_t command;
    memcpy(&command, data, sizeof command);
    if (command == ETHTOOL_GSSET_INFO) {
        struct ethtool_sset_info *info = data;
        info->data[0] =
            info->sset_mask == UINT64_C(1) << ETH_SS_STATS ? kernel.stats : 4;
    } else if (command == ETHTOOL_GSTRINGS) {
        struct ethtool_gstrings *names = data;
        bool stats = names->string_set == ETH_SS_STATS;
        names->len = stats ? kernel.stats + kernel.grows : 4;
        for (uint32_t i = 0; i < names->len; i++)
            put_name(names->data + (size_t)i * ETH_GSTRING_LEN,
                     (stats ? stat_names : mode_names)[i % 4]);
    } else if (command == ETHTOOL_GSTATS) {
        struct ethtool_stats *stats = data;
        stats->n_stats = kernel.stats;
        for (uint32_t i = 0; i < stats->n_stats; i++)
            stats->data[i] = 100 + i;
    } else if (command == ETHTOOL_GLINKSETTINGS) {
        struct ethtool_link_settings *settings = data;
        bool asked = settings->link_mode_masks_nwords != 0;
        settings->link_mode_masks_nwords = asked ? 2 : -2;
        if (asked)
            settings->link_mode_masks[0] = 7; /* all but 800G */
    }
    return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    struct ifreq *ifr = va_arg(args, struct ifreq *);
    va_end(args);
    if (!kernel.on || request != SIOCETHTOOL)
        return __real_ioctl(fd, request, ifr);
    assert_string_equal(ifr->ifr_name, "eth7");
    if (++kernel.calls != kernel.fail_at)
        return answer(ifr->ifr_data);
    errno = EOPNOTSUPP;
    return -1;
}

/* ---- folders ---- */

static void set_count(const char *folder, const char *file, const char *value)
{
    char path[256], text[80];
    snprintf(path, sizeof path, "%s%s", folder, file);
    snprintf(text, sizeof text, "%s\n", value);
    tree_write(root, path, text);
}

static int set_up(void **state)
{
    (void)state;
    memset(&kernel, 0, sizeof kernel);
    tree_make(root, sizeof root);
    ports = rdma_new();
    port = rdma_add(ports, "mlx5_0", 1, FC_RDMA_ROCE, 400);
    snprintf(port->net, sizeof port->net, "eth7");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fc_rdma_ports_close(ports);
    tree_remove(root);
    return 0;
}

static struct fc_counters read_all(void)
{
    struct fc_rdma_source source = {.root = root};
    struct fc_counters counters;
    assert_int_equal(fc_counters_read(&source, port, &counters, &err), FC_OK);
    return counters;
}

static const struct fc_counter *find(const struct fc_counters *counters,
                                     const char *name, enum fc_counter_from from)
{
    for (size_t i = 0; i < counters->count; i++)
        if (counters->counter[i].from == from &&
            strcmp(counters->counter[i].name, name) == 0)
            return &counters->counter[i];
    return NULL;
}

static void names_have_meanings(void **state)
{
    (void)state;
    set_count(IB "counters/", "port_xmit_data", "1000");
    set_count(IB "counters/", "symbol_error", "7");
    set_count(IB "counters/", "VL15_dropped", "7");
    set_count(IB "counters/", "port_rcv_errors", "N/A (no PMA)");
    set_count(IB "counters/", "port_rcv_data", "-5");
    set_count(IB "counters/", "link_downed", "");
    set_count(IB "counters/", "port_xmit_wait", "99999999999999999999999");
    set_count(IB "hw_counters/", "lifespan", "25");
    set_count(IB "hw_counters/", "out_of_sequence", "18446744073709551615");
    set_count(IB "hw_counters/", "np_cnp_sent", "3");
    set_count(IB "hw_counters/", "rx_write_requests", "3");
    set_count(IB "hw_counters/", "resp_cqe_flush_error", "3");
    set_count(IB "hw_counters/", "vendor_x_seq_err", "3"); /* guessed */
    set_count(IB "hw_counters/", "vendor_x_ecn", "3");
    set_count(IB "hw_counters/", "vendor_x_flush_err", "3");
    set_count(NET "statistics/", "rx_crc_errors", "1");
    set_count(NET "statistics/", "rx_dropped", "1");
    set_count(NET "statistics/", "vendor_err", "1");
    set_count(NET, "carrier_changes", "4");
    struct fc_counters all = read_all();
    const struct fc_counter *c = find(&all, "port_xmit_data", FC_COUNTER_PORT);
    assert_non_null(c);
    assert_int_equal(c->meaning, FC_COUNTER_BYTES);
    assert_int_equal(c->unit, 4);
    assert_int_equal(c->bits, 64);
    assert_true(c->shared);
    c = find(&all, "symbol_error", FC_COUNTER_PORT);
    assert_int_equal(c->bits, 16);
    assert_int_equal(c->meaning, FC_COUNTER_ERRORS);
    c = find(&all, "out_of_sequence", FC_COUNTER_HW);
    assert_true(c->value == UINT64_MAX && !c->shared);
    assert_int_equal(find(&all, "np_cnp_sent", FC_COUNTER_HW)->meaning,
                     FC_COUNTER_CONGESTION);
    assert_int_equal(find(&all, "vendor_x_seq_err", FC_COUNTER_HW)->meaning,
                     FC_COUNTER_ERRORS);
    assert_int_equal(find(&all, "vendor_x_ecn", FC_COUNTER_HW)->meaning,
                     FC_COUNTER_CONGESTION);
    assert_int_equal(find(&all, "carrier_changes", FC_COUNTER_NET)->value, 4);
    assert_non_null(find(&all, "rx_crc_errors", FC_COUNTER_NET));
    assert_int_equal(all.count, 8);
    assert_int_equal(all.wait_ns, 25000000);
    fc_counters_fini(&all);
    fc_counters_fini(NULL);
}

static void nothing_there_is_an_empty_reading(void **state)
{
    (void)state;
    struct fc_counters all = read_all();
    assert_int_equal(all.count, 0);
    assert_int_equal(all.wait_ns, 10000000);
    fc_counters_fini(&all);
    set_count(IB "hw_counters/", "lifespan", "99999999");
    all = read_all();
    assert_int_equal(all.wait_ns, 10000000);
    fc_counters_fini(&all);
}

/* ---- growth ---- */

struct growth {
    struct fc_counter_delta *delta;
    size_t count;
};

/* One counter, from `before` to `after`. */
static struct growth grow(const char *folder, const char *name, const char *before,
                          const char *after)
{
    struct growth g;
    set_count(folder, name, before);
    struct fc_counters then = read_all();
    set_count(folder, name, after);
    struct fc_counters now = read_all();
    assert_int_equal(fc_counters_delta(&then, &now, &g.delta, &g.count, &err), FC_OK);
    fc_counters_fini(&then);
    fc_counters_fini(&now);
    return g;
}

static void assert_growth(const char *folder, const char *name, const char *before,
                          const char *after, uint64_t value, bool at_least)
{
    struct growth g = grow(folder, name, before, after);
    if (value == 0 && !at_least) {
        assert_int_equal(g.count, 0);
    } else {
        assert_int_equal(g.count, 1);
        assert_string_equal(g.delta[0].name, name);
        if (g.delta[0].value != value || g.delta[0].at_least != at_least)
            fail_msg("%s from %s to %s: %llu%s", name, before, after,
                     (unsigned long long)g.delta[0].value,
                     g.delta[0].at_least ? " at least" : "");
    }
    free(g.delta);
}

static void growth_and_its_ends(void **state)
{
    (void)state;
    assert_growth(IB "counters/", "port_xmit_data", "1000", "1256", 1024, false);
    assert_growth(IB "counters/", "port_xmit_data", "1000", "1000", 0, false);
    set_count(IB "counters/", "port_xmit_data", "");
    assert_growth(IB "counters/", "link_downed", "3", "5", 2, false);
    assert_growth(IB "counters/", "link_downed", "250", "255", 5, true);
    assert_growth(IB "counters/", "link_downed", "255", "255", 0, false);
    /* wider than the specification's */
    assert_growth(IB "counters/", "link_downed", "254", "300", 46, false);
    /* cleared by somebody */
    assert_growth(IB "counters/", "link_downed", "9", "2", 2, true);
    set_count(IB "counters/", "link_downed", "");
    assert_growth(IB "counters/", "symbol_error", "65000", "65535", 535, true);
    set_count(IB "counters/", "symbol_error", "");
    assert_growth(IB "counters/", "local_link_integrity_errors", "14", "15", 1, true);
    set_count(IB "counters/", "local_link_integrity_errors", "");
    /* 32 bits behind 64 turn over; a reload begins anew */
    assert_growth(IB "hw_counters/", "out_of_sequence", "4294967290", "10", 16, false);
    assert_growth(IB "hw_counters/", "out_of_sequence", "70000", "10", 10, true);
    assert_growth(IB "hw_counters/", "out_of_sequence", "8589934592", "10", 10, true);
}

static void what_one_reading_lacks_is_left_out(void **state)
{
    struct fc_counters then, now;
    struct fc_counter_delta *delta;
    size_t count;
    (void)state;
    set_count(IB "hw_counters/", "out_of_sequence", "5");
    then = read_all();
    set_count(IB "hw_counters/", "packet_seq_err", "5");
    now = read_all();
    assert_int_equal(fc_counters_delta(&then, &now, &delta, &count, &err), FC_OK);
    assert_int_equal(count, 0);
    free(delta);
    assert_int_equal(fc_counters_delta(&now, &then, &delta, &count, &err), FC_OK);
    assert_int_equal(count, 0);
    free(delta);
    fc_counters_fini(&then);
    fc_counters_fini(&now);
}

/* ---- proof ---- */

static struct fc_counter_delta moved(const char *name, enum fc_counter_from from,
                                     uint64_t value)
{
    struct fc_counter_delta d = {.from = from, .value = value};
    snprintf(d.name, sizeof d.name, "%s", name);
    return d;
}

static struct fc_counter_proof prove(const struct fc_counter_delta *delta, size_t count,
                                     uint64_t sent, uint64_t received, int mtu)
{
    struct fc_counter_load load = {sent, received, mtu};
    struct fc_counter_proof proof;
    fc_counters_prove(delta, count, port, &load, &proof);
    return proof;
}

static void bytes_prove(void **state)
{
    struct fc_counter_delta d[] = {moved("port_xmit_data", FC_COUNTER_PORT, 1090000000),
                                   moved("port_rcv_data", FC_COUNTER_PORT, 500)};
    (void)state;
    struct fc_counter_proof p = prove(d, 2, 1073741824, 0, 0);
    assert_true(p.proven);
    assert_string_equal(p.how, "mlx5_0:1: port_xmit_data +1.09 GB for 1.07 GB sent");
    assert_int_equal(p.moved, 1090000000);
    /* only one direction did */
    p = prove(d, 2, 1073741824, 1073741824, 0);
    assert_false(p.proven);
    assert_string_equal(p.how, "mlx5_0:1: port_rcv_data +500 B for 1.07 GB received");
    assert_int_equal(p.moved, 500);
    d[1].value = 1080000000;
    p = prove(d, 2, 1073741824, 1073741824, 0);
    assert_true(p.proven);
    assert_non_null(strstr(p.how, "sent, port_rcv_data +1.08 GB"));
    p = prove(d, 2, 1090000001, 0, 0);
    assert_false(p.proven);
    p = prove(d, 2, 1090000000, 0, 0);
    assert_true(p.proven);
    p = prove(d, 0, 1000, 0, 0);
    assert_false(p.proven);
    assert_string_equal(p.how, "mlx5_0:1: no counter says that it sent 1 kB");
    p = prove(d, 2, 0, 0, 0);
    assert_false(p.proven);
    assert_string_equal(p.how, "no payload");
}

/* A virtual function's port counts little, its interface counts all. */
static void the_next_counter_may_prove(void **state)
{
    struct fc_counter_delta d[] = {
        moved("port_xmit_data", FC_COUNTER_PORT, 4),
        moved("tx_vport_rdma_unicast_bytes", FC_COUNTER_ETHTOOL, 5000)};
    (void)state;
    port->vf = true;
    struct fc_counter_proof p = prove(d, 2, 4096, 0, 0);
    assert_true(p.proven);
    assert_non_null(strstr(p.how, "tx_vport_rdma_unicast_bytes +5 kB"));
    p = prove(d, 2, 50000, 0, 0);
    assert_false(p.proven);
    assert_non_null(strstr(p.how, "port_xmit_data +4 B for 50 kB sent (a virtual fun"));
    struct fc_counter_delta efa = moved("tx_bytes", FC_COUNTER_HW, 8192);
    assert_true(prove(&efa, 1, 8192, 0, 0).proven);
}

static void packets_prove_for_rxe(void **state)
{
    struct fc_counter_delta d[] = {moved("sent_pkts", FC_COUNTER_HW, 64),
                                   moved("tx_bytes", FC_COUNTER_NET, 70000)};
    (void)state;
    port->software = true;
    struct fc_counter_proof p = prove(d, 1, 65536, 0, 1024);
    assert_true(p.proven);
    assert_string_equal(
        p.how, "mlx5_0:1: sent_pkts +64 of at most 1024 bytes for 65.5 kB sent");
    assert_false(prove(d, 1, 65537, 0, 1024).proven);
    /* the port's MTU where the queue pairs' is not told; none: packets say nothing */
    port->mtu = 4096;
    assert_true(prove(d, 1, 262144, 0, 0).proven);
    port->mtu = 0;
    assert_false(prove(d, 1, 64, 0, 0).proven);
    p = prove(d, 2, 65536, 0, 0);
    assert_true(p.proven);
    assert_non_null(strstr(p.how, "eth7 tx_bytes +70 kB"));
    /* a card's interface says nothing of its queue pairs */
    port->software = false;
    assert_false(prove(d, 2, 65536, 0, 0).proven);
}

/* ---- ethtool ---- */

static enum fc_status count_up(void *arg, const char *name, uint64_t value,
                               struct fc_error *error)
{
    size_t *seen = arg;
    (void)error;
    assert_string_equal(name, stat_names[*seen % 4]);
    assert_int_equal(value, 100 + *seen);
    ++*seen;
    return FC_OK;
}

static void ethtool_statistics(void **state)
{
    size_t seen = 0;
    (void)state;
    kernel.on = true;
    kernel.stats = 4;
    assert_int_equal(fc_ethtool_stats("eth7", count_up, &seen, &err), FC_OK);
    assert_int_equal(seen, 4);
    assert_int_equal(kernel.calls, 3);
    for (int i = 1; i <= 3; i++) {
        kernel.calls = 0;
        kernel.fail_at = i;
        seen = 0;
        assert_int_equal(fc_ethtool_stats("eth7", count_up, &seen, &err),
                         i == 1 ? FC_UNSUPPORTED : FC_UNREADABLE);
        assert_int_equal(seen, 0);
    }
    kernel.fail_at = 0;
    kernel.grows = 3; /* queues were added meanwhile */
    assert_int_equal(fc_ethtool_stats("eth7", count_up, &seen, &err), FC_UNREADABLE);
    kernel.stats = 100000; /* no driver has so many */
    assert_int_equal(fc_ethtool_stats("eth7", count_up, &seen, &err), FC_UNSUPPORTED);
    kernel.no_socket = true;
    assert_int_equal(fc_ethtool_stats("eth7", count_up, &seen, &err), FC_UNREADABLE);
    assert_true(fc_ethtool_max_Gbps("eth7") < 1);
    kernel.no_socket = false;
}

static void ethtool_fastest_mode(void **state)
{
    (void)state;
    kernel.on = true;
    assert_true(fc_ethtool_max_Gbps("eth7") == 400);
    assert_int_equal(kernel.calls, 4);
    for (int i = 1; i <= 4; i++) {
        kernel.calls = 0;
        kernel.fail_at = i;
        assert_true(fc_ethtool_max_Gbps("eth7") == 0);
    }
}

/* ---- a real machine's tree ---- */

static void captured_h100(void **state)
{
    const char *tar = "/../shared/corpus/files/sys-class-infiniband-h100.0.tar.gz";
    const char *top = getenv("top_srcdir");
    char path[512], command[1400];
    (void)state;
    snprintf(path, sizeof path, "%s%s", top ? top : ".", tar);
    if (access(path, R_OK) != 0) {
        print_message("no corpus beside the source: the captured tree is not read\n");
        skip();
    }
    snprintf(command, sizeof command,
             "mkdir -p %s/sys/class && tar -xzf %s -C %s/sys/class && "
             "mv %s/sys/class/sys-class-infiniband-h100.0 %s/sys/class/infiniband",
             root, path, root, root, root);
    assert_int_equal(system(command), 0);
    port->net[0] = '\0';
    struct fc_counters all = read_all();
    assert_true(all.count > 25);
    assert_non_null(find(&all, "port_xmit_data", FC_COUNTER_PORT));
    assert_non_null(find(&all, "local_ack_timeout_err", FC_COUNTER_HW));
    assert_null(find(&all, "lifespan", FC_COUNTER_HW));
    struct fc_counter_delta *delta;
    size_t count;
    assert_int_equal(fc_counters_delta(&all, &all, &delta, &count, &err), FC_OK);
    assert_int_equal(count, 0); /* totals since boot are no growth, stuck or not */
    free(delta);
    fc_counters_fini(&all);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_have_meanings),   TEST(nothing_there_is_an_empty_reading),
        TEST(growth_and_its_ends),   TEST(what_one_reading_lacks_is_left_out),
        TEST(bytes_prove),           TEST(the_next_counter_may_prove),
        TEST(packets_prove_for_rxe), TEST(ethtool_statistics),
        TEST(ethtool_fastest_mode),  TEST(captured_h100),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
