/*
 * process.h - runs a program to its end, without a shell and without a
 * terminal, and collects what it writes.
 */
#ifndef KL_CONFIG_PROCESS_H
#define KL_CONFIG_PROCESS_H

#include "base/buf.h"
#include "base/cancel.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__process {
    char *const *args; /* the program first; in PATH if it has no slash */
    char *const *env;
    size_t max_output; /* of its standard output */
    int timeout_ms;    /* < 0: as long as it takes */
    const char *cwd;   /* NULL: this process's */
    const char *input; /* its standard input; NULL: /dev/null */
    size_t input_length;
    bool keeps_errors; /* all that it writes to standard error, as it is; as
                          much as of its output */
} kl__process;

typedef struct kl__process_result {
    kl__buf output; /* release with kl__buf_deinit; it may hold secrets */
    kl__buf errors; /* standard error: with `keeps_errors` all of it, else the
                       end of it as one line; release as `output` */
    bool exited;    /* with `status`; else `status` is a signal */
    bool unknown;   /* another part of this process reaped it: no status */
    int status;
} kl__process_result;

/*
 * Runs it in a process group of its own, with signals and descriptors as a
 * program expects them. After a failure, the group is killed. KL_OK whatever
 * the exit status; KL_ENOT_FOUND (no such program), KL_EIO, KL_ETIMEOUT,
 * KL_ETOO_LARGE, KL_ENOMEM; KL_ECANCELED within 50 ms of `cancel` (may be
 * NULL). `result` is to be released in any case. Thread-safe.
 */
kl_code kl__process_run(const kl__process *process, kl__process_result *result,
                        kl__cancel *cancel, kl_error *err);
void kl__process_result_deinit(kl__process_result *result);

#endif
