/*
 * trial.c - see trial.h.
 */
#include "trial.h"

#include "base/thread.h"

#include <dirent.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum {
    LIMIT_US = 50000,
    LOST_US = 1000000,
    HUNG_S = 30,
    ROUNDS = 16,
    ROUNDS_MAX = 20000,
    AGAIN = 5,
    /* Random moments: as many between 20 and 40 us as between 10 and 20 ms. */
    FIRST_US = 10,
    LAST_US = 20000
};

/* One round of a trial, with its two threads. */
typedef struct attempt {
    const trial *trial;
    void *scene;

    pthread_mutex_t mutex; /* guards the rest */
    pthread_cond_t cond;
    bool may_block;
    bool woken; /* the witness thread waits for it, then reads the clock */
    int64_t returned_us;
    int64_t witnessed_us;
    bool is_over;
} attempt;

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static long from_environment(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text != NULL && text[0] != '\0' ? strtol(text, NULL, 10) : otherwise;
}

static uint64_t random_state;

static double draw(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return (double)(random_state * UINT64_C(2685821657736338717) >> 11) *
           0x1p-53;
}

/* A random moment between FIRST_US and LAST_US, uniform on a logarithmic
 * scale. */
static int64_t draw_moment_us(void)
{
    const double first = FIRST_US, last = LAST_US;

    return (int64_t)(first * pow(last / first, draw()));
}

/* How long the threads of this process have waited for a CPU so far; 0 if the
 * kernel does not say. */
static int64_t queued_us(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int64_t sum = 0;

    while (tasks != NULL && (entry = readdir(tasks)) != NULL) {
        unsigned long long ran, queued;
        char path[300];
        FILE *file;

        snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat",
                 entry->d_name);
        file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
        if (file != NULL) {
            if (fscanf(file, "%llu %llu", &ran, &queued) == 2) {
                sum += (int64_t)(queued / 1000);
            }
            fclose(file);
        }
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return sum;
}

static void await_flag(attempt *self, const bool *flag)
{
    pthread_mutex_lock(&self->mutex);
    while (!*flag) {
        pthread_cond_wait(&self->cond, &self->mutex);
    }
    pthread_mutex_unlock(&self->mutex);
}

static void raise_flag(attempt *self, bool *flag)
{
    pthread_mutex_lock(&self->mutex);
    *flag = true;
    pthread_cond_broadcast(&self->cond);
    pthread_mutex_unlock(&self->mutex);
}

static void *witness(void *arg)
{
    attempt *self = arg;

    await_flag(self, &self->woken);
    self->witnessed_us = now_us();
    return NULL;
}

static void *block(void *arg)
{
    attempt *self = arg;

    await_flag(self, &self->may_block);
    self->trial->block(self->scene);
    self->returned_us = now_us();
    raise_flag(self, &self->is_over);
    return NULL;
}

static void sleep_us(int64_t us)
{
    struct timespec time = {.tv_sec = us / 1000000,
                            .tv_nsec = us % 1000000 * 1000};

    nanosleep(&time, NULL);
}

static void await_return(attempt *self)
{
    struct timespec deadline;
    int waits = 0;

    clock_gettime(CLOCK_REALTIME, &deadline);
    deadline.tv_sec += HUNG_S;
    pthread_mutex_lock(&self->mutex);
    while (!self->is_over && waits == 0) {
        waits = pthread_cond_timedwait(&self->cond, &self->mutex, &deadline);
    }
    /* the thread of the call cannot be ended, so the spec cannot go on */
    if (!self->is_over) {
        fprintf(stderr, "%s, %s: did not return within %d s\n",
                self->trial->call, self->trial->against, HUNG_S);
        abort();
    }
    pthread_mutex_unlock(&self->mutex);
}

/* Runs one round; returns how long the call took to return, see trial.h. */
static int64_t play(const trial *what, void *scene, int64_t moment_us)
{
    attempt self = {.trial = what, .scene = scene};
    pthread_t blocks, watches;
    int64_t began_us, queued, noise;

    pthread_mutex_init(&self.mutex, NULL);
    pthread_cond_init(&self.cond, NULL);
    if (what->begin != NULL) {
        what->begin(scene);
    }
    assert_int_equal(pthread_create(&blocks, NULL, block, &self), 0);
    assert_int_equal(pthread_create(&watches, NULL, witness, &self), 0);
    if (what->cancel != NULL) {
        raise_flag(&self, &self.may_block);
    }
    sleep_us(moment_us);
    queued = queued_us();
    began_us = now_us();
    raise_flag(&self, &self.woken);
    if (what->cancel != NULL) {
        what->cancel(scene);
    } else {
        raise_flag(&self, &self.may_block);
    }
    await_return(&self);
    queued = queued_us() - queued;
    pthread_join(blocks, NULL);
    pthread_join(watches, NULL);
    if (what->end != NULL) {
        what->end(scene);
    }
    pthread_cond_destroy(&self.cond);
    pthread_mutex_destroy(&self.mutex);
    noise = self.witnessed_us - began_us;
    noise = queued > noise ? queued : noise;
    return self.returned_us - began_us > noise
               ? self.returned_us - began_us - noise
               : 0;
}

/* True if the call takes too long in each of several tries. */
static bool is_slow(const trial *what, void *scene, int64_t moment_us,
                    int64_t took_us)
{
    int64_t limit_us = LIMIT_US * from_environment("KUBELUA_SLOWNESS", 1);

    if (took_us <= limit_us) {
        return false;
    }
    print_message("%s, %s: %.1f ms, cancelled after %lld us\n", what->call,
                  what->against, (double)took_us / 1000, (long long)moment_us);
    for (int i = 0; i < AGAIN && took_us > limit_us && took_us < LOST_US; i++) {
        took_us = play(what, scene, moment_us);
    }
    return took_us > limit_us;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x < y ? -1 : x > y;
}

static void print_row(const trial *what, int64_t *took_us, size_t rounds)
{
    qsort(took_us, rounds, sizeof(*took_us), by_size);
    print_message("%-28s %-34s %6zu %7.2f %7.2f %7.2f\n", what->call,
                  what->against, rounds, (double)took_us[rounds / 2] / 1000,
                  (double)took_us[rounds - 1 - rounds / 100] / 1000,
                  (double)took_us[rounds - 1] / 1000);
}

/* Runs all rounds; false: a call took too long, in each try. */
static bool run(const trial *what, size_t rounds)
{
    int64_t *took_us = calloc(rounds, sizeof(*took_us));
    void *scene = what->set_up != NULL ? what->set_up(what) : NULL;
    bool is_fast = true;

    assert_non_null(took_us);
    for (size_t i = 0; i < rounds; i++) {
        int64_t moment_us = draw_moment_us();

        took_us[i] = play(what, scene, moment_us);
        is_fast = !is_slow(what, scene, moment_us, took_us[i]) && is_fast;
    }
    print_row(what, took_us, rounds);
    if (what->tear_down != NULL) {
        what->tear_down(scene);
    }
    free(took_us);
    return is_fast;
}

void trials_run(const trial *trials, size_t count)
{
    long rounds = from_environment("KUBELUA_TRIALS", ROUNDS);
    uint64_t seed = (uint64_t)from_environment("KUBELUA_SEED",
                                               (long)(now_us() & 0x7fffffff));
    size_t slow = 0;

    assert_in_range(rounds, 1, ROUNDS_MAX);
    random_state = seed | 1;
    for (int i = 0; i < 8; i++) {
        (void)draw();
    }
    print_message("KUBELUA_SEED=%llu\n%-28s %-34s %6s %7s %7s %7s\n",
                  (unsigned long long)seed, "returns, in ms", "against",
                  "trials", "p50", "p99", "max");
    for (size_t i = 0; i < count; i++) {
        int divisor = trials[i].divisor > 0 ? trials[i].divisor : 1;

        slow +=
            !run(&trials[i], (size_t)(rounds + divisor - 1) / (size_t)divisor);
    }
    assert_int_equal(slow, 0);
}
