// SPDX-License-Identifier: BSD-3-Clause
/* Xids out of kernel logs: as /dev/kmsg gives them, as dmesg prints them, and, where
 * they are there, logs of real machines. */
#include "topology/facts_root.h"

#include "tests/unit/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char root[64];

static int set_up(void **state)
{
    (void)state;
    tree_make(root, sizeof root);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tree_remove(root);
    return 0;
}

/* root.xids of this kernel log; a new reference. */
static json_t *xids_of(const char *log)
{
    const struct fc_source source = {.root = root};
    struct fc_facts facts;
    struct fc_error err;
    tree_write(root, "/dev/kmsg", log);
    assert_int_equal(fc_facts_init(&facts, &err), FC_OK);
    fc_facts_xids(&source, &facts);
    assert_int_equal(fc_facts_check(&facts, &err), FC_OK);
    json_t *list = json_incref(json_object_get(facts.values, "root.xids"));
    assert_true(json_is_array(list));
    fc_facts_fini(&facts);
    return list;
}

/* "0000:4f:00.0 79 x2 at 12 ago 88", "-" for what is null; static. */
static const char *entry_text(const json_t *list, size_t i)
{
    static char text[160];
    static const char *const keys[] = {"xid", "count", "boot_s", "ago_s"};
    static const char *const words[] = {" ", " x", " at ", " ago "};
    const json_t *o = json_array_get(list, i);
    size_t used = (size_t)snprintf(text, sizeof text, "%s",
                                   json_string_value(json_object_get(o, "bdf")));
    for (size_t k = 0; k < 4; k++) {
        const json_t *value = json_object_get(o, keys[k]);
        if (json_is_integer(value))
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld",
                                     words[k], (long long)json_integer_value(value));
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%s-", words[k]);
    }
    return text;
}

static const char *message(const json_t *list, size_t i)
{
    return json_string_value(json_object_get(json_array_get(list, i), "text"));
}

static void messages_of_the_kernel(void **state)
{
    (void)state;
    tree_write(root, "/proc/uptime", "100.25 300.10\n");
    json_t *list = xids_of(
        "6,1,500000,-;Linux version 6.1.0\n"
        "3,900,7000001,-;NVRM: Xid (PCI:0000:4f:00): 31, pid=17, Ch 0000001b\n"
        "3,901,12900000,-;NVRM: Xid (PCI:0000:4F:00.0): 31, pid=18, Ch 0000001c\n"
        "3,902,13000000,-;NVRM: Xid (PCI:0000:4f:00): 79, pid='<unknown>', GPU has "
        "fallen off the bus.\n"
        "3,903,13000001,-;NVRM: Xid (0001:00:00): 48, old drivers leave PCI: out\n");
    assert_int_equal(json_array_size(list), 3);
    assert_string_equal(entry_text(list, 0), "0000:4f:00.0 31 x2 at 12 ago 88");
    assert_string_equal(entry_text(list, 1), "0000:4f:00.0 79 x1 at 13 ago 87");
    assert_string_equal(entry_text(list, 2), "0001:00:00.0 48 x1 at 13 ago 87");
    assert_string_equal(message(list, 0), "pid=18, Ch 0000001c");
    json_decref(list);
}

static void messages_as_dmesg_prints_them(void **state)
{
    (void)state;
    json_t *list =
        xids_of("[ 1843.308145] NVRM: Xid (PCI:0000:b3:00): 94, pid=1\n"
                "[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:b3:00): 95, pid=1\n"
                "NVRM: Xid (PCI:0000:b3:00): 13\n");
    assert_int_equal(json_array_size(list), 3);
    assert_string_equal(entry_text(list, 0), "0000:b3:00.0 94 x1 at 1843 ago -");
    assert_string_equal(entry_text(list, 1), "0000:b3:00.0 95 x1 at - ago -");
    assert_string_equal(entry_text(list, 2), "0000:b3:00.0 13 x1 at - ago -");
    json_decref(list);
}

static void a_gpu_may_be_lost_without_an_xid(void **state)
{
    (void)state;
    json_t *list = xids_of("[ 10.5] NVRM: The NVIDIA GPU 0000:b3:00.0\n"
                           "NVRM: (PCI ID: 10de:26b5) installed in this system has\n"
                           "NVRM: fallen off the bus and is not responding.\n");
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(entry_text(list, 0), "0000:b3:00.0 - x1 at - ago -");
    json_decref(list);
    list =
        xids_of("3,9,5000000,-;NVRM: The NVIDIA GPU 0000:17:00.0\\x0aNVRM: has\\x0a"
                "NVRM: fallen off the bus\n"
                "3,10,6000000,-;NVRM: GPU 0000:18:00.0: GPU has fallen off the bus.\n");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(entry_text(list, 0), "0000:17:00.0 - x1 at 5 ago -");
    assert_string_equal(entry_text(list, 1), "0000:18:00.0 - x1 at 6 ago -");
    json_decref(list);
    /* long after a GPU was named, the words are about something else */
    list = xids_of("NVRM: GPU 0000:17:00.0: Initialising\na\nb\nc\nd\n"
                   "usb 1-1: fallen off the bus\n");
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
}

static void what_is_no_xid(void **state)
{
    (void)state;
    json_t *list = xids_of("NVRM: Xid (PCI:0000:b3:00)\n"
                           "NVRM: Xid (PCI:zz:00): 79, x\n"
                           "NVRM: Xid (PCI:0000:b3:00): x\n"
                           "NVRM: Xid (PCI:0000:b3:00): 99999999999\n"
                           "NVRM: Xid (PCI:0000:b3:00): -1\n"
                           "NVRM: Xid ("
                           "PCI:00000000000000000000000000000000000000000000): 79\n"
                           "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, x\n");
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    list = xids_of("NVRM: Xid (PCI:0000:b3:00): 79, \x1b[31m\xff\n");
    assert_string_equal(message(list, 0), "?[31m?");
    json_decref(list);
}

static void thousands_of_gpus_are_bounded(void **state)
{
    (void)state;
    enum { LINES = 3000, BYTES = 48 };
    char *log = malloc((size_t)LINES * BYTES);
    size_t used = 0;
    assert_non_null(log);
    for (int i = 0; i < LINES; i++)
        used +=
            (size_t)snprintf(log + used, BYTES, "NVRM: Xid (PCI:%04x:00:00): 79\n", i);
    json_t *list = xids_of(log);
    assert_int_equal(json_array_size(list), 256);
    json_decref(list);
    free(log);
}

static void no_log_is_a_gap(void **state)
{
    (void)state;
    const struct fc_source source = {.root = root};
    struct fc_facts facts;
    struct fc_error err;
    assert_int_equal(fc_facts_init(&facts, &err), FC_OK);
    fc_facts_xids(&source, &facts);
    assert_null(json_object_get(facts.values, "root.xids"));
    assert_non_null(json_object_get(facts.unreadable, "root.xids"));
    fc_facts_fini(&facts);
}

/* The text of a file of the corpus, which the caller frees; NULL: it is not here. */
static char *corpus_text(const char *name)
{
    const char *shared = getenv("FC_SHARED"), *top = getenv("top_srcdir");
    char path[512];
    if (shared)
        snprintf(path, sizeof path, "%s/corpus/files/%s", shared, name);
    else
        snprintf(path, sizeof path, "%s/../shared/corpus/files/%s", top ? top : ".",
                 name);
    FILE *file = fopen(path, "re");
    enum { ROOM = 1 << 20 };
    char *text = file ? calloc(ROOM, 1) : NULL;
    if (text && fread(text, 1, ROOM - 1, file) == 0) {
        free(text);
        text = NULL;
    }
    if (file)
        fclose(file);
    return text;
}

static void logs_of_real_machines(void **state)
{
    (void)state;
    char *text = corpus_text("dmesg-with-xid-119.log");
    if (!text)
        skip();
    json_t *list = xids_of(text);
    free(text);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(entry_text(list, 0), "0000:9b:00.0 119 x5 at - ago -");
    assert_non_null(strstr(message(list, 0), "Timeout after 6s of waiting"));
    json_decref(list);
    text = corpus_text("issue-nvsentinel-155-fallen-off-bus-without-xid.dmesg.txt");
    assert_non_null(text);
    list = xids_of(text);
    free(text);
    assert_int_equal(json_array_size(list), 1);
    assert_string_equal(entry_text(list, 0), "0000:b3:00.0 - x1 at - ago -");
    json_decref(list);
    text = corpus_text("dmesg.decode.iso.log.1.txt"); /* a boot without any */
    assert_non_null(text);
    list = xids_of(text);
    free(text);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
}

int main(void)
{
#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TREE_TEST(messages_of_the_kernel),
        TREE_TEST(messages_as_dmesg_prints_them),
        TREE_TEST(a_gpu_may_be_lost_without_an_xid),
        TREE_TEST(what_is_no_xid),
        TREE_TEST(thousands_of_gpus_are_bounded),
        TREE_TEST(no_log_is_a_gap),
        TREE_TEST(logs_of_real_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
