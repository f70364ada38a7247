// SPDX-License-Identifier: BSD-3-Clause
/* The rank's side of a worker: how it begins and ends. */
#include "core/worker.h"

#include "core/clock.h"
#include "core/worker_rank.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a close spends on asking, and then on killing. */
#define CLOSE_LIMIT_NS FC_NS_PER_S

/* The least that an answer of the spawner is given, so that a limit that has nearly
 * passed is not taken for a spawner that does not answer. */
#define ANSWER_MIN_NS (100 * FC_NS_PER_MS)

enum { READS_A_TURN = 16 };

static const char start_note[] = "start of the worker";

/* The page is sealed: a worker that went wild cannot cut it short under the rank's
 * feet. */
static enum fc_status page_open(struct fc_worker *worker, int *out_fd,
                                struct fc_error *err)
{
    int fd = memfd_create("fc-worker-note", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0)
        return fc_fail(err, FC_FAILED, "cannot start a worker: memfd_create: %s",
                       strerror(errno));
    void *page = MAP_FAILED;
    if (ftruncate(fd, sizeof *worker->page) == 0 &&
        fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        page =
            mmap(NULL, sizeof *worker->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        int saved = errno;
        close(fd);
        return fc_fail(err, FC_FAILED, "cannot start a worker: its shared page: %s",
                       strerror(saved));
    }
    worker->page = page;
    fc_note_write(worker->page, start_note);
    *out_fd = fd;
    return FC_OK;
}

static void close_pair(const int pair[2])
{
    close(pair[0]);
    close(pair[1]);
}

static enum fc_status channels_open(int sock[2], int output[2], struct fc_error *err)
{
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sock) != 0)
        return fc_fail(err, FC_FAILED, "cannot start a worker: socketpair: %s",
                       strerror(errno));
    if (pipe2(output, O_CLOEXEC) != 0) {
        int saved = errno;
        close_pair(sock);
        return fc_fail(err, FC_FAILED, "cannot start a worker: pipe: %s",
                       strerror(saved));
    }
    /* The rank's end alone: the worker's standard output stays an ordinary one. */
    if (fcntl(output[0], F_SETFL, O_NONBLOCK) != 0) {
        int saved = errno;
        close_pair(sock);
        close_pair(output);
        return fc_fail(err, FC_FAILED, "cannot start a worker: pipe: %s",
                       strerror(saved));
    }
    return FC_OK;
}

enum fc_status fc_worker_open(struct fc_spawner *spawner, const char *const *env,
                              struct fc_worker **out, struct fc_error *err)
{
    int sock[2] = {-1, -1}, output[2] = {-1, -1}, page = -1;
    struct fc_worker *worker = calloc(1, sizeof *worker);
    if (!worker)
        return fc_fail(err, FC_NOMEM, "no memory for a worker");
    enum fc_status status = channels_open(sock, output, err);
    if (status != FC_OK)
        goto no_channels;
    status = page_open(worker, &page, err);
    if (status != FC_OK)
        goto no_page;
    const int given[FC_SPAWNER_FDS] = {sock[1], page, output[1]};
    status = fc_spawner_start(spawner, env, given, &worker->pid, err);
    close(page);
    if (status != FC_OK)
        goto no_process;
    close(sock[1]);
    close(output[1]);
    worker->sock = sock[0];
    worker->output = output[0];
    worker->spawner = spawner;
    worker->alive = true;
    fc_spawner_hold(spawner);
    *out = worker;
    return FC_OK;
no_process:
    munmap(worker->page, sizeof *worker->page);
no_page:
    close_pair(sock);
    close_pair(output);
no_channels:
    free(worker);
    return status;
}

static void hang_up(struct fc_worker *worker)
{
    if (worker->sock >= 0)
        close(worker->sock);
    worker->sock = -1;
}

void fc_worker_drain(struct fc_worker *worker)
{
    char data[4096];
    for (int i = 0; i < READS_A_TURN && worker->output >= 0; i++) {
        ssize_t n = read(worker->output, data, sizeof data);
        if (n > 0) {
            fc_tail_add(&worker->tail, data, (size_t)n);
        } else if (n == 0) {
            /* Every writer is gone. A poll on it would wake at once for ever. */
            close(worker->output);
            worker->output = -1;
        } else if (errno != EINTR) {
            return;
        }
    }
}

enum fc_status fc_worker_wait(struct fc_worker *worker, uint64_t limit_ns,
                              struct fc_spawner_ending *out, struct fc_error *err)
{
    uint64_t end = fc_now_ns() + limit_ns;
    for (uint64_t now = fc_now_ns();; now = fc_now_ns()) {
        uint64_t left = now < end ? end - now : 0;
        fc_worker_drain(worker);
        enum fc_status status =
            fc_spawner_ask(worker->spawner, FC_SPAWNER_PEEK, worker->pid,
                           left > ANSWER_MIN_NS ? left : ANSWER_MIN_NS, out, err);
        if (status != FC_OK || out->ended)
            return status;
        if (left == 0)
            return fc_fail(err, FC_TIMEOUT,
                           "it could not be killed and is left behind");
        fc_sleep_ns(2 * FC_NS_PER_MS);
    }
}

enum fc_status fc_worker_bury(struct fc_worker *worker, uint64_t limit_ns,
                              struct fc_error *err)
{
    struct fc_spawner_ending ending = {.ended = false};
    uint64_t end = fc_now_ns() + limit_ns;
    worker->alive = false;
    hang_up(worker);
    enum fc_status status = fc_spawner_ask(worker->spawner, FC_SPAWNER_KILL,
                                           worker->pid, limit_ns, &ending, err);
    uint64_t now = fc_now_ns();
    if (status == FC_OK && !ending.ended)
        status = fc_worker_wait(worker, now < end ? end - now : 0, &ending, err);
    if (status != FC_FAILED) {
        /* Also one that has not ended: the spawner reaps it should it end after all. */
        enum fc_status forgot =
            fc_spawner_ask(worker->spawner, FC_SPAWNER_FORGET, worker->pid,
                           ANSWER_MIN_NS, &ending, NULL);
        (void)forgot; /* the request is on its way even when the answer is late */
    }
    fc_worker_drain(worker);
    return status == FC_FAILED ? FC_OK : status;
}

void fc_worker_close(struct fc_worker *worker)
{
    if (!worker)
        return;
    if (worker->alive) {
        struct fc_spawner_ending ending;
        hang_up(worker); /* an idle worker ends when its rank hangs up */
        enum fc_status asked = fc_worker_wait(worker, CLOSE_LIMIT_NS, &ending, NULL);
        enum fc_status killed = fc_worker_bury(worker, CLOSE_LIMIT_NS, NULL);
        /* There is nothing more to do for one that is left behind. */
        (void)asked, (void)killed;
    }
    hang_up(worker);
    if (worker->output >= 0)
        close(worker->output);
    munmap(worker->page, sizeof *worker->page);
    fc_frame_free(&worker->in);
    fc_spawner_release(worker->spawner);
    free(worker);
}

int fc_worker_alive(const struct fc_worker *worker)
{
    return worker->alive;
}

int fc_worker_pid(const struct fc_worker *worker)
{
    return worker->pid;
}
