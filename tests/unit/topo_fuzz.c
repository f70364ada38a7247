// SPDX-License-Identifier: BSD-3-Clause
/* The readers of pictures on mutated input: NCCL's XML, hwloc's XML, files of /sys (as
 * JSON and as a folder). Each input is refused with one line or read; what is read is
 * printed in every format, and each of those must be well-formed. Ten seconds a reader
 * where sanitizers look on, else three (FC_FUZZ_SECONDS), the same inputs each time
 * (FC_FUZZ_SEED). */
#include "topology/model.h"
#include "topology/print.h"

#include "core/clock.h"
#include "core/rng.h"
#include "tests/unit/tree.h"

#include <libxml/parser.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>

#include <cmocka.h>

enum { INPUT_BYTES = 64 * 1024, SEEDS = 8, HANG_S = 30 };

#ifdef __SANITIZE_ADDRESS__
#define FUZZ_SECONDS 10
#else
#define FUZZ_SECONDS 3
#endif

static struct fc_rng rng;

static size_t below(size_t n)
{
    return (size_t)fc_rng_below(&rng, n);
}

static uint64_t deadline(void)
{
    const char *text = getenv("FC_FUZZ_SECONDS");
    uint64_t seconds = text ? strtoull(text, NULL, 10) : FUZZ_SECONDS;
    return fc_now_ns() + seconds * FC_NS_PER_S;
}

static void seed(uint64_t which)
{
    const char *text = getenv("FC_FUZZ_SEED");
    fc_rng_seed(&rng, (text ? strtoull(text, NULL, 10) : 1) * 1000 + which);
}

/* ---- what came out must be well-formed ---- */

static void check_output(const char *format, const char *text, size_t length)
{
    if (strcmp(format, "json") == 0) {
        json_t *json = json_loadb(text, length, 0, NULL);
        assert_non_null(json);
        assert_non_null(json_object_get(json, "counts"));
        json_decref(json);
    } else if (strcmp(format, "svg") == 0 || strcmp(format, "xml") == 0) {
        xmlDoc *doc =
            xmlReadMemory(text, (int)length, "out", NULL,
                          XML_PARSE_NOERROR | XML_PARSE_NOWARNING | XML_PARSE_HUGE);
        if (!doc)
            print_message("# %s\n%.*s\n", format, (int)length, text);
        assert_non_null(doc);
        xmlFreeDoc(doc);
    } else {
        for (size_t i = 0; i < length; i++)
            assert_true((unsigned char)text[i] >= ' ' || text[i] == '\n');
    }
}

static void print_all(const struct fc_topo *topo)
{
    static const struct {
        const char *name;
        enum fc_status (*print)(const struct fc_topo *, FILE *, struct fc_error *);
    } formats[] = {{"text", fc_topo_print_text},
                   {"matrix", fc_topo_print_matrix},
                   {"json", fc_topo_print_json},
                   {"xml", fc_topo_print_xml},
                   {"svg", fc_topo_print_svg}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char *text = NULL;
        size_t length = 0;
        struct fc_error err = {""};
        FILE *out = open_memstream(&text, &length);
        assert_non_null(out);
        enum fc_status status = formats[i].print(topo, out, &err);
        assert_int_equal(fclose(out), 0);
        if (status == FC_OK)
            check_output(formats[i].name, text, length);
        else
            assert_true(err.text[0]);
        free(text);
    }
}

/* Counts what was read, so that a generator of rubbish alone would show. */
static void read_one(const struct fc_topo_source *source, size_t *read)
{
    struct fc_topo *topo = NULL;
    struct fc_error err = {""};
    alarm(HANG_S);
    enum fc_status status = fc_topo_open(source, &topo, &err);
    if (status == FC_OK) {
        print_all(topo);
        ++*read;
    } else {
        assert_int_equal(status, FC_USAGE);
        assert_true(err.text[0]);
    }
    fc_topo_close(topo);
    alarm(0);
}

/* ---- mutations of text ---- */

static const char *const tokens[] = {
    "\"",
    "<",
    ">",
    "&",
    "/>",
    "-1",
    "0",
    "99999999999999999999",
    "0x",
    "0xffffffff,",
    "ffffffff",
    "0000:00:00.0",
    "NaN",
    "1e308",
    "\x01",
    "\xff\xfe",
    "\xc2\x9b",
    "<pci",
    "<object type=\"PU\"",
    "type=\"Bridge\"",
    "]]>",
    "class=\"0x030200\"",
    "class=\"0x060400\"",
    "numaid=\"-1\"",
    "count=\"2147483648\"",
    "%s%n",
    "{",
    "}",
    "\n",
};

/* Makes room for, or takes away, bytes at `at`. */
static void splice(char *text, size_t *length, size_t at, size_t gone, const char *with,
                   size_t n)
{
    if (at + gone > *length || *length - gone + n >= INPUT_BYTES)
        return;
    memmove(text + at + n, text + at + gone, *length - at - gone);
    memcpy(text + at, with, n);
    *length += n - gone;
}

static void mutate(char *text, size_t *length)
{
    size_t at = below(*length + 1), n = below(64);
    char copy[512];
    switch (below(6)) {
    case 0: /* one byte */
        if (at < *length)
            text[at] = (char)below(256);
        break;
    case 1: /* a span goes */
        splice(text, length, at, n, "", 0);
        break;
    case 2: /* a span comes twice */
        if (at + n <= *length) {
            memcpy(copy, text + at, n);
            splice(text, length, below(*length + 1), 0, copy, n);
        }
        break;
    case 3: { /* a digit becomes another, which keeps the form */
        char *digit = text + at;
        while (digit < text + *length && !(*digit >= '0' && *digit <= '9'))
            digit++;
        if (digit < text + *length)
            *digit = "0123456789abcdef"[below(16)];
        break;
    }
    case 4: { /* an attribute's value becomes a token */
        char *quote = memchr(text + at, '"', *length - at);
        char *end =
            quote ? memchr(quote + 1, '"', *length - (size_t)(quote + 1 - text)) : NULL;
        const char *token = tokens[below(sizeof tokens / sizeof *tokens)];
        if (end)
            splice(text, length, (size_t)(quote + 1 - text), (size_t)(end - quote - 1),
                   token, strlen(token));
        break;
    }
    default: {
        const char *token = tokens[below(sizeof tokens / sizeof *tokens)];
        splice(text, length, at, 0, token, strlen(token));
    }
    }
}

static size_t load(const char *name, char *out)
{
    char path[512];
    const char *top = getenv("top_srcdir");
    snprintf(path, sizeof path, "%s/tests/fixtures/topo/%s", top ? top : ".", name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(out, 1, INPUT_BYTES, file);
    fclose(file);
    assert_true(n > 100 && n < INPUT_BYTES);
    return n;
}

/* The same picture as our own JSON. */
static size_t load_own(const char *name, char *out)
{
    char path[512];
    const char *top = getenv("top_srcdir");
    struct fc_topo *topo = NULL;
    struct fc_error err;
    snprintf(path, sizeof path, "%s/tests/fixtures/topo/%s", top ? top : ".", name);
    const struct fc_topo_source source = {.from = path};
    assert_int_equal(fc_topo_open(&source, &topo, &err), FC_OK);
    FILE *file = fmemopen(out, INPUT_BYTES, "w");
    assert_non_null(file);
    assert_int_equal(fc_topo_print_json(topo, file, &err), FC_OK);
    assert_int_equal(fclose(file), 0);
    fc_topo_close(topo);
    return strlen(out);
}

static void fuzz_text(const char *const *names, uint64_t which)
{
    static char seeds[SEEDS][INPUT_BYTES], text[INPUT_BYTES];
    size_t lengths[SEEDS], count = 0, read = 0, tried = 0;
    for (; names[count]; count++)
        lengths[count] = strncmp(names[count], "own:", 4) == 0
                             ? load_own(names[count] + 4, seeds[count])
                             : load(names[count], seeds[count]);
    seed(which);
    int fd = memfd_create("picture", 0);
    assert_true(fd >= 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    const struct fc_topo_source source = {.from = path, .want_xml = true};
    for (uint64_t end = deadline(); fc_now_ns() < end; tried++) {
        size_t s = below(count), length = lengths[s];
        memcpy(text, seeds[s], length);
        for (size_t n = below(6); n-- > 0;)
            mutate(text, &length);
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(pwrite(fd, text, length, 0), (int)length);
        read_one(&source, &read);
    }
    close(fd);
    print_message("# %zu inputs, %zu of them read\n", tried, read);
    assert_true(tried > 20 && read > tried / 20 && read < tried);
}

static void nccl(void **state)
{
    static const char *const names[] = {"nccl-8gpu-8nic-4switch.xml",
                                        "nccl-many-to-many.xml", "nccl-xgmi.xml",
                                        "nccl-without-classes.xml", NULL};
    (void)state;
    fuzz_text(names, 1);
}

static void hwloc(void **state)
{
    static const char *const names[] = {"hwloc-2gpu.xml", "hwloc-format1.xml", NULL};
    (void)state;
    fuzz_text(names, 2);
}

static void own(void **state)
{
    static const char *const names[] = {"own:hwloc-2gpu.xml", "own:nccl-xgmi.xml",
                                        "own:nccl-many-to-many.xml", NULL};
    (void)state;
    fuzz_text(names, 5);
}

/* ---- files of /sys ---- */

static const char *const bdfs[] = {"0000:00:01.0", "0000:01:00.0", "0000:02:00.0",
                                   "0000:02:01.0", "0000:03:00.0", "0000:04:00.0",
                                   "10000:e1:00.0"};
static const char *const files[] = {
    "class",
    "vendor",
    "device",
    "numa_node",
    "local_cpus",
    "current_link_speed",
    "max_link_speed",
    "current_link_width",
    "max_link_width",
    "infiniband/mlx5_0/ports/1/state",
    "infiniband/mlx5_0/ports/1/rate",
    "infiniband/mlx5_0/ports/1/gids/0",
    "infiniband/mlx5_0/ports/1/pkeys/0",
    "infiniband/mlx5_0/ports/9999/lid",
    "infiniband/mlx5_0/fw_ver",
    "net/ib0/mtu",
    "net/ib0/speed",
    "net/<script>/mtu",
    "physfn",
    "iommu_group/type",
    "product_name",
};
static const char *const contents[] = {
    "0x030200\n",
    "0x060400\n",
    "0x020700\n",
    "0x010802\n",
    "0x10de\n",
    "0x1002\n",
    "0x15b3\n",
    "-1\n",
    "0\n",
    "1\n",
    "16\n",
    "255\n",
    "7\n",
    "32.0 GT/s PCIe\n",
    "2.5 GT/s\n",
    "Unknown\n",
    "4: ACTIVE\n",
    "400 Gb/sec (4X NDR)\n",
    "-5 Gb/sec\n",
    "99999999999999999999999\n",
    "",
    "\n",
    "f\n",
    "ffffffff,ffffffff\n",
    "zz\n",
    "0-3\n",
    "\x1b[31m\xff<b>&\"'\n",
    "fe80:0000:0000:0000:0000:0000:0000:0001\n",
    "Model: x\nGPU UUID: y\n",
    "Node: 255\n",
};
static const char *const others[] = {
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "/sys/devices/system/cpu/cpu1/topology/physical_package_id",
    "/sys/devices/system/cpu/cpu1/topology/thread_siblings",
    "/sys/devices/system/cpu/cpu99999/topology/core_siblings",
    "/sys/devices/system/cpu/cpu1/online",
    "/sys/devices/system/node/node0/cpumap",
    "/sys/devices/system/node/node1/cpulist",
    "/sys/devices/system/node/node255/meminfo",
    "/sys/devices/system/node/node-1/cpumap",
    "/proc/driver/nvidia/gpus/0000:03:00.0/information",
    "/proc/driver/nvidia/gpus/0000:03:00.0/numa_status",
    "/sys/class/infiniband/rxe0/ports/1/state",
    "/sys/class/dmi/id/product_name",
    "/proc/cpuinfo",
};
#define ANY(array) (array)[below(sizeof(array) / sizeof *(array))]

static void any_path(char *out, size_t bytes)
{
    if (below(4) == 0)
        snprintf(out, bytes, "%s", ANY(others));
    else
        snprintf(out, bytes, "/sys/bus/pci/devices/%s/%s", ANY(bdfs), ANY(files));
}

static void sys_as_json(void **state)
{
    (void)state;
    size_t read = 0, tried = 0;
    char path[256], name[64];
    seed(3);
    int fd = memfd_create("picture", 0);
    assert_true(fd >= 0);
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    const struct fc_topo_source source = {.from = name};
    for (uint64_t end = deadline(); fc_now_ns() < end; tried++) {
        json_t *json = json_object();
        for (size_t n = below(60); n-- > 0;) {
            any_path(path, sizeof path);
            /* what is no UTF-8 cannot be in a JSON */
            json_object_set_new(json, path, json_string(ANY(contents)));
        }
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
        assert_int_equal(json_dumpfd(json, fd, 0), 0);
        json_decref(json);
        read_one(&source, &read);
    }
    close(fd);
    print_message("# %zu inputs, %zu of them read\n", tried, read);
    assert_true(tried > 20 && read > tried / 2);
}

/* Bridges of any function at any depth, also above themselves. */
static void any_link(const char *root)
{
    char path[400], target[200] = "../../../devices/pci0000:00";
    const char *bdf = ANY(bdfs);
    for (size_t n = below(4); n-- > 0;)
        snprintf(target + strlen(target), sizeof target - strlen(target), "/%s",
                 ANY(bdfs));
    snprintf(target + strlen(target), sizeof target - strlen(target), "/%s", bdf);
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", root, bdf);
    tree_parents(path);
    if (symlink(target, path) != 0)
        return;
    static const char *const basics[] = {"class", "vendor", "current_link_speed"};
    for (size_t i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "/sys/%s/%s", target + 9, basics[i]);
        tree_write(root, path, ANY(contents));
    }
}

static void sys_as_folder(void **state)
{
    (void)state;
    size_t read = 0, tried = 0;
    char path[256];
    seed(4);
    for (uint64_t end = deadline(); fc_now_ns() < end; tried++) {
        char root[64];
        tree_make(root, sizeof root);
        for (size_t n = below(8); n-- > 0;)
            any_link(root);
        for (size_t n = below(40); n-- > 0;) {
            any_path(path, sizeof path);
            char full[512];
            snprintf(full, sizeof full, "%s%s", root, path);
            tree_parents(full);
            FILE *file = fopen(full, "w"); /* fails below a dangling link */
            if (file) {
                fputs(ANY(contents), file);
                fclose(file);
            }
        }
        const struct fc_topo_source source = {.sysroot = root};
        read_one(&source, &read);
        tree_remove(root);
    }
    print_message("# %zu inputs, %zu of them read\n", tried, read);
    assert_true(tried > 2 && read > tried / 2); /* each is a folder on a disk */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nccl),          cmocka_unit_test(hwloc),
        cmocka_unit_test(own),           cmocka_unit_test(sys_as_json),
        cmocka_unit_test(sys_as_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
