/*
 * child_spec.c - programs that were left, as they did not end in time after
 * they were killed: none stays a zombie.
 */
#include "config/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static void start(kl__child *child, const char *command)
{
    char *const args[] = {(char *)"/bin/sh", (char *)"-c", (char *)command,
                          NULL};
    int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
    const kl__program program = {.args = args,
                                 .env = environ,
                                 .in = -1,
                                 .out = fcntl(out, F_DUPFD_CLOEXEC, 3),
                                 .errors = fcntl(out, F_DUPFD_CLOEXEC, 3)};

    assert_int_equal(kl__child_start(&program, child), 0);
    close(program.out);
    close(program.errors);
    close(out);
}

static void await_end(const kl__child *child)
{
    struct pollfd ended = {.fd = child->ended, .events = POLLIN};

    assert_int_equal(poll(&ended, 1, 60000), 1);
}

static void reap(kl__child *child)
{
    kl__child_status status;

    await_end(child);
    assert_int_equal(kl__child_reap(child, &status), KL__CHILD_ENDED);
}

static bool is_there(pid_t pid) /* a zombie is */
{
    return kill(pid, 0) == 0 || errno != ESRCH;
}

static void a_program_that_was_left_is_reaped_at_the_next_start(void **state)
{
    kl__child left, next;

    (void)state;
    start(&left, "exit 0");
    await_end(&left);
    kl__child_abandon(&left);
    assert_true(is_there(left.pid));
    start(&next, "exit 0");
    assert_false(is_there(left.pid));
    reap(&next);
}

static void one_that_still_runs_is_reaped_at_a_later_start(void **state)
{
    kl__child left, other, next;

    (void)state;
    start(&left, "exec sleep 1000");
    kl__child_abandon(&left);
    start(&other, "exit 0");
    reap(&other);
    assert_true(is_there(left.pid));
    kl__child_signal(&left, SIGKILL);
    while (waitid(P_PID, (id_t)left.pid, &(siginfo_t){0}, WEXITED | WNOWAIT) !=
           0) {
        assert_int_equal(errno, EINTR);
    }
    start(&next, "exit 0");
    assert_false(is_there(left.pid));
    reap(&next);
}

static void many_are_left_and_reaped(void **state)
{
    enum { MANY = 40 };
    kl__child left[MANY], next;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        start(&left[i], "exec sleep 1000");
        kl__child_abandon(&left[i]);
    }
    for (int i = 0; i < MANY; i++) {
        kl__child_signal(&left[i], SIGKILL);
        while (waitid(P_PID, (id_t)left[i].pid, &(siginfo_t){0},
                      WEXITED | WNOWAIT) != 0) {
            assert_int_equal(errno, EINTR);
        }
    }
    start(&next, "exit 0");
    for (int i = 0; i < MANY; i++) {
        assert_false(is_there(left[i].pid));
    }
    reap(&next);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_that_was_left_is_reaped_at_the_next_start),
        cmocka_unit_test(one_that_still_runs_is_reaped_at_a_later_start),
        cmocka_unit_test(many_are_left_and_reaped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
