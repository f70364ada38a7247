// SPDX-License-Identifier: BSD-3-Clause
/* The parts of workers: notes, frames, words about what went wrong. */
#include "core/clock.h"
#include "core/worker_frame.h"
#include "core/worker_note.h"
#include "core/worker_why.h"

#include <jansson.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- notes ---- */

static void test_note_is_kept_cut_and_cleared(void **state)
{
    (void)state;
    struct fc_note_page page = {.turn = 0};
    char text[FC_NOTE_BYTES], longer[100];
    uint64_t t_ns, start = fc_now_ns();
    assert_false(fc_note_read(&page, text, &t_ns));
    fc_note_write(&page, "cudaMalloc");
    assert_true(fc_note_read(&page, text, &t_ns));
    assert_string_equal(text, "cudaMalloc");
    assert_in_range(t_ns, start, fc_now_ns());
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    fc_note_write(&page, longer);
    assert_true(fc_note_read(&page, text, &t_ns));
    assert_int_equal(strlen(text), FC_NOTE_BYTES - 1);
    fc_note_write(&page, NULL);
    assert_false(fc_note_read(&page, text, &t_ns));
    fc_note_write(&page, ""); /* no name is no note */
    assert_false(fc_note_read(&page, text, &t_ns));
}

/* A writer that dies halfway, or writes rubbish, harms no reader. */
static void test_note_of_a_dead_or_wild_writer(void **state)
{
    (void)state;
    struct fc_note_page page = {.turn = 0};
    char text[FC_NOTE_BYTES];
    uint64_t t_ns;
    fc_note_write(&page, "whole");
    page.slot[0].word[0] = 0x4141414141414141; /* the next slot, half written */
    assert_true(fc_note_read(&page, text, &t_ns));
    assert_string_equal(text, "whole");
    memset(&page, 0xff, sizeof page);
    assert_true(fc_note_read(&page, text, &t_ns));
    assert_int_equal(strlen(text), FC_NOTE_BYTES - 1);
}

struct race {
    struct fc_note_page page;
    _Atomic int stop;
};

static void *write_notes(void *arg)
{
    struct race *race = arg;
    char text[FC_NOTE_BYTES] = "";
    for (int i = 0; !race->stop; i = (i + 1) % 26) {
        memset(text, 'a' + i, FC_NOTE_BYTES - 1);
        fc_note_write(&race->page, text);
    }
    return NULL;
}

static void test_note_is_never_torn(void **state)
{
    (void)state;
    static struct race race;
    pthread_t thread;
    size_t seen[26] = {0}, torn = 0, kinds = 0;
    fc_note_write(&race.page, "a");
    assert_int_equal(pthread_create(&thread, NULL, write_notes, &race), 0);
    uint64_t end = fc_now_ns() + FC_NS_PER_S / 2;
    while (fc_now_ns() < end) {
        char text[FC_NOTE_BYTES];
        uint64_t t_ns;
        if (!fc_note_read(&race.page, text, &t_ns))
            torn++;
        torn += strspn(text, (char[]){text[0], '\0'}) != strlen(text);
        if (text[0] >= 'a' && text[0] <= 'z')
            seen[text[0] - 'a']++;
    }
    race.stop = 1;
    pthread_join(thread, NULL);
    for (size_t i = 0; i < 26; i++)
        kinds += seen[i] > 0;
    assert_int_equal(torn, 0);
    assert_true(kinds > 1); /* both did run */
}

/* ---- frames ---- */

static void test_frame_cut_at_any_byte_waits(void **state)
{
    (void)state;
    int pair[2];
    static const char body[] = "abcdef";
    struct fc_frame_head head = {FC_FRAME_MAGIC, FC_FRAME_LINE, 7, sizeof body - 1};
    char wire[sizeof head + sizeof body - 1];
    memcpy(wire, &head, sizeof head);
    memcpy(wire + sizeof head, body, sizeof body - 1);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    struct fc_frame_in in = {.have = 0};
    for (size_t i = 0; i < sizeof wire; i++) {
        assert_int_equal(fc_frame_read(pair[1], &in, false), FC_FRAME_PART);
        assert_int_equal(send(pair[0], wire + i, 1, MSG_NOSIGNAL), 1);
    }
    assert_int_equal(fc_frame_read(pair[1], &in, false), FC_FRAME_WHOLE);
    assert_string_equal(in.body, body);
    assert_int_equal(in.head.call, 7);
    fc_frame_next(&in);
    assert_true(fc_frame_send(pair[0], head, "abc", 3, "def", 3));
    head.length = 0;
    assert_true(fc_frame_send(pair[0], head, NULL, 0, NULL, 0)); /* an empty one */
    assert_int_equal(send(pair[0], wire, 5, MSG_NOSIGNAL), 5);
    close(pair[0]);
    assert_int_equal(fc_frame_read(pair[1], &in, true), FC_FRAME_WHOLE);
    assert_string_equal(in.body, body);
    fc_frame_next(&in);
    assert_int_equal(fc_frame_read(pair[1], &in, true), FC_FRAME_WHOLE);
    assert_string_equal(in.body, "");
    fc_frame_next(&in);
    assert_int_equal(fc_frame_read(pair[1], &in, true), FC_FRAME_END);
    fc_frame_free(&in);
    assert_false(fc_frame_send(pair[1], head, NULL, 0, NULL, 0)); /* and no SIGPIPE */
    close(pair[1]);
}

/* ---- words ---- */

static const char *quote(const char *text, size_t bytes, struct fc_why *why)
{
    struct fc_tail tail = {.used = 0};
    *why = (struct fc_why){.used = 0};
    fc_tail_add(&tail, text, bytes);
    fc_why_add_words(why, &tail);
    return why->text;
}

static void test_last_words_are_the_last(void **state)
{
    (void)state;
    struct fc_tail tail = {.used = 0};
    struct fc_why why = {.used = 0};
    for (int i = 0; i < 10000; i++) {
        char line[16];
        int n = snprintf(line, sizeof line, "%d\n", i);
        fc_tail_add(&tail, line, (size_t)n);
    }
    fc_why_add(&why, "worker 1 died of SIGSEGV");
    fc_why_add_words(&why, &tail);
    static const char end[] = " 9997 9998 9999\"";
    assert_true(why.used > 400);
    assert_true(why.used + 60 < sizeof why.text); /* room for a prefix */
    assert_string_equal(why.text + why.used - strlen(end), end);
    assert_int_equal(quote("", 0, &why)[0], '\0');
    assert_int_equal(quote("\n \t\033", 4, &why)[0], '\0'); /* nothing to see */
}

static void test_words_are_one_line_of_utf8(void **state)
{
    (void)state;
    struct fc_why why;
    static const struct {
        const char *in, *out;
    } row[] = {
        {"a\tb\r\n\x01 c\x7f", "a b c"},
        {"\xc2\x85x\xc2\x9by", "x y"},
        {"\xff\xfe", "??"},
        {"\xc0\x80", "??"},
        {"\xed\xa0\x80", "???"},
        {"\xf4\x90\x80\x80", "????"},
        {"\xe2\x82", "??"},
        {"\xe2\x82\xac", "\u20ac"},
        {"\xf0\x9f\x98\x80", "\U0001f600"},
        {"\xc3\xa9\xc3", "\u00e9?"},
        {"say \"hi\" \\n", "say \"hi\" \\n"},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char want[64];
        snprintf(want, sizeof want, "; last words: \"%s\"", row[i].out);
        assert_string_equal(quote(row[i].in, strlen(row[i].in), &why), want);
    }
}

/* Whatever comes in and wherever it is cut, a journal can hold what comes out. */
static void test_any_bytes_make_a_json_string(void **state)
{
    (void)state;
    unsigned seed = 1;
    for (int i = 0; i < 3000; i++) {
        static const char *const some[] = {"\u00e9", "\u20ac", "\U0001f600", "x", "\n"};
        char text[3000];
        size_t n = 0;
        while (n < sizeof text - 8) {
            seed = seed * 1103515245u + 12345u;
            const char *next = some[(seed >> 16) % 5];
            if ((seed >> 24) % 8 == 0)
                text[n++] = (char)(seed >> 16);
            else
                n = (size_t)(stpcpy(text + n, next) - text);
        }
        struct fc_why why;
        json_t *string = json_string(quote(text, n - (size_t)(i % 7), &why));
        assert_non_null(string);
        json_decref(string);
        why = (struct fc_why){.used = 0};
        fc_why_add_clean(&why, text, n, (size_t)(i % 100), false);
        assert_true(why.used <= (size_t)(i % 100));
        string = json_string(why.text);
        assert_non_null(string);
        json_decref(string);
    }
}

static void test_endings_have_names(void **state)
{
    (void)state;
    static const struct {
        bool by_signal;
        int value;
        const char *text;
    } row[] = {
        {false, 0, "exited with status 0"}, {false, 127, "exited with status 127"},
        {true, SIGSEGV, "died of SIGSEGV"}, {true, SIGBUS, "died of SIGBUS"},
        {true, SIGABRT, "died of SIGABRT"}, {true, 40, "died of signal 40"}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct fc_why why = {.used = 0};
        fc_why_add_ending(&why, row[i].by_signal, row[i].value);
        assert_string_equal(why.text, row[i].text);
    }
    struct fc_why why = {.used = 0};
    fc_why_add_state(&why, -1); /* no such process: nothing is said */
    assert_string_equal(why.text, "");
    for (int i = 0; i < 1000; i++)
        fc_why_add(&why, "too long ");
    assert_int_equal(strlen(why.text), sizeof why.text - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_note_is_kept_cut_and_cleared),
        cmocka_unit_test(test_note_of_a_dead_or_wild_writer),
        cmocka_unit_test(test_note_is_never_torn),
        cmocka_unit_test(test_frame_cut_at_any_byte_waits),
        cmocka_unit_test(test_last_words_are_the_last),
        cmocka_unit_test(test_words_are_one_line_of_utf8),
        cmocka_unit_test(test_any_bytes_make_a_json_string),
        cmocka_unit_test(test_endings_have_names),
    };
    return cmocka_run_group_tests_name("worker_parts", tests, NULL, NULL);
}
