// SPDX-License-Identifier: BSD-3-Clause
/* Which ports are the fabric's rails, and with which GID, P_Key, service level and
 * traffic class NCCL would use each; why the other ports are left out.
 *
 * A port is a rail when it belongs to the fastest kind of ports of its node (at least
 * half of the fastest, on the same wire, by the node's picture where there is one), or
 * when NCCL_IB_HCA names it (rails are then counted among the named). Ports that would
 * be rails and cannot be used (down, without a GID) keep their rail number, so that
 * numbers mean the same on all nodes.
 * The GID is the one that NCCL would choose: on InfiniBand entry 0 (or a routable one),
 * on RoCE NCCL_IB_GID_INDEX, or else the entry of the wanted address family, range and
 * RoCE version; its type and address matter, not its index.
 * Pure. Collective: no. Refuses to know: libibverbs, what is good or bad.
 */
#ifndef FC_RDMA_CHOOSE_H
#define FC_RDMA_CHOOSE_H

#include "core/nccl_conf.h"
#include "rdma/port.h"
#include "topology/model.h"

/* What NCCL's variables ask for; the numbers are NCCL's defaults where none is set. */
struct fc_rdma_wish {
    char hca[1024], hca_origin[520]; /* NCCL_IB_HCA and where it is set; "" */
    int gid_index;                   /* -1: by the rule */
    int routable_gid_index;
    int roce_version;            /* 1, 2 */
    enum fc_rdma_family family;  /* IPv4, IPv6 */
    uint8_t range[16];           /* of NCCL_IB_ADDR_RANGE, as a GID */
    int range_bits;              /* of the 128; 0: any address; -1: none fits */
    int pkey_index;              /* 0 */
    int sl, tc;                  /* -1: not set (NCCL takes 0) */
    int timeout, retry;          /* 20: 4.096 us * 2^20; 7 */
    int qps;                     /* queue pairs a connection: 1 */
    bool relaxed_ordering;       /* where the device has it */
    bool disabled;               /* NCCL_IB_DISABLE: NCCL would not use RDMA at all */
    struct fc_rdma_note note[8]; /* values that are none, each one line */
    size_t notes;
};

/* Reads them. Collective: no. */
void fc_rdma_wish_read(const struct fc_nccl_conf *conf, struct fc_rdma_wish *out);

enum fc_rdma_why {
    FC_RDMA_USED,
    /* would be a rail, but */
    FC_RDMA_DOWN,
    FC_RDMA_UNUSABLE, /* cannot be opened */
    FC_RDMA_NO_GID,
    FC_RDMA_NO_PKEY,
    /* is no rail */
    FC_RDMA_SLOWER,     /* storage, management */
    FC_RDMA_OTHER_KIND, /* another wire or product than the fabric's */
    FC_RDMA_VIRTUAL,    /* a virtual function, beside its card's own */
    FC_RDMA_SOFTWARE,   /* rxe or siw beside real cards */
    FC_RDMA_NOT_ASKED,  /* NCCL_IB_HCA leaves it out */
};

struct fc_rdma_chosen {
    size_t port; /* index into the ports */
    enum fc_rdma_why why;
    char reason[240]; /* in words; "" where it is used */
    int rail;         /* -1: no rail */
    int gid_index;    /* -1: none */
    char doubt[200];  /* why its GID or P_Key may not reach its peers; "": no doubt */
    int pkey_index;
    uint16_t pkey;
    int sl, tc;         /* 0 where nothing is set */
    int timeout, retry; /* NCCL's; a measuring queue pair may want shorter ones */
    bool relaxed_ordering;
};

struct fc_rdma_choice {
    struct fc_rdma_chosen *chosen; /* one a port, in the ports' order */
    size_t count;
    int rails; /* numbers run from 0 to rails - 1; some may be on other nodes only */
};

/* `topo` may be NULL. The caller frees what is in *out with fc_rdma_choice_fini.
 * Collective: no. */
enum fc_status fc_rdma_choose(const struct fc_rdma_ports *ports,
                              const struct fc_topo *topo,
                              const struct fc_rdma_wish *wish,
                              struct fc_rdma_choice *out,
                              struct fc_error *err) FC_MUST_USE;
/* NULL-safe. Collective: no. */
void fc_rdma_choice_fini(struct fc_rdma_choice *choice);

/* The used port of a rail; NULL: none here. Collective: no. */
const struct fc_rdma_chosen *fc_rdma_rail(const struct fc_rdma_choice *choice,
                                          int rail);

/* The index of the GID that NCCL would use on this port; the entry may be empty.
 * Collective: no. */
int fc_rdma_gid_choose(const struct fc_rdma_port *port,
                       const struct fc_rdma_wish *wish);

/* Whether an NCCL_IB_HCA names the port: "mlx5" (begins so), "=mlx5_0" (exactly),
 * "mlx5_0:1" (that port), "^..." (all others), several after commas; "" names all.
 * Collective: no. */
bool fc_rdma_hca_names(const char *hca, const struct fc_rdma_port *port);

/* The port that a person named by `option`: "mlx5_0:1", or "mlx5_0" for its first port
 * that is up. FC_USAGE: unknown or not usable; the text names option and value, and
 * lists what there is. *out_port: an index into the ports. Collective: no. */
enum fc_status fc_rdma_port_named(const struct fc_rdma_ports *ports, const char *option,
                                  const char *value, size_t *out_port,
                                  struct fc_error *err) FC_MUST_USE;

#endif
