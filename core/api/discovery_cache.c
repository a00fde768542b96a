/*
 * discovery_cache.c - see discovery_cache.h.
 */
#include "api/discovery_cache.h"

#include "base/mem.h"

/* If the last answer is younger than this and does not have a name, the name is
 * unknown: the server is not asked again. */
enum { YOUNG_MS = 1000 };

kl__discovery *kl__discovery_new(kl_client *client)
{
    kl__discovery *discovery = kl__calloc(1, sizeof(*discovery));

    if (discovery != NULL) {
        discovery->client = client;
        discovery->clock = kl__clock_real();
        kl__mutex_init(&discovery->mutex, KL__RANK_CLIENT);
        kl__list_init(&discovery->waiting);
    }
    return discovery;
}

void kl__discovery_set_clock(kl__discovery *discovery, kl__clock *clock)
{
    discovery->clock = clock;
}

void kl__discovery_free(kl__discovery *discovery)
{
    if (discovery != NULL) {
        kl__catalogue_unref(discovery->catalogue);
        kl__mutex_deinit(&discovery->mutex);
        kl__free(discovery);
    }
}

kl__discovery_known kl__discovery_view(kl__discovery *self)
{
    int64_t now_ms = kl__clock_now(self->clock);
    kl__discovery_known seen = {0};

    kl__mutex_lock(&self->mutex);
    if (self->catalogue != NULL) {
        bool is_young = now_ms - self->answered_ms < YOUNG_MS;

        seen.catalogue = kl__catalogue_ref(self->catalogue);
        seen.is_valid = is_young || !self->is_expired;
        seen.is_young = is_young && !self->catalogue->is_partial;
    }
    seen.flights = self->flights;
    kl__mutex_unlock(&self->mutex);
    return seen;
}
