/*
 * unread.h - the objects of an informer's server that cannot be read at the
 * moment. The processor owns one; its distribute lock guards it. The cache
 * keeps the former state of such an object, as a delete would say that the
 * object is gone, which it is not.
 */
#ifndef KL_INFORMER_UNREAD_H
#define KL_INFORMER_UNREAD_H

#include "cache/indexer.h"
#include "kubelua/informer.h"
#include "object/unreadable.h"

typedef struct kl__unread {
    kl__unreadables set;
    kl__list by_number; /* what `set` has, the latest last */
    uint64_t last;      /* the highest number that was given */
} kl__unread;

void kl__unread_init(kl__unread *unread);
void kl__unread_deinit(kl__unread *unread);

static inline size_t kl__unread_count(const kl__unread *unread)
{
    return unread->set.by_key.count;
}

/* Makes room for one more: put cannot fail then. False: out of memory. */
bool kl__unread_reserve(kl__unread *unread);
/* Takes `added`. It has a new number, unless the same object was there for the
 * same reason: handlers know that already. */
void kl__unread_put(kl__unread *unread, kl__unreadable *added);
/* The object of that key can be read again, or is gone. */
void kl__unread_forget(kl__unread *unread, const char *key);
/* Takes the contents of `set`, which has all that cannot be read now. */
void kl__unread_replace(kl__unread *unread, kl__unreadables *set);

/* The first one that has a higher number than `number`, or NULL. */
const kl__unreadable *kl__unread_after(const kl__unread *unread,
                                       uint64_t number);
/* The one with the next higher number, or NULL. */
const kl__unreadable *kl__unread_next(const kl__unread *unread,
                                      const kl__unreadable *each);

/* Copies them into `list`: see kl_informer_unreadable. KL_ENOMEM. */
kl_code kl__unread_list(const kl__unread *unread, kl__indexer *cache,
                        kl_unreadable_list *list);

#endif
