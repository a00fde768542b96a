/*
 * informer_factory.h - which shared informers a client has, so that the same
 * resource, scope and selectors are watched once, however they are spelt.
 */
#ifndef KL_INFORMER_INFORMER_FACTORY_H
#define KL_INFORMER_INFORMER_FACTORY_H

#include "informer/shared_informer.h"

/* One that is in use; counted by the factory. */
typedef struct kl__shared_use kl__shared_use;

/*
 * Joins the shared informer of that resource, scope and selectors, or starts
 * it; one more user. What only changes how it is fetched (page size, idle
 * timeout, streaming) is that of the first user. NULL: KL_ENOMEM, KL_EIO,
 * KL_ECLOSED. Thread-safe.
 */
kl__shared_use *kl__informer_factory_open(kl_client *client,
                                          const kl_informer_options *options,
                                          kl_error *err);

/* One that is in no factory, with one user: for a source of one's own. Takes
 * the shared informer when it succeeds; NULL: out of memory. */
kl__shared_use *kl__shared_use_alone(kl__shared_informer *informer);

/* One user less; the last one stops it. Thread-safe. */
void kl__shared_use_close(kl__shared_use *use);

/* Borrowed while in use. */
kl__shared_informer *kl__shared_use_informer(const kl__shared_use *use);

/* True if its objects have their metadata only. */
bool kl__shared_use_is_metadata_only(const kl__shared_use *use);

#endif
