/*
 * sim_expire.c - see sim_expire.h. All Events are kept equally long, so
 * sim->expire_at_ms is known: before that time no Event expires, and no call
 * has to look at the Events.
 */
#include "sim/core/write/sim_expire.h"

#include "sim/core/write/sim_write.h"

static const int64_t lifetime_ms = INT64_C(60) * 60 * 1000;

void kl__sim_expire_note(kl_sim *sim, const kl__sim_resource *resource,
                         kl__sim_state *state)
{
    state->written_ms = kl__sim_clock_now(&sim->clock);
    if (resource == kl__sim_find(sim, "", "events") && sim->expire_at_ms == 0) {
        sim->expire_at_ms = state->written_ms + lifetime_ms;
    }
}

/* Returns an expired Event; or NULL, and *next_ms is the time at which the next
 * Event expires (0: there are no Events). */
static kl__sim_state *find_over(const kl__sim_resource *events, int64_t now,
                                int64_t *next_ms)
{
    const kl__sim_node *node = events->items.first[0];

    *next_ms = 0;
    for (; node != NULL; node = node->next[0]) {
        int64_t end_ms = node->state->written_ms + lifetime_ms;

        if (end_ms <= now) {
            return node->state;
        }
        if (*next_ms == 0 || end_ms < *next_ms) {
            *next_ms = end_ms;
        }
    }
    return NULL;
}

bool kl__sim_expire(kl_sim *sim)
{
    int64_t now = kl__sim_clock_now(&sim->clock), next_ms = 0;
    kl__sim_resource *events;
    kl__sim_state *state;

    if (sim->expire_at_ms == 0 || now < sim->expire_at_ms) {
        return false;
    }
    events = kl__sim_find(sim, "", "events");
    while ((state = find_over(events, now, &next_ms)) != NULL) {
        if (kl__sim_remove(sim, events, state->key, NULL) != KL_OK) {
            return true;
        }
    }
    sim->expire_at_ms = next_ms;
    return true;
}
