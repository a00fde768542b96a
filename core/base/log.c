/*
 * log.c - passes log lines to the function that the host program has set, one
 * line at a time. The library itself prints nothing.
 */
#include "kubelua/log.h"

#include "base/thread.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { LINE_SIZE = 2048 };

/* Guards the three variables below. Rank LOG. Held while the host's function
 * runs, so that lines do not mix. */
static kl__mutex mutex = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_LOG};
static kl_log_fn sink;
static void *sink_context;
/* Written under the mutex; read without it, to drop lines early. Relaxed is
 * enough: one line more or less at the moment of a change does not matter. */
static atomic_int threshold = KL_LOG_OFF;

__attribute__((constructor)) static void keep_log_over_fork(void)
{
    kl__mutex_outlive_fork(&mutex, 1);
}

void kl_set_log(kl_log_fn fn, void *context, kl_log_level level)
{
    kl__mutex_lock(&mutex);
    sink = fn;
    sink_context = context;
    atomic_store_explicit(&threshold, fn != NULL ? (int)level : KL_LOG_OFF,
                          memory_order_relaxed);
    kl__mutex_unlock(&mutex);
}

void kl_log(kl_log_level level, const char *format, ...)
{
    char text[LINE_SIZE], line[LINE_SIZE];
    va_list args;

    if ((int)level < atomic_load_explicit(&threshold, memory_order_relaxed)) {
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    kl_text_escape(line, sizeof(line), text, kl__utf8_whole(text, strlen(text)),
                   KL_ONE_LINE);
    kl__mutex_lock(&mutex);
    if (sink != NULL) {
        sink(sink_context, level, line);
    }
    kl__mutex_unlock(&mutex);
}
