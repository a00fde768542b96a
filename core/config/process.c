/*
 * process.c - see process.h. The call ends when the program ends, not when its
 * pipes are closed: a daemon that the program has started may hold the pipes
 * open for ever.
 */
#include "config/process.h"

#include "base/remedy.h"
#include "base/str.h"
#include "config/child.h"
#include "kubelua/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* Bytes of standard error that are kept: enough to see why the program failed;
 * an error's message holds less. */
enum { MAX_ERRORS = 600 };

/* REAP_MS: how long kill_group waits at most. ASK_MS: how often to
 * call waitpid if the kernel has no pidfd (before Linux 5.3). */
enum { REAP_MS = 40, ASK_MS = 10 };

typedef struct run {
    kl__child child;
    bool is_running; /* the child is to be reaped */
    int out;         /* read end of the pipe; -1: at its end */
    int errors;
    int in;       /* write end of its input; -1: none, or all is written */
    size_t given; /* bytes of the input that were written */
    int wake;     /* an eventfd, readable when the call is cancelled */
    int64_t deadline_ms;
} run;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
        *fd = -1;
    }
}

/* The cancel token's hook; runs on the thread that fires the token. A write to
 * an eventfd does not block. */
static void write_wake(void *arg)
{
    const int *fd = arg;
    uint64_t one = 1;

    while (write(*fd, &one, sizeof(one)) < 0 && errno == EINTR) {
    }
}

/* Opens a pipe whose write end is not 0, 1 or 2. If the host has closed those
 * descriptors, pipe2 may return them, and one dup2 in the child would overwrite
 * the source of another. Returns 0 or an errno. */
static int open_pipe(int *reader, int *writer)
{
    int ends[2];
    int number = 0;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        return errno;
    }
    *reader = ends[0];
    *writer = fcntl(ends[1], F_DUPFD_CLOEXEC, 3);
    if (*writer < 0 || fcntl(ends[0], F_SETFL, O_NONBLOCK) < 0) {
        number = errno;
    }
    close(ends[1]);
    return number;
}

/* The same for the program's input: here the read end is not 0, 1 or 2. */
static int open_input(int *reader, int *writer)
{
    int pair[2];
    int number = 0;

    if (pipe2(pair, O_CLOEXEC) < 0) {
        return errno;
    }
    *reader = fcntl(pair[0], F_DUPFD_CLOEXEC, 3);
    *writer = pair[1];
    if (*reader < 0 || fcntl(pair[1], F_SETFL, O_NONBLOCK) < 0) {
        number = errno;
    }
    close(pair[0]);
    return number;
}

static kl_code start_program(const kl__process *process, run *self,
                             kl_error *err)
{
    kl__program program = {.args = process->args,
                           .env = process->env,
                           .cwd = process->cwd,
                           .in = -1,
                           .out = -1,
                           .errors = -1};
    int number = open_pipe(&self->out, &program.out);

    if (number == 0) {
        number = open_pipe(&self->errors, &program.errors);
    }
    if (number == 0 && process->input != NULL) {
        number = open_input(&program.in, &self->in);
    }
    if (number == 0) {
        number = kl__child_start(&program, &self->child);
        self->is_running = number == 0;
    }
    close_fd(&program.in);
    close_fd(&program.out);
    close_fd(&program.errors);
    if (number != 0) {
        return kl_error_set(err, number == ENOENT ? KL_ENOT_FOUND : KL_EIO,
                            "cannot run %s: %s%s", process->args[0],
                            strerror(number), kl__process_remedy(number));
    }
    return KL_OK;
}

/* Reads once, without blocking. False: nothing to read now, or the end (*fd is
 * -1 then). */
static bool read_some(int *fd, kl__buf *to)
{
    enum { STEP = 4096 };
    char *at = *fd >= 0 ? kl__buf_reserve(to, STEP) : NULL;
    ssize_t count;

    if (at == NULL) {
        return false;
    }
    do {
        count = read(*fd, at, STEP);
    } while (count < 0 && errno == EINTR);
    if (count > 0) {
        to->length += (size_t)count;
        at[count] = '\0';
    } else if (count == 0 || errno != EAGAIN) {
        close_fd(fd);
    }
    return count > 0;
}

/* Writes as much of the input as the pipe takes. If the program has closed its
 * end, the write fails with EPIPE (threads of this library block SIGPIPE) and
 * the rest is dropped. */
static void write_input(run *self, const kl__process *process)
{
    while (self->in >= 0) {
        size_t left = process->input_length - self->given;
        ssize_t count =
            left > 0 ? write(self->in, process->input + self->given, left) : 0;

        if (count > 0) {
            self->given += (size_t)count;
        } else if (left == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_fd(&self->in);
        } else if (errno == EAGAIN) {
            return;
        }
    }
}

static bool is_too_much(const kl__process *process,
                        const kl__process_result *result)
{
    return result->output.length > process->max_output ||
           result->errors.length > process->max_output;
}

/* Reads from both pipes, a bounded amount. */
static kl_code read_output(run *self, const kl__process *process,
                           kl__process_result *result, kl_error *err)
{
    enum { ROUNDS = 32 };

    for (int i = 0; i < ROUNDS; i++) {
        bool more = read_some(&self->out, &result->output);

        more = read_some(&self->errors, &result->errors) || more;
        if (!process->keeps_errors && result->errors.length > MAX_ERRORS) {
            kl__buf_consume(&result->errors,
                            result->errors.length - MAX_ERRORS);
        }
        if (is_too_much(process, result)) {
            return kl_error_set(err, KL_ETOO_LARGE, "%s wrote more than %zu KB",
                                process->args[0], process->max_output / 1024);
        }
        if (!more) {
            break;
        }
    }
    return result->output.failed || result->errors.failed
               ? kl_error_set(err, KL_ENOMEM, "out of memory running %s",
                              process->args[0])
               : KL_OK;
}

/* True if the program has ended; its status is then in the result. */
static bool reap_program(run *self, kl__process_result *result)
{
    kl__child_status status;
    kl__child_end end = kl__child_reap(&self->child, &status);

    if (end == KL__CHILD_RUNS) {
        return false;
    }
    self->is_running = false;
    result->unknown = end == KL__CHILD_UNKNOWN;
    result->exited = !result->unknown && status.signal == 0;
    result->status = result->exited ? status.status : status.signal;
    return true;
}

/* Waits for output, room for input, the program's end or a cancel, at most
 * until the deadline. */
static void wait_event(const run *self, int64_t deadline_ms)
{
    struct pollfd fds[] = {{.fd = self->out, .events = POLLIN},
                           {.fd = self->errors, .events = POLLIN},
                           {.fd = self->child.ended, .events = POLLIN},
                           {.fd = self->wake, .events = POLLIN},
                           {.fd = self->in, .events = POLLOUT}};
    int64_t left = deadline_ms - now_ms();

    if (self->child.ended < 0 && left > ASK_MS) {
        left = ASK_MS;
    }
    left = left < INT_MAX ? left : INT_MAX;
    poll(fds, sizeof(fds) / sizeof(fds[0]), left > 0 ? (int)left : 0);
}

static kl_code run_until_end(run *self, const kl__process *process,
                             kl__process_result *result, kl__cancel *cancel,
                             kl_error *err)
{
    for (;;) {
        bool ended = reap_program(self, result);
        kl_code code;

        write_input(self, process);
        code = read_output(self, process, result, err);

        if (code != KL_OK || ended) {
            return code;
        }
        if (kl__cancel_fired(cancel)) {
            return kl_error_set(err, KL_ECANCELED, "cancelled while %s ran",
                                process->args[0]);
        }
        if (now_ms() >= self->deadline_ms) {
            return kl_error_set(err, KL_ETIMEOUT, "%s did not end within %g s",
                                process->args[0], process->timeout_ms / 1e3);
        }
        wait_event(self, self->deadline_ms);
    }
}

/* Reads what the program writes in its grace, and drops it: a program that
 * cannot write could not end. */
static void drop_output(run *self)
{
    char dropped[65536];
    int *const ends[] = {&self->out, &self->errors};

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        ssize_t count = read(*ends[i], dropped, sizeof(dropped));

        if (count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR)) {
            close_fd(ends[i]);
        }
    }
}

/* Asks the process group to end (SIGTERM), and waits for the program's end, at
 * most for its grace. Does not reap it: kill_group then ends what is left of
 * the group. */
static void end_gently(run *self, const kl__process *process)
{
    int64_t until = now_ms() + process->grace_ms;
    uint64_t count;

    /* `wake` is readable since the cancel; from now on `kill` writes to it. */
    while (read(self->wake, &count, sizeof(count)) < 0 && errno == EINTR) {
    }
    close_fd(&self->in);
    kl__child_signal(&self->child, SIGTERM);
    while (!kl__child_has_ended(&self->child) && now_ms() < until &&
           !(process->kill != NULL && kl__cancel_fired(process->kill))) {
        drop_output(self);
        wait_event(self, until);
    }
}

/* Kills the whole process group and reaps the program. A program that does not
 * end within REAP_MS is left to init: one that hangs in the kernel, runs as
 * another user (sudo), or has left the group. */
static void kill_group(run *self, kl__process_result *result)
{
    int64_t until = now_ms() + REAP_MS;

    kl__child_signal(&self->child, SIGKILL);
    close_fd(&self->out);
    close_fd(&self->errors);
    close_fd(&self->in);
    close_fd(&self->wake);
    while (!reap_program(self, result)) {
        if (now_ms() >= until) {
            kl__child_abandon(&self->child);
            self->is_running = false;
            return;
        }
        wait_event(self, until);
    }
}

static void wipe_buf(kl__buf *buf)
{
    if (buf->bytes != NULL) {
        kl__wipe(buf->bytes, buf->capacity);
    }
    kl__buf_deinit(buf);
}

/* Makes one line of the program's standard error, for an error message. */
static void flatten_text(kl__buf *text)
{
    kl__buf line = {0};
    char *to;

    for (size_t i = 0; i < text->length; i++) {
        if (text->bytes[i] == '\n' || text->bytes[i] == '\t') {
            text->bytes[i] = ' ';
        }
    }
    while (text->length > 0 && text->bytes[text->length - 1] == ' ') {
        text->bytes[--text->length] = '\0';
    }
    to = text->length > 0 ? kl__buf_reserve(&line, 4 * text->length + 1) : NULL;
    if (to != NULL) {
        line.length = kl_text_escape(to, 4 * text->length + 1, text->bytes,
                                     text->length, KL_ONE_LINE);
        wipe_buf(text);
        *text = line;
    }
}

kl_code kl__process_run(const kl__process *process, kl__process_result *result,
                        kl__cancel *cancel, kl_error *err)
{
    run self = {.out = -1,
                .errors = -1,
                .in = -1,
                .wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
                .deadline_ms = process->timeout_ms < 0
                                   ? INT64_MAX
                                   : now_ms() + process->timeout_ms};
    kl__cancel_hook hook = {.wake = write_wake, .arg = &self.wake};
    kl_code code;

    *result = (kl__process_result){.status = 0};
    if (self.wake < 0) {
        return kl_error_set(err, KL_EIO, "cannot run %s: %s%s",
                            process->args[0], strerror(errno),
                            kl__remedy(errno));
    }
    if (!kl__cancel_add(cancel, &hook)) {
        close_fd(&self.wake);
        return kl_error_set(err, KL_ECANCELED, "cancelled before %s ran",
                            process->args[0]);
    }
    code = start_program(process, &self, err);
    if (code == KL_OK) {
        code = run_until_end(&self, process, result, cancel, err);
    }
    kl__cancel_remove(cancel, &hook);
    if (self.is_running && process->grace_ms > 0 &&
        kl__cancel_add(process->kill, &hook)) {
        end_gently(&self, process);
        kl__cancel_remove(process->kill, &hook);
    }
    if (self.is_running) {
        kill_group(&self, result);
    }
    close_fd(&self.out);
    close_fd(&self.errors);
    close_fd(&self.in);
    close_fd(&self.wake);
    if (!process->keeps_errors) {
        flatten_text(&result->errors);
    }
    return code;
}

void kl__process_result_deinit(kl__process_result *result)
{
    wipe_buf(&result->output);
    wipe_buf(&result->errors);
}
