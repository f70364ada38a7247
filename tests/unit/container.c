// SPDX-License-Identifier: BSD-3-Clause
/* Containers as their ranks see them (tests/fixtures/container: files as each runtime
 * leaves them), what gave them their GPUs, and what that makes of a node's tier. */
#include "topology/facts_parts.h"
#include "topology/model.h"
#include "topology/tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct kind {
    const char *tree, *container, *gpus_by;
    int files, mig_gpus, mig_slices, mig_open;
};

static const struct kind kinds[] = {
    {"docker-runtime", "docker", "nvidia-container-cli", 2, 0, 0, 0},
    {"docker-cdi", "docker", "CDI", 1, 0, 0, 0},
    {"docker-device", "docker", "device files alone", 1, 0, 0, 0},
    {"podman-cdi-rootless", "podman", "CDI", 4, 0, 0, 0},
    {"kubernetes-plugin", "kubernetes", "nvidia-container-cli, device plugin", 2, 0, 0,
     0},
    {"kubernetes-cdi", "kubernetes", "CDI, device plugin", 8, 0, 0, 0},
    {"kubernetes-nobody-asked", "kubernetes",
     "nvidia-container-cli, NVIDIA_VISIBLE_DEVICES=all of the image", 2, 0, 0, 0},
    {"kubernetes-driver-folder", "kubernetes", "a mounted driver folder", 2, 0, 0, 0},
    {"kubernetes-without-variables", "kubernetes", "none", 0, 0, 0, 0},
    {"kubernetes-mig", "kubernetes", "nvidia-container-cli, device plugin", 1, 1, 1, 1},
    {"pyxis", "pyxis", "nvidia-container-cli", 8, 0, 0, 0},
    {"enroot", "enroot", "the host's /dev", 2, 0, 0, 0},
    {"apptainer-nv", "apptainer", "apptainer --nv", 4, 0, 0, 0},
    {"apptainer-without-nv", "apptainer", "the host's /dev", 1, 0, 0, 0},
    {"lxc-by-hand", "lxc", "bind mounts", 1, 0, 0, 0},
    {"host", "none", "host", 2, 0, 0, 0},
    {"host-of-containers", "none", "host", 4, 0, 0, 0},
    {"diskless-host", "none", "host", 2, 0, 0, 0},
    {"machine-of-an-image", "none", "none", 0, 0, 0, 0},
    {"host-with-mig", "none", "host", 2, 1, 3, 2},
};

static int64_t number(const struct fc_facts *facts, const char *key, const char *part)
{
    const json_t *value = json_object_get(facts->values, key);
    value = part ? json_object_get(value, part) : value;
    assert_true(json_is_integer(value));
    return json_integer_value(value);
}

static const char *text(const struct fc_facts *facts, const char *key)
{
    const char *s = json_string_value(json_object_get(facts->values, key));
    assert_non_null(s);
    return s;
}

static struct fc_facts facts_of(const char *tree)
{
    char path[512];
    const char *top = getenv("top_srcdir");
    struct fc_facts facts;
    struct fc_error err;
    snprintf(path, sizeof path, "%s/tests/fixtures/container/%s", top ? top : ".",
             tree);
    const struct fc_source source = {.root = path};
    assert_true(fc_source_exists(&source, "/proc/self/mountinfo"));
    assert_int_equal(fc_facts_init(&facts, &err), FC_OK);
    fc_facts_container(&source, &facts);
    assert_int_equal(fc_facts_check(&facts, &err), FC_OK);
    return facts;
}

static void what_ranks_see(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const struct kind *k = &kinds[i];
        struct fc_facts f = facts_of(k->tree);
        print_message("# %s\n", k->tree);
        assert_string_equal(text(&f, "virt.container"), k->container);
        assert_string_equal(text(&f, "virt.gpus_by"), k->gpus_by);
        assert_int_equal(number(&f, "virt.gpu_files", NULL), k->files);
        assert_int_equal(number(&f, "virt.mig", "gpus"), k->mig_gpus);
        assert_int_equal(number(&f, "virt.mig", "slices"), k->mig_slices);
        assert_int_equal(number(&f, "virt.mig", "open"), k->mig_open);
        fc_facts_fini(&f);
    }
}

/* Variables of this process say nothing of a captured tree. */
static void our_own_variables(void **state)
{
    (void)state;
    setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1);
    setenv("NVIDIA_VISIBLE_DEVICES", "MIG-1,MIG-2", 1);
    struct fc_facts f = facts_of("host");
    assert_string_equal(text(&f, "virt.container"), "none");
    assert_int_equal(number(&f, "virt.mig", "open"), 0);
    fc_facts_fini(&f);
    const struct fc_source live = {.root = ""};
    struct fc_error err;
    assert_int_equal(fc_facts_init(&f, &err), FC_OK);
    fc_facts_container(&live, &f);
    assert_int_equal(number(&f, "virt.mig", "open"), 2);
    fc_facts_fini(&f);
    unsetenv("KUBERNETES_SERVICE_HOST");
    unsetenv("NVIDIA_VISIBLE_DEVICES");
}

/* A tree without any of these files: what cannot be told is not told as none. */
static void nothing_to_read(void **state)
{
    (void)state;
    struct fc_facts f;
    struct fc_error err;
    const struct fc_source nowhere = {.root = "/nonexistent"};
    assert_int_equal(fc_facts_init(&f, &err), FC_OK);
    fc_facts_container(&nowhere, &f);
    assert_null(json_object_get(f.values, "virt.gpus_by"));
    assert_non_null(json_object_get(f.unreadable, "virt.gpus_by"));
    assert_non_null(json_object_get(f.unreadable, "virt.gpu_files"));
    fc_facts_fini(&f);
}

static const char *isolation(const struct fc_topo *topo)
{
    static struct fc_tier tier;
    tier = fc_tier_of(topo);
    return tier.isolation;
}

static const char *suits(const struct fc_topo *topo, size_t workload)
{
    return fc_suits_name(fc_tier_of(topo).workload[workload].suits);
}

static void isolations(void **state)
{
    (void)state;
    struct fc_topo_gpu gpu[2] = {{.name = "NVIDIA A100-SXM4-40GB", .pci = 0},
                                 {.name = "NVIDIA A100-SXM4-40GB", .pci = 0}};
    struct fc_topo_pci pci = {.numa = -1, .parent = -1, .host = -1};
    struct fc_topo topo = {.gpu = gpu,
                           .gpus = 2,
                           .pci = &pci,
                           .pcis = 1,
                           .gpus_known = true,
                           .nics_known = true,
                           .gpu_files = 2};
    struct fc_topo_pair pairs[4] = {{0, false}};
    topo.pair = pairs;
    assert_string_equal(isolation(&topo), "unknown");
    strcpy(topo.hypervisor, "none");
    strcpy(topo.container, "none");
    strcpy(topo.gpus_by, "host");
    assert_string_equal(isolation(&topo), "bare metal");
    strcpy(topo.hypervisor, "kvm");
    assert_string_equal(isolation(&topo), "virtual machine, kvm, GPUs passed through");
    strcpy(gpu[1].name, "NVIDIA A40-48Q");
    assert_string_equal(isolation(&topo),
                        "virtual machine, kvm, 1 of 2 GPUs are shares (vGPU)");
    strcpy(gpu[1].name, "GRID A100-4-20C");
    strcpy(gpu[0].name, "-");
    assert_non_null(strstr(isolation(&topo), ", 1 of 2 GPUs are shares"));
    strcpy(topo.hypervisor, "none");
    strcpy(topo.container, "kubernetes");
    strcpy(topo.gpus_by, "CDI, device plugin");
    assert_string_equal(
        isolation(&topo),
        "bare metal, in a container: kubernetes, GPUs by CDI, device plugin");
    topo.gpu_files = 1;
    assert_string_equal(
        isolation(&topo),
        "bare metal, in a container: kubernetes, 1 of 2 GPUs by CDI, device plugin");
    assert_string_equal(suits(&topo, 2), "yes");
    strcpy(topo.gpus_by, "none");
    topo.gpu_files = 0;
    assert_string_equal(
        isolation(&topo),
        "bare metal, in a container: kubernetes, which was given none of 2 GPUs");
    for (size_t i = 0; i < FC_TIER_WORKLOADS; i++)
        assert_string_equal(suits(&topo, i), "no");
}

static void slices(void **state)
{
    (void)state;
    struct fc_topo_gpu gpu[2] = {{.name = "NVIDIA H100", .pci = 0},
                                 {.name = "NVIDIA H100", .pci = 0}};
    struct fc_topo_pci pci = {.numa = -1, .parent = -1, .host = -1};
    struct fc_topo_pair pairs[4] = {
        {0, false}, {18, false}, {18, false}, {0, false}}; /* linked to each other */
    struct fc_topo topo = {.gpu = gpu,
                           .gpus = 2,
                           .pci = &pci,
                           .pcis = 1,
                           .pair = pairs,
                           .gpus_known = true,
                           .nics_known = true,
                           .links_known = true,
                           .gpu_files = 2};
    strcpy(topo.hypervisor, "none");
    strcpy(topo.container, "none");
    strcpy(topo.gpus_by, "host");
    assert_string_equal(suits(&topo, 1), "yes");
    /* all slices of one of two GPUs are open: the other one is whole, and ours */
    topo.mig = (struct fc_topo_mig){.gpus = 1, .slices = 7, .open = 7};
    assert_string_equal(isolation(&topo), "bare metal, MIG: 7 of 7 slices on 1 GPU");
    assert_string_equal(suits(&topo, 1), "yes");
    topo.mig.open = 2;
    assert_string_equal(isolation(&topo), "bare metal, MIG: 2 of 7 slices on 1 GPU");
    assert_string_equal(suits(&topo, 0), "no");
    assert_string_equal(suits(&topo, 1), "no");
    assert_string_equal(suits(&topo, 2), "yes");
    assert_string_equal(suits(&topo, 3), "yes");
    assert_string_equal(fc_tier_of(&topo).workload[3].reason,
                        "what fits one slice of a GPU");
    topo.mig = (struct fc_topo_mig){.open = 1};
    assert_string_equal(isolation(&topo), "bare metal, MIG: 1 slice");
    assert_string_equal(suits(&topo, 1), "no");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_ranks_see),  cmocka_unit_test(our_own_variables),
        cmocka_unit_test(nothing_to_read), cmocka_unit_test(isolations),
        cmocka_unit_test(slices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
