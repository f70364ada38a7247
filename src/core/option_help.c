// SPDX-License-Identifier: BSD-3-Clause
/* An option table shown: to people as --help, to the journal as JSON. */
#include "core/clock.h"
#include "core/option.h"
#include "core/option_internal.h"

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 80, COLUMN_MAX = 30 };

/* Columns that UTF-8 text takes: its characters, none of them wide. */
static size_t columns(const char *text, size_t bytes)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void pad(FILE *out, size_t n)
{
    fprintf(out, "%*s", (int)n, "");
}

/* Writes the words of `text` from column `at` on; new lines begin at `indent`. Returns
 * the column reached. */
static size_t wrap(FILE *out, const char *text, size_t at, size_t indent)
{
    while (*text != '\0') {
        size_t bytes = strcspn(text, " "), width = columns(text, bytes);
        bool begins = at == indent;
        if (!begins && at + 1 + width > WIDTH) {
            fputc('\n', out);
            pad(out, indent);
            at = indent;
        } else if (!begins) {
            fputc(' ', out);
            at++;
        }
        fwrite(text, 1, bytes, out);
        at += width;
        text += bytes;
        text += strspn(text, " ");
    }
    return at;
}

struct left {
    char s[96];
};

/* "-b, --begin SIZE". */
static struct left left_part(const struct fc_option *o)
{
    struct left out;
    char letter[8] = "    ";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    bool flag = o->type == FC_OPT_FLAG;
    snprintf(out.s, sizeof out.s, "  %s--%s%s%s", letter, o->name, flag ? "" : " ",
             flag ? "" : (o->arg ? o->arg : "VALUE"));
    return out;
}

static void help_line(FILE *out, const struct fc_option *o, size_t column)
{
    struct left left = left_part(o);
    size_t used = columns(left.s, strlen(left.s));
    fputs(left.s, out);
    if (used + 2 > column) {
        fputc('\n', out);
        used = 0;
    }
    pad(out, column - used);
    size_t at = wrap(out, o->help ? o->help : "", column, column);
    char tail[sizeof(struct fc_choices_text) + 16];
    if (o->choices) {
        snprintf(tail, sizeof tail, "(%s of %s)",
                 o->type == FC_OPT_WORDS ? "any" : "one",
                 fc_option_choices(o->choices).s);
        at = wrap(out, tail, at, column);
    }
    if (o->def && o->type != FC_OPT_FLAG) {
        snprintf(tail, sizeof tail, "[%s]", o->def);
        wrap(out, tail, at, column);
    }
    fputc('\n', out);
}

void fc_options_help(const struct fc_option *table, FILE *out)
{
    static const struct fc_option help = {
        .name = "help", .letter = 'h', .help = "show this help and end"};
    struct fc_option last = help;
    size_t column = 0;
    for (const struct fc_option *o = table; o->name; o++) {
        struct left left = left_part(o);
        size_t need = columns(left.s, strlen(left.s)) + 2;
        if (need > column && need <= COLUMN_MAX)
            column = need;
        if (o->letter == 'h')
            last.letter = 0;
    }
    if (column == 0)
        column = COLUMN_MAX;
    for (const struct fc_option *o = table; o->name; o++)
        help_line(out, o, column);
    help_line(out, &last, column);
}

/* Text of the command line may be no UTF-8; the journal is, so foreign bytes become
 * '?'. */
static json_t *text_json(const char *text)
{
    if (!text)
        return json_null();
    json_t *out = json_string(text);
    if (out)
        return out;
    char *ascii = strdup(text);
    if (!ascii)
        return NULL;
    for (char *c = ascii; *c != '\0'; c++)
        if ((unsigned char)*c >= 0x80)
            *c = '?';
    out = json_string(ascii);
    free(ascii);
    return out;
}

static json_t *words_json(const struct fc_words *words)
{
    json_t *out = json_array();
    for (size_t i = 0; out && i < words->count; i++) {
        if (json_array_append_new(out, text_json(words->word[i])) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}

static json_t *value_json(const struct fc_option *o, const void *slot)
{
    uint64_t natural = 0;
    if (o->type == FC_OPT_SIZE || o->type == FC_OPT_DURATION)
        natural = *(const uint64_t *)slot;
    switch (o->type) {
    case FC_OPT_FLAG:
        return json_boolean(*(const bool *)slot);
    case FC_OPT_STRING:
    case FC_OPT_CHOICE:
        return text_json(*(char *const *)slot);
    case FC_OPT_INT:
        return json_integer(*(const int64_t *)slot);
    case FC_OPT_SIZE:
        if (natural > INT64_MAX) /* beyond jansson's integers */
            return json_real((double)natural);
        return json_integer((json_int_t)natural);
    case FC_OPT_DURATION:
        return json_real((double)natural / (double)FC_NS_PER_S);
    case FC_OPT_WORDS:
    case FC_OPT_LIST:
        return words_json(slot);
    default:
        return json_real(*(const double *)slot);
    }
}

json_t *fc_options_echo(const struct fc_option *table, const void *values)
{
    json_t *out = json_object();
    for (const struct fc_option *o = table; out && o->name; o++) {
        json_t *value = value_json(o, (const char *)values + o->offset);
        if (json_object_set_new(out, o->name, value) != 0) {
            json_decref(out);
            return NULL;
        }
    }
    return out;
}
