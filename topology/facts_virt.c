// SPDX-License-Identifier: BSD-3-Clause
/* What a node is inside of: a container, a hypervisor, a maker's machine.
 *
 * A container is known by the marks that runtimes leave for their guests: a file, a
 * variable, a word in the control group's path. A hypervisor is known by the flag that
 * it sets in the processor (x86) or by a firmware name that only virtual machines have;
 * its name comes from the processor's own leaf or from the firmware. A bare-metal
 * instance of a cloud has the cloud's firmware name but not the flag, and counts as
 * none.
 */
#include "topology/facts_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

struct mark {
    const char *where, *what;
};

static const char *container_by_file(const struct fc_source *source)
{
    static const struct mark files[] = {
        {"/run/.containerenv", "podman"},
        {"/.dockerenv", "docker"},
        {"/.singularity.d", "apptainer"},
        {"/run/host/container-manager", "other"},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (fc_source_exists(source, files[i].where))
            return files[i].what;
    return NULL;
}

static const char *container_by_variable(void)
{
    static const struct mark variables[] = {
        {"APPTAINER_CONTAINER", "apptainer"}, {"SINGULARITY_CONTAINER", "apptainer"},
        {"CH_RUNNING", "charliecloud"},       {"KUBERNETES_SERVICE_HOST", "kubernetes"},
        {"ENROOT_ROOTFS", "enroot"},
    };
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (getenv(variables[i].where))
            return variables[i].what;
    const char *name = getenv("container");
    return name && *name ? name : NULL;
}

static const char *container_by_cgroup(const struct fc_source *source)
{
    static const struct mark words[] = {
        {"kubepods", "kubernetes"},
        {"/docker", "docker"},
        {"libpod", "podman"},
        {"/lxc", "lxc"},
        {"containerd", "other"},
        {"crio-", "kubernetes"},
        {"machine.slice/machine-", "nspawn"},
    };
    char text[4096];
    struct fc_gap gap;
    if (!fc_source_read(source, "/proc/self/cgroup", text, sizeof text, &gap))
        return NULL;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(text, words[i].where))
            return words[i].what;
    return NULL;
}

static void set_container(const struct fc_source *source, struct fc_facts *out)
{
    const char *name = container_by_variable();
    if (!name)
        name = container_by_file(source);
    if (!name)
        name = container_by_cgroup(source);
    fc_facts_text(out, "virt.container", name ? name : "none");
}

/* The name that the hypervisor itself gives, on this machine only. */
static const char *hypervisor_by_leaf(const struct fc_source *source)
{
#if defined(__x86_64__) || defined(__i386__)
    static const struct mark names[] = {
        {"KVMKVMKVM", "kvm"},       {"Microsoft Hv", "hyper-v"},
        {"VMwareVMware", "vmware"}, {"XenVMMXenVMM", "xen"},
        {"TCGTCGTCGTCG", "qemu"},   {"bhyve bhyve ", "bhyve"},
        {"ACRNACRNACRN", "acrn"},
    };
    union {
        unsigned int word[3];
        char text[12];
    } leaf;
    unsigned int highest;
    if (source->root[0] != '\0')
        return NULL;
    __cpuid(0x40000000, highest, leaf.word[0], leaf.word[1], leaf.word[2]);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(leaf.text, names[i].where, strlen(names[i].where)) == 0)
            return names[i].what;
#else
    (void)source;
#endif
    return NULL;
}

static const char *hypervisor_by_firmware(const char *vendor, const char *product)
{
    static const struct mark names[] = {
        {"KVM", "kvm"},
        {"QEMU", "kvm"},
        {"VMware", "vmware"},
        {"innotek", "virtualbox"},
        {"Xen", "xen"},
        {"Bochs", "bochs"},
        {"Parallels", "parallels"},
        {"Virtual Machine", "hyper-v"},
        {"Google Compute Engine", "kvm"},
        {"OpenStack", "kvm"},
        {"BHYVE", "bhyve"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(vendor, names[i].where) || strstr(product, names[i].where))
            return names[i].what;
    return NULL;
}

/* True when the processor says so; *out_told: it can say (x86 has the flag). */
static bool processor_says(const struct fc_source *source, bool *out_told)
{
    char text[16 * 1024];
    struct fc_gap gap;
    *out_told = false;
    if (!fc_source_read(source, "/proc/cpuinfo", text, sizeof text, &gap))
        return false;
    char *flags = strstr(text, "\nflags");
    if (!flags)
        return false;
    *out_told = true;
    flags[1 + strcspn(flags + 1, "\n")] = '\0';
    return strstr(flags, " hypervisor") != NULL;
}

static void set_hypervisor(const struct fc_source *source, struct fc_facts *out)
{
    const char *vendor = json_string_value(json_object_get(out->values, "dmi.vendor"));
    const char *product =
        json_string_value(json_object_get(out->values, "dmi.product"));
    bool told, virtual = processor_says(source, &told);
    const char *name =
        hypervisor_by_firmware(vendor ? vendor : "", product ? product : "");
    if (virtual) {
        const char *own = hypervisor_by_leaf(source);
        fc_facts_text(out, "virt.hypervisor", own ? own : name ? name : "unknown");
    } else {
        fc_facts_text(out, "virt.hypervisor", told || !name ? "none" : name);
    }
}

void fc_facts_virt(const struct fc_source *source, struct fc_facts *out)
{
    set_container(source, out);
    fc_facts_file(out, "dmi.vendor", source, "/sys/class/dmi/id/sys_vendor");
    fc_facts_file(out, "dmi.product", source, "/sys/class/dmi/id/product_name");
    fc_facts_file(out, "dmi.bios", source, "/sys/class/dmi/id/bios_version");
    fc_facts_file(out, "dmi.serial", source, "/sys/class/dmi/id/product_serial");
    set_hypervisor(source, out);
}
