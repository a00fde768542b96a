/*
 * host_reaps_spec.c - programs in a host that takes the status of every child,
 * as nginx's handler of SIGCHLD does, or that ignores SIGCHLD.
 */
#include "config/child.h"
#include "config/process.h"
#include "kubelua/process.h"
#include "temp_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static volatile sig_atomic_t host_reaped;

/* What ngx_process_get_status does. */
static void reap_any_child(int number)
{
    int before = errno;

    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
        host_reaped++;
    }
    errno = before;
}

static int handle_children(void **state)
{
    struct sigaction action = {.sa_handler = reap_any_child};

    host_reaped = 0;
    if (temp_files_setup(state) != 0) {
        return 1;
    }
    return sigaction(SIGCHLD, &action, NULL);
}

static int ignore_children(void **state)
{
    host_reaped = 0;
    if (temp_files_setup(state) != 0) {
        return 1;
    }
    return signal(SIGCHLD, SIG_IGN) == SIG_ERR;
}

/* Also fails where a child is left, a zombie or not. */
static int restore_children(void **state)
{
    signal(SIGCHLD, SIG_DFL);
    if (temp_files_teardown(state) != 0) {
        return 1;
    }
    return waitpid(-1, NULL, __WALL | WNOHANG) != -1 || errno != ECHILD;
}

static kl__process_result run_script(const char *script, int timeout_ms,
                                     kl_code expected)
{
    char *args[] = {"sh", "-c", (char *)script, NULL};
    kl__process process = {.args = args,
                           .env = environ,
                           .max_output = 100000,
                           .timeout_ms = timeout_ms,
                           .keeps_errors = true};
    kl__process_result result;
    kl_error err;

    assert_int_equal(kl__process_run(&process, &result, NULL, &err), expected);
    assert_false(result.unknown);
    return result;
}

static void assert_exit_status(const char *script, int status)
{
    kl__process_result result = run_script(script, 60000, KL_OK);

    assert_true(result.exited);
    assert_int_equal(result.status, status);
    kl__process_result_deinit(&result);
}

static void an_exit_status_is_known(void **state)
{
    (void)state;
    for (int i = 0; i < 20; i++) {
        assert_exit_status("exit 0", 0);
        assert_exit_status("exit 3", 3);
        assert_exit_status("exit 255", 255);
    }
    assert_int_equal(host_reaped, 0);
}

static void a_signal_that_ended_a_program_is_known(void **state)
{
    kl__process_result result = run_script("kill -TERM $$", 60000, KL_OK);

    (void)state;
    assert_false(result.exited);
    assert_int_equal(result.status, SIGTERM);
    kl__process_result_deinit(&result);
    assert_exit_status("exit 143", 143); /* what a shell calls SIGTERM */
}

static void stdout_and_stderr_are_read(void **state)
{
    kl__process_result result =
        run_script("echo out; echo errors >&2; exit 4", 60000, KL_OK);

    (void)state;
    assert_int_equal(result.status, 4);
    assert_string_equal(result.output.bytes, "out\n");
    assert_string_equal(result.errors.bytes, "errors\n");
    kl__process_result_deinit(&result);
}

static void a_program_that_is_not_there_is_not_found(void **state)
{
    char *args[] = {"/nonexistent/program", NULL};
    kl__process process = {.args = args, .env = environ, .timeout_ms = 60000};
    kl__process_result result;
    kl_error err;

    (void)state;
    assert_int_equal(kl__process_run(&process, &result, NULL, &err),
                     KL_ENOT_FOUND);
    assert_string_equal(err.message, "cannot run /nonexistent/program: No such "
                                     "file or directory");
    kl__process_result_deinit(&result);
}

static void a_timeout_kills_the_program(void **state)
{
    kl__process_result result = run_script("sleep 600", 50, KL_ETIMEOUT);

    (void)state;
    assert_false(result.exited);
    kl__process_result_deinit(&result);
}

/* A shell and its child, which both hold the fifo's writing end open. */
static kl_process *start_group(int *reader, kl_event_queue *queue)
{
    static const char SCRIPT[] = "exec 9>\"$0\"; sleep 600 & echo x >&9; wait";
    const char *fifo = temp_path("fifo");
    const char *args[] = {"sh", "-c", SCRIPT, fifo, NULL};
    kl_process *process;
    char byte;

    assert_int_equal(mkfifo(fifo, 0600), 0);
    process = kl_process_start(&(kl_process_options){.args = args}, queue,
                               queue, NULL);
    assert_non_null(process);
    *reader = open(fifo, O_RDONLY | O_CLOEXEC);
    assert_true(*reader >= 0);
    assert_int_equal(read(*reader, &byte, 1), 1);
    return process;
}

static void wait_until_closed(int reader)
{
    char bytes[100];
    struct pollfd poller = {.fd = reader, .events = POLLIN};

    do {
        assert_int_equal(poll(&poller, 1, 60000), 1);
    } while (read(reader, bytes, sizeof(bytes)) > 0);
    close(reader);
}

static void cancelling_kills_the_whole_group(void **state)
{
    kl_event_queue *queue = kl_event_queue_new(NULL);
    int reader;
    kl_process *process = start_group(&reader, queue);
    kl_process_outcome outcome;
    kl_error err;

    (void)state;
    kl_process_cancel(process);
    while (kl_event_queue_next(queue) != queue) {
        assert_int_equal(kl_event_queue_wait(queue, 60000), KL_OK);
    }
    assert_int_equal(kl_process_result(process, &outcome, &err), KL_ECANCELED);
    kl_process_free(process);
    wait_until_closed(reader);
    kl_event_queue_free(queue);
}

/* Or a connection that the host closes would stay open until the program has
 * ended. */
static void no_descriptor_of_the_host_stays_open(void **state)
{
    kl_event_queue *queue = kl_event_queue_new(NULL);
    int ends[2], reader;
    kl_process *process;

    (void)state;
    assert_int_equal(pipe(ends), 0); /* not close-on-exec */
    process = start_group(&reader, queue);
    close(ends[1]);
    wait_until_closed(ends[0]);
    kl_process_free(process);
    wait_until_closed(reader);
    kl_event_queue_free(queue);
}

static void start_child(kl__child *child, const char *script, int output)
{
    char *args[] = {"sh", "-c", (char *)script, NULL};
    kl__program program = {.args = args,
                           .env = environ,
                           .in = -1,
                           .out = output,
                           .errors = output};

    assert_int_equal(kl__child_start(&program, child), 0);
}

static kl__child_end wait_for_end(kl__child *child)
{
    kl__child_status status;
    kl__child_end end;

    while ((end = kl__child_reap(child, &status)) == KL__CHILD_RUNS) {
        struct pollfd poller = {.fd = child->ended, .events = POLLIN};

        assert_int_equal(poll(&poller, 1, 60000), 1);
    }
    return end;
}

static void a_killed_keeper_makes_the_status_unknown(void **state)
{
    int ends[2];
    kl__child child;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    start_child(&child, "sleep 600", ends[1]);
    close(ends[1]);
    assert_true(child.keeper > 0);
    assert_int_equal(kill(child.keeper, SIGKILL), 0);
    assert_int_equal(wait_for_end(&child), KL__CHILD_UNKNOWN);
    kl__child_signal(&child, SIGKILL);
    wait_until_closed(ends[0]);
}

static void an_abandoned_program_leaves_no_zombie(void **state)
{
    int ends[2];
    kl__child child;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    start_child(&child, "sleep 600", ends[1]);
    close(ends[1]);
    kl__child_signal(&child, SIGKILL);
    kl__child_abandon(&child);
    wait_until_closed(ends[0]);
}

/* What this file's program does when the spec below runs it: it joins its
 * parent's process group, so that a kill of the group that it began in misses
 * it. A program of another user (sudo) survives as well: that kill fails. */
static int leave_group(const char *fifo)
{
    int writer = open(fifo, O_WRONLY);
    pid_t self = getpid();

    if (writer < 0 || setpgid(0, getpgid(getppid())) != 0 ||
        write(writer, &self, sizeof(self)) != sizeof(self)) {
        return 1;
    }
    for (;;) {
        pause();
    }
}

static void a_cancel_does_not_wait_for_a_program_that_survives(void **state)
{
    kl_event_queue *queue = kl_event_queue_new(NULL);
    const char *fifo = temp_path("fifo");
    const char *args[] = {"/proc/self/exe", "leave_group", fifo, NULL};
    kl_process_outcome outcome;
    kl_process *process;
    kl_error err;
    pid_t pid;
    int reader;

    (void)state;
    assert_int_equal(mkfifo(fifo, 0600), 0);
    process = kl_process_start(&(kl_process_options){.args = args}, queue,
                               queue, NULL);
    assert_non_null(process);
    reader = open(fifo, O_RDONLY | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(read(reader, &pid, sizeof(pid)), sizeof(pid));
    kl_process_cancel(process);
    while (kl_event_queue_next(queue) != queue) {
        assert_int_equal(kl_event_queue_wait(queue, 60000), KL_OK);
    }
    assert_int_equal(kl_process_result(process, &outcome, &err), KL_ECANCELED);
    kl_process_free(process);
    assert_int_equal(kill(pid, SIGKILL), 0);
    wait_until_closed(reader);
    kl_event_queue_free(queue);
}

static void many_programs_run_at_once(void **state)
{
    enum { COUNT = 20 };
    kl_event_queue *queue = kl_event_queue_new(NULL);
    const char *args[] = {"sh", "-c", "cat; exit 7", NULL};
    kl_process *processes[COUNT];
    kl_process_outcome outcome;

    (void)state;
    for (int i = 0; i < COUNT; i++) {
        processes[i] = kl_process_start(
            &(kl_process_options){
                .args = args, .input = "text", .input_length = 4},
            queue, &processes[i], NULL);
        assert_non_null(processes[i]);
    }
    for (int ended = 0; ended < COUNT;) {
        if (kl_event_queue_next(queue) != NULL) {
            ended++;
        } else {
            assert_int_equal(kl_event_queue_wait(queue, 60000), KL_OK);
        }
    }
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(kl_process_result(processes[i], &outcome, NULL),
                         KL_OK);
        assert_true(outcome.has_exited);
        assert_int_equal(outcome.status, 7);
        assert_string_equal(outcome.output, "text");
        kl_process_free(processes[i]);
    }
    kl_event_queue_free(queue);
}

/* Without a handler of SIGCHLD there is no process between, where posix_spawn
 * can close the host's descriptors: glibc since 2.34. */
static void without_a_sigchld_handler_there_is_no_keeper(void **state)
{
    int ends[2];
    kl__child child;

    (void)state;
#if !defined(__GLIBC__)
    skip();
#elif !__GLIBC_PREREQ(2, 34)
    skip();
#endif
    signal(SIGCHLD, SIG_DFL);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    start_child(&child, "exit 0", ends[1]);
    close(ends[1]);
    assert_int_equal(child.keeper, 0);
    assert_int_equal(wait_for_end(&child), KL__CHILD_ENDED);
    close(ends[0]);
}

#define REAPED(name)                                                          \
    cmocka_unit_test_setup_teardown(name, handle_children, restore_children), \
    {                                                                         \
        "and_with_sigchld_ignored_" #name, name, ignore_children,             \
            restore_children, NULL                                            \
    }

int main(int count, char **args)
{
    const struct CMUnitTest tests[] = {
        REAPED(an_exit_status_is_known),
        REAPED(a_signal_that_ended_a_program_is_known),
        REAPED(stdout_and_stderr_are_read),
        REAPED(a_program_that_is_not_there_is_not_found),
        REAPED(a_timeout_kills_the_program),
        REAPED(cancelling_kills_the_whole_group),
        REAPED(no_descriptor_of_the_host_stays_open),
        REAPED(a_killed_keeper_makes_the_status_unknown),
        REAPED(an_abandoned_program_leaves_no_zombie),
        REAPED(a_cancel_does_not_wait_for_a_program_that_survives),
        REAPED(many_programs_run_at_once),
        REAPED(without_a_sigchld_handler_there_is_no_keeper),
    };

    if (count == 3 && strcmp(args[1], "leave_group") == 0) {
        return leave_group(args[2]);
    }
    return cmocka_run_group_tests_name("a host that reaps children", tests,
                                       NULL, NULL);
}
