// SPDX-License-Identifier: BSD-3-Clause
/* The values of an option table: from text into the caller's struct, and out of it. */
#include "core/option.h"

#include "core/clock.h"
#include "core/option_internal.h"
#include "core/units.h"

#include <stdlib.h>
#include <string.h>

static void *field(const struct fc_option *option, void *values)
{
    return (char *)values + option->offset;
}

struct fc_quoted fc_option_quote(const char *text)
{
    struct fc_quoted out;
    size_t n = 0, room = sizeof out.s - sizeof "...";
    for (; text[n] != '\0' && n < room; n++) {
        unsigned char c = (unsigned char)text[n];
        out.s[n] = c < 0x20 || c == 0x7f ? '?' : text[n];
    }
    out.s[n] = '\0';
    if (text[n] != '\0') {
        while (n > 0 &&
               ((unsigned char)text[n] & 0xc0) == 0x80) /* no half of a letter */
            n--;
        memcpy(out.s + n, "...", sizeof "...");
    }
    return out;
}

struct fc_choices_text fc_option_choices(const char *choices)
{
    struct fc_choices_text out;
    size_t n = 0;
    for (const char *c = choices; *c != '\0' && n + 2 < sizeof out.s; c++) {
        out.s[n++] = *c == '|' ? ',' : *c;
        if (*c == '|')
            out.s[n++] = ' ';
    }
    out.s[n] = '\0';
    return out;
}

static bool is_choice(const char *choices, const char *word, size_t len)
{
    for (const char *c = choices; c; c = strchr(c, '|')) {
        c += *c == '|';
        if (strcspn(c, "|") == len && strncmp(c, word, len) == 0)
            return true;
    }
    return false;
}

const struct fc_option *fc_option_find(const struct fc_option *table, const char *name,
                                       size_t len)
{
    for (; table->name; table++)
        if (strlen(table->name) == len && strncmp(table->name, name, len) == 0)
            return table;
    return NULL;
}

static enum fc_status assign_text(char **slot, const char *value, const char *where,
                                  struct fc_error *err)
{
    char *copy = strdup(value);
    if (!copy)
        return fc_fail(err, FC_NOMEM, "%s: out of memory", where);
    free(*slot);
    *slot = copy;
    return FC_OK;
}

static enum fc_status assign_flag(bool *slot, const char *value, const char *where,
                                  struct fc_error *err)
{
    static const char *const words[] = {"no", "yes", "false", "true", "0", "1"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(value, words[i]) == 0) {
            *slot = i % 2 != 0;
            return FC_OK;
        }
    }
    return fc_fail(err, FC_USAGE, "%s: '%s' is not yes or no", where,
                   fc_option_quote(value).s);
}

static bool parses(enum fc_option_type type, const char *text)
{
    uint64_t u;
    int64_t i;
    double d;
    switch (type) {
    case FC_OPT_INT:
        return fc_parse_int(text, &i);
    case FC_OPT_SIZE:
        return fc_parse_size(text, &u);
    case FC_OPT_DURATION:
        return fc_parse_duration(text, &u);
    default:
        return fc_parse_double(text, &d);
    }
}

/* True when `value` is written as its type should be and only has too many digits: with
 * 1 in place of its digits it is one. */
static bool only_too_large(enum fc_option_type type, const char *value)
{
    char small[16] = "1";
    value += type == FC_OPT_INT && *value == '-';
    size_t digits = strspn(value, "0123456789");
    if (digits == 0 || strlen(value + digits) > sizeof small - 2)
        return false;
    memcpy(small + 1, value + digits, strlen(value + digits) + 1);
    return parses(type, small);
}

/* "8MB", "8kb": a size once its B is gone, so that there are two readings of it. */
static bool is_ambiguous_size(const char *value)
{
    char shorter[32];
    size_t len = strlen(value);
    if (len < 2 || len > sizeof shorter || (value[len - 1] | 0x20) != 'b')
        return false;
    memcpy(shorter, value, len - 1);
    shorter[len - 1] = '\0';
    return parses(FC_OPT_SIZE, shorter);
}

/* Why `value` is no number of the option's type. */
static enum fc_status fail_number(const struct fc_option *option, const char *value,
                                  const char *where, struct fc_error *err)
{
    static const char *const what[] = {
        [FC_OPT_INT] = "a whole number",
        [FC_OPT_DOUBLE] = "a number",
        [FC_OPT_SIZE] = "a size (like 64, 8K, 1M, 2G)",
        [FC_OPT_DURATION] = "a duration (like 90, 500ms, 30s, 10m, 2h)",
    };
    struct fc_quoted shown = fc_option_quote(value);
    if (only_too_large(option->type, value))
        return fc_fail(err, FC_USAGE, "%s: '%s' does not fit", where, shown.s);
    if (option->type == FC_OPT_SIZE && is_ambiguous_size(value))
        return fc_fail(
            err, FC_USAGE,
            "%s: '%s' is ambiguous (8M and 8MiB are powers of two, 8B is bytes)", where,
            shown.s);
    return fc_fail(err, FC_USAGE, "%s: '%s' is not %s", where, shown.s,
                   what[option->type]);
}

static struct fc_text bound_text(const struct fc_option *option, double bound)
{
    struct fc_text out;
    uint64_t bytes;
    if (option->type == FC_OPT_SIZE) {
        out = fc_format_size((uint64_t)bound);
        if (fc_parse_size(out.s, &bytes) && bytes == (uint64_t)bound)
            return out; /* else it was rounded, and a bound must not be */
    }
    if (option->type == FC_OPT_DURATION)
        return fc_format_duration((uint64_t)(bound * (double)FC_NS_PER_S));
    snprintf(out.s, sizeof out.s, "%.10g", bound);
    return out;
}

/* `number` in the unit of the bounds: bytes of sizes, seconds of durations. A maximum
 * below the minimum is no maximum. */
static enum fc_status check_bounds(const struct fc_option *option, double number,
                                   const char *value, const char *where,
                                   struct fc_error *err)
{
    double min = option->min, max = option->max;
    bool bounded = min < 0.0 || min > 0.0 || max < 0.0 || max > 0.0;
    if (bounded && number < min)
        return fc_fail(err, FC_USAGE, "%s: %s is below %s", where,
                       fc_option_quote(value).s, bound_text(option, min).s);
    if (bounded && max >= min && number > max)
        return fc_fail(err, FC_USAGE, "%s: %s is above %s", where,
                       fc_option_quote(value).s, bound_text(option, max).s);
    return FC_OK;
}

static enum fc_status assign_number(const struct fc_option *option, const char *value,
                                    const char *where, void *slot, struct fc_error *err)
{
    int64_t whole = 0;
    uint64_t natural = 0;
    double number = 0.0;
    bool ok;
    if (option->type == FC_OPT_INT) {
        ok = fc_parse_int(value, &whole);
        number = (double)whole;
    } else if (option->type == FC_OPT_SIZE) {
        ok = fc_parse_size(value, &natural);
        number = (double)natural;
    } else if (option->type == FC_OPT_DURATION) {
        ok = fc_parse_duration(value, &natural);
        number = (double)natural / (double)FC_NS_PER_S;
    } else {
        ok = fc_parse_double(value, &number);
    }
    if (!ok)
        return fail_number(option, value, where, err);
    enum fc_status status = check_bounds(option, number, value, where, err);
    if (status != FC_OK)
        return status;
    if (option->type == FC_OPT_INT)
        *(int64_t *)slot = whole;
    else if (option->type == FC_OPT_DOUBLE)
        *(double *)slot = number;
    else
        *(uint64_t *)slot = natural;
    return FC_OK;
}

/* Appends the words of "a,b" to `words`, all checked; some may be added on failure. */
static enum fc_status split_words(const struct fc_option *option, const char *value,
                                  const char *where, struct fc_words *words,
                                  struct fc_error *err)
{
    for (const char *at = value;; at++) {
        size_t len = strcspn(at, ",");
        char *word = strndup(at, len);
        if (!word)
            return fc_fail(err, FC_NOMEM, "%s: out of memory", where);
        struct fc_quoted shown = fc_option_quote(word);
        bool known = !option->choices || is_choice(option->choices, word, len);
        enum fc_status added = known && len > 0 ? fc_words_add(words, word) : FC_OK;
        free(word);
        if (len == 0)
            return fc_fail(err, FC_USAGE, "%s: '%s' has an empty word", where,
                           fc_option_quote(value).s);
        if (!known)
            return fc_fail(err, FC_USAGE, "%s: unknown word '%s' (%s)", where, shown.s,
                           fc_option_choices(option->choices).s);
        if (added != FC_OK)
            return fc_fail(err, added, "%s: out of memory", where);
        at += len;
        if (*at == '\0')
            return FC_OK;
    }
}

static enum fc_status assign_words(const struct fc_option *option, const char *value,
                                   const char *where, bool append,
                                   struct fc_words *slot, struct fc_error *err)
{
    struct fc_words fresh = {NULL, 0};
    enum fc_status status = FC_OK;
    for (size_t i = 0; append && status == FC_OK && i < slot->count; i++)
        status = fc_words_add(&fresh, slot->word[i]);
    if (status == FC_OK && option->type == FC_OPT_LIST)
        status = fc_words_add(&fresh, value);
    if (status != FC_OK)
        fc_fail(err, status, "%s: out of memory", where);
    else if (option->type == FC_OPT_WORDS)
        status = split_words(option, value, where, &fresh, err);
    if (status != FC_OK) {
        fc_words_free(&fresh);
        return status;
    }
    fc_words_free(slot);
    *slot = fresh;
    return FC_OK;
}

enum fc_status fc_option_assign(const struct fc_option *option, const char *value,
                                const char *where, bool append, void *values,
                                struct fc_error *err)
{
    void *slot = field(option, values);
    switch (option->type) {
    case FC_OPT_FLAG:
        return assign_flag(slot, value, where, err);
    case FC_OPT_CHOICE:
        if (!is_choice(option->choices, value, strlen(value)))
            return fc_fail(err, FC_USAGE, "%s: unknown value '%s' (%s)", where,
                           fc_option_quote(value).s,
                           fc_option_choices(option->choices).s);
        return assign_text(slot, value, where, err);
    case FC_OPT_STRING:
        return assign_text(slot, value, where, err);
    case FC_OPT_WORDS:
    case FC_OPT_LIST:
        return assign_words(option, value, where, append, slot, err);
    default:
        return assign_number(option, value, where, slot, err);
    }
}

enum fc_status fc_options_init(const struct fc_option *table, void *values,
                               struct fc_error *err)
{
    for (const struct fc_option *o = table; o->name; o++) {
        char where[64];
        snprintf(where, sizeof where, "default of --%s", o->name);
        if (!o->def)
            continue;
        enum fc_status status = fc_option_assign(o, o->def, where, false, values, err);
        if (status != FC_OK)
            return status;
    }
    return FC_OK;
}

enum fc_status fc_options_set(const struct fc_option *table, const char *name,
                              const char *value, const char *where, void *values,
                              struct fc_error *err)
{
    const struct fc_option *option = fc_option_find(table, name, strlen(name));
    if (!option) {
        enum fc_status status = fc_option_unknown(table, name, name, "", err);
        fc_prefix(err, "%s", where);
        return status;
    }
    if (!option->in_profile)
        return fc_fail(err, FC_USAGE, "%s: '%s' belongs on the command line only",
                       where, option->name);
    return fc_option_assign(option, value, where, false, values, err);
}

void fc_options_free(const struct fc_option *table, void *values)
{
    for (const struct fc_option *o = table; o->name; o++) {
        char **text = field(o, values);
        if (o->type == FC_OPT_WORDS || o->type == FC_OPT_LIST) {
            fc_words_free(field(o, values));
        } else if (o->type == FC_OPT_STRING || o->type == FC_OPT_CHOICE) {
            free(*text);
            *text = NULL;
        }
    }
}

enum fc_status fc_words_add(struct fc_words *words, const char *word)
{
    char *copy = strdup(word);
    char **grown = realloc(words->word, (words->count + 1) * sizeof *grown);
    if (grown)
        words->word = grown;
    if (!copy || !grown) {
        free(copy);
        return FC_NOMEM;
    }
    words->word[words->count++] = copy;
    return FC_OK;
}

bool fc_words_has(const struct fc_words *words, const char *word)
{
    for (size_t i = 0; i < words->count; i++)
        if (strcmp(words->word[i], word) == 0)
            return true;
    return false;
}

void fc_words_free(struct fc_words *words)
{
    if (!words)
        return;
    for (size_t i = 0; i < words->count; i++)
        free(words->word[i]);
    free(words->word);
    *words = (struct fc_words){NULL, 0};
}
