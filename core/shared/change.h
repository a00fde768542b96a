/*
 * change.h - a change of an entry, as the owner keeps it: the block that goes
 * into a slot as it is, made outside of all locks.
 */
#ifndef KL_SHARED_CHANGE_H
#define KL_SHARED_CHANGE_H

#include "kubelua/shared_write.h"
#include "shared/layout.h"

typedef enum kl__change_kind {
    KL__CHANGE_PUT,
    KL__CHANGE_REMOVE,
    KL__CHANGE_COMPLETE /* the name is that of a table */
} kl__change_kind;

/* One allocation (kl__free). A put that is applied is the entry from then on.
 * The block of another kind ends after the name. */
typedef struct kl__change {
    struct kl__change *next; /* in what waits for the next publish */
    kl__change_kind kind;
    bool is_left; /* an entry of an owner before */
    uint32_t name_length;
    uint32_t words; /* of the block */
    uint64_t block[];
} kl__change;

static inline const char *kl__change_name(const kl__change *change)
{
    return (const char *)&change->block[KL__BLOCK_HEAD];
}

/* NULL: KL_ENOMEM, and what the public calls say. */
kl__change *kl__change_put(const kl_shared_key *key, const void *value,
                           size_t size, kl_error *err);
kl__change *kl__change_put_endpoints(const kl_shared_key *key,
                                     const kl_endpoint *endpoints, size_t count,
                                     kl_error *err);
kl__change *kl__change_remove(const kl_shared_key *key, kl_error *err);
kl__change *kl__change_complete(const char *table, kl_error *err);

/* One of that name, with room for a value of so many words, which is zeroed. */
kl__change *kl__change_of_key(kl__change_kind kind, const kl_shared_key *key,
                              size_t value_words, kl_error *err);

/* An entry with `words` words, to be copied into; NULL: KL_ENOMEM. */
kl__change *kl__change_new(kl__change_kind kind, size_t words, kl_error *err);

#endif
