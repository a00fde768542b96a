/*
 * soak.c - puts the library through a number of events, and regularly prints
 * what it uses. Before each sample all guests leave, the witness has seen
 * everything, and memory is trimmed. judge.lua judges the samples. Usage: soak
 * EVENTS|MINUTESm [in-process]; KUBELUA_SOAK_LEAK=N, _SEED=N
 */
#include "guests.h"
#include "usage.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    LAP = 1250,   /* changes, after which the soak waits for the witness */
    ACTION = 125, /* changes, after which a guest acts or a fault occurs */
    REST_MS = 500 /* time for connections and their threads to end */
};

static long number_of(const char *name)
{
    const char *text = getenv(name);

    return text != NULL ? strtol(text, NULL, 10) : 0;
}

/* Counts the objects that live beside those of the cache. An object that a
 * thread of the informer still works on is freed in a moment. */
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

/* One lap: changes, with guests and faults in between. */
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
                const usage_length *length)
{
    int threads = usage_threads(), descriptors = usage_descriptors();
    int sampled = 0;

    while (sampled < USAGE_SAMPLES) {
        if (!run_lap(world, guests)) {
            return false;
        }
        if (usage_progress(length, world->changes) * (double)USAGE_SAMPLES <
            sampled + 1) {
            continue;
        }
        guests_leave(guests);
        if (!world_fill(world) || !world_settle(world) ||
            !world_compare(world)) {
            return false;
        }
        usage_rest(threads, descriptors, REST_MS);
        sampled++;
        usage_print_sample(length, world->changes, count_extra(world));
    }
    return true;
}

static void print_end(const soak_world *world, const soak_guests *guests)
{
    if (world->fault[0] != '\0') {
        printf("fault\t%s\n", world->fault);
    }
    usage_print_alive();
    usage_print_rest("end");
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
    usage_length length;

    if (argc < 2 || !usage_length_read(&length, argv[1])) {
        fprintf(stderr, "usage: soak EVENTS|MINUTESm [in-process]\n");
        return 2;
    }
    world.random = (uint64_t)number_of("KUBELUA_SOAK_SEED") + 1;
    world.leak = number_of("KUBELUA_SOAK_LEAK");
    printf("trims\t1\n");
    usage_print_rest("begin");
    if (world_begin(&world, argc > 2)) {
        run(&world, &guests, &length);
    }
    guests_leave(&guests);
    world_end(&world);
    print_end(&world, &guests);
    return world.fault[0] == '\0' ? 0 : 1;
}
