// SPDX-License-Identifier: BSD-3-Clause
#include "worker_rig.h"

#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

const char *const rig_raw_crash[] = {
    "ASAN_OPTIONS=handle_segv=0:handle_abort=0:handle_sigbus=0:detect_leaks=0",
    "UBSAN_OPTIONS=handle_segv=0:handle_abort=0:handle_sigbus=0", NULL};

size_t rig_count_fds(void)
{
    size_t count = 0;
    DIR *dir = opendir("/proc/self/fd");
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 3; /* ".", ".." and the folder itself */
}

/* Parent and state of a process; false when it is not there. */
static bool read_stat(const char *pid, int *parent, char *state)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[n] = '\0';
    const char *paren = strrchr(text, ')');
    return paren && sscanf(paren + 1, " %c %d", state, parent) == 2;
}

size_t rig_count_children(int pid, bool zombies)
{
    size_t count = 0;
    DIR *dir = opendir("/proc");
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));) {
        int parent;
        char state;
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
            read_stat(entry->d_name, &parent, &state) && parent == pid)
            count += zombies || state != 'Z';
    }
    closedir(dir);
    return count;
}

bool rig_runs(int pid)
{
    char name[32], state;
    int parent;
    snprintf(name, sizeof name, "%d", pid);
    return read_stat(name, &parent, &state) && state != 'Z' && state != 'X';
}

bool rig_vanishes(int pid, uint64_t limit_ns)
{
    uint64_t end = fc_now_ns() + limit_ns;
    while (rig_runs(pid)) {
        if (fc_now_ns() > end)
            return false;
        fc_sleep_ns(5 * FC_NS_PER_MS);
    }
    return true;
}

int rig_open(void **state)
{
    struct rig *rig = calloc(1, sizeof *rig);
    if (!rig)
        return -1;
    rig->fds = rig_count_fds();
    *state = rig;
    return fc_spawner_open(&rig->spawner, &rig->err) == FC_OK ? 0 : -1;
}

int rig_close(void **state)
{
    struct rig *rig = *state;
    const char *left = NULL;
    fc_worker_close(rig->worker);
    if (rig->spawner && rig_count_children(fc_spawner_pid(rig->spawner), true) != 0)
        left = "the spawner has children";
    fc_spawner_close(rig->spawner);
    if (rig_count_fds() != rig->fds)
        left = "descriptors are left";
    if (waitpid(-1, NULL, WNOHANG) != -1 || errno != ECHILD)
        left = "a child is left";
    free(rig);
    if (left)
        print_error("%s\n", left);
    return left ? -1 : 0;
}

void rig_worker(struct rig *rig, const char *const *env, struct fc_worker **out)
{
    struct fc_worker *worker = NULL;
    if (fc_worker_open(rig->spawner, env, &worker, &rig->err) != FC_OK)
        fail_msg("%s", rig->err.text);
    *(out ? out : &rig->worker) = worker;
}

enum fc_status rig_call(struct rig *rig, const char *command, json_t *args,
                        uint64_t deadline_ns, json_t **out_reply)
{
    enum fc_status status = fc_worker_call(rig->worker, command, args, deadline_ns,
                                           NULL, NULL, out_reply, &rig->err);
    json_decref(args);
    return status;
}

json_t *rig_ask(struct rig *rig, struct fc_worker *worker, const char *command,
                json_t *args)
{
    json_t *reply = NULL;
    if (fc_worker_call(worker, command, args, SOON, NULL, NULL, &reply, &rig->err) !=
        FC_OK)
        fail_msg("%s: %s", command, rig->err.text);
    json_decref(args);
    assert_true(json_is_object(reply));
    assert_true(fc_worker_alive(worker));
    return reply;
}

void rig_renew(struct rig *rig, const char *const *env)
{
    fc_worker_close(rig->worker);
    rig->worker = NULL;
    rig_worker(rig, env, NULL);
}

void rig_says(const char *text, const char *regex)
{
    regex_t compiled;
    assert_int_equal(regcomp(&compiled, regex, REG_EXTENDED | REG_NOSUB), 0);
    int found = regexec(&compiled, text, 0, NULL, 0);
    regfree(&compiled);
    if (found != 0)
        fail_msg("\"%s\" does not match \"%s\"", text, regex);
}
