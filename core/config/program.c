/*
 * program.c - kl_process: runs a program (process.h) on a thread, so that a
 * script can wait for it without blocking. When the program has ended, the
 * kl_process is added to the event queue of its owner.
 */
#include "kubelua/process.h"

#include "base/cancel.h"
#include "base/event_queue.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "config/process.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { MAX_OUTPUT = 64 * 1024 * 1024 };

struct kl_process {
    kl__forks made_in;
    char **args; /* copies, as are env, cwd and input; freed with the struct */
    char **env;  /* NULL: the environment of this process */
    char *cwd;
    char *input;
    size_t input_length;
    int timeout_ms;
    int grace_ms;
    kl_event_queue *queue; /* a reference */
    kl__ready ready;
    kl__cancel cancel; /* ends the program, with its grace */
    kl__cancel kill;   /* ends its grace */
    kl__thread thread;

    /* Written by the thread before it sets `is_complete` (release); read only
     * after `is_complete` was seen as true (acquire). */
    kl__process_result result;
    kl_error err;
    kl_code code;
    atomic_bool is_complete;
};

static void free_list(char **list)
{
    for (char **each = list; each != NULL && *each != NULL; each++) {
        kl__free(*each);
    }
    kl__free(list);
}

/* NULL: out of memory. */
static char **copy_list(const char *const *list)
{
    size_t count = 0;
    char **copy;

    while (list[count] != NULL) {
        count++;
    }
    copy = kl__calloc(count + 1, sizeof(*copy));
    for (size_t i = 0; copy != NULL && i < count; i++) {
        copy[i] = kl__strdup(list[i]);
        if (copy[i] == NULL) {
            free_list(copy);
            return NULL;
        }
    }
    return copy;
}

static void free_process(kl_process *self)
{
    free_list(self->args);
    free_list(self->env);
    kl__free(self->cwd);
    kl__free(self->input);
    kl__process_result_deinit(&self->result);
    kl__cancel_deinit(&self->cancel);
    kl__cancel_deinit(&self->kill);
    if (self->queue != NULL) {
        kl__event_queue_unref(self->queue);
    }
    kl__free(self);
}

static bool copy_input(kl_process *self, const kl_process_options *options)
{
    self->input = kl__malloc(options->input_length + 1);
    if (self->input == NULL) {
        return false;
    }
    memcpy(self->input, options->input, options->input_length);
    self->input_length = options->input_length;
    return true;
}

static bool copy_options(kl_process *self, const kl_process_options *options)
{
    self->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : -1;
    self->grace_ms = options->grace_ms;
    self->args = copy_list(options->args);
    if (self->args == NULL) {
        return false;
    }
    if (options->env != NULL && (self->env = copy_list(options->env)) == NULL) {
        return false;
    }
    if (options->cwd != NULL &&
        (self->cwd = kl__strdup(options->cwd)) == NULL) {
        return false;
    }
    return options->input == NULL || copy_input(self, options);
}

/* The entry of the thread. It reads the copies of the options, and writes the
 * fields from `result` to `is_complete`. */
static void *run_program(void *arg)
{
    kl_process *self = arg;
    kl__process process = {.args = self->args,
                           .env = self->env != NULL ? self->env : environ,
                           .max_output = MAX_OUTPUT,
                           .timeout_ms = self->timeout_ms,
                           .grace_ms = self->grace_ms,
                           .kill = &self->kill,
                           .cwd = self->cwd,
                           .input = self->input,
                           .input_length = self->input_length,
                           .keeps_errors = true};

    self->code =
        kl__process_run(&process, &self->result, &self->cancel, &self->err);
    if (self->code == KL_ENOT_FOUND) {
        self->code = self->err.code = KL_EIO;
    } else if (self->code == KL_OK && self->result.unknown) {
        self->code = kl_error_set(&self->err, KL_EIO,
                                  "%s has ended; its exit status went to "
                                  "another part of this process",
                                  self->args[0]);
    }
    atomic_store_explicit(&self->is_complete, true, memory_order_release);
    if (self->queue != NULL) {
        kl__event_queue_add(self->queue, &self->ready);
    }
    return NULL;
}

kl_process *kl_process_start(const kl_process_options *options,
                             kl_event_queue *queue, void *tag, kl_error *err)
{
    kl_process *self;

    if (options->args == NULL || options->args[0] == NULL ||
        options->args[0][0] == '\0') {
        kl_error_set(err, KL_EINVAL, "no program is named");
        return NULL;
    }
    if (queue != NULL && kl_event_queue_check(queue, err) != KL_OK) {
        return NULL;
    }
    self = kl__calloc(1, sizeof(*self));
    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory to run %s",
                     options->args[0]);
        return NULL;
    }
    self->made_in = kl__process_here();
    kl__cancel_init(&self->cancel);
    kl__cancel_init(&self->kill);
    kl__list_init(&self->ready.node);
    self->ready.tag = tag;
    atomic_init(&self->is_complete, false);
    if (!copy_options(self, options)) {
        kl_error_set(err, KL_ENOMEM, "out of memory to run %s",
                     options->args[0]);
        free_process(self);
        return NULL;
    }
    if (queue != NULL) {
        self->queue = queue;
        kl__event_queue_ref(queue);
    }
    if (kl__thread_start(&self->thread, "kl-program", run_program, self, err) !=
        KL_OK) {
        free_process(self);
        return NULL;
    }
    return self;
}

bool kl_process_is_complete(const kl_process *process)
{
    return atomic_load_explicit(&process->is_complete, memory_order_acquire) ||
           kl__check_process(process->made_in, NULL) != KL_OK;
}

static const char *text_of(const kl__buf *buf)
{
    return buf->length > 0 ? buf->bytes : "";
}

kl_code kl_process_result(const kl_process *process,
                          kl_process_outcome *outcome, kl_error *err)
{
    *outcome = (kl_process_outcome){0};
    if (kl__check_process(process->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    if (!kl_process_is_complete(process)) {
        return kl_error_set(err, KL_EINVAL, "the program still runs");
    }
    if (process->code != KL_OK) {
        if (err != NULL) {
            *err = process->err;
        }
        return process->code;
    }
    *outcome =
        (kl_process_outcome){.has_exited = process->result.exited,
                             .status = process->result.status,
                             .output = text_of(&process->result.output),
                             .output_length = process->result.output.length,
                             .errors = text_of(&process->result.errors),
                             .errors_length = process->result.errors.length};
    return KL_OK;
}

void kl_process_cancel(kl_process *process)
{
    if (kl__check_process(process->made_in, NULL) == KL_OK) {
        kl__cancel_fire(&process->cancel);
    }
}

void kl_process_free(kl_process *process)
{
    if (process == NULL) {
        return;
    }
    if (kl__check_process(process->made_in, NULL) != KL_OK) {
        return; /* in a child of fork() the thread does not exist */
    }
    kl__cancel_fire(&process->kill);
    kl__cancel_fire(&process->cancel);
    kl__thread_join(&process->thread);
    if (process->queue != NULL) {
        kl__event_queue_forget(process->queue, &process->ready);
    }
    free_process(process);
}
