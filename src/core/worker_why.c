// SPDX-License-Identifier: BSD-3-Clause
#include "core/worker_why.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Bytes of an error text that are left to those who prefix it. */
enum { PREFIX_ROOM = 64 };

void fc_tail_add(struct fc_tail *tail, const char *data, size_t bytes)
{
    const size_t size = sizeof tail->data;
    if (bytes > size) {
        data += bytes - size;
        bytes = size;
    }
    size_t first = size - tail->next < bytes ? size - tail->next : bytes;
    memcpy(tail->data + tail->next, data, first);
    memcpy(tail->data, data + first, bytes - first);
    tail->next = (tail->next + bytes) % size;
    tail->used = tail->used + bytes < size ? tail->used + bytes : size;
}

void fc_why_add(struct fc_why *why, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(why->text + why->used, sizeof why->text - why->used, fmt, args);
    va_end(args);
    if (n > 0)
        why->used += (size_t)n;
    if (why->used >= sizeof why->text)
        why->used = sizeof why->text - 1;
}

/* Bytes of the UTF-8 character at `at`, or 0 when there is none. */
static size_t utf8_bytes(const unsigned char *at, size_t left)
{
    static const struct {
        unsigned char lead_lo, lead_hi, next_lo, next_hi, more;
    } form[] = {{0x00, 0x7f, 0, 0, 0},       {0xc2, 0xdf, 0x80, 0xbf, 1},
                {0xe0, 0xe0, 0xa0, 0xbf, 2}, {0xe1, 0xec, 0x80, 0xbf, 2},
                {0xed, 0xed, 0x80, 0x9f, 2}, {0xee, 0xef, 0x80, 0xbf, 2},
                {0xf0, 0xf0, 0x90, 0xbf, 3}, {0xf1, 0xf3, 0x80, 0xbf, 3},
                {0xf4, 0xf4, 0x80, 0x8f, 3}};
    size_t i = 0;
    while (i < sizeof form / sizeof *form && at[0] > form[i].lead_hi)
        i++;
    if (i == sizeof form / sizeof *form || at[0] < form[i].lead_lo ||
        form[i].more >= left)
        return 0;
    if (form[i].more && (at[1] < form[i].next_lo || at[1] > form[i].next_hi))
        return 0;
    for (size_t k = 2; k <= form[i].more; k++)
        if ((at[k] & 0xc0) != 0x80)
            return 0;
    return (size_t)form[i].more + 1;
}

/* Cleans `in` into `out`, which has room for `bytes`; returns the bytes written. */
static size_t clean(const char *in, size_t bytes, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < bytes;) {
        const unsigned char *at = (const unsigned char *)in + i;
        size_t take = utf8_bytes(at, bytes - i);
        if (take == 0) {
            out[n++] = '?';
            i++;
        } else if (*at <= ' ' || *at == 0x7f || (*at == 0xc2 && at[1] < 0xa0)) {
            if (n > 0 && out[n - 1] != ' ')
                out[n++] = ' ';
            i += take;
        } else {
            memcpy(out + n, at, take);
            n += take;
            i += take;
        }
    }
    while (n > 0 && out[n - 1] == ' ')
        n--;
    return n;
}

void fc_why_add_clean(struct fc_why *why, const char *text, size_t bytes, size_t most,
                      bool from_end)
{
    char plain[sizeof((struct fc_tail *)0)->data];
    if (bytes > sizeof plain) {
        text += from_end ? bytes - sizeof plain : 0;
        bytes = sizeof plain;
    }
    size_t n = clean(text, bytes, plain);
    const char *from = plain;
    if (n > most && from_end) {
        from += n - most;
        n = most;
        for (; n > 0 && (*from & 0xc0) == 0x80; from++)
            n--;
    } else if (n > most) {
        for (n = most; n > 0 && (plain[n] & 0xc0) == 0x80;)
            n--;
    }
    fc_why_add(why, "%.*s", (int)n, from);
}

void fc_why_add_words(struct fc_why *why, const struct fc_tail *tail)
{
    static const char open[] = "; last words: \"";
    size_t taken = why->used + sizeof open + PREFIX_ROOM;
    if (tail->used == 0 || taken >= sizeof why->text)
        return;
    char words[sizeof tail->data];
    size_t start = tail->used < sizeof words ? 0 : tail->next;
    memcpy(words, tail->data + start, tail->used - start);
    memcpy(words + (tail->used - start), tail->data, start);
    struct fc_why said = {.used = 0};
    fc_why_add_clean(&said, words, tail->used, sizeof why->text - taken, true);
    if (said.used > 0)
        fc_why_add(why, "%s%s\"", open, said.text);
}

void fc_why_add_ending(struct fc_why *why, bool by_signal, int value)
{
    static const struct {
        int number;
        const char *name;
    } known[] = {{SIGHUP, "SIGHUP"},   {SIGINT, "SIGINT"},   {SIGQUIT, "SIGQUIT"},
                 {SIGILL, "SIGILL"},   {SIGTRAP, "SIGTRAP"}, {SIGABRT, "SIGABRT"},
                 {SIGBUS, "SIGBUS"},   {SIGFPE, "SIGFPE"},   {SIGSEGV, "SIGSEGV"},
                 {SIGPIPE, "SIGPIPE"}, {SIGALRM, "SIGALRM"}, {SIGTERM, "SIGTERM"},
                 {SIGXCPU, "SIGXCPU"}, {SIGXFSZ, "SIGXFSZ"}, {SIGSYS, "SIGSYS"}};
    if (!by_signal) {
        fc_why_add(why, "exited with status %d", value);
        return;
    }
    if (value == SIGKILL) {
        /* Never this rank's own kill: those are told as what led to them. */
        fc_why_add(why, "was killed (SIGKILL: from outside, or for want of memory)");
        return;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].number == value) {
            fc_why_add(why, "died of %s", known[i].name);
            return;
        }
    }
    fc_why_add(why, "died of signal %d", value);
}

/* Reads the start of /proc/PID/NAME; an empty text when that cannot be done. */
static void read_proc(int pid, const char *name, char *out, size_t bytes)
{
    char path[64];
    out[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t n;
    do
        n = read(fd, out, bytes - 1);
    while (n < 0 && errno == EINTR);
    close(fd);
    out[n > 0 ? n : 0] = '\0';
}

/* Only files that a process stuck in the kernel cannot block are read: not cmdline,
 * maps or anything else that wants its memory map. */
void fc_why_add_state(struct fc_why *why, int pid)
{
    char stat[512], wchan[64], call[64];
    read_proc(pid, "stat", stat, sizeof stat);
    const char *paren = strrchr(stat, ')');
    if (!paren || paren[1] != ' ' || paren[2] == '\0')
        return;
    fc_why_add(why, " (state %c", paren[2]);
    read_proc(pid, "wchan", wchan, sizeof wchan);
    if (wchan[0] != '\0' && strcmp(wchan, "0") != 0)
        fc_why_add(why, ", wchan %.*s", (int)strcspn(wchan, "\n"), wchan);
    read_proc(pid, "syscall", call, sizeof call);
    size_t digits = strspn(call, "0123456789");
    if (digits > 0)
        fc_why_add(why, ", syscall %.*s", (int)digits, call);
    fc_why_add(why, ")");
}
