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
    atomic_store(&self->expected, VERDICT_IDENTITIES);
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

bool verdict_is_first(verdict_subject *self, unsigned identity)
{
    return atomic_load(&self->expected) == identity &&
           atomic_exchange(&self->expected, VERDICT_IDENTITIES) == identity;
}

bool verdict_is_first_failure(verdict_subject *self)
{
    return atomic_load(&self->expects_failure) &&
           atomic_exchange(&self->expects_failure, false);
}

bool verdict_rule(verdict_subject *self, const char *verb, unsigned identity)
{
    uint64_t now = atomic_load(&self->moment);

    identity %= VERDICT_IDENTITIES;
    if (strcmp(verb, "allow") == 0) {
        atomic_store(&self->allowed_at[identity], ALWAYS);
        atomic_store(&self->expected, identity);
    } else if (strcmp(verb, "loose") == 0) {
        atomic_store(&self->loose_at, ALWAYS);
        atomic_store(&self->expects_failure, true);
    } else if (strcmp(verb, "ban") == 0) {
        atomic_store(&self->allowed_at[identity], now);
        atomic_store(&self->moment, now + 1);
    } else if (strcmp(verb, "strict") == 0) {
        atomic_store(&self->loose_at, now);
        atomic_store(&self->moment, now + 1);
    } else {
        return false;
    }
    return true;
}
