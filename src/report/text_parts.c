// SPDX-License-Identifier: BSD-3-Clause
#include "report/text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The length of the character at `c` if it must not reach a terminal, else 0. */
static size_t harmful(const char *c)
{
    unsigned char a = (unsigned char)c[0], b = a ? (unsigned char)c[1] : 0;
    unsigned char d = b ? (unsigned char)c[2] : 0;
    if (a < 0x20 || a == 0x7F)
        return 1;
    if (a == 0xC2 && b >= 0x80 && b <= 0x9F) /* C1 */
        return 2;
    bool turns =
        a == 0xE2 && ((b == 0x80 && (d == 0x8E || d == 0x8F)) || /* marks */
                      (b == 0x80 && d >= 0xA8 && d <= 0xAE) ||   /* breaks, embeds */
                      (b == 0x81 && d >= 0xA6 && d <= 0xA9));    /* isolates */
    return turns ? 3 : 0;
}

static void put_bytes(FILE *out, const char *text, const char *end)
{
    while (text < end) {
        size_t bad = harmful(text);
        fputc(bad ? '?' : *text, out);
        text += bad ? bad : 1;
    }
}

void fc_text_put(FILE *out, const char *text)
{
    if (!text)
        text = "-";
    put_bytes(out, text, text + strlen(text));
}

static size_t columns_of(const char *text, size_t bytes)
{
    size_t columns = 0;
    for (size_t i = 0; i < bytes; i++)
        columns += ((unsigned char)text[i] & 0xC0) != 0x80;
    return columns;
}

size_t fc_text_columns(const char *text)
{
    return columns_of(text, strlen(text));
}

void fc_text_wrap(FILE *out, const char *text, size_t at, size_t indent)
{
    bool first = true; /* no blank before the first word */
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t bytes = strcspn(text, " "), columns = columns_of(text, bytes);
        if (!first && at + 1 + columns > FC_TEXT_WIDTH) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        } else if (!first) {
            fputc(' ', out);
            at++;
        }
        put_bytes(out, text, text + bytes);
        at += columns;
        text += bytes;
        first = false;
    }
    fputc('\n', out);
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void put_part(FILE *out, const json_t *subject, const char *key,
                     const char *word)
{
    const char *text = text_of(subject, key);
    if (text)
        fprintf(out, " %s%s%s", word, *word ? " " : "", text);
}

char *fc_text_subject(const json_t *subject)
{
    const char *kind = text_of(subject, "kind"), *node = text_of(subject, "node");
    const char *nodes = text_of(subject, "nodes"), *peer = text_of(subject, "peer");
    const json_t *rank = json_object_get(subject, "rank");
    char *text = NULL;
    size_t bytes;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return NULL;
    if (node)
        fputs(node, out);
    else if (nodes)
        fputs(nodes, out);
    else
        fputs(kind && strcmp(kind, "fabric") != 0 ? kind : "all nodes together", out);
    if (json_is_integer(rank))
        fprintf(out, " rank %" JSON_INTEGER_FORMAT, json_integer_value(rank));
    put_part(out, subject, "gpu", "GPU");
    put_part(out, subject, "nic", "");
    put_part(out, subject, "serial", "serial");
    put_part(out, subject, "slot", "slot");
    if (peer)
        fprintf(out, " and %s", peer);
    put_part(out, subject, "peer_nic", "");
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
