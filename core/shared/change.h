/*
 * change.h - a put or a removal of an entry, as the owner keeps it: it contains
 * the block that is copied into a slot, made without any lock held.
 */
#ifndef KL_SHARED_CHANGE_H
#define KL_SHARED_CHANGE_H

#include "kubelua/shared_write.h"
#include "shared/layout.h"

typedef enum kl__change_kind {
    KL__CHANGE_PUT,
    KL__CHANGE_REMOVE,
    KL__CHANGE_RENEW,   /* `name` is a table's: all its entries are left over */
    KL__CHANGE_COMPLETE /* of that table: what is left over is removed */
} kl__change_kind;

/* One allocation (kl__free). A put becomes the entry when it is applied. The
 * block of any other kind ends after the name. */
typedef struct kl__shared_change {
    struct kl__shared_change
        *next; /* in the list of changes for the next publish */
    kl__change_kind kind;
    bool is_left;    /* of a former owner, or before a renewal of the table, and
                        not put again since */
    bool is_out;     /* an entry that is not published, as it does not fit */
    bool is_refused; /* no entry, but the name of what cannot be one; its value
                        is the reason, with a NUL behind it */
    uint32_t name_length;
    uint32_t words; /* length of the block */
    uint64_t block[];
} kl__shared_change;

static inline const char *kl__change_name(const kl__shared_change *change)
{
    return (const char *)&change->block[KL__BLOCK_HEAD];
}

/* Endpoints in the order that they have in an entry, made once for all the
 * names of a port: one allocation (kl__free), which borrows the endpoints'
 * texts. */
typedef struct kl__ranking kl__ranking;

/* NULL: the errors of kl_shared_put_endpoints, except KL_ECLOSED. */
kl__ranking *kl__ranking_new(const kl_endpoint *endpoints, size_t count,
                             kl_error *err);

/* Make the change of a public call of shared_write.h. NULL: KL_ENOMEM, and the
 * errors of that call. */
kl__shared_change *kl__change_put(const kl_shared_key *key, const void *value,
                                  size_t size, kl_error *err);
kl__shared_change *kl__change_put_endpoints(const kl_shared_key *key,
                                            const kl_endpoint *endpoints,
                                            size_t count, kl_error *err);
kl__shared_change *kl__change_put_ranking(const kl_shared_key *key,
                                          const kl__ranking *ranking,
                                          kl_error *err);
kl__shared_change *kl__change_remove(const kl_shared_key *key, kl_error *err);
kl__shared_change *kl__change_refuse(const kl_shared_key *key, const char *why,
                                     kl_error *err);
kl__shared_change *kl__change_complete(const char *table, kl_error *err);

/* Makes a change with room for `words` words, which the caller fills; NULL:
 * KL_ENOMEM. */
kl__shared_change *kl__change_new(kl__change_kind kind, size_t words,
                                  kl_error *err);

#endif
