// SPDX-License-Identifier: BSD-3-Clause
#include "rdma/memory.h"

#include "rdma/pattern.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NODES_MAX = 1024, LONG_BITS = 8 * sizeof(unsigned long) };

/* Preferred and not bound: a node without free memory, or a cgroup that forbids it,
 * leaves memory elsewhere, which `numa` then says. */
static void prefer_node(void *at, size_t bytes, int numa)
{
    unsigned long mask[NODES_MAX / LONG_BITS] = {0};
    if (numa < 0 || numa >= NODES_MAX)
        return;
    mask[numa / LONG_BITS] |= 1ul << (numa % LONG_BITS);
    (void)syscall(SYS_mbind, at, bytes, MPOL_PREFERRED, mask, (unsigned long)NODES_MAX,
                  0u);
}

static int node_of(void *at)
{
    int node = -1;
    if (syscall(SYS_get_mempolicy, &node, NULL, 0ul, at,
                (unsigned long)(MPOL_F_NODE | MPOL_F_ADDR)) != 0)
        return -1;
    return node;
}

static enum fc_status host_alloc(struct fc_rdma_memory *memory, size_t bytes, int numa,
                                 struct fc_error *err)
{
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return fc_fail(err, FC_NOMEM, "no memory for buffers of %zu bytes: %s", bytes,
                       strerror(errno));
    prefer_node(at, bytes, numa);
    (void)madvise(at, bytes, MADV_HUGEPAGE); /* fewer pages to pin, where there are */
    memset(at, 0, bytes);
    memory->at = at;
    memory->bytes = bytes;
    memory->numa = node_of(at);
    return FC_OK;
}

static void host_free(struct fc_rdma_memory *memory)
{
    if (memory->at)
        (void)munmap(memory->at, memory->bytes);
    memory->at = NULL;
}

static enum fc_status host_fill(struct fc_rdma_memory *memory, uint64_t offset,
                                size_t bytes, uint64_t seed, uint64_t at, bool inverted,
                                struct fc_error *err)
{
    (void)err;
    fc_rdma_fill((char *)memory->at + offset, bytes, seed, at, inverted);
    return FC_OK;
}

static enum fc_status host_check(struct fc_rdma_memory *memory, uint64_t offset,
                                 size_t bytes, uint64_t seed, uint64_t at,
                                 uint64_t *out_wrong, uint64_t *out_first,
                                 struct fc_error *err)
{
    (void)err;
    *out_wrong =
        fc_rdma_check((const char *)memory->at + offset, bytes, seed, at, out_first);
    return FC_OK;
}

const struct fc_rdma_memory_ops fc_rdma_host_memory = {
    .name = "host",
    .host_visible = true,
    .alloc = host_alloc,
    .free = host_free,
    .fill = host_fill,
    .check = host_check,
};

const struct fc_rdma_memory_ops *fc_rdma_memory_find(const char *name)
{
    return strcmp(name, fc_rdma_host_memory.name) == 0 ? &fc_rdma_host_memory : NULL;
}
