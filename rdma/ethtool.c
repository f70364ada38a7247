// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/ethtool.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Beyond any driver: mlx5 with all its queues has some thousands of statistics. */
enum { STRINGS_MAX = 65536, MODE_WORDS_MAX = 127 };

/* A datagram socket, on which interfaces are asked; -1 and errno. */
static int open_socket(void)
{
    return socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
}

static bool ask(int fd, const char *net, void *request)
{
    struct ifreq ifr = {.ifr_data = request};
    snprintf(ifr.ifr_name, sizeof ifr.ifr_name, "%.15s", net);
    return ioctl(fd, SIOCETHTOOL, &ifr) == 0;
}

/* How many strings a set has; 0: none, or not told. */
static uint32_t count_strings(int fd, const char *net, uint32_t set)
{
    uint32_t count = 0;
    struct ethtool_sset_info *info = calloc(1, sizeof *info + sizeof info->data[0]);
    if (!info)
        return 0;
    info->cmd = ETHTOOL_GSSET_INFO;
    info->sset_mask = UINT64_C(1) << set;
    if (ask(fd, net, info) && info->sset_mask != 0 && info->data[0] <= STRINGS_MAX)
        count = info->data[0];
    free(info);
    return count;
}

/* `count` names of ETH_GSTRING_LEN bytes, not all ended by 0. NULL: errno. The kernel
 * writes as many as there are by now, whatever was asked for: hence twice the room. */
static struct ethtool_gstrings *get_strings(int fd, const char *net, uint32_t set,
                                            uint32_t count)
{
    struct ethtool_gstrings *names =
        calloc(1, sizeof *names + 2 * (size_t)count * ETH_GSTRING_LEN);
    if (!names)
        return NULL;
    names->cmd = ETHTOOL_GSTRINGS;
    names->string_set = set;
    names->len = count;
    if (ask(fd, net, names) && names->len == count)
        return names;
    free(names);
    return NULL;
}

static void name_at(const struct ethtool_gstrings *names, uint32_t i,
                    char out[ETH_GSTRING_LEN + 1])
{
    memcpy(out, names->data + (size_t)i * ETH_GSTRING_LEN, ETH_GSTRING_LEN);
    out[ETH_GSTRING_LEN] = '\0';
}

/* ---- statistics ---- */

static struct ethtool_stats *get_stats(int fd, const char *net, uint32_t count)
{
    struct ethtool_stats *stats =
        calloc(1, sizeof *stats + 2 * (size_t)count * sizeof stats->data[0]);
    if (!stats)
        return NULL;
    stats->cmd = ETHTOOL_GSTATS;
    stats->n_stats = count;
    if (ask(fd, net, stats) && stats->n_stats == count)
        return stats;
    free(stats);
    return NULL;
}

typedef enum fc_status each_fn(void *arg, const char *name, uint64_t value,
                               struct fc_error *err);

static enum fc_status read_stats(int fd, const char *net, each_fn *each, void *arg,
                                 struct fc_error *err)
{
    char name[ETH_GSTRING_LEN + 1];
    uint32_t count = count_strings(fd, net, ETH_SS_STATS);
    if (count == 0)
        return fc_fail(err, FC_UNSUPPORTED, "%s: its driver has no statistics", net);
    struct ethtool_gstrings *names = get_strings(fd, net, ETH_SS_STATS, count);
    struct ethtool_stats *stats = names ? get_stats(fd, net, count) : NULL;
    enum fc_status status = FC_OK;
    if (!stats)
        status = fc_fail(err, FC_UNREADABLE, "%s: statistics of its driver: %s", net,
                         strerror(errno ? errno : EPROTO));
    for (uint32_t i = 0; i < count && status == FC_OK; i++) {
        name_at(names, i, name);
        status = each(arg, name, stats->data[i], err);
    }
    free(stats);
    free(names);
    return status;
}

enum fc_status fc_ethtool_stats(const char *net, each_fn *each, void *arg,
                                struct fc_error *err)
{
    int fd = open_socket();
    if (fd < 0)
        return fc_fail(err, FC_UNREADABLE, "%s: no socket to ask it on: %s", net,
                       strerror(errno));
    errno = 0;
    enum fc_status status = read_stats(fd, net, each, arg, err);
    close(fd);
    return status;
}

/* ---- the fastest link ---- */

/* The bits of all modes that the interface supports, after the struct: words supported,
 * advertised, of the peer. The kernel first answers how many words it wants. */
static struct ethtool_link_settings *get_settings(int fd, const char *net)
{
    struct ethtool_link_settings first = {.cmd = ETHTOOL_GLINKSETTINGS};
    if (!ask(fd, net, &first) || first.link_mode_masks_nwords >= 0)
        return NULL;
    int words = -first.link_mode_masks_nwords;
    if (words > MODE_WORDS_MAX)
        return NULL;
    struct ethtool_link_settings *settings =
        calloc(1, sizeof *settings + 3 * (size_t)words * sizeof(uint32_t));
    if (!settings)
        return NULL;
    settings->cmd = ETHTOOL_GLINKSETTINGS;
    settings->link_mode_masks_nwords = (int8_t)words;
    if (ask(fd, net, settings) && settings->link_mode_masks_nwords == words)
        return settings;
    free(settings);
    return NULL;
}

/* "400000baseCR4/Full" is 400 Gb/s; a name that begins with no number is no speed. */
static double fastest(const struct ethtool_link_settings *settings,
                      const struct ethtool_gstrings *names)
{
    uint32_t bits = 32 * (uint32_t)settings->link_mode_masks_nwords;
    double best = 0;
    char name[ETH_GSTRING_LEN + 1];
    for (uint32_t i = 0; i < bits && i < names->len; i++) {
        char *end;
        if (!(settings->link_mode_masks[i / 32] >> (i % 32) & 1))
            continue;
        name_at(names, i, name);
        double Mbps = strtod(name, &end);
        if (strncmp(end, "base", 4) == 0 && Mbps / 1000 > best && Mbps < 1e8)
            best = Mbps / 1000;
    }
    return best;
}

double fc_ethtool_max_Gbps(const char *net)
{
    double best = 0;
    int fd = open_socket();
    if (fd < 0)
        return 0;
    struct ethtool_link_settings *settings = get_settings(fd, net);
    uint32_t count = settings ? count_strings(fd, net, ETH_SS_LINK_MODES) : 0;
    struct ethtool_gstrings *names =
        count > 0 ? get_strings(fd, net, ETH_SS_LINK_MODES, count) : NULL;
    if (names)
        best = fastest(settings, names);
    free(names);
    free(settings);
    close(fd);
    return best;
}
