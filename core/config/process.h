/*
 * process.h - runs a program without a shell or a terminal, waits for its end,
 * and collects its output. For exec plugins and for the programs of scripts.
 */
#ifndef KL_CONFIG_PROCESS_H
#define KL_CONFIG_PROCESS_H

#include "base/buf.h"
#include "base/cancel.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__process {
    char *const *args; /* the program first: a path, or found in PATH */
    char *const *env;
    size_t max_output; /* bytes of its standard output */
    int timeout_ms;    /* < 0: no limit */
    int grace_ms;      /* between SIGTERM and SIGKILL; 0: SIGKILL at once */
    kl__cancel *kill;  /* fires to end this time early; may be NULL */
    const char *cwd;   /* working directory; NULL: that of this process */
    const char *input; /* for its standard input; NULL: /dev/null */
    size_t input_length;
    bool keeps_errors; /* keep all of its standard error */
} kl__process;

typedef struct kl__process_result {
    kl__buf output; /* standard output; may contain secrets */
    kl__buf errors; /* standard error: with keeps_errors all, else one line */
    bool exited;    /* it exited with `status`; else `status` is a signal */
    bool unknown;   /* other code of this process reaped it: no status */
    int status;
} kl__process_result;

/*
 * Runs the program in a new process group, with default signal handling, and
 * (glibc 2.34 or later) only descriptors 0 to 2 open. Standard output, and with
 * `keeps_errors` standard error, may each be `max_output` bytes; without it
 * `errors` is the end of standard error, as one line. After a failure the group
 * gets SIGTERM, and SIGKILL once the program has ended or `grace_ms` are over;
 * without a grace, SIGKILL at once. KL_OK for any exit status; KL_ENOT_FOUND
 * (no such program), KL_EIO, KL_ETIMEOUT, KL_ETOO_LARGE, KL_ENOMEM;
 * KL_ECANCELED within `grace_ms` + 50 ms of `cancel` (may be NULL). The caller
 * frees `result`, also after a failure. Thread-safe.
 */
kl_code kl__process_run(const kl__process *process, kl__process_result *result,
                        kl__cancel *cancel, kl_error *err);
void kl__process_result_deinit(kl__process_result *result);

#endif
