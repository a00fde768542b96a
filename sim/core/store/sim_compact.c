/*
 * sim_compact.c - see sim_compact.h. A compaction forgets the versions before
 * the previous compaction, so each version is kept for one interval or longer.
 */
#include "sim/core/store/sim_compact.h"

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
