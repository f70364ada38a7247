// SPDX-License-Identifier: BSD-3-Clause
/* What a node is inside of: a hypervisor, a maker's machine (containers:
 * facts_container.c).
 *
 * A hypervisor is known by the flag that it sets in the processor (x86) or by a
 * firmware name that only virtual machines have; its name comes from the processor's
 * own leaf or from the firmware. A bare-metal instance of a cloud has the cloud's
 * firmware name but not the flag, and counts as none.
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
    fc_facts_container(source, out);
    fc_facts_file(out, "dmi.vendor", source, "/sys/class/dmi/id/sys_vendor");
    fc_facts_file(out, "dmi.product", source, "/sys/class/dmi/id/product_name");
    fc_facts_file(out, "dmi.bios", source, "/sys/class/dmi/id/bios_version");
    fc_facts_file(out, "dmi.serial", source, "/sys/class/dmi/id/product_serial");
    set_hypervisor(source, out);
}
