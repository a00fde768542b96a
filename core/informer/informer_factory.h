/*
 * informer_factory.h - the shared informers of a client: the same resource,
 * scope and selectors are watched once, however the resource's name is spelt.
 */
#ifndef KL_INFORMER_INFORMER_FACTORY_H
#define KL_INFORMER_INFORMER_FACTORY_H

#include "informer/shared_informer.h"
#include "object/prune.h"

/* A shared informer in use, with the number of its users. */
typedef struct kl__shared_use kl__shared_use;

/*
 * Finds the shared informer of that resource, scope and selectors, or starts
 * it; adds a user. Page size, idle timeout, compression and streaming are
 * those of the first user. NULL: KL_EINVAL, KL_ENOMEM, KL_EIO, KL_ECLOSED.
 * Thread-safe.
 */
kl__shared_use *kl__informer_factory_open(kl_client *client,
                                          const kl_informer_options *options,
                                          kl_error *err);

/* The same for a shared informer that is in no factory. Takes it when it
 * succeeds; NULL: out of memory. */
kl__shared_use *kl__shared_use_alone(kl__shared_informer *informer);

/* Removes a user; the last one stops the shared informer. Thread-safe. */
void kl__shared_use_close(kl__shared_use *use);

/* Borrowed until kl__shared_use_close. */
kl__shared_informer *kl__shared_use_informer(const kl__shared_use *use);

/* What its shard is of. */
kl_shard_by kl__shared_use_shard_by(const kl__shared_use *use);

/* True if its shard can be changed. */
bool kl__shared_use_has_ring(const kl__shared_use *use);

/* True if its objects have only their metadata. */
bool kl__shared_use_is_metadata_only(const kl__shared_use *use);

/* What is removed from its objects; NULL: nothing. Borrowed while in use. */
const kl__prune *kl__shared_use_prune(const kl__shared_use *use);

/* Fills in group, version and resource, if they are known. Thread-safe. */
void kl__shared_use_names(const kl__shared_use *use,
                          kl__informer_figures *figures);

#endif
