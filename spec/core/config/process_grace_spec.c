/*
 * process_grace_spec.c - programs that are ended early: SIGTERM, some time,
 * SIGKILL. In a host that reaps its children itself, too.
 */
#include "kubelua/process.h"
#include "temp_files.h"

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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* Each script opens the fifo "$0" as its descriptor 9, and says "x" once it
 * handles SIGTERM. */
#define FIFO "exec 9>\"$0\"; "
#define FOR_EVER "; echo x >&9; while :; do sleep 0.01; done"
#define ENDS_LATER FIFO "trap 'sleep 0.2; echo end >&9; exit 3' TERM" FOR_EVER
#define IGNORES FIFO "trap '' TERM" FOR_EVER
#define WRITES                                                              \
    FIFO "trap 'dd if=/dev/zero bs=1M count=2 2>/dev/null; echo end >&9; '" \
         "'exit 3' TERM" FOR_EVER
#define LEAVES_A_CHILD FIFO "(trap '' TERM" FOR_EVER ") & wait"

static void reap_any_child(int number)
{
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static int handle_children(void **state)
{
    struct sigaction action = {.sa_handler = reap_any_child};

    return temp_files_setup(state) != 0 || sigaction(SIGCHLD, &action, NULL);
}

static int restore_children(void **state)
{
    signal(SIGCHLD, SIG_DFL);
    return temp_files_teardown(state);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Starts the script, and waits until it handles SIGTERM. */
static kl_process *start_script(const char *script, int grace_ms, int *reader)
{
    const char *fifo = temp_path("fifo");
    const char *args[] = {"sh", "-c", script, fifo, NULL};
    kl_process *process;
    char byte = 0;

    assert_int_equal(mkfifo(fifo, 0600), 0);
    process = kl_process_start(
        &(kl_process_options){.args = args, .grace_ms = grace_ms}, NULL, NULL,
        NULL);
    assert_non_null(process);
    *reader = open(fifo, O_RDONLY | O_CLOEXEC);
    assert_true(*reader >= 0);
    assert_int_equal(read(*reader, &byte, 1), 1);
    assert_int_equal(byte, 'x');
    return process;
}

/* What the script has written until its group is gone. */
static void expect_rest(int reader, const char *expected)
{
    char text[100] = "";
    size_t length = 0;
    ssize_t count;

    while ((count = read(reader, text + length, sizeof(text) - 1 - length)) >
           0) {
        length += (size_t)count;
    }
    assert_string_equal(text, expected);
    close(reader);
}

static void await_result(kl_process *process, kl_code expected)
{
    kl_process_outcome outcome;

    while (!kl_process_is_complete(process)) {
        poll(NULL, 0, 1);
    }
    assert_int_equal(kl_process_result(process, &outcome, NULL), expected);
}

static void a_cancelled_program_has_time_to_end(void **state)
{
    int reader;
    kl_process *process = start_script(ENDS_LATER, 60000, &reader);

    (void)state;
    kl_process_cancel(process);
    await_result(process, KL_ECANCELED);
    expect_rest(reader, "\nend\n");
    kl_process_free(process);
}

static void a_program_that_writes_as_it_ends_is_not_held_up(void **state)
{
    int reader;
    kl_process *process = start_script(WRITES, 60000, &reader);

    (void)state;
    kl_process_cancel(process);
    await_result(process, KL_ECANCELED);
    expect_rest(reader, "\nend\n");
    kl_process_free(process);
}

static void a_program_that_ignores_sigterm_is_killed_later(void **state)
{
    int reader;
    kl_process *process = start_script(IGNORES, 200, &reader);
    int64_t began_ms = now_ms();

    (void)state;
    kl_process_cancel(process);
    await_result(process, KL_ECANCELED);
    assert_true(now_ms() - began_ms >= 200);
    expect_rest(reader, "\n");
    kl_process_free(process);
}

static void what_a_program_leaves_behind_is_killed(void **state)
{
    int reader;
    kl_process *process = start_script(LEAVES_A_CHILD, 60000, &reader);

    (void)state;
    kl_process_cancel(process);
    await_result(process, KL_ECANCELED);
    expect_rest(reader, "\n");
    kl_process_free(process);
}

static void freeing_a_program_ends_its_grace(void **state)
{
    int reader;
    kl_process *process = start_script(IGNORES, 60000, &reader);
    int64_t began_ms = now_ms();

    (void)state;
    kl_process_cancel(process);
    kl_process_free(process);
    assert_true(now_ms() - began_ms < 20000);
    expect_rest(reader, "\n");
}

#define SPEC(name)                                            \
    cmocka_unit_test_setup_teardown(name, temp_files_setup,   \
                                    temp_files_teardown),     \
    {                                                         \
        "in_a_host_that_reaps_" #name, name, handle_children, \
            restore_children, NULL                            \
    }

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(a_cancelled_program_has_time_to_end),
        SPEC(a_program_that_writes_as_it_ends_is_not_held_up),
        SPEC(a_program_that_ignores_sigterm_is_killed_later),
        SPEC(what_a_program_leaves_behind_is_killed),
        SPEC(freeing_a_program_ends_its_grace),
    };

    return cmocka_run_group_tests_name("programs that are ended early", tests,
                                       NULL, NULL);
}
