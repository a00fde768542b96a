/*
 * soak.c - puts the library through as many events as it is told, and prints
 * what it uses at regular points: at each all guests have left, the witness has
 * seen everything, and memory was trimmed. judge.lua looks at that.
 * Usage: soak EVENTS|MINUTESm [in-process]; KUBELUA_SOAK_LEAK=N, _SEED=N
 */
#include "guests.h"

#include <ctype.h>
#include <dirent.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SAMPLES = 36,
    LAP = 1250,   /* changes after which the witness is waited for */
    ACTION = 125, /* and after which something happens */
    REST_MS = 500 /* for connections to end, and their threads */
};

static long number_of(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtol(text, NULL, 10) : 0;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* ---- what it uses ---- */

static int entries(const char *path)
{
    DIR *folder = opendir(path);
    int count = 0;

    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count - 2;
}

static long lines(const char *path)
{
    FILE *file = fopen(path, "re");
    long count = 0;
    int c;

    while (file != NULL && (c = fgetc(file)) != EOF) {
        count += c == '\n';
    }
    if (file != NULL) {
        fclose(file);
    }
    return count;
}

static long resident_kb(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[128];
    long kb = -1;

    while (file != NULL && kb < 0 && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "VmRSS:", 6) == 0) {
            kb = strtol(line + 6, NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return kb;
}

/* Bytes that are allocated now, whatever is resident. */
static long heap_kb(void)
{
    struct mallinfo2 heap = mallinfo2();

    return (long)((heap.uordblks + heap.hblkhd) / 1024);
}

/* Objects that live beside the cache's. One that a thread of the informer's is
 * still at work on goes in a moment. */
static long count_extra(const soak_world *world)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    long extra = 1;

    for (int i = 0; i < REST_MS / 5 && extra != 0; i++) {
        extra = kl_live_count(KL_LIVE_OBJECT) -
                (long)kl_informer_count(world->informer);
        if (extra != 0) {
            nanosleep(&moment, NULL);
        }
    }
    return extra;
}

static void print_sample(const soak_world *world, double seconds)
{
    long extra = count_extra(world);

    malloc_trim(0);
    printf("sample\t%ld\t%.1f\t%ld\t%ld\t%ld\t%d\t%d\t%ld\n", world->changes,
           seconds, resident_kb(), heap_kb(), lines("/proc/self/maps"),
           entries("/proc/self/fd"), entries("/proc/self/task"), extra);
    fflush(stdout);
}

/* Waits until threads and descriptors are down to what they were at first, as
 * long as they may take. */
static void rest(int threads, int descriptors)
{
    const struct timespec moment = {.tv_nsec = 5000000};

    for (int i = 0; i < REST_MS / 5; i++) {
        if (entries("/proc/self/task") <= threads &&
            entries("/proc/self/fd") <= descriptors) {
            break;
        }
        nanosleep(&moment, NULL);
    }
}

/* ---- how long it takes ---- */

typedef struct soak_length {
    long events; /* 0: by time */
    double seconds;
    double began;
} soak_length;

static double progress(const soak_length *self, const soak_world *world)
{
    return self->events > 0 ? (double)world->changes / (double)self->events
                            : (now() - self->began) / self->seconds;
}

/* One lap: changes, and something happens now and then. */
static bool run_lap(soak_world *world, soak_guests *guests)
{
    for (int i = 0; i < LAP; i += ACTION) {
        if (!world_change(world, ACTION) || !guests_act(guests, world)) {
            return false;
        }
    }
    return world_settle(world);
}

static bool run(soak_world *world, soak_guests *guests,
                const soak_length *length)
{
    int threads = entries("/proc/self/task");
    int descriptors = entries("/proc/self/fd");
    int sampled = 0;

    while (sampled < SAMPLES) {
        if (!run_lap(world, guests)) {
            return false;
        }
        if (progress(length, world) * SAMPLES < sampled + 1) {
            continue;
        }
        guests_leave(guests);
        if (!world_fill(world) || !world_settle(world) ||
            !world_compare(world)) {
            return false;
        }
        rest(threads, descriptors);
        sampled++;
        print_sample(world, now() - length->began);
    }
    return true;
}

static void print_end(const soak_world *world, const soak_guests *guests)
{
    if (world->fault[0] != '\0') {
        printf("fault\t%s\n", world->fault);
    }
    for (int i = 0; i < KL_LIVE_KINDS; i++) {
        long count = kl_live_count((kl_live_kind)i);

        if (count != 0) {
            printf("alive\t%s\t%ld\n", kl_live_name((kl_live_kind)i), count);
        }
    }
    printf("end\t%d\t%d\n", entries("/proc/self/fd"),
           entries("/proc/self/task"));
    printf("done\t%ld events, %ld laps (%ld of them exact), %ld cuts, %ld "
           "compactions, %ld failures, %ld guests, %ld queries\n",
           world->changes, world->lap, world->calm, guests->cuts,
           guests->compactions, guests->failures, guests->opened,
           guests->queries);
}

int main(int argc, char **argv)
{
    static soak_world world;
    static soak_guests guests;
    soak_length length = {.began = now()};
    char *unit = NULL;
    double amount = argc > 1 ? strtod(argv[1], &unit) : 0;

    if (amount <= 0 || (*unit != 'm' && *unit != '\0')) {
        fprintf(stderr, "usage: soak EVENTS|MINUTESm [in-process]\n");
        return 2;
    }
    length.events = *unit == 'm' ? 0 : (long)amount;
    length.seconds = amount * 60;
    world.random = (uint64_t)number_of("KUBELUA_SOAK_SEED") + 1;
    world.leak = number_of("KUBELUA_SOAK_LEAK");
    printf("trims\t1\n");
    printf("begin\t%d\t%d\n", entries("/proc/self/fd"),
           entries("/proc/self/task"));
    if (world_begin(&world, argc > 2)) {
        run(&world, &guests, &length);
    }
    guests_leave(&guests);
    world_end(&world);
    print_end(&world, &guests);
    return world.fault[0] == '\0' ? 0 : 1;
}
