// SPDX-License-Identifier: BSD-3-Clause
/* Objects are walked here, down to a small depth; each value's text is looked up among
 * those of the last lines before anything is made of it. What is not plain (escapes,
 * other letters, many digits, lists) is jansson's work; a line that has anything
 * unusual in its frame is read by jansson alone, whose word is final. */
#include "core/journal_parse.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LINE = 64 << 20 }; /* a matrix line of the largest fleet is far below this */
enum { SHORT_LINE = 2048, SHORT_LIST = 64 };
enum { MEMBERS = 64, KEY_BYTES = 64, DEPTH = 4 };
/* Values that are remembered, one a slot: what comes again and again survives those
 * that come once. */
enum { SLOTS = 1 << 12, SLOT_BYTES = 4096 };

struct slot {
    char *text;
    size_t bytes;
    json_t *value;
};

struct fc_journal_parser {
    struct slot slot[SLOTS];
};

struct text {
    const char *at;
    size_t bytes;
};

struct cursor {
    const char *at, *end;
};

struct fc_journal_parser *fc_journal_parser_open(void)
{
    return calloc(1, sizeof(struct fc_journal_parser));
}

void fc_journal_parser_close(struct fc_journal_parser *parser)
{
    for (size_t i = 0; parser && i < SLOTS; i++) {
        free(parser->slot[i].text);
        json_decref(parser->slot[i].value);
    }
    free(parser);
}

/* --- where values end --- */

static char peek(struct cursor *c)
{
    while (c->at < c->end &&
           (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
    return c->at < c->end ? *c->at : '\0';
}

static bool take(struct cursor *c, char what)
{
    bool there = peek(c) == what;
    c->at += there;
    return there;
}

/* Past the string that begins at `at`; NULL when it does not end. */
static const char *skip_string(const char *at, const char *end)
{
    for (at++; at < end && *at != '"'; at++)
        at += *at == '\\';
    return at < end ? at + 1 : NULL;
}

/* Past the list or object that begins at `at`; NULL when it does not end. Which bracket
 * closes which is not looked at: whoever parses the text does. */
static const char *skip_nested(const char *at, const char *end)
{
    static const signed char step[256] = {
        ['"'] = 2, ['['] = 1, ['{'] = 1, [']'] = -1, ['}'] = -1};
    size_t depth = 0;
    while (at && at < end) {
        int s = step[(unsigned char)*at];
        if (s == 2) {
            at = skip_string(at, end);
            continue;
        }
        at++;
        if (s == 0)
            continue;
        depth += (size_t)s;
        if (depth == 0)
            return at;
    }
    return NULL;
}

/* Past a number or a word. */
static const char *skip_word(const char *at, const char *end)
{
    while (at < end && *at != ',' && *at != '}' && *at != ']' && *at != ' ' &&
           *at != '\t' && *at != '\n' && *at != '\r')
        at++;
    return at;
}

static bool take_value(struct cursor *c, struct text *out)
{
    char first = peek(c);
    const char *from = c->at;
    const char *past = first == '"'                   ? skip_string(from, c->end)
                       : first == '[' || first == '{' ? skip_nested(from, c->end)
                                                      : skip_word(from, c->end);
    if (!past || past == from)
        return false;
    *out = (struct text){from, (size_t)(past - from)};
    c->at = past;
    return true;
}

/* --- single values --- */

/* Letters that stand for themselves in a JSON string. */
static bool is_plain(const char *at, size_t bytes)
{
    unsigned char odd = 0;
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)at[i];
        odd |= (unsigned char)(c < 0x20 || c > 0x7e || c == '\\');
    }
    return !odd;
}

static json_t *parse_any(const struct text *t)
{
    return json_loadb(t->at, t->bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
}

/* Digits into *m; how many, or 20 when they are too many. */
static int take_digits(struct cursor *c, uint64_t *m)
{
    int count = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, count++)
        if (count < 18)
            *m = 10 * *m + (uint64_t)(*c->at - '0');
    return count <= 18 ? count : 20;
}

/* "-12.5e-6": up to 15 digits and a small exponent, which one division or product of
 * doubles gives exactly rounded, as strtod would. NULL: something else. */
static json_t *parse_plain_number(const struct text *t)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    struct cursor c = {t->at, t->at + t->bytes};
    uint64_t m = 0, power = 0;
    bool minus = *c.at == '-', real = false, down = false;
    c.at += minus;
    const char *first = c.at;
    int digits = take_digits(&c, &m), exponent = 0;
    if (digits < 1 || (*first == '0' && digits > 1))
        return NULL;
    if (c.at < c.end && *c.at == '.') {
        c.at++;
        exponent = -take_digits(&c, &m);
        digits -= exponent;
        real = true;
        if (exponent == 0)
            return NULL;
    }
    if (c.at < c.end && (*c.at == 'e' || *c.at == 'E')) {
        c.at++;
        down = c.at < c.end && *c.at == '-';
        c.at += down || (c.at < c.end && *c.at == '+');
        int length = take_digits(&c, &power);
        real = true;
        if (length < 1 || length > 3)
            return NULL;
        exponent += down ? -(int)power : (int)power;
    }
    if (c.at != c.end || digits > 15 || exponent < -22 || exponent > 22)
        return NULL;
    if (!real)
        return json_integer(minus ? -(json_int_t)m : (json_int_t)m);
    double x = exponent < 0 ? (double)m / ten[-exponent] : (double)m * ten[exponent];
    return json_real(minus ? -x : x);
}

static json_t *parse_object(struct fc_journal_parser *p, struct cursor *c, int depth);

/* What is not remembered. */
static json_t *parse_new(struct fc_journal_parser *p, const struct text *t, int depth)
{
    struct cursor inner = {t->at, t->at + t->bytes};
    json_t *value = NULL;
    if (*t->at == '"' && is_plain(t->at + 1, t->bytes - 2))
        return json_stringn_nocheck(t->at + 1, t->bytes - 2);
    if (*t->at == '{' && depth < DEPTH)
        value = parse_object(p, &inner, depth + 1);
    else if (*t->at == '-' || (*t->at >= '0' && *t->at <= '9'))
        value = parse_plain_number(t);
    return value ? value : parse_any(t);
}

static bool is(const struct text *t, const char *word)
{
    size_t bytes = strlen(word);
    return t->bytes == bytes && memcmp(t->at, word, bytes) == 0;
}

/* --- what lines have in common --- */

static size_t place_of(const struct text *t)
{
    uint64_t mix = UINT64_C(0x9e3779b97f4a7c15) * (t->bytes + 1), word;
    size_t i = 0;
    for (; i + sizeof word <= t->bytes; i += sizeof word) {
        memcpy(&word, t->at + i, sizeof word);
        mix = (mix ^ word) * UINT64_C(0xff51afd7ed558ccd);
        mix ^= mix >> 32;
    }
    for (; i < t->bytes; i++)
        mix = (mix ^ (unsigned char)t->at[i]) * UINT64_C(0x100000001b3);
    mix ^= mix >> 29;
    return (size_t)(mix & (SLOTS - 1));
}

/* Without memory for it the value is just not remembered. */
static void remember(struct slot *slot, const struct text *t, json_t *value)
{
    char *text = malloc(t->bytes);
    if (!text)
        return;
    memcpy(text, t->at, t->bytes);
    free(slot->text);
    json_decref(slot->value);
    *slot = (struct slot){text, t->bytes, json_incref(value)};
}

/* A new reference. once: a value that no other line has. */
static json_t *parse_value(struct fc_journal_parser *p, const struct text *t, int depth,
                           bool once)
{
    bool shared = (*t->at == '"' || *t->at == '{' || *t->at == '[') &&
                  t->bytes <= SLOT_BYTES && !once;
    if (is(t, "null") || is(t, "true") || is(t, "false"))
        return *t->at == 'n' ? json_null() : json_boolean(*t->at == 't');
    if (!shared)
        return parse_new(p, t, depth);
    struct slot *slot = &p->slot[place_of(t)];
    if (slot->value && slot->bytes == t->bytes &&
        memcmp(slot->text, t->at, t->bytes) == 0)
        return json_incref(slot->value);
    json_t *value = parse_new(p, t, depth);
    if (value)
        remember(slot, t, value);
    return value;
}

/* --- objects --- */

struct member {
    char key[KEY_BYTES];
    struct text value;
};

/* "key": value. False when the key is not plain, or nothing of the kind is there. */
static bool take_member(struct cursor *c, struct member *out)
{
    if (peek(c) != '"')
        return false;
    const char *from = c->at + 1, *past = skip_string(c->at, c->end);
    size_t bytes = past ? (size_t)(past - from - 1) : KEY_BYTES;
    if (bytes >= KEY_BYTES || !is_plain(from, bytes))
        return false;
    memcpy(out->key, from, bytes);
    out->key[bytes] = '\0';
    c->at = past;
    return take(c, ':') && take_value(c, &out->value);
}

/* All of an object's members, up to its end; how many, 0 when they are not plain. */
static size_t take_members(struct cursor *c, struct member *out, bool *empty)
{
    size_t count = 0;
    if (!take(c, '{'))
        return 0;
    if ((*empty = take(c, '}')))
        return 0;
    do {
        if (count == MEMBERS || !take_member(c, &out[count++]))
            return 0;
    } while (take(c, ','));
    return take(c, '}') ? count : 0;
}

/* NULL when it is not plain, or has a member twice. */
static json_t *parse_object(struct fc_journal_parser *p, struct cursor *c, int depth)
{
    struct member member[MEMBERS];
    bool empty = false, ok = true;
    size_t count = take_members(c, member, &empty);
    json_t *object = count || empty ? json_object() : NULL;
    for (size_t i = 0; object && ok && i < count; i++) {
        bool once = depth == 0 && strcmp(member[i].key, "src") == 0;
        json_t *value = parse_value(p, &member[i].value, depth, once);
        ok = value && json_object_set_new_nocheck(object, member[i].key, value) == 0;
    }
    if (object && (!ok || json_object_size(object) != count)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* --- lines --- */

static bool is_ascii(const char *at, size_t bytes)
{
    uint64_t any = 0, word;
    size_t i = 0;
    for (; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, at + i, sizeof word);
        any |= word;
    }
    for (; i < bytes; i++)
        any |= (unsigned char)at[i];
    return (any & UINT64_C(0x8080808080808080)) == 0;
}

static json_t *list_text(const struct text *t)
{
    return is_ascii(t->at, t->bytes) ? json_stringn_nocheck(t->at, t->bytes)
                                     : json_stringn(t->at, t->bytes);
}

/* A long line: NULL when it is not plain or of no matrix. */
static json_t *parse_matrix(struct fc_journal_parser *p, const char *line, size_t bytes)
{
    struct cursor c = {line, line + bytes};
    struct member member[MEMBERS];
    bool empty = false, matrix = false, ok = true;
    size_t count = take_members(&c, member, &empty);
    for (size_t i = 0; i < count; i++)
        matrix = matrix || (strcmp(member[i].key, "type") == 0 &&
                            is(&member[i].value, "\"matrix\""));
    json_t *object = matrix && peek(&c) == '\0' && c.at == c.end ? json_object() : NULL;
    for (size_t i = 0; object && ok && i < count; i++) {
        const struct text *t = &member[i].value;
        bool list = *t->at == '[' && t->bytes > SHORT_LIST;
        json_t *value = list ? list_text(t) : parse_value(p, t, 0, false);
        ok = value && json_object_set_new_nocheck(object, member[i].key, value) == 0;
    }
    if (object && (!ok || json_object_size(object) != count)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *parse_line(struct fc_journal_parser *p, const char *line, size_t bytes)
{
    struct cursor c = {line, line + bytes};
    json_t *object = parse_object(p, &c, 0);
    if (object && (peek(&c) != '\0' || c.at != c.end)) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *fc_journal_parse(struct fc_journal_parser *p, const char *line, size_t bytes)
{
    json_t *object = NULL;
    if (bytes > MAX_LINE)
        return NULL;
    if (bytes > SHORT_LINE)
        object = parse_matrix(p, line, bytes);
    if (!object)
        object = parse_line(p, line, bytes);
    return object ? object : json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
}
