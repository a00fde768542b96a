/*
 * process.h - runs programs to their end while the caller's loop goes on:
 * without a shell, without a terminal, without blocking the caller.
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

/* What is run; all of it is copied. */
typedef struct kl_process_options {
    const char *const *args; /* NULL-ended; the program first, in PATH if it has
                                no slash */
    const char *const *env;  /* NULL-ended "NAME=value"; NULL: this process's */
    const char *cwd;         /* NULL: this process's */
    const char *input;       /* its standard input; NULL: /dev/null */
    size_t input_length;
    int timeout_ms; /* 0: as long as it takes */
} kl_process_options;

/* What came of it. The texts belong to the process, until it is freed. */
typedef struct kl_process_outcome {
    bool has_exited; /* with `status`; else a signal ended it: `status` */
    int status;
    const char *output; /* NUL terminated */
    size_t output_length;
    const char *errors; /* what it wrote to standard error; the same */
    size_t errors_length;
} kl_process_outcome;

/*
 * Starts a program in a new process group, and a thread that reads its output;
 * does not block. When the program has ended, kl_event_queue_next(queue)
 * returns `tag`, once. NULL: KL_EINVAL (no program), KL_ENOMEM, KL_EIO (no
 * thread). Thread-safe.
 */
KL_API kl_process *kl_process_start(const kl_process_options *options,
                                    kl_event_queue *queue, void *tag,
                                    kl_error *err);

/* True once there is a result. Thread-safe. */
KL_API bool kl_process_is_complete(const kl_process *process);

/*
 * What came of one that is complete: KL_OK whatever its exit status; KL_EIO (no
 * such program, no descriptor, its status went to another part of this
 * process), KL_ETIMEOUT, KL_ECANCELED, KL_ETOO_LARGE (over 64 MB of output),
 * KL_ENOMEM; KL_EINVAL: it is not complete. For one thread at a time.
 */
KL_API kl_code kl_process_result(const kl_process *process,
                                 kl_process_outcome *outcome, kl_error *err);

/* Kills its process group; it is complete within 50 ms. Thread-safe. */
KL_API void kl_process_cancel(kl_process *process);

/* Kills it if it runs, waits for that (some 50 ms at most), and frees it. NULL
 * is fine. */
KL_API void kl_process_free(kl_process *process);

#ifdef __cplusplus
}
#endif
#endif
