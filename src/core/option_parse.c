// SPDX-License-Identifier: BSD-3-Clause
/* The command line, over getopt_long. What getopt_long does that users of a validator
 * should not meet is taken from it: its messages, its guesses at abbreviated names, and
 * POSIXLY_CORRECT (words are returned in order, so options may follow them anywhere).
 */
#include "core/option.h"
#include "core/option_internal.h"

#include <getopt.h>
#include <string.h>

enum { ROWS_MAX = 64, LONG_BASE = 256, NAME_MAX_BYTES = 48 };

/* What the next argument turned out to be. */
enum item { ITEM_END, ITEM_WORD, ITEM_HELP, ITEM_OPTION };

struct scan {
    const struct fc_option *table;
    size_t rows;
    int argc;
    char *const *argv;
    struct option longs[ROWS_MAX + 2];
    char shorts[3 + 2 * ROWS_MAX + 2];
    bool words_only; /* after "--" */
    /* The item found. */
    enum item item;
    size_t row;
    const char *value;
    char spelling[NAME_MAX_BYTES + 4]; /* "--level" or "-b", as the user wrote it */
};

static enum fc_status scan_open(struct scan *s, const struct fc_option *table, int argc,
                                char *const *argv, struct fc_error *err)
{
    *s = (struct scan){.table = table, .argc = argc, .argv = argv};
    size_t n = 0;
    bool h_taken = false;
    s->shorts[n++] = '-'; /* words in order */
    s->shorts[n++] = ':'; /* no messages; a missing argument is told apart */
    for (const struct fc_option *o = table; o->name; o++, s->rows++) {
        if (s->rows == ROWS_MAX || strlen(o->name) > NAME_MAX_BYTES)
            return fc_fail(err, FC_USAGE, "option table: no room for '%s'", o->name);
        bool flag = o->type == FC_OPT_FLAG;
        s->longs[s->rows] = (struct option){
            .name = o->name,
            .has_arg = flag ? no_argument : required_argument,
            .val = LONG_BASE + (int)s->rows,
        };
        h_taken = h_taken || o->letter == 'h';
        if (o->letter)
            s->shorts[n++] = o->letter;
        if (o->letter && !flag)
            s->shorts[n++] = ':';
    }
    s->longs[s->rows] =
        (struct option){.name = "help", .val = LONG_BASE + (int)s->rows};
    if (!h_taken)
        s->shorts[n++] = 'h';
    s->shorts[n] = '\0';
    optind = 0; /* GNU: begin anew */
    opterr = 0;
    return FC_OK;
}

/* Edits that turn `a` into `b` (Levenshtein), both at most NAME_MAX_BYTES long. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_BYTES + 1], len = strlen(b);
    for (size_t j = 0; j <= len; j++)
        row[j] = j;
    for (size_t i = 0; a[i] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < len; j++) {
            size_t change = diagonal + (a[i] != b[j]);
            size_t other = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;
            diagonal = row[j + 1];
            row[j + 1] = change < other ? change : other;
        }
    }
    return row[len];
}

/* The name of the table that `name` may stand for: one that it begins, else the nearest
 * within two edits (one for short names). NULL: none. */
static const char *near_name(const struct fc_option *table, const char *name)
{
    size_t len = strlen(name), best = len > 4 ? 3 : 2;
    const char *found = NULL;
    if (len < 2 || len > NAME_MAX_BYTES)
        return NULL;
    for (const struct fc_option *o = table; o->name; o++) {
        if (strlen(o->name) > NAME_MAX_BYTES)
            continue;
        if (strncmp(o->name, name, len) == 0)
            return o->name;
        size_t d = distance(name, o->name);
        if (d < best) {
            best = d;
            found = o->name;
        }
    }
    return found;
}

enum fc_status fc_option_unknown(const struct fc_option *table, const char *name,
                                 const char *shown, const char *prefix,
                                 struct fc_error *err)
{
    const char *near = near_name(table, name);
    if (!near)
        return fc_fail(err, FC_USAGE, "unknown option '%s'", fc_option_quote(shown).s);
    return fc_fail(err, FC_USAGE, "unknown option '%s' (did you mean '%s%s'?)",
                   fc_option_quote(shown).s, prefix, near);
}

/* True when `text` begins with "--" and more, so that it names a long option. */
static bool names_long(const char *text)
{
    return strncmp(text, "--", 2) == 0 && text[2] != '\0';
}

/* The row (rows for help) whose long name is `name` up to any '='; -1 when none is. */
static int find_long(const struct scan *s, const char *name)
{
    size_t len = strcspn(name, "=");
    for (size_t i = 0; i <= s->rows; i++)
        if (strlen(s->longs[i].name) == len &&
            strncmp(s->longs[i].name, name, len) == 0)
            return (int)i;
    return -1;
}

static int find_letter(const struct scan *s, int letter)
{
    for (size_t i = 0; i < s->rows; i++)
        if (s->table[i].letter && s->table[i].letter == letter)
            return (int)i;
    return letter == 'h' ? (int)s->rows : -1;
}

/* True when `text` is an option of this table: where a value should stand it means that
 * the value was forgotten. */
static bool is_known_option(const struct scan *s, const char *text)
{
    if (names_long(text))
        return find_long(s, text + 2) >= 0;
    return text[0] == '-' && text[1] != '\0' && text[2] == '\0' &&
           find_letter(s, text[1]) >= 0;
}

static enum fc_status unknown_long(const struct scan *s, const char *arg,
                                   struct fc_error *err)
{
    char name[NAME_MAX_BYTES + 2], shown[sizeof name + 2];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(arg + 2, "="), arg + 2);
    snprintf(shown, sizeof shown, "--%s", name);
    return fc_option_unknown(s->table, name, shown, "--", err);
}

/* `arg` holds the letter; "-level" is most likely meant as "--level". */
static enum fc_status unknown_letter(const struct scan *s, const char *arg,
                                     struct fc_error *err)
{
    const char letter[] = {'-', (char)optopt, '\0'};
    if (find_long(s, arg + 1) >= 0)
        return fc_option_unknown(s->table, arg + 1, arg, "--", err);
    bool ascii = optopt > 0x20 && optopt < 0x7f;
    return fc_fail(err, FC_USAGE, "unknown option '%s'",
                   fc_option_quote(ascii ? letter : arg).s);
}

static enum fc_status missing_value(const struct scan *s, const char *follows,
                                    struct fc_error *err)
{
    const struct fc_option *o = &s->table[s->row];
    struct fc_choices_text what = {"VALUE"};
    if (o->choices)
        what = fc_option_choices(o->choices);
    else if (o->arg)
        snprintf(what.s, sizeof what.s, "%s", o->arg);
    if (follows)
        return fc_fail(err, FC_USAGE, "%s: needs a value (%s), but '%s' follows",
                       s->spelling, what.s, fc_option_quote(follows).s);
    return fc_fail(err, FC_USAGE, "%s: needs a value (%s)", s->spelling, what.s);
}

/* Fills row and spelling from what getopt_long found in `arg`; false for no row. */
static bool identify(struct scan *s, const char *arg, int code)
{
    int row = names_long(arg) ? find_long(s, arg + 2) : find_letter(s, code);
    if (row < 0)
        return false;
    s->row = (size_t)row;
    if (names_long(arg))
        snprintf(s->spelling, sizeof s->spelling, "--%s", s->longs[row].name);
    else
        snprintf(s->spelling, sizeof s->spelling, "-%c", code);
    s->item = s->row == s->rows ? ITEM_HELP : ITEM_OPTION;
    return true;
}

static enum fc_status scan_option(struct scan *s, const char *arg, int code,
                                  struct fc_error *err)
{
    bool failed = code == '?' || code == ':';
    if (!identify(s, arg, failed ? optopt : code))
        return unknown_letter(s, arg, err);
    if (code == '?')
        return fc_fail(err, FC_USAGE, "%s: takes no value", s->spelling);
    if (code == ':')
        return missing_value(s, NULL, err);
    s->value = "yes";
    if (s->item == ITEM_HELP || s->table[s->row].type == FC_OPT_FLAG)
        return FC_OK;
    s->value = optarg;
    bool apart = optarg == s->argv[optind - 1];
    if (apart && is_known_option(s, optarg))
        return missing_value(s, optarg, err);
    return FC_OK;
}

static enum fc_status scan_next(struct scan *s, struct fc_error *err)
{
    /* An argument that begins with "--" is never the rest of a cluster of letters, so
     * it can be looked up exactly before getopt_long guesses at it. */
    int at = optind > 0 ? optind : 1;
    s->item = ITEM_END;
    if (!s->words_only && at < s->argc) {
        const char *arg = s->argv[at];
        if (names_long(arg) && find_long(s, arg + 2) < 0)
            return unknown_long(s, arg, err);
        int code = getopt_long(s->argc, s->argv, s->shorts, s->longs, NULL);
        if (code == 1) {
            s->item = ITEM_WORD;
            s->value = optarg;
            return FC_OK;
        }
        if (code != -1)
            return scan_option(s, arg, code, err);
        s->words_only = true;
    }
    if (s->words_only && optind < s->argc) {
        s->item = ITEM_WORD;
        s->value = s->argv[optind++];
    }
    return FC_OK;
}

static enum fc_status take_word(const struct scan *s, struct fc_words *positional,
                                struct fc_error *err)
{
    if (!positional)
        return fc_fail(err, FC_USAGE, "unexpected word '%s' (%s takes only options)",
                       fc_option_quote(s->value).s, s->argv[0]);
    if (fc_words_add(positional, s->value) != FC_OK)
        return fc_fail(err, FC_NOMEM, "out of memory");
    return FC_OK;
}

enum fc_status fc_options_parse(const struct fc_option *table, int argc,
                                char *const *argv, void *values,
                                struct fc_words *positional, bool *out_help,
                                struct fc_error *err)
{
    struct scan s;
    bool seen[ROWS_MAX] = {false};
    enum fc_status status = scan_open(&s, table, argc, argv, err);
    if (status == FC_OK)
        status = scan_next(&s, err);
    while (status == FC_OK && s.item != ITEM_END && s.item != ITEM_HELP) {
        if (s.item == ITEM_WORD) {
            status = take_word(&s, positional, err);
        } else {
            /* The first use of a list replaces its default. */
            status = fc_option_assign(&table[s.row], s.value, s.spelling, seen[s.row],
                                      values, err);
            seen[s.row] = true;
        }
        if (status == FC_OK)
            status = scan_next(&s, err);
    }
    if (status == FC_OK)
        *out_help = s.item == ITEM_HELP;
    return status;
}

bool fc_options_given(const struct fc_option *table, int argc, char *const *argv,
                      const char *name)
{
    struct scan s;
    struct fc_error ignored;
    if (scan_open(&s, table, argc, argv, &ignored) != FC_OK)
        return false;
    while (scan_next(&s, &ignored) == FC_OK && s.item != ITEM_END &&
           s.item != ITEM_HELP)
        if (s.item == ITEM_OPTION && strcmp(table[s.row].name, name) == 0)
            return true;
    return false;
}
