/*
 * sim_clock.c - see sim_clock.h. No thread polls: a change of the clock wakes
 * every waiting thread.
 */
#include "sim/core/store/sim_clock.h"

#include "base/clock.h"
#include "sim/core/store/sim_core.h"

#include <stdio.h>
#include <time.h>

enum { SECOND_MS = 1000 };

static int64_t machine_unix_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * SECOND_MS + now.tv_nsec / 1000000;
}

static int64_t read_base(const kl__sim_clock *clock)
{
    return atomic_load_explicit(&clock->base, memory_order_relaxed);
}

void kl__sim_clock_init(kl__sim_clock *clock, bool stands, int64_t start_ms)
{
    int64_t machine_ms = machine_unix_ms();
    int64_t from_ms = start_ms > 0 ? start_ms : machine_ms;

    clock->stands = stands;
    clock->skew_ms = stands ? 0 : from_ms - machine_ms;
    atomic_init(&clock->base, stands ? from_ms : 0);
}

int64_t kl__sim_clock_now(const kl__sim_clock *clock)
{
    return clock->stands ? read_base(clock)
                         : kl__clock_now(kl__clock_real()) + read_base(clock);
}

int64_t kl__sim_clock_unix(const kl__sim_clock *clock)
{
    return clock->stands
               ? read_base(clock)
               : machine_unix_ms() + clock->skew_ms + read_base(clock);
}

void kl__sim_clock_format(int64_t unix_ms, char *text)
{
    time_t seconds = (time_t)(unix_ms / SECOND_MS);
    struct tm parts;

    gmtime_r(&seconds, &parts);
    strftime(text, KL__SIM_TIME_SIZE, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

int64_t kl__sim_clock_parse(const char *text)
{
    struct tm parts = {0};

    if (text == NULL || sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d", &parts.tm_year,
                               &parts.tm_mon, &parts.tm_mday, &parts.tm_hour,
                               &parts.tm_min, &parts.tm_sec) != 6) {
        return -1;
    }
    parts.tm_year -= 1900;
    parts.tm_mon--;
    return (int64_t)timegm(&parts) * SECOND_MS;
}

void kl__sim_clock_time(const kl__sim_clock *clock, char *text)
{
    kl__sim_clock_format(kl__sim_clock_unix(clock), text);
}

int64_t kl__sim_clock_deadline(const kl__sim_clock *clock, int64_t until_ms)
{
    if (until_ms < 0 || clock->stands) {
        return -1;
    }
    return until_ms > read_base(clock) ? until_ms - read_base(clock) : 0;
}

/* ---- A compaction forgets the versions before the previous compaction, so
 * each version is kept for one interval or longer. */

/* kube-apiserver --etcd-compaction-interval */
enum { DEFAULT_EVERY_MS = 5 * 60 * 1000 };

void kl__sim_compact_init(kl_sim *sim, int64_t every_ms)
{
    sim->compact_every_ms = every_ms > 0 ? every_ms : DEFAULT_EVERY_MS;
    sim->compact_at_ms = kl__sim_clock_now(&sim->clock) + sim->compact_every_ms;
}

static void compact_resources(kl_sim *sim, int64_t version)
{
    for (kl__list *node = sim->resources.next; node != &sim->resources;
         node = node->next) {
        kl__sim_resource_compact(KL__CONTAINER(node, kl__sim_resource, node),
                                 version);
    }
}

void kl__sim_compact_in_time(kl_sim *sim)
{
    int64_t now = kl__sim_clock_now(&sim->clock);

    if (now < sim->compact_at_ms) {
        return;
    }
    /* If a whole interval has passed without a request, nothing has changed in
     * it, and all versions so far may be forgotten. After kl_sim_restore the
     * version can be lower than at the previous compaction. */
    if (now >= sim->compact_at_ms + sim->compact_every_ms ||
        sim->compact_to > sim->version) {
        sim->compact_to = sim->version;
    }
    compact_resources(sim, sim->compact_to);
    sim->compact_to = sim->version;
    sim->compact_at_ms = now + sim->compact_every_ms;
}

void kl_sim_compact(kl_sim *sim)
{
    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&sim->mutex);
    compact_resources(sim, sim->version);
    kl__mutex_unlock(&sim->mutex);
}
