/*
 * verdict.c - see verdict.h. A reader takes the moment first, and compares it
 * with what was written before that moment grew: sequentially consistent
 * atomics keep this order.
 */
#include "verdict.h"

#include <stdio.h>
#include <string.h>

static const uint64_t ALWAYS = UINT64_MAX;

void verdict_init(verdict_subject *self, const char *name)
{
    memset(self, 0, sizeof(*self));
    snprintf(self->name, sizeof(self->name), "%s", name);
    atomic_store(&self->moment, 1);
}

uint64_t verdict_begin(verdict_subject *self)
{
    return atomic_load(&self->moment);
}

bool verdict_allows(verdict_subject *self, uint64_t begun, unsigned identity)
{
    return identity < VERDICT_IDENTITIES &&
           atomic_load(&self->allowed_at[identity]) >= begun;
}

bool verdict_forgives(verdict_subject *self, uint64_t begun)
{
    return atomic_load(&self->loose_at) >= begun;
}

/* One word, so that a thread cannot read the one of an older rule, and answer
 * the other of a newer one. */
static uint64_t expect(uint64_t moment, unsigned identity)
{
    return moment * VERDICT_IDENTITIES + identity;
}

bool verdict_is_first(verdict_subject *self, uint64_t begun, unsigned identity)
{
    uint64_t expected = atomic_load(&self->expected);

    return expected != 0 && expected % VERDICT_IDENTITIES == identity &&
           begun >= expected / VERDICT_IDENTITIES &&
           atomic_compare_exchange_strong(&self->expected, &expected, 0);
}

bool verdict_is_first_failure(verdict_subject *self, uint64_t begun)
{
    uint64_t since = atomic_load(&self->failure_expected);

    return since != 0 && begun >= since &&
           atomic_compare_exchange_strong(&self->failure_expected, &since, 0);
}

bool verdict_rule(verdict_subject *self, const char *verb, unsigned identity)
{
    uint64_t now = atomic_load(&self->moment);

    identity %= VERDICT_IDENTITIES;
    if (strcmp(verb, "allow") == 0) {
        atomic_store(&self->allowed_at[identity], ALWAYS);
        atomic_store(&self->expected, expect(now + 1, identity));
    } else if (strcmp(verb, "loose") == 0) {
        atomic_store(&self->loose_at, ALWAYS);
        atomic_store(&self->failure_expected, now + 1);
    } else if (strcmp(verb, "ban") == 0) {
        atomic_store(&self->allowed_at[identity], now);
    } else if (strcmp(verb, "strict") == 0) {
        atomic_store(&self->loose_at, now);
    } else {
        return false;
    }
    atomic_store(&self->moment, now + 1);
    return true;
}
