/*
 * process.h - runs a program and collects its output, without a shell or a
 * terminal, and without blocking the caller: an event queue returns the
 * process's tag when the program has ended.
 */
#ifndef KUBELUA_PROCESS_H
#define KUBELUA_PROCESS_H

#include "kubelua/error.h"
#include "kubelua/event_queue.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_process kl_process;

/* The program to run; the library copies all of it. */
typedef struct kl_process_options {
    const char *const *args; /* ends with NULL; the program comes first, and is
                                found in PATH if it has no slash */
    const char *const *env;  /* "NAME=value" ..., ends with NULL; NULL: this
                                process's environment */
    const char *cwd;         /* NULL: this process's working directory */
    const char *input;       /* standard input; NULL: /dev/null */
    size_t input_length;
    int timeout_ms; /* 0: no limit */
    int grace_ms;   /* after a timeout, a cancel or too much output the
                       process group gets SIGTERM; so many milliseconds later,
                       or once the program has ended, SIGKILL. 0: SIGKILL at
                       once */
} kl_process_options;

/* The result of a program. The texts are borrowed until kl_process_free. */
typedef struct kl_process_outcome {
    bool has_exited;    /* false: a signal ended it */
    int status;         /* the exit status, or the number of that signal */
    const char *output; /* standard output, NUL terminated */
    size_t output_length;
    const char *errors; /* standard error, NUL terminated */
    size_t errors_length;
} kl_process_outcome;

/*
 * Starts a program in a new process group, and a thread that reads its output;
 * does not block. When the program has ended, kl_event_queue_next(queue)
 * returns `tag`, once; `queue` may be NULL, then no tag comes. NULL: KL_EINVAL
 * (no program), KL_ENOMEM, KL_EIO (no thread). Thread-safe.
 */
KL_API kl_process *kl_process_start(const kl_process_options *options,
                                    kl_event_queue *queue, void *tag,
                                    kl_error *err);

/* True once there is a result, and in the child of a fork(). Thread-safe. */
KL_API bool kl_process_is_complete(const kl_process *process);

/*
 * The result of a program that has ended: KL_OK whatever its exit status;
 * KL_EIO (no such program, no descriptor, or another waitpid() in this process
 * took its status), KL_ETIMEOUT, KL_ECANCELED, KL_ETOO_LARGE (over 64 MB of
 * output), KL_ENOMEM; KL_EINVAL: the program still runs; KL_EFORKED. One thread
 * at a time.
 */
KL_API kl_code kl_process_result(const kl_process *process,
                                 kl_process_outcome *outcome, kl_error *err);

/* Ends the program: see grace_ms. It is complete 50 ms after the grace, at
 * most, or earlier when the program ends. Thread-safe. */
KL_API void kl_process_cancel(kl_process *process);

/* Kills the program if it runs, without a grace (or ends the one that it has),
 * waits for its end (about 50 ms at most), and frees it. Does nothing in the
 * child of a fork(). NULL is fine. No other call on it may run then, or come
 * later. */
KL_API void kl_process_free(kl_process *process);

#ifdef __cplusplus
}
#endif
#endif
