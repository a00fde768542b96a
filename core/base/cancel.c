/*
 * cancel.c - see cancel.h.
 */
#include "base/cancel.h"

void kl__cancel_init(kl__cancel *cancel)
{
    kl__mutex_init(&cancel->mutex, KL__RANK_CANCEL);
    kl__list_init(&cancel->hooks);
    atomic_init(&cancel->fired, false);
}

void kl__cancel_deinit(kl__cancel *cancel)
{
    kl__mutex_deinit(&cancel->mutex);
}

void kl__cancel_fire(kl__cancel *cancel)
{
    kl__mutex_lock(&cancel->mutex);
    atomic_store(&cancel->fired, true);
    for (kl__list *node = cancel->hooks.next; node != &cancel->hooks;
         node = node->next) {
        kl__cancel_hook *hook = KL__CONTAINER(node, kl__cancel_hook, node);

        hook->wake(hook->arg);
    }
    kl__mutex_unlock(&cancel->mutex);
}

bool kl__cancel_fired(const kl__cancel *cancel)
{
    return cancel != NULL && atomic_load(&cancel->fired);
}

bool kl__cancel_add(kl__cancel *cancel, kl__cancel_hook *hook)
{
    bool fired;

    kl__list_init(&hook->node);
    if (cancel == NULL) {
        return true;
    }
    kl__mutex_lock(&cancel->mutex);
    fired = atomic_load(&cancel->fired);
    if (!fired) {
        kl__list_append(&cancel->hooks, &hook->node);
    }
    kl__mutex_unlock(&cancel->mutex);
    return !fired;
}

void kl__cancel_remove(kl__cancel *cancel, kl__cancel_hook *hook)
{
    if (cancel == NULL) {
        return;
    }
    kl__mutex_lock(&cancel->mutex);
    kl__list_remove(&hook->node);
    kl__mutex_unlock(&cancel->mutex);
}

/* A hook's `wake`. It runs with the source's mutex held, which ranks lower than
 * the mutex that this locks. */
static void fire_token(void *arg)
{
    kl__cancel_fire(arg);
}

/* A kl__cancel_either may be a source of another one, so the mutex of each
 * ranks above the mutexes of both sources. */
static kl__rank rank_above(const kl__cancel *a, const kl__cancel *b)
{
    kl__rank rank = KL__RANK_CANCEL;

    if (a != NULL && a->mutex.rank > rank) {
        rank = a->mutex.rank;
    }
    if (b != NULL && b->mutex.rank > rank) {
        rank = b->mutex.rank;
    }
    return rank + 1;
}

void kl__cancel_either_init(kl__cancel_either *either, kl__cancel *a,
                            kl__cancel *b)
{
    kl__mutex_init(&either->token.mutex, rank_above(a, b));
    kl__list_init(&either->token.hooks);
    atomic_init(&either->token.fired, false);
    either->from[0] = a;
    either->from[1] = b;
    for (int i = 0; i < 2; i++) {
        either->hooks[i].wake = fire_token;
        either->hooks[i].arg = &either->token;
        if (!kl__cancel_add(either->from[i], &either->hooks[i])) {
            kl__cancel_fire(&either->token);
        }
    }
}

/* A source sets its own flag before it fires the token. So if that happens
 * before the flag is cleared here, the source is found fired; else the token is
 * fired afterwards. */
void kl__cancel_either_renew(kl__cancel_either *either)
{
    kl__mutex_lock(&either->token.mutex);
    atomic_store(&either->token.fired, false);
    kl__mutex_unlock(&either->token.mutex);
    if (kl__cancel_fired(either->from[0]) ||
        kl__cancel_fired(either->from[1])) {
        kl__cancel_fire(&either->token);
    }
}

void kl__cancel_either_deinit(kl__cancel_either *either)
{
    for (int i = 0; i < 2; i++) {
        kl__cancel_remove(either->from[i], &either->hooks[i]);
    }
    kl__cancel_deinit(&either->token);
}
