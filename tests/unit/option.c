// SPDX-License-Identifier: BSD-3-Clause
/* The option table: values in, one clear line out for everything that is wrong. */
#include "tests/unit/option_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS_MAX = 16 };

struct parsed {
    struct values values;
    struct fc_words positional;
    bool help, takes_words;
    enum fc_status status;
    struct fc_error err;
    int argc;
    char *argv[ARGS_MAX];
};

/* Parses "run" and the arguments, which end in NULL. */
static void parse_list(struct parsed *p, const char *const *args)
{
    static char run[] = "run";
    memset(&p->values, 0, sizeof p->values);
    p->argc = 0;
    p->argv[p->argc++] = run;
    for (; *args; args++) {
        assert_true(p->argc + 1 < ARGS_MAX);
        p->argv[p->argc++] = strdup(*args);
    }
    p->argv[p->argc] = NULL;
    p->err.text[0] = '\0';
    p->help = false;
    p->status = fc_options_init(table, &p->values, &p->err);
    assert_int_equal(p->status, FC_OK);
    p->status =
        fc_options_parse(table, p->argc, p->argv, &p->values,
                         p->takes_words ? &p->positional : NULL, &p->help, &p->err);
}

static void release(struct parsed *p)
{
    for (int i = 1; i < p->argc; i++)
        free(p->argv[i]);
    fc_words_free(&p->positional);
    fc_options_free(table, &p->values);
    assert_null(p->values.out);
    assert_null(p->values.probes.word);
}

#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static struct parsed good(bool takes_words, const char *const *args)
{
    struct parsed p = {.takes_words = takes_words};
    parse_list(&p, args);
    if (p.status != FC_OK)
        fail_msg("refused: %s", p.err.text);
    return p;
}

/* The arguments are refused with exactly this line. */
static void bad(const char *const *args, const char *want)
{
    struct parsed p = {.help = false};
    parse_list(&p, args);
    assert_int_equal(p.status, FC_USAGE);
    assert_string_equal(p.err.text, want);
    release(&p);
}

static void defaults_are_applied(void **state)
{
    (void)state;
    struct parsed p = {.takes_words = false};
    parse_list(&p, (const char *const[]){NULL});
    assert_int_equal(p.status, FC_OK);
    assert_string_equal(p.values.level, "standard");
    assert_int_equal(p.values.probes.count, 2);
    assert_string_equal(p.values.probes.word[1], "device");
    assert_null(p.values.out);
    assert_int_equal(p.values.labels.count, 0);
    assert_int_equal(p.values.nodes, 0);
    assert_int_equal(p.values.begin, 65536);
    assert_true(fabs(p.values.factor - 2.0) <= 0.0);
    assert_false(p.values.json || p.help);
    release(&p);
}

static void every_spelling_is_taken(void **state)
{
    (void)state;
    struct parsed p =
        good(false, ARGS("--level=full", "-b", "1M", "-f1.5", "--out", "d",
                         "--expect-nodes", "8", "--duration=1h30m", "-v", "--json"));
    assert_string_equal(p.values.level, "full");
    assert_int_equal(p.values.begin, 1048576);
    assert_true(fabs(p.values.factor - 1.5) <= 0.0);
    assert_string_equal(p.values.out, "d");
    assert_int_equal(p.values.nodes, 8);
    assert_int_equal(p.values.duration, UINT64_C(5400000000000));
    assert_true(p.values.json && p.values.verbose);
    release(&p);
    p = good(false, ARGS("-vb8K", "--out=", "-l", "quick"));
    assert_int_equal(p.values.begin, 8192);
    assert_true(p.values.verbose);
    assert_string_equal(p.values.out, "");
    assert_string_equal(p.values.level, "quick");
    release(&p);
}

static void the_last_one_wins(void **state)
{
    (void)state;
    struct parsed p = good(false, ARGS("-b", "8", "--begin=16", "--level", "soak",
                                       "-lfull", "--out", "a", "--out", "b"));
    assert_int_equal(p.values.begin, 16);
    assert_string_equal(p.values.level, "full");
    assert_string_equal(p.values.out, "b");
    release(&p);
}

/* The first use replaces the default, further ones append. */
static void words_and_lists_grow(void **state)
{
    (void)state;
    struct parsed p =
        good(false, ARGS("--probes", "collectives", "--label=a=1,2",
                         "--probes=config,device", "--label", "b=", "--tags", "x,y,x"));
    assert_int_equal(p.values.probes.count, 3);
    assert_string_equal(p.values.probes.word[0], "collectives");
    assert_string_equal(p.values.probes.word[2], "device");
    assert_int_equal(p.values.labels.count, 2);
    assert_string_equal(p.values.labels.word[0], "a=1,2"); /* whole, commas and all */
    assert_string_equal(p.values.labels.word[1], "b=");
    assert_int_equal(p.values.tags.count, 3);
    assert_true(fc_words_has(&p.values.tags, "y"));
    assert_false(fc_words_has(&p.values.tags, "x,y"));
    release(&p);
}

static void words_may_stand_anywhere(void **state)
{
    (void)state;
    /* Not even this asks for options first. */
    setenv("POSIXLY_CORRECT", "1", 1);
    struct parsed p = good(
        true, ARGS("one", "--json", "-", "-b", "8", "two", "--", "--out", "-v", "--"));
    unsetenv("POSIXLY_CORRECT");
    assert_true(p.values.json);
    assert_false(p.values.verbose);
    assert_null(p.values.out);
    assert_int_equal(p.values.begin, 8);
    static const char *const want[] = {"one", "-", "two", "--out", "-v", "--"};
    assert_int_equal(p.positional.count, 6);
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(p.positional.word[i], want[i]);
    assert_string_equal(p.argv[1], "one"); /* not permuted */
    release(&p);
    p = good(true, ARGS("--json", "--"));
    assert_int_equal(p.positional.count, 0);
    release(&p);
    p = good(true, ARGS("--", "--"));
    assert_int_equal(p.positional.count, 1);
    release(&p);
}

static void help_is_known(void **state)
{
    static const char *const spellings[] = {"--help", "-h", "-vh"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct parsed p = good(false, ARGS("--json", spellings[i], "--bogus"));
        assert_true(p.help);
        release(&p);
    }
    bad(ARGS("--bogus", "--help"), "unknown option '--bogus'");
    bad(ARGS("--help=me"), "--help: takes no value");
}

static void unknown_options_are_named(void **state)
{
    (void)state;
    bad(ARGS("--bogus"), "unknown option '--bogus'");
    bad(ARGS("--bogus=7"), "unknown option '--bogus'");
    bad(ARGS("-x"), "unknown option '-x'");
    bad(ARGS("-vx"), "unknown option '-x'");
    bad(ARGS("-1"), "unknown option '-1'");
    bad(ARGS("-v:"), "unknown option '-:'");
    bad(ARGS("-?"), "unknown option '-?'");
    bad(ARGS("-\303\251"), "unknown option '-\303\251'");
    bad(ARGS("--levle"), "unknown option '--levle' (did you mean '--level'?)");
    bad(ARGS("--level2=full"), "unknown option '--level2' (did you mean '--level'?)");
    bad(ARGS("--jsn"), "unknown option '--jsn' (did you mean '--json'?)");
    bad(ARGS("--expect_nodes=2"),
        "unknown option '--expect_nodes' (did you mean '--expect-nodes'?)");
    bad(ARGS("-json"), "unknown option '-json' (did you mean '--json'?)");
}

static void abbreviations_are_refused(void **state)
{
    (void)state;
    bad(ARGS("--lev", "full"), "unknown option '--lev' (did you mean '--level'?)");
    bad(ARGS("--lev=full"), "unknown option '--lev' (did you mean '--level'?)");
    bad(ARGS("--expect"), "unknown option '--expect' (did you mean '--expect-nodes'?)");
    bad(ARGS("--hel"), "unknown option '--hel'");
    bad(ARGS("--j"), "unknown option '--j'");
}

static void values_are_checked(void **state)
{
    (void)state;
    bad(ARGS("--level", "fast"),
        "--level: unknown value 'fast' (quick, standard, full, soak)");
    bad(ARGS("-l", "Full"), "-l: unknown value 'Full' (quick, standard, full, soak)");
    bad(ARGS("--level="), "--level: unknown value '' (quick, standard, full, soak)");
    bad(ARGS("--level=quick|full"),
        "--level: unknown value 'quick|full' (quick, standard, full, soak)");
    bad(ARGS("-b", "12Q"), "-b: '12Q' is not a size (like 64, 8K, 1M, 2G)");
    bad(ARGS("--begin=-1"), "--begin: '-1' is not a size (like 64, 8K, 1M, 2G)");
    bad(ARGS("-b", "8MB"),
        "-b: '8MB' is ambiguous (8M and 8MiB are powers of two, 8B is bytes)");
    bad(ARGS("-b", "99999999999999T"), "-b: '99999999999999T' does not fit");
    bad(ARGS("-b4"), "-b: 4 is below 8B");
    bad(ARGS("-b", "1.5G"), "-b: 1.5G is above 1G");
    bad(ARGS("--expect-nodes", "-1"), "--expect-nodes: -1 is below 1");
    bad(ARGS("--expect-nodes", "0"), "--expect-nodes: 0 is below 1");
    bad(ARGS("--expect-nodes", "2000000000"),
        "--expect-nodes: 2000000000 is above 1000000000");
    bad(ARGS("--expect-nodes", "2.5"), "--expect-nodes: '2.5' is not a whole number");
    bad(ARGS("--expect-nodes", ""), "--expect-nodes: '' is not a whole number");
    bad(ARGS("--expect-nodes", "-9999999999999999999"),
        "--expect-nodes: '-9999999999999999999' does not fit");
    bad(ARGS("-f", "1.05"), "-f: 1.05 is below 1.1");
    bad(ARGS("-f", "nan"), "-f: 'nan' is not a number");
    bad(ARGS("-f", "1,5"), "-f: '1,5' is not a number");
    bad(ARGS("--duration", "0"), "--duration: 0 is below 1s");
    bad(ARGS("--duration", "25h"), "--duration: 25h is above 24h");
    bad(ARGS("--duration", "soon"),
        "--duration: 'soon' is not a duration (like 90, 500ms, 30s, 10m, 2h)");
    bad(ARGS("--probes", "config,x"),
        "--probes: unknown word 'x' (config, device, collectives)");
    bad(ARGS("--probes", "conf"),
        "--probes: unknown word 'conf' (config, device, collectives)");
    bad(ARGS("--probes", "config,,device"),
        "--probes: 'config,,device' has an empty word");
    bad(ARGS("--tags="), "--tags: '' has an empty word");
}

/* A factor without an upper bound. */
static void a_maximum_may_be_absent(void **state)
{
    (void)state;
    struct parsed p = good(false, ARGS("-f", "1e30"));
    assert_true(fabs(p.values.factor - 1e30) <= 0.0);
    release(&p);
}

static void missing_and_needless_values(void **state)
{
    (void)state;
    bad(ARGS("--out"), "--out: needs a value (DIR)");
    bad(ARGS("-v", "-b"), "-b: needs a value (SIZE)");
    bad(ARGS("--level"), "--level: needs a value (quick, standard, full, soak)");
    bad(ARGS("--out", "--json"), "--out: needs a value (DIR), but '--json' follows");
    bad(ARGS("--out", "--level=full"),
        "--out: needs a value (DIR), but '--level=full' follows");
    bad(ARGS("-o", "-v"), "-o: needs a value (DIR), but '-v' follows");
    bad(ARGS("--json=yes"), "--json: takes no value");
    bad(ARGS("--verbose="), "--verbose: takes no value");
    struct parsed p = good(false, ARGS("--out=--json"));
    assert_string_equal(p.values.out, "--json"); /* meant, when written so */
    release(&p);
    p = good(false, ARGS("-o", "-"));
    assert_string_equal(p.values.out, "-");
    release(&p);
}

static void needless_words_are_refused(void **state)
{
    (void)state;
    bad(ARGS("dir"), "unexpected word 'dir' (run takes only options)");
    bad(ARGS("--json", "--", "-v"), "unexpected word '-v' (run takes only options)");
    bad(ARGS(""), "unexpected word '' (run takes only options)");
}

/* Whatever the user typed, the error stays one line that fits and names the option. */
static void errors_stay_one_line(void **state)
{
    (void)state;
    bad(ARGS("--level", "a\nb\x1b[2J"),
        "--level: unknown value 'a?b?[2J' (quick, standard, full, soak)");
    bad(ARGS("x\ny"), "unexpected word 'x?y' (run takes only options)");
    char big[5000];
    memset(big, 'z', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    const char *const *const tries[] = {
        ARGS("--level", big),
        ARGS("-b", big),
        ARGS("--probes", big),
        ARGS(big),
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        struct parsed p = {.help = false};
        parse_list(&p, tries[i]);
        assert_int_equal(p.status, FC_USAGE);
        assert_true(strlen(p.err.text) < 160);
        assert_non_null(strstr(p.err.text, "zzz...'"));
        release(&p);
    }
    big[0] = big[1] = '-';
    struct parsed p = {.help = false};
    parse_list(&p, ARGS(big));
    assert_int_equal(p.status, FC_USAGE);
    assert_true(strncmp(p.err.text, "unknown option '--zzz", 21) == 0);
    assert_true(strlen(p.err.text) < 160);
    release(&p);
    /* A cut never leaves half of a letter: 67 bytes fit, these take two each. */
    char accents[201];
    for (size_t i = 0; i < 200; i += 2)
        memcpy(accents + i, "\303\251", 2);
    accents[200] = '\0';
    parse_list(&p, ARGS("--level", accents));
    json_t *text = json_string(p.err.text); /* NULL when it is no UTF-8 */
    assert_non_null(text);
    json_decref(text);
    release(&p);
}

static void given_tells_the_command_line(void **state)
{
    (void)state;
    struct parsed p =
        good(true, ARGS("-b", "8", "word", "--out", "json", "--", "--json"));
    assert_true(fc_options_given(table, p.argc, p.argv, "begin"));
    assert_true(fc_options_given(table, p.argc, p.argv, "out"));
    assert_false(fc_options_given(table, p.argc, p.argv, "json"));
    assert_false(fc_options_given(table, p.argc, p.argv, "level"));
    assert_false(fc_options_given(table, p.argc, p.argv, "nonsense"));
    assert_int_equal(p.values.begin, 8); /* looking changed nothing */
    release(&p);
}

/* Parsing again, also after an error in the middle of a cluster, begins anew. */
static void parsing_can_be_repeated(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        bad(ARGS("-vxb8"), "unknown option '-x'");
        struct parsed p = good(true, ARGS("-b", "16", "w"));
        assert_int_equal(p.values.begin, 16);
        assert_int_equal(p.positional.count, 1);
        release(&p);
    }
}

static void set_bad(struct values *v, const char *name, const char *value,
                    const char *want)
{
    struct fc_error err;
    assert_int_equal(fc_options_set(table, name, value, "p.ini:3", v, &err), FC_USAGE);
    assert_string_equal(err.text, want);
}

static void a_profile_sets_options(void **state)
{
    struct parsed p = good(false, ARGS("--probes=config"));
    struct values *v = &p.values;
    (void)state;
    static const struct {
        const char *name, *value;
    } sets[] = {{"begin", "32"},
                {"level", "soak"},
                {"probes", "device,collectives"},
                {"json", "true"},
                {"expect-nodes", "4"}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        assert_int_equal(
            fc_options_set(table, sets[i].name, sets[i].value, "p.ini:3", v, &p.err),
            FC_OK);
    assert_int_equal(v->begin, 32);
    assert_string_equal(v->level, "soak");
    assert_int_equal(v->probes.count, 2); /* replaced, not appended */
    assert_string_equal(v->probes.word[0], "device");
    assert_true(v->json);
    assert_int_equal(v->nodes, 4);
    static const char *const no[] = {"no", "false", "0"}, *const yes[] = {"yes", "1"};
    for (size_t i = 0; i < 3; i++) {
        v->json = true;
        assert_int_equal(fc_options_set(table, "json", no[i], "p", v, NULL), FC_OK);
        assert_false(v->json);
    }
    for (size_t i = 0; i < 2; i++) {
        v->json = false;
        assert_int_equal(fc_options_set(table, "json", yes[i], "p", v, NULL), FC_OK);
        assert_true(v->json);
    }
    set_bad(v, "json", "maybe", "p.ini:3: 'maybe' is not yes or no");
    set_bad(v, "begin", "1KB",
            "p.ini:3: '1KB' is ambiguous (8M and 8MiB are powers of two, 8B is bytes)");
    set_bad(v, "probes", "device,x",
            "p.ini:3: unknown word 'x' (config, device, collectives)");
    assert_int_equal(v->probes.count, 2); /* a refused value changes nothing */
    set_bad(v, "out", "d", "p.ini:3: 'out' belongs on the command line only");
    set_bad(v, "leve", "full",
            "p.ini:3: unknown option 'leve' (did you mean 'level'?)");
    set_bad(v, "--level", "full",
            "p.ini:3: unknown option '--level' (did you mean 'level'?)");
    set_bad(v, "zzz", "full", "p.ini:3: unknown option 'zzz'");
    release(&p);
}

static void wrong_defaults_are_found(void **state)
{
    static const struct fc_option wrong[] = {
        {.name = "begin", .type = FC_OPT_SIZE, AT(begin), .def = "12Q"}, FC_OPTION_END};
    struct values v = {.begin = 0};
    struct fc_error err;
    (void)state;
    assert_int_equal(fc_options_init(wrong, &v, &err), FC_USAGE);
    assert_string_equal(
        err.text, "default of --begin: '12Q' is not a size (like 64, 8K, 1M, 2G)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_applied),
        cmocka_unit_test(every_spelling_is_taken),
        cmocka_unit_test(the_last_one_wins),
        cmocka_unit_test(words_and_lists_grow),
        cmocka_unit_test(words_may_stand_anywhere),
        cmocka_unit_test(help_is_known),
        cmocka_unit_test(unknown_options_are_named),
        cmocka_unit_test(abbreviations_are_refused),
        cmocka_unit_test(values_are_checked),
        cmocka_unit_test(a_maximum_may_be_absent),
        cmocka_unit_test(missing_and_needless_values),
        cmocka_unit_test(needless_words_are_refused),
        cmocka_unit_test(errors_stay_one_line),
        cmocka_unit_test(given_tells_the_command_line),
        cmocka_unit_test(parsing_can_be_repeated),
        cmocka_unit_test(a_profile_sets_options),
        cmocka_unit_test(wrong_defaults_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
