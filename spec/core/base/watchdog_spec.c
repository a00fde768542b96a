/*
 * watchdog_spec.c - the log names a thread that stays in one activity, and no
 * other; the texts of an activity may be freed after it.
 */
#include "base/mem.h"
#include "base/watchdog.h"
#include "kubelua/log.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { LIMIT_MS = 5000, PATIENCE_S = 30, TURNS = 100, LONG = 1 << 20 };

static const kl_activity handler = {"pods: handler of add", "web/shop-1"};

/* The lines of the log, guarded by the mutex. */
static pthread_mutex_t lines_mutex = PTHREAD_MUTEX_INITIALIZER;
static char lines[16][2048];
static size_t line_count;

static void keep_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    pthread_mutex_lock(&lines_mutex);
    if (line_count < 16 && level == KL_LOG_WARN) {
        snprintf(lines[line_count++], sizeof(lines[0]), "%s", message);
    }
    pthread_mutex_unlock(&lines_mutex);
}

static size_t count_lines(void)
{
    size_t count;

    pthread_mutex_lock(&lines_mutex);
    count = line_count;
    pthread_mutex_unlock(&lines_mutex);
    return count;
}

typedef struct scene {
    kl__clock *clock;
    kl_watchdog *watchdog;
    atomic_int asked;
} scene;

static void count_question(void *context)
{
    atomic_fetch_add(&((scene *)context)->asked, 1);
}

static void begin(scene *self, bool asks)
{
    kl_watchdog_options options = {.limit_ms = LIMIT_MS,
                                   .ask = asks ? count_question : NULL,
                                   .context = self};

    *self = (scene){.clock = kl__clock_fake(1000)};
    line_count = 0;
    kl_set_log(keep_line, NULL, KL_LOG_DEBUG);
    self->watchdog = kl__watchdog_start(&options, self->clock, NULL);
    assert_non_null(self->watchdog);
}

static void end(scene *self)
{
    kl_watchdog_stop(self->watchdog);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    kl__clock_fake_free(self->clock);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

/* Lets so much time pass, a bit at a time, as a watchdog sees it. */
static void pass(scene *self, int64_t ms)
{
    for (int64_t step = 50; ms > 0; ms -= step) {
        assert_true(kl__clock_await_waiters(self->clock, 1));
        kl__clock_advance(self->clock, step);
    }
    assert_true(kl__clock_await_waiters(self->clock, 1));
}

static bool is_over(time_t deadline)
{
    struct timespec now, pause = {0, 1000000};

    nanosleep(&pause, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec > deadline;
}

static time_t in_patience(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + PATIENCE_S;
}

/* Lets time pass until the log has that many lines; the last of them. */
static const char *line(scene *self, size_t number)
{
    time_t deadline = in_patience();

    while (count_lines() < number) {
        kl__clock_advance(self->clock, 50);
        assert_false(is_over(deadline));
    }
    return lines[number - 1];
}

/* The seconds that a line gives after those words. */
static double seconds_in(const char *text, const char *words)
{
    const char *at = strstr(text, words);

    assert_non_null(at);
    return strtod(at + strlen(words), NULL);
}

static void an_activity_over_the_limit_is_named(void **state)
{
    static const char start[] = "pods: handler of add for web/shop-1 has ";
    scene self;

    (void)state;
    begin(&self, false);
    kl_watchdog_enter(self.watchdog, &handler);
    pass(&self, LIMIT_MS - 100);
    assert_int_equal(count_lines(), 0);
    assert_ptr_equal(strstr(line(&self, 1), start), lines[0]);
    assert_true(seconds_in(lines[0], " has blocked the loop for ") >= 5);
    end(&self);
}

static void
an_activity_is_reported_again_at_twice_the_time_and_at_its_end(void **state)
{
    scene self;

    (void)state;
    begin(&self, false);
    kl_watchdog_enter(self.watchdog, &handler);
    line(&self, 1);
    assert_true(seconds_in(line(&self, 2), " blocked the loop for ") >= 10);
    kl_watchdog_leave(self.watchdog);
    assert_true(seconds_in(line(&self, 3), " let the loop go on after ") >= 10);
    end(&self);
}

static void activities_that_end_in_time_are_not_named(void **state)
{
    scene self;

    (void)state;
    begin(&self, true);
    for (int i = 0; i < 20; i++) {
        kl_watchdog_enter(self.watchdog, &handler);
        pass(&self, LIMIT_MS / 2);
    }
    kl_watchdog_leave(self.watchdog);
    assert_int_equal(atomic_load(&self.asked), 0);
    assert_int_equal(count_lines(), 0);
    end(&self);
}

static void a_report_contains_what_the_thread_told(void **state)
{
    scene self;
    time_t deadline = in_patience();

    (void)state;
    begin(&self, true);
    kl_watchdog_enter(self.watchdog, &handler);
    while (atomic_load(&self.asked) == 0) {
        kl__clock_advance(self.clock, 10);
        assert_false(is_over(deadline));
    }
    kl_watchdog_tell(self.watchdog, "shop.lua:7: in function 'busy'");
    assert_non_null(
        strstr(line(&self, 1), " s; shop.lua:7: in function 'busy'"));
    end(&self);
}

static void a_late_answer_is_logged_as_a_second_line(void **state)
{
    scene self;

    (void)state;
    begin(&self, true);
    kl_watchdog_enter(self.watchdog, &handler);
    assert_null(strstr(line(&self, 1), "; "));
    kl_watchdog_tell(self.watchdog, "shop.lua:8");
    assert_non_null(strstr(line(&self, 2), " s; shop.lua:8"));
    end(&self);
}

static void an_answer_just_before_the_activity_ends_is_logged(void **state)
{
    scene self;

    (void)state;
    begin(&self, true);
    kl_watchdog_enter(self.watchdog, &handler);
    line(&self, 1);
    kl_watchdog_tell(self.watchdog, "shop.lua:9");
    kl_watchdog_leave(self.watchdog);
    while (strstr(line(&self, count_lines()), "shop.lua:9") == NULL) {
        line(&self, count_lines() + 1);
    }
    end(&self);
}

static void a_signal_logs_the_activity_that_blocks_the_loop(void **state)
{
    scene self;

    (void)state;
    begin(&self, false);
    kl_watchdog_enter(self.watchdog, &handler);
    pass(&self, 1000);
    assert_int_equal(count_lines(), 0);
    kl_watchdog_hurry(self.watchdog, SIGINT);
    assert_string_equal(line(&self, 1),
                        "SIGINT waits for pods: handler of add for web/shop-1, "
                        "which blocks the loop; another signal ends the "
                        "process at once");
    end(&self);
}

static void a_limit_below_a_millisecond_is_refused(void **state)
{
    kl_watchdog_options options = {.limit_ms = 0};
    kl_error err;

    (void)state;
    assert_null(kl_watchdog_start(&options, &err));
    assert_int_equal(err.code, KL_EINVAL);
    kl_watchdog_stop(NULL);
}

/* Texts that are freed right after their activity, while the watchdog reads
 * them: so long that the reading takes longer than the way to the free. */
static void texts_may_be_freed_after_their_activity(void **state)
{
    kl_watchdog_options options = {.limit_ms = 1};
    kl_watchdog *watchdog;

    (void)state;
    line_count = 0;
    kl_set_log(keep_line, NULL, KL_LOG_DEBUG);
    watchdog = kl_watchdog_start(&options, NULL);
    assert_non_null(watchdog);
    for (int i = 0; i < TURNS; i++) {
        struct timespec pause = {0, 1000000 + 20000 * (i % 100)};
        kl_activity *activity = malloc(sizeof(*activity));
        char *what = malloc(LONG);

        memset(what, 'a', LONG - 1);
        what[LONG - 1] = '\0';
        *activity = (kl_activity){what, NULL};
        kl_watchdog_enter(watchdog, activity);
        nanosleep(&pause, NULL);
        kl_watchdog_leave(watchdog);
        memset(what, 'x', LONG - 1);
        free(what);
        free(activity);
    }
    kl_watchdog_stop(watchdog);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_true(line_count > 0);
    for (size_t i = 0; i < line_count; i++) {
        assert_int_equal(lines[i][0], 'a');
        assert_null(strchr(lines[i], 'x'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_activity_over_the_limit_is_named),
        cmocka_unit_test(
            an_activity_is_reported_again_at_twice_the_time_and_at_its_end),
        cmocka_unit_test(activities_that_end_in_time_are_not_named),
        cmocka_unit_test(a_report_contains_what_the_thread_told),
        cmocka_unit_test(a_late_answer_is_logged_as_a_second_line),
        cmocka_unit_test(an_answer_just_before_the_activity_ends_is_logged),
        cmocka_unit_test(a_signal_logs_the_activity_that_blocks_the_loop),
        cmocka_unit_test(a_limit_below_a_millisecond_is_refused),
        cmocka_unit_test(texts_may_be_freed_after_their_activity),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
