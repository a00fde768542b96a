/*
 * discovery.h - finds the resource of a name as people type it ("po",
 * "deployments.apps"), from what the server says that it serves; cached for
 * each client, asked again for an unknown name.
 */
#ifndef KL_API_DISCOVERY_H
#define KL_API_DISCOVERY_H

#include "api/client.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/thread.h"
#include "http/turn.h"
#include "object/resource.h"

/* Each client has one. NULL: out of memory. */
kl__discovery *kl__discovery_new(kl_client *client);
void kl__discovery_free(kl__discovery *discovery); /* NULL is fine */

/* For specs: sets the clock that measures the age of answers; borrowed. Not
 * while another thread resolves. */
void kl__discovery_set_clock(kl__discovery *discovery, kl__clock *clock);

/*
 * Resolves "po", "Pod", "pods", "deployments.apps", "apps/v1/Deployment",
 * "deployments.v1.apps", ... as kubectl does. The caller clears `resource`:
 * kl__resource_clear. KL_EUNKNOWN_KIND names the nearest ones, KL_ENOT_ALLOWED:
 * it cannot be listed and watched; KL_EUNAVAILABLE: the server has just started
 * and does not know its custom resources yet; otherwise as kl__client_head. A
 * cached name costs no request. For any other name the server is asked again:
 * once for all threads that wait, and at most once a second. A group that hangs
 * costs at most 5 s, and then only its own resources; what was known is kept.
 * Thread-safe.
 */
kl_code kl__discovery_resolve(kl_client *client, const char *name,
                              kl__resource *resource, kl__cancel *cancel,
                              kl_error *err);

/* The same with a limit: at `deadline_ms` of the real clock (< 0: none but
 * discovery's own, 30 s) it fails with KL_ETIMEOUT, and what was learned is
 * kept. */
typedef struct kl__lookup {
    kl_client *client;
    const char *name;
    int64_t deadline_ms;
    kl__cancel *cancel;
} kl__lookup;

kl_code kl__discovery_look_up(const kl__lookup *lookup, kl__resource *resource,
                              kl_error *err);

/* The same without a thread that waits: a lookup that goes on when there is
 * news of the server. One thread at a time; its owner must go on, or end it, as
 * other lookups may wait for the answers that this one has asked for. */
typedef struct kl__search {
    kl__lookup lookup;
    bool has_looked;  /* into the cache */
    uint64_t seen;    /* how many refreshes of the cache had ended then */
    int64_t until_ms; /* of the real clock: no further refresh from then on */
    struct kl__fetch *fetch; /* this lookup refreshes the cache; or NULL */
    struct kl__catalogue *fresh, *former; /* references, for that */
    kl__list node; /* among the lookups that wait for another one's refresh;
                      guarded by discovery's mutex */

    kl__mutex mutex; /* rank NEWS; guards the rest */
    kl__cond cond;
    bool has_news;
    const kl__stream_turn *lent;
} kl__search;

/* `lookup` is copied; what it points to is borrowed until the end. */
void kl__search_begin(kl__search *search, const kl__lookup *lookup);

/* False: it goes on when there is news. True: it is over, with the result that
 * kl__discovery_look_up has. It may have to wait for credentials. `err` is not
 * NULL. */
bool kl__search_step(kl__search *search, kl__resource *resource, kl_error *err);

/* Blocks until there is news, the lookup is cancelled, it is time to look
 * again, or `deadline_ms` of the real clock (< 0: none). */
void kl__search_wait(kl__search *search, int64_t deadline_ms);

/* As kl__stream_lend, kl__stream_retract and kl__stream_look_again_ms. The turn
 * has no `run`; its `wake` is called with a mutex of rank NEWS at most. */
bool kl__search_lend(kl__search *search, const kl__stream_turn *turn);
void kl__search_retract(kl__search *search);
int64_t kl__search_look_again_ms(const kl__search *search);

/* Drops what it has begun: another lookup that waits asks the server anew. */
void kl__search_end(kl__search *search);

/*
 * Fills `resource` as above without a request: from the server's last answer
 * (`is_cached`), else from the table of built-in names. KL_EUNKNOWN_KIND: in
 * neither, or it cannot be watched; KL_ENOMEM. Thread-safe.
 */
kl_code kl__discovery_guess(kl_client *client, const char *name,
                            kl__resource *resource, bool *is_cached);

/* Makes the next kl__discovery_resolve ask the server even for a cached name,
 * unless it was asked within the last second. Called when a cached resource
 * turned out to be gone. Thread-safe. */
void kl__discovery_expire(kl_client *client);

#endif
