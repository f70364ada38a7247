// SPDX-License-Identifier: BSD-3-Clause
/* Workers: processes of a rank that make the calls that can hang, crash or never return
 * (drivers, GPU libraries, verbs, sick /sys files), so that the rank lives on.
 *
 * Data: the rank sends a command (a name and a JSON object) over a socket pair; the
 * worker (the same binary, run as `fabricheck worker`) sends any number of lines back
 * (records, facts: opaque text to this module) and then one reply (a JSON object) or an
 * error text. Everything is length-prefixed and bounded; a worker that floods is cut
 * off.
 *
 * Where it hangs is told by a shared page into which the worker writes the name of the
 * call it is about to make (fc_worker_note: two stores, cheap enough for each call).
 *
 * Life: a small spawner is forked before MPI_Init, so that MPI never sees a fork. It is
 * the parent of all workers, execs them with the environment that was asked for, reaps
 * them, and tells the rank how they ended. It dies with its rank and takes its workers
 * with it. A worker that passes its deadline, dies, or sticks in the kernel is
 * described ("stuck in ncclCommInitRank for 30 s, wchan futex_wait"), killed and must
 * be opened anew; a process that SIGKILL does not end within the grace time is left
 * behind and said so.
 *
 * Collective: no. Refuses to know: what commands do, MPI, journals.
 */
#ifndef FC_CORE_WORKER_H
#define FC_CORE_WORKER_H

#include "core/status.h"

#include <jansson.h>
#include <stdint.h>

struct fc_spawner;
struct fc_worker;

/* What a worker can do: one table for the whole program, given to fc_worker_main. */
struct fc_worker_call; /* the worker's side of one command */
struct fc_worker_command {
    const char *name; /* NULL ends a table */
    /* `args` is borrowed; `*out_reply` is a new reference or NULL. */
    enum fc_status (*run)(struct fc_worker_call *call, json_t *args, json_t **out_reply,
                          struct fc_error *err);
};

/* Worker's side: names the call that is about to be made (static or long-lived text is
 * not needed; at most 63 bytes are kept). NULL: none. `call` may be NULL, so that code
 * under test needs no worker. */
void fc_worker_note(struct fc_worker_call *call, const char *what);
/* Worker's side: sends one line to the rank, at most 1 MiB. */
enum fc_status fc_worker_emit(struct fc_worker_call *call, const char *line,
                              struct fc_error *err) FC_MUST_USE;

/* Worker's side: where commands that belong together (`owner`, any address that is
 * theirs alone) keep what is open from one to the next; NULL at first. It ends with the
 * worker. NULL: more than FC_WORKER_KEEPS owners. */
enum { FC_WORKER_KEEPS = 4 };
void **fc_worker_keep(struct fc_worker_call *call, const void *owner);

/* The body of the hidden subcommand `worker`: serves commands until its rank goes away.
 * Returns the exit status of the process. */
int fc_worker_main(const struct fc_worker_command *table);

/* Forks the spawner. Must be called before MPI_Init and before any thread is made. */
enum fc_status fc_spawner_open(struct fc_spawner **out,
                               struct fc_error *err) FC_MUST_USE;
/* Kills what still runs and waits for the spawner, bounded. NULL-safe. */
void fc_spawner_close(struct fc_spawner *spawner);

/* Starts a worker. `env` is a NULL-ended list of "NAME=value" (set) and "NAME" (unset)
 * applied over the rank's environment; may be NULL. */
enum fc_status fc_worker_open(struct fc_spawner *spawner, const char *const *env,
                              struct fc_worker **out, struct fc_error *err) FC_MUST_USE;

/* Called for each line the worker emits, in order. */
typedef void (*fc_worker_line_fn)(void *arg, const char *line);

/* Runs one command and waits for its reply, at most `deadline_ns` from now.
 * Statuses: what the command returned (with its text); FC_TIMEOUT when the deadline
 * passed, FC_FAILED when the worker crashed, exited, flooded or spoke nonsense: then
 * `err` says which, where and how, the worker is dead and only fc_worker_close is
 * allowed. `on_line` may be NULL; `*out_reply` (may be NULL) is a new reference on
 * success. */
enum fc_status fc_worker_call(struct fc_worker *worker, const char *command,
                              json_t *args, uint64_t deadline_ns,
                              fc_worker_line_fn on_line, void *arg, json_t **out_reply,
                              struct fc_error *err) FC_MUST_USE;

/* True while commands may be sent. */
int fc_worker_alive(const struct fc_worker *worker);
/* The process id, for tests and messages. */
int fc_worker_pid(const struct fc_worker *worker);

/* Asks the worker to end, then kills it, bounded (two seconds); NULL-safe. */
void fc_worker_close(struct fc_worker *worker);

#endif
