// SPDX-License-Identifier: BSD-3-Clause
/* The picture of one node: packages, NUMA nodes, the PCIe tree, GPUs, NICs with
 * their ports, the links between GPUs, who is near whom, and the rails. One model,
 * whatever it was read from: this machine, a captured tree of /sys and /proc (a folder,
 * or a JSON object {path: content}), an hwloc XML, an NCCL topology XML, our own JSON,
 * a journal.
 *
 * What a source does not tell is unknown, never zero: numbers are -1 (or 0 where 0 is
 * impossible, as said), texts are "", and a note says what is missing. Values that no
 * machine can have are noted as odd. All texts are UTF-8 without control characters.
 * Collective: no. Refuses to know: MPI, CUDA, NVML (device/ fills the same structs),
 * what is good or bad.
 */
#ifndef FC_TOPOLOGY_MODEL_H
#define FC_TOPOLOGY_MODEL_H

#include "core/status.h"
#include "topology/cpuset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fc_topo_kind {
    FC_TOPO_LIVE,
    FC_TOPO_SYSROOT,
    FC_TOPO_SYS_JSON,
    FC_TOPO_HWLOC_XML,
    FC_TOPO_NCCL_XML,
    FC_TOPO_OWN_JSON,
    FC_TOPO_JOURNAL,
};

/* Nearest first. The words of `nvidia-smi topo -m`. */
enum fc_topo_near {
    FC_NEAR_SELF,
    FC_NEAR_LINK, /* NVLink or XGMI */
    FC_NEAR_PIX,  /* at most one PCIe switch */
    FC_NEAR_PXB,  /* several switches, no host bridge */
    FC_NEAR_PHB,  /* one host bridge */
    FC_NEAR_NODE, /* between host bridges of one NUMA node */
    FC_NEAR_SYS,  /* between NUMA nodes */
    FC_NEAR_UNKNOWN,
};

struct fc_topo_package {
    int os_index;
    char model[96];
    struct fc_cpuset cpus;
};

struct fc_topo_numa {
    int os_index;
    int package;   /* index; -1: none or unknown */
    int64_t bytes; /* -1: unknown */
    bool without_cpus;
    bool is_gpu_memory;
    struct fc_cpuset cpus;
};

/* One PCIe link, upwards from its device. Unknown: 0. */
struct fc_topo_link {
    double GTps, max_GTps; /* of a lane */
    int width, max_width;  /* lanes */
    double GBps; /* where only this is told: now, each way, as hwloc says it */
};

enum fc_pci_role {
    FC_PCI_OTHER,
    FC_PCI_BRIDGE, /* PCI-to-PCI: root ports and the ports of switches */
    FC_PCI_GPU,
    FC_PCI_NIC,
    FC_PCI_NVSWITCH,
    FC_PCI_STORAGE,
};

struct fc_topo_pci {
    char bdf[24];
    int parent; /* index of the bridge above; -1: on a root bus, or unknown */
    int host;   /* number of the host bridge (or of NCCL's <cpu>); -1: unknown */
    int numa;   /* index; -1: unknown */
    int package;
    int64_t class_code, vendor, device; /* -1: unknown; class without the interface */
    enum fc_pci_role role;
    struct fc_topo_link link;
    bool vf;            /* SR-IOV function of a card whose own function is here too */
    bool has_interface; /* a network or verbs device belongs to it */
    char name[96], driver[32], iommu[24];
};

enum { FC_TOPO_NEAREST = 64 };
struct fc_topo_gpu {
    int pci; /* index */
    char name[96], vendor[32], uuid[64], serial[64], arch[32];
    int64_t memory_bytes; /* -1: unknown */
    int memory_numa;      /* index of the NUMA node that is its memory; -1 */
    int dev;              /* the number a topology file gives it; -1 */
    int gdr;              /* 1, 0; -1: not told */
    /* The nearest NICs of the fabric, the one to use first, and how near they are. */
    int nic[FC_TOPO_NEAREST];
    size_t nics;
    enum fc_topo_near nic_near;
};

struct fc_topo_gid {
    int index;
    char gid[48], type[24], net[32];
};
struct fc_topo_port {
    int number;
    char name[32]; /* where ports have names of their own (NCCL), else "" */
    char state[24], phys_state[24], layer[24], rate[48], guid[40], pkeys[64];
    double Gbps; /* 0: unknown */
    int lid;     /* -1: unknown */
    struct fc_topo_gid *gid;
    size_t gids;
};

enum fc_nic_role {
    FC_NIC_FABRIC,  /* what training traffic goes over */
    FC_NIC_OTHER,   /* management, storage: slower, or of another kind */
    FC_NIC_VIRTUAL, /* bonds, veth, bridges: no card of its own */
};
struct fc_topo_nic {
    int pci;       /* index; -1: none */
    char name[64]; /* the verbs device's, else the interface's, else the bus address */
    char rdma[64]; /* verbs device; "": none known */
    char net[8][32];
    size_t nets;
    char firmware[48], board[48], type[48], node_guid[40], net_state[16];
    int mtu; /* of the first interface; -1: unknown */
    bool has_uverbs, uverbs_known;
    double Gbps; /* of its fastest port or interface; 0: unknown */
    struct fc_topo_port *port;
    size_t ports;
    enum fc_nic_role role;
    int rail; /* -1: on none */
    int numa; /* index; where there is no PCI function to ask */
};

enum fc_peer_kind { FC_PEER_GPU, FC_PEER_SWITCH, FC_PEER_CPU };
struct fc_topo_peer {
    int gpu;
    enum fc_peer_kind kind;
    int peer; /* the other GPU; -1 */
    bool xgmi;
    int links;   /* 0: unknown */
    double GBps; /* each way, all links together; 0: unknown */
};

/* What the peers come to for two GPUs; a table of all pairs, made once. */
struct fc_topo_pair {
    int links; /* 0: none; -1: some, nobody says how many */
    bool xgmi;
};

struct fc_topo_note {
    bool odd; /* an impossible value; else: something is unknown */
    char text[240];
};

struct fc_topo {
    enum fc_topo_kind kind;
    char source[240]; /* "live", or the path as it was given */
    char host_name[64], machine[96];
    char hypervisor[48], container[48]; /* "none"; "": not told */
    char gpus_by[96]; /* what gave GPUs to the ranks: "host", "none"; "": not told */
    int gpu_files;    /* device files of NVIDIA's GPUs; -1: not told */
    struct fc_topo_mig {
        int gpus, slices; /* GPUs that are sliced, all their slices */
        int open;         /* slices that the ranks may use */
    } mig;                /* 0 where it is not told, since most have none */
    int64_t packages_n, cores, pus, numa_n; /* -1: unknown */
    bool gpus_known, nics_known;            /* false: the source cannot tell which */
    struct fc_topo_package *package;
    size_t packages;
    struct fc_topo_numa *numa;
    size_t numas;
    struct fc_topo_pci *pci; /* parents before children, in the order of the bus */
    size_t pcis;
    struct fc_topo_gpu *gpu; /* in the order of the bus */
    size_t gpus;
    struct fc_topo_nic *nic;
    size_t nics;
    struct fc_topo_peer *peer;
    size_t peers;
    struct fc_topo_pair *pair; /* [gpus][gpus] */
    struct fc_topo_note *note;
    size_t notes;
    int hosts; /* host bridges; numbered from 0 */
    bool
        ports_told; /* the tree holds each port of a switch (else one entry a switch) */
    int rails;
    bool links_known; /* the source would tell of links between GPUs */
    char *hwloc_xml;  /* asked for and offered by the source; else NULL */
};

struct fc_topo_source {
    const char *from;    /* a file; or */
    const char *sysroot; /* a folder that stands for "/"; both NULL: this machine */
    bool want_xml;       /* fill hwloc_xml where the source can */
    void (*note)(void *arg, const char *path); /* before what can hang; may be NULL */
    void *arg;
};

/* Reads the picture. FC_USAGE: the input is no picture, with one line that says why;
 * the caller closes *out_topo. About 20 ms. Collective: no. */
enum fc_status fc_topo_open(const struct fc_topo_source *source,
                            struct fc_topo **out_topo,
                            struct fc_error *err) FC_MUST_USE;
/* NULL-safe. Collective: no. */
void fc_topo_close(struct fc_topo *topo);

/* Ends of a path: 0 to gpus - 1 are GPUs, from `gpus` on NICs. Collective: no. */
enum fc_topo_near fc_topo_near(const struct fc_topo *topo, size_t a, size_t b);
/* Links between two GPUs, direct or through NVSwitches; 0: none. -1: there are, but
 * nobody says how many. *out_xgmi: what they are. Collective: no. */
int fc_topo_links(const struct fc_topo *topo, size_t a, size_t b, bool *out_xgmi);
/* The matrix's word for it: "X", "NV18", "XG4", "PIX", ... "?" is unknown. At least 12
 * bytes. Collective: no. */
void fc_topo_word(const struct fc_topo *topo, size_t a, size_t b, char *out,
                  size_t bytes);
/* "PIX"; static. Collective: no. */
const char *fc_topo_near_name(enum fc_topo_near near);

#endif
