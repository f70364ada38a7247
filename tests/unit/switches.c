// SPDX-License-Identifier: BSD-3-Clause
/* Which leaf switch a node hangs on: topology.conf, what ibnetdiscover prints, Slurm's
 * address of a task; good ones, odd ones, cut ones, hostile ones and large ones. */
#include "topology/switches.h"
#include "core/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The nodes' values as text, sorted by node; or the error's. */
static char *parsed(const char *text, size_t bytes)
{
    struct fc_switches switches;
    struct fc_error err = {""};
    enum fc_status status = fc_switches_parse(text, bytes, &switches, &err);
    char *result;
    if (status == FC_OK) {
        result = json_dumps(switches.leaf, JSON_COMPACT | JSON_SORT_KEYS);
    } else {
        assert_int_equal(status, FC_USAGE);
        assert_null(switches.leaf);
        assert_null(strchr(err.text, '\n'));
        result = strdup(err.text);
    }
    assert_non_null(result);
    fc_switches_fini(&switches);
    return result;
}

struct pair {
    const char *text, *want;
};

static void compare(const struct pair *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *have = parsed(cases[i].text, strlen(cases[i].text));
        assert_string_equal(have, cases[i].want);
        free(have);
    }
}

/* --- topology.conf --- */

static const char conf[] = "# the cluster\n"
                           "SwitchName=spine Switches=leaf[1-2] LinkSpeed=100\n"
                           "switchname=leaf1 NODES=n[1-2] # two\n"
                           "SWITCHNAME = \"leaf2\" \\\n"
                           "   nodes = \"n3,n[08-09]x\"\r\n"
                           "\n";

static void topology_conf(void **state)
{
    static const struct pair cases[] = {
        {conf, "{\"n08x\":\"leaf2\",\"n09x\":\"leaf2\",\"n1\":\"leaf1\",\"n2\":"
               "\"leaf1\",\"n3\":\"leaf2\"}"},
        {"BlockName=b1 Nodes=a[1-2]\nBlockName=b2 Nodes=a3\nBlockSizes=2,4\n",
         "{\"a1\":\"b1\",\"a2\":\"b1\",\"a3\":\"b2\"}"},
        {"BlockSizes=4\nBlockName=b1 Nodes=a1", "{\"a1\":\"b1\"}"},
        /* of two switches of a node, the order is theirs */
        {"SwitchName=z Nodes=n1\nSwitchName=a Nodes=n1\nSwitchName=z Nodes=n1,n2\n",
         "{\"n1\":[\"z\",\"a\"],\"n2\":\"z\"}"},
        {"SwitchName=s Nodes=n1.example.org\n",
         "{\"n1\":\"s\",\"n1.example.org\":\"s\"}"},
        {"SwitchName=s Nodes=r[1-2]n[1-2]\n",
         "{\"r1n1\":\"s\",\"r1n2\":\"s\",\"r2n1\":\"s\",\"r2n2\":\"s\"}"},
        {"SwitchName=s\xff\x01 Nodes=n1\n", "{\"n1\":\"s??\"}"},
    };
    (void)state;
    compare(cases, sizeof cases / sizeof *cases);
}

static void what_is_wrong_is_told(void **state)
{
    static const char neither[] =
        "neither a topology.conf of Slurm nor what ibnetdiscover prints";
    static const struct pair cases[] = {
        {"", neither},
        {"# SwitchName=s Nodes=n1\n", neither},
        {"{\"SwitchName\": 1}\n", neither},
        {"Switch on the light\nCa va\n", neither},
        {"NodeName=n1 CPUs=4\n", neither},
        {"SwitchName=s Switches=t\n", "this topology.conf places no node at a switch"},
        {"SwitchName=s Nodes=\n", "this topology.conf places no node at a switch"},
        {"SwitchName=s Nodes=n1\nNodes=n2\n", "line 2: nodes of no switch or block"},
        {"SwitchName=s Nodes=n1\n\nInclude more.conf\n",
         "line 3: 'Include more.conf' is no KEY=VALUE"},
        {"#\n\nSwitchName=s Nodes=n[1-2\n",
         "line 3: 'n[1-2' is no list of hosts: a bracket is not closed"},
        {"SwitchName=s Nodes=n[2-1]\n",
         "line 1: 'n[2-1]' is no list of hosts: a range ends before it begins"},
        {"SwitchName=s Nodes=n[a-b]\n",
         "line 1: 'n[a-b]' is no list of hosts: a bracket holds something else than "
         "numbers"},
        {"SwitchName=s Nodes=n[1,]\n",
         "line 1: 'n[1,]' is no list of hosts: a bracket holds something else than "
         "numbers"},
        {"SwitchName=s Nodes=a,,b\n",
         "line 1: '' is no list of hosts: a name is empty"},
        {"SwitchName=s Nodes=n[1-9999999999999999999999]\n",
         "line 1: 'n[1-9999999999999999999999]' is no list of hosts: a bracket holds "
         "something else than numbers"},
        {"SwitchName=s Nodes=n[1-2000000]\n", "line 1: more than 1048576 names"},
        {"SwitchName=s Nodes=n[1-1000]\nSwitchName=t Nodes=m[1-1048000]\n",
         "line 2: more than 1047576 names"},
        {"Ca\t1 \"H-02\"\t\t# \"n1 HCA-1\"\n",
         "this output of ibnetdiscover places no node at a switch"},
        {"Switch\t4 \"S-02\"\t\t# \"s\"\n[1]\t\"S-03\"[1]\t\t# \"t\"\n",
         "this output of ibnetdiscover places no node at a switch"},
    };
    (void)state;
    compare(cases, sizeof cases / sizeof *cases);
    char *have = parsed("SwitchName=s Nodes=n1\n\0\n", 24);
    assert_string_equal(have, neither);
    free(have);
}

/* --- ibnetdiscover --- */

static const char sections[] =
    "#\n# Topology file: generated on Fri Aug  8 06:33:24 2025\n#\n\n"
    "vendid=0x2c9\ndevid=0xd2f0\nsysimgguid=0xa1\nswitchguid=0xa1(a1)\n"
    "Switch\t41 \"S-00000000000000a1\"\t\t# \"MF0;rack1:MQM8700/U1\" enhanced port 0 "
    "lid 556 lmc 0\n"
    "[1]\t\"H-00000000000000c1\"[1](c1) \t\t# \"n1 mlx5_0\" lid 11 4xHDR\n"
    "[2]\t\"H-00000000000000c3\"[1](c3) \t\t# \"n2 mlx5_0\" lid 12 4xHDR\n"
    "[3]\t\"H-00000000000000c4\"[1](c4) \t\t# \"n2 mlx5_2\" lid 13 4xHDR\n"
    "[41]\t\"S-00000000000000a2\"[41]\t\t# \"MF0;rack2:MQM8700/U1\" lid 2 4xHDR\n"
    "\nvendid=0x2c9\ncaguid=0xc2\n"
    "Ca\t1 \"H-00000000000000c2\"\t\t# \"n1 mlx5_10\"\n"
    "[1](c2) \t\"S-00000000000000a2\"[7]\t\t# lid 14 lmc 0 \"MF0;rack2:MQM8700/U1\" "
    "lid 2 4xHDR\n"
    "\ncaguid=0xc1\n"
    "Ca\t1 \"H-00000000000000c1\"\t\t# \"n1 mlx5_0\"\n"
    "[1](c1) \t\"S-00000000000000a1\"[1]\t\t# lid 11 lmc 0 \"MF0;rack1:MQM8700/U1\" "
    "lid 556 4xHDR\n"
    "\ncaguid=0xc5\n"
    "Ca\t1 \"H-00000000000000c5\"\t\t# \"n1 mlx5_2\"\n"
    "[1](c5) \t\"S-00000000000000a2\"[8]\t\t# lid 15 lmc 0 \"MF0;rack2:MQM8700/U1\" "
    "lid 2 4xHDR\n";

static const char links[] =
    "CA    11  1 0x00000000000000c1 4x EDR - SW   556  1 0x00000000000000a1 ( 'n1 "
    "HCA-1' - 'rack1' )\n"
    "CA    12  1 0x00000000000000c2 4x EDR - SW   557  1 0x00000000000000a2 ( 'n2 "
    "HCA-1' - 'rack2' )\n"
    "SW   556  1 0x00000000000000a1 4x EDR - CA    11  1 0x00000000000000c1 ( 'rack1' "
    "- 'n1 HCA-1' )\n"
    "SW   556  3 0x00000000000000a1 4x EDR - CA    13  1 0x00000000000000c3 ( 'rack1' "
    "- 'n3 HCA-1' )\n"
    "SW   556  2 0x00000000000000a1 4x EDR - SW   557  2 0x00000000000000a2 ( 'rack1' "
    "- 'rack2' )\n"
    "SW   557  9 0x00000000000000a2 4x SDR                                    "
    "'rack2'\n";

/* A node's rails stand in the order of its HCAs' names, 2 before 10; where all hang on
 * one switch there is one name. */
static void ibnetdiscover(void **state)
{
    static const struct pair cases[] = {
        {sections, "{\"n1\":[\"MF0;rack1:MQM8700/U1 (0x00000000000000a1)\","
                   "\"MF0;rack2:MQM8700/U1 (0x00000000000000a2)\","
                   "\"MF0;rack2:MQM8700/U1 (0x00000000000000a2)\"],"
                   "\"n2\":\"MF0;rack1:MQM8700/U1 (0x00000000000000a1)\"}"},
        {links, "{\"n1\":\"rack1 (0x00000000000000a1)\",\"n2\":\"rack2 "
                "(0x00000000000000a2)\",\"n3\":\"rack1 (0x00000000000000a1)\"}"},
        /* a switch without a description; an adapter without one is nobody's */
        {"Switch\t4 \"S-a1\"\t\t# \"\" lid 1\n[1]\t\"H-c1\"[1](c1)\t# \"n1 mlx5_0\"\n"
         "[2]\t\"H-c2\"[1](c2)\t# \"\"\n",
         "{\"n1\":\"0xa1\"}"},
        /* what follows a head that is cut belongs to nobody */
        {"Switch\t4 \"S-a1\"\t\t# \"s\"\n[1]\t\"H-c1\"[1](c1)\t# \"n1 mlx5_0\"\n"
         "Switch\t4 \"S-a\n[2]\t\"H-c2\"[1](c2)\t# \"n2 mlx5_0\"\n",
         "{\"n1\":\"s (0xa1)\"}"},
        /* two adapters of one name are two rails */
        {"Switch\t4 \"S-a1\"\t\t# \"s\"\n[1]\t\"H-c1\"[1](c1)\t# \"n1 HCA\"\n"
         "Switch\t4 \"S-a2\"\t\t# \"t\"\n[1]\t\"H-c2\"[1](c2)\t# \"n1 HCA\"\n",
         "{\"n1\":[\"s (0xa1)\",\"t (0xa2)\"]}"},
    };
    (void)state;
    compare(cases, sizeof cases / sizeof *cases);
}

/* --- cut and changed --- */

static void cut_anywhere(void **state)
{
    static const char *const texts[] = {conf, sections, links};
    (void)state;
    for (size_t t = 0; t < 3; t++)
        for (size_t bytes = 0; bytes <= strlen(texts[t]); bytes++) {
            char *copy = malloc(bytes + 1); /* no byte more than there are */
            assert_non_null(copy);
            memcpy(copy, texts[t], bytes);
            free(parsed(copy, bytes));
            free(copy);
        }
}

static void changed_anywhere(void **state)
{
    static const char *const texts[] = {conf, sections, links};
    static const char odd[] = "\"'[](){}-=,#\\ \n\t0S\xff";
    struct fc_rng rng;
    (void)state;
    fc_rng_seed(&rng, 11);
    for (int round = 0; round < 5000; round++) {
        const char *text = texts[fc_rng_below(&rng, 3)];
        size_t bytes = strlen(text);
        char *copy = strdup(text);
        assert_non_null(copy);
        for (size_t k = fc_rng_below(&rng, 4) + 1; k > 0; k--)
            copy[fc_rng_below(&rng, bytes)] = odd[fc_rng_below(&rng, sizeof odd)];
        free(parsed(copy, bytes));
        free(copy);
    }
}

/* --- large --- */

static void a_large_fabric(void **state)
{
    enum { LEAVES = 1024, PORTS = 32 };
    struct fc_switches switches;
    struct fc_error err = {""};
    char *text = NULL;
    size_t bytes = 0;
    (void)state;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    for (int leaf = 0; leaf < LEAVES; leaf++) {
        fprintf(out, "switchguid=0x%x\nSwitch\t%d \"S-%016x\"\t# \"leaf%d\" lid 1\n",
                leaf, PORTS, leaf, leaf);
        for (int p = 0; p < PORTS; p++)
            fprintf(out, "[%d]\t\"H-%016x\"[1](%x)\t# \"n%d mlx5_%d\" lid 2\n", p + 1,
                    leaf * PORTS + p, 0, leaf / 4 * PORTS + p, leaf % 4);
    }
    fclose(out);
    assert_int_equal(fc_switches_parse(text, bytes, &switches, &err), FC_OK);
    assert_int_equal(json_object_size(switches.leaf), LEAVES / 4 * PORTS);
    const json_t *rails = fc_switches_of(&switches, "n77");
    assert_int_equal(json_array_size(rails), 4);
    assert_string_equal(json_string_value(json_array_get(rails, 3)),
                        "leaf11 (0x000000000000000b)");
    fc_switches_fini(&switches);
    free(text);
    static const char many[] = "SwitchName=s Nodes=n[000001-200000]";
    assert_int_equal(fc_switches_parse(many, strlen(many), &switches, &err), FC_OK);
    assert_int_equal(json_object_size(switches.leaf), 200000);
    assert_non_null(fc_switches_of(&switches, "n000777"));
    fc_switches_fini(&switches);
}

/* --- nodes --- */

static void nodes_by_their_names(void **state)
{
    static const char text[] = "SwitchName=s Nodes=a.example.org,b,c\n";
    static const char *const node[] = {"a", "b.example.org", "d3", "d4"};
    struct fc_switches switches;
    struct fc_error err = {""};
    (void)state;
    assert_int_equal(fc_switches_parse(text, strlen(text), &switches, &err), FC_OK);
    assert_string_equal(switches.from, "topology.conf");
    assert_null(fc_switches_of(&switches, ""));
    assert_null(fc_switches_of(&switches, ".b"));
    json_t *told = fc_switches_told(&switches, "here", node, 4);
    char *have = json_dumps(told, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(have, "{\"file\":\"here\",\"from\":\"topology.conf\",\"leaf\":{"
                              "\"a\":\"s\",\"b.example.org\":\"s\"},\"missing\":"
                              "\"d[3-4]\",\"nodes\":2}");
    free(have);
    json_decref(told);
    fc_switches_fini(&switches);
}

static void files(void **state)
{
    struct fc_switches switches;
    struct fc_error err = {""};
    (void)state;
    assert_int_equal(fc_switches_read("/nowhere/t.conf", &switches, &err), FC_USAGE);
    assert_string_equal(err.text, "'/nowhere/t.conf': No such file or directory");
    assert_int_equal(fc_switches_read("/", &switches, &err), FC_USAGE);
    assert_string_equal(err.text, "'/': Is a directory");
    assert_int_equal(fc_switches_read("/dev/null", &switches, &err), FC_USAGE);
    assert_string_equal(err.text, "'/dev/null': neither a topology.conf of Slurm nor "
                                  "what ibnetdiscover prints");
}

static void what_slurm_tells(void **state)
{
    static const struct {
        const char *addr, *pattern, *want; /* of node7, host7.example.org */
    } cases[] = {
        {"spine1.leaf2.node7", "switch.switch.node", "\"leaf2\""},
        {"leaf2.node7", "switch.node", "\"leaf2\""},
        {"s.leaf[1-2].node7", "switch.switch.node", "[\"leaf1\",\"leaf2\"]"},
        {"s[0-4].leaf07.host7", "switch.switch.node", "\"leaf07\""},
        {"b3.node7", "block.node", "\"b3\""},
        {"leaf2.host7.example.org", "switch.node", "\"leaf2\""},
        {"leaf2.host7.example.com", "switch.node", NULL},
        {"node7", "node", NULL},
        {"leaf2.node8", "switch.node", NULL}, /* inherited from another node */
        {"leaf2", "switch.node", NULL},
        {"a.leaf2.node7", "switch.node", NULL},
        {"leaf2.node7", "switch.switch", NULL},
        {"leaf[2.node7", "switch.node", NULL},
        {".node7", "switch.node", NULL},
        {"leaf[1-65].node7", "switch.node", NULL}, /* more than a node has rails */
        {"", "", NULL},
        {NULL, "switch.node", NULL},
        {"leaf2.node7", NULL, NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = fc_switches_addr(cases[i].addr, cases[i].pattern, "node7",
                                         "host7.example.org");
        char *have = value ? json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        if (cases[i].want)
            assert_string_equal(have ? have : "nothing", cases[i].want);
        else
            assert_null(have);
        free(have);
        json_decref(value);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(topology_conf),        cmocka_unit_test(what_is_wrong_is_told),
        cmocka_unit_test(ibnetdiscover),        cmocka_unit_test(cut_anywhere),
        cmocka_unit_test(changed_anywhere),     cmocka_unit_test(a_large_fabric),
        cmocka_unit_test(nodes_by_their_names), cmocka_unit_test(files),
        cmocka_unit_test(what_slurm_tells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
