// SPDX-License-Identifier: BSD-3-Clause
/* The journal's writer. See journal.h for what it promises. */
#include "core/journal.h"

#include "core/record.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct fc_journal {
    pthread_mutex_t lock;
    int fd;
    off_t good; /* bytes of whole lines that are surely in the file */
    uint64_t next_seq;
    char path[4096];
    char trouble[512]; /* empty: none */
};

static enum fc_status make_folders(const char *dir, struct fc_error *err)
{
    char path[4000];
    size_t length = strlen(dir);
    if (length == 0 || length >= sizeof path)
        return fc_fail(err, FC_USAGE, "--out: '%.200s' is no usable folder name", dir);
    memcpy(path, dir, length + 1);
    for (char *slash = path + 1;; slash++) {
        slash = strchrnul(slash, '/');
        char kept = *slash;
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return fc_fail(err, FC_USAGE, "--out: cannot make folder '%.300s': %s",
                           path, strerror(errno));
        if (!kept)
            return FC_OK;
        *slash = kept;
    }
}

enum fc_status fc_journal_create(const char *dir, struct fc_journal **out,
                                 struct fc_error *err)
{
    enum fc_status status = make_folders(dir, err);
    if (status != FC_OK)
        return status;
    struct fc_journal *journal = calloc(1, sizeof *journal);
    if (!journal)
        return fc_fail(err, FC_NOMEM, "out of memory for the journal");
    snprintf(journal->path, sizeof journal->path, "%s/%s", dir, FC_JOURNAL_NAME);
    /* Exclusive: a run that is there already is never touched. */
    journal->fd =
        open(journal->path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (journal->fd < 0) {
        int saved = errno;
        free(journal);
        if (saved == EEXIST)
            return fc_fail(err, FC_USAGE,
                           "--out: '%.300s' already holds a run; choose another folder",
                           dir);
        return fc_fail(err, FC_USAGE, "--out: cannot write in '%.300s': %s", dir,
                       strerror(saved));
    }
    pthread_mutex_init(&journal->lock, NULL);
    *out = journal;
    return FC_OK;
}

static bool write_all(int fd, const char *text, size_t bytes)
{
    while (bytes) {
        ssize_t n = write(fd, text, bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                errno = ENOSPC;
            return false;
        }
        text += n;
        bytes -= (size_t)n;
    }
    return true;
}

/* Copies the first `bytes` of one file to another. */
static bool copy_range(int from, int to, off_t bytes)
{
    char piece[65536];
    for (off_t at = 0; at < bytes;) {
        size_t want =
            bytes - at < (off_t)sizeof piece ? (size_t)(bytes - at) : sizeof piece;
        ssize_t n = pread(from, piece, want, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || !write_all(to, piece, (size_t)n))
            return false;
        at += n;
    }
    return true;
}

/* Moves everything to a fresh file elsewhere; true when all lines so far are in it. */
static bool rescue(struct fc_journal *journal, const char *why)
{
    const char *const places[] = {getenv("TMPDIR"), "/tmp", "/dev/shm"};
    if (!journal->trouble[0])
        snprintf(journal->trouble, sizeof journal->trouble, "%.300s: %s", journal->path,
                 why);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (!places[i] || !places[i][0])
            continue;
        char path[4096];
        snprintf(path, sizeof path, "%.3000s/fabricheck-rescue-XXXXXX", places[i]);
        if (!mkdtemp(path))
            continue;
        size_t length = strlen(path);
        snprintf(path + length, sizeof path - length, "/%s", FC_JOURNAL_NAME);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
        if (fd >= 0 && copy_range(journal->fd, fd, journal->good)) {
            close(journal->fd);
            journal->fd = fd;
            snprintf(journal->path, sizeof journal->path, "%s", path);
            return true;
        }
        if (fd >= 0)
            close(fd);
        unlink(path);
        path[length] = '\0';
        rmdir(path);
    }
    return false;
}

/* Writes whole lines; on trouble moves to a rescue place and tries again there. */
static enum fc_status put(struct fc_journal *journal, const char *text, size_t bytes,
                          struct fc_error *err)
{
    for (int places = 0; places < 4; places++) {
        struct stat st;
        const char *why = NULL;
        if (fstat(journal->fd, &st) != 0)
            why = strerror(errno);
        else if (st.st_nlink == 0)
            why = "the file or its folder was removed while the run went on";
        else if (!write_all(journal->fd, text, bytes))
            why = strerror(errno);
        if (!why) {
            journal->good += (off_t)bytes;
            return FC_OK;
        }
        /* Takes half a line away again; O_APPEND then continues at the right place. */
        if (ftruncate(journal->fd, journal->good) != 0)
            why = strerror(errno);
        if (!rescue(journal, why))
            break;
    }
    return fc_fail(err, FC_IO, "journal lost its last places: %.400s",
                   journal->trouble);
}

/* Gives records their seq: `{"type":"record",…` becomes `{"type":"record","seq":N,…`.
 * */
static char *number(struct fc_journal *journal, const char *text, size_t bytes,
                    size_t *out_bytes)
{
    static const char record[] = "{\"type\":\"record\",";
    const size_t head = sizeof record - 1;
    size_t lines = 0;
    for (size_t i = 0; i < bytes; i++)
        lines += text[i] == '\n';
    char *out = malloc(bytes + 32 * lines + 1);
    if (!out)
        return NULL;
    size_t used = 0;
    for (const char *at = text, *end = text + bytes; at < end;) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *next = newline ? newline + 1 : end;
        size_t length = (size_t)(next - at);
        if (length > head && memcmp(at, record, head) == 0) {
            memcpy(out + used, record, head);
            used += head;
            used += (size_t)sprintf(out + used, "\"seq\":%llu,",
                                    (unsigned long long)++journal->next_seq);
            at += head;
            length -= head;
        }
        memcpy(out + used, at, length);
        used += length;
        at = next;
    }
    *out_bytes = used;
    return out;
}

enum fc_status fc_journal_append(struct fc_journal *journal, const char *text,
                                 size_t bytes, struct fc_error *err)
{
    if (!bytes)
        return FC_OK;
    pthread_mutex_lock(&journal->lock);
    size_t numbered_bytes = 0;
    char *numbered = number(journal, text, bytes, &numbered_bytes);
    enum fc_status status =
        numbered
            ? put(journal, numbered, numbered_bytes, err)
            : fc_fail(err, FC_NOMEM, "out of memory for %zu bytes of journal", bytes);
    free(numbered);
    pthread_mutex_unlock(&journal->lock);
    return status;
}

enum fc_status fc_journal_line(struct fc_journal *journal, char *line,
                               struct fc_error *err)
{
    if (!line)
        return fc_fail(err, FC_NOMEM, "out of memory for a journal line");
    size_t length = strlen(line);
    line[length] = '\n'; /* the terminator is not needed any more */
    enum fc_status status = fc_journal_append(journal, line, length + 1, err);
    free(line);
    return status;
}

const char *fc_journal_path(const struct fc_journal *journal)
{
    return journal->path;
}

const char *fc_journal_trouble(const struct fc_journal *journal)
{
    return journal->trouble[0] ? journal->trouble : NULL;
}

void fc_journal_close(struct fc_journal *journal)
{
    if (!journal)
        return;
    close(journal->fd);
    pthread_mutex_destroy(&journal->lock);
    free(journal);
}

void fc_journal_spool_path(const char *dir, int rank, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "%s/spool-%d.jsonl", dir, rank);
}

enum fc_status fc_journal_spool(const char *path, const char *text, size_t bytes,
                                struct fc_error *err)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return fc_fail(err, FC_IO, "cannot write '%.300s': %s", path, strerror(errno));
    bool ok = write_all(fd, text, bytes) && fsync(fd) == 0;
    int saved = errno;
    close(fd);
    if (!ok)
        return fc_fail(err, FC_IO, "cannot write '%.300s': %s", path, strerror(saved));
    return FC_OK;
}
