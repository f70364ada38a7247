// SPDX-License-Identifier: BSD-3-Clause
/* fuzz DIR SECONDS SEED JOURNAL…: judges spoilt journals for SECONDS, or, when SECONDS
 * is 0, the one of SEED alone. Each is one of the given ones (all small) with some
 * lines changed: values of other types, huge and tiny numbers, other lines' values,
 * keys gone or renamed, lists cut or stretched, lines twice, swapped, gone, cut, bytes
 * flipped. It must end in a refusal with a reason, or in a report whose findings,
 * coverage, messages and text are bounded. DIR keeps the journal and the seed at work.
 * A judge that hangs is ended by SIGALRM. Last line: how many of each. */
#include "dice.h"

#include "judge/judge.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    LINES_MAX = 4096,
    HANGS_AFTER_S = 60,
    FINDINGS_MAX = 10000, /* whatever the judge's own bound is, it is no more */
    MESSAGE_MAX = 4096,
    TEXT_MAX = 4 << 20,
    STRETCH = 200,
};

struct journal {
    char *line[LINES_MAX];
    size_t lines;
};

/* --- reading --- */

static bool read_lines(const char *path, struct journal *out)
{
    FILE *in = fopen(path, "r");
    size_t room = 0;
    char *line = NULL;
    out->lines = 0;
    while (in && out->lines < LINES_MAX && getline(&line, &room, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        out->line[out->lines++] = strdup(line);
    }
    free(line);
    if (in)
        fclose(in);
    return out->lines > 0;
}

static void free_lines(struct journal *j)
{
    for (size_t i = 0; i < j->lines; i++)
        free(j->line[i]);
    j->lines = 0;
}

/* --- changing a value --- */

static json_t *long_text(void)
{
    char text[5000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    return json_string(text);
}

static json_t *deep(int depth)
{
    json_t *value = json_array();
    while (depth-- > 0) {
        json_t *outer = json_array();
        json_array_append_new(outer, value);
        value = outer;
    }
    return value;
}

static json_t *hostile(struct dice *dice)
{
    static const double numbers[] = {1e308, -1e308, 5e-324, 0.0, -0.0, 0.5, 1e15, -1.0};
    static const long long wholes[] = {0,
                                       -1,
                                       1,
                                       2,
                                       INT64_MAX,
                                       INT64_MIN,
                                       2147483647,
                                       -2147483648LL,
                                       4294967295LL,
                                       4294967296LL};
    static const char *const texts[] = {"",        "n0",
                                        "n1",      "ok",
                                        "failed",  "GB/s",
                                        "TFLOP/s", "s",
                                        "node",    "pair",
                                        "fabric",  "higher",
                                        "lower",   "device.gemm.fp32",
                                        "pair.bw", "\x1b[31m\n%s%n",
                                        "\xc2\x9b"};
    switch (dice_below(dice, 10)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(dice_below(dice, 2));
    case 2:
    case 3:
        return json_real(numbers[dice_below(dice, sizeof numbers / sizeof *numbers)]);
    case 4:
    case 5:
        return json_integer(wholes[dice_below(dice, sizeof wholes / sizeof *wholes)]);
    case 6:
        return json_array();
    case 7:
        return json_object();
    case 8:
        return dice_below(dice, 8) ? long_text() : deep(1000);
    default:
        return json_string(texts[dice_below(dice, sizeof texts / sizeof *texts)]);
    }
}

static size_t members(const json_t *value)
{
    return json_is_object(value) ? json_object_size(value) : json_array_size(value);
}

static const char *key_at(json_t *object, size_t at)
{
    void *iter = json_object_iter(object);
    while (at-- > 0)
        iter = json_object_iter_next(object, iter);
    return json_object_iter_key(iter);
}

/* A list that is longer or shorter than it should be. */
static void stretch(json_t *list, struct dice *dice)
{
    size_t size = json_array_size(list);
    if (size && dice_below(dice, 2)) {
        json_array_remove(list, dice_below(dice, (uint32_t)size));
        return;
    }
    json_t *one = size ? json_array_get(list, dice_below(dice, (uint32_t)size)) : NULL;
    for (int i = 0; one && i < STRETCH; i++)
        json_array_append_new(list, json_deep_copy(one));
}

/* Changes one member; `other`: a value of another line. */
static void change_member(json_t *value, struct dice *dice, json_t *other)
{
    uint32_t at = dice_below(dice, (uint32_t)members(value));
    json_t *fresh = dice_below(dice, 4) ? hostile(dice) : json_deep_copy(other);
    if (json_is_array(value)) {
        json_array_set_new(value, at, fresh);
        return;
    }
    char key[128];
    snprintf(key, sizeof key, "%s", key_at(value, at));
    uint32_t how = dice_below(dice, 6);
    if (how == 0) {
        json_object_del(value, key);
        json_decref(fresh);
    } else if (how == 1) {
        json_object_set(value, "rank", json_object_get(value, key));
        json_decref(fresh);
    } else {
        json_object_set_new(value, key, fresh);
    }
}

static json_t *member(json_t *value, uint32_t at)
{
    return json_is_array(value) ? json_array_get(value, at)
                                : json_object_get(value, key_at(value, at));
}

/* Somewhere in the value: goes down a random way, and stops at random. */
static json_t *somewhere(json_t *value, struct dice *dice)
{
    while (dice_below(dice, 3)) {
        size_t size = members(value);
        json_t *down = size ? member(value, dice_below(dice, (uint32_t)size)) : NULL;
        if (!down || members(down) == 0)
            break;
        value = down;
    }
    return value;
}

static void change_value(struct journal *j, size_t at, struct dice *dice)
{
    json_t *line = json_loads(j->line[at], 0, NULL);
    json_t *other = json_loads(j->line[dice_below(dice, (uint32_t)j->lines)], 0, NULL);
    if (line && members(line)) {
        json_t *place = somewhere(line, dice);
        if (json_is_array(place) && dice_below(dice, 3) == 0)
            stretch(place, dice);
        else if (members(place))
            change_member(place, dice, other ? somewhere(other, dice) : json_null());
        char *text = json_dumps(line, JSON_COMPACT);
        if (text) {
            free(j->line[at]);
            j->line[at] = text;
        }
    }
    json_decref(line);
    json_decref(other);
}

/* --- changing lines --- */

static void change_bytes(char *line, struct dice *dice)
{
    static const char bytes[] = "0123456789-+eE.,:[]{}\"\\n\x80\xff";
    size_t length = strlen(line);
    for (uint32_t n = dice_below(dice, 4); length && n > 0; n--)
        line[dice_below(dice, (uint32_t)length)] =
            bytes[dice_below(dice, sizeof bytes - 1)];
    if (length && dice_below(dice, 8) == 0)
        line[dice_below(dice, (uint32_t)length)] = '\0';
}

static void change(struct journal *j, struct dice *dice)
{
    size_t at = dice_below(dice, (uint32_t)j->lines);
    size_t with = dice_below(dice, (uint32_t)j->lines);
    uint32_t how = dice_below(dice, 12);
    char *kept = j->line[at];
    if (how == 0) {
        change_bytes(j->line[at], dice);
    } else if (how == 1) {
        j->line[at] = j->line[with];
        j->line[with] = kept;
    } else if (how == 2 && j->lines > 1) {
        free(j->line[at]);
        j->line[at] = j->line[--j->lines];
    } else if (how == 3 && j->lines < LINES_MAX) {
        j->line[j->lines++] = strdup(j->line[at]);
    } else {
        change_value(j, at, dice);
    }
}

static bool write_lines(const struct journal *j, const char *path)
{
    FILE *out = fopen(path, "w");
    for (size_t i = 0; out && i < j->lines; i++)
        fprintf(out, "%s\n", j->line[i]);
    return out && fclose(out) == 0;
}

/* --- judging --- */

static const char *too_much(const json_t *report)
{
    const json_t *findings = json_object_get(report, "findings");
    size_t i;
    json_t *f;
    if (!json_is_string(json_object_get(report, "verdict")))
        return "a report without a verdict";
    if (json_array_size(findings) > FINDINGS_MAX ||
        json_array_size(json_object_get(report, "coverage")) > FINDINGS_MAX)
        return "too many findings";
    json_array_foreach(findings, i, f)
    {
        const char *message = json_string_value(json_object_get(f, "message"));
        if (!message || strlen(message) > MESSAGE_MAX)
            return "a message without end";
    }
    return NULL;
}

/* Renders the report as text; what is wrong with it, or NULL. */
static const char *render(const json_t *report)
{
    struct fc_error err = {""};
    char *text = NULL;
    size_t bytes = 0;
    const char *wrong = NULL;
    FILE *out = open_memstream(&text, &bytes);
    if (!out || fc_renderers[0].render(report, out, &err) != FC_OK)
        wrong = "a report that cannot be shown";
    if (out)
        fclose(out);
    if (bytes > TEXT_MAX)
        wrong = "a text without end";
    for (size_t i = 0; !wrong && i < bytes; i++)
        if ((unsigned char)text[i] < ' ' && text[i] != '\n')
            wrong = "a control character on the terminal";
    free(text);
    return wrong;
}

/* What is wrong, or NULL; *out_judged when it was not refused. */
static const char *judge(const char *path, bool *out_judged)
{
    struct fc_journal_text journal;
    struct fc_error err = {""}, again = {""};
    json_t *report = NULL, *suspects = NULL;
    *out_judged = false;
    if (fc_journal_read(path, &journal, &err) != FC_OK)
        return err.text[0] ? NULL : "refused without a reason";
    enum fc_status status = fc_judge(&journal, NULL, &report, &err);
    enum fc_status asked = fc_judge_suspects(&journal, &suspects, &again);
    const char *wrong = status != asked ? "judged, but no suspects, or other way round"
                        : status == FC_OK    ? too_much(report)
                        : status != FC_USAGE ? "refused, but not as a wrong input"
                        : err.text[0]        ? NULL
                                             : "refused without a reason";
    if (!wrong && status == FC_OK)
        wrong = render(report);
    *out_judged = status == FC_OK;
    json_decref(report);
    json_decref(suspects);
    fc_journal_text_free(&journal);
    return wrong;
}

struct count {
    long all, judged;
};

static bool one(const char *dir, uint64_t seed, char **journals, uint32_t count,
                struct count *counts)
{
    char path[512], note[512];
    struct dice dice = dice_for(seed, "fuzz", 0, 0);
    struct journal *j = calloc(1, sizeof *j);
    bool judged = false;
    snprintf(path, sizeof path, "%s/journal.jsonl", dir);
    snprintf(note, sizeof note, "%s/seed", dir);
    bool ok = j && read_lines(journals[dice_below(&dice, count)], j);
    for (uint32_t n = 1 + dice_below(&dice, 6); ok && n > 0; n--)
        change(j, &dice);
    FILE *out = fopen(note, "w");
    if (out)
        fprintf(out, "%llu\n", (unsigned long long)seed);
    ok = out && fclose(out) == 0 && ok && write_lines(j, path);
    if (j)
        free_lines(j);
    free(j);
    alarm(HANGS_AFTER_S);
    const char *wrong = ok ? judge(path, &judged) : "a file cannot be read or written";
    alarm(0);
    counts->all++;
    counts->judged += judged;
    if (wrong)
        printf("seed %llu: %s\n", (unsigned long long)seed, wrong);
    return !wrong;
}

int main(int argc, char **argv)
{
    struct count counts = {0, 0};
    if (argc < 5) {
        fprintf(stderr, "fuzz DIR SECONDS SEED JOURNAL...\n");
        return 2;
    }
    time_t end = time(NULL) + atoi(argv[2]);
    uint64_t seed = strtoull(argv[3], NULL, 10);
    bool ok = true;
    do
        ok = one(argv[1], seed++, argv + 4, (uint32_t)(argc - 4), &counts);
    while (ok && time(NULL) < end);
    printf("%ld spoilt journals: %ld judged, %ld refused\n", counts.all, counts.judged,
           counts.all - counts.judged);
    return ok ? 0 : 1;
}
