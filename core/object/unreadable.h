/*
 * unreadable.h - an object of a list or watch whose text cannot be read: which
 * one it is, and why. It costs that object only: the reader of the stream hands
 * it on in the object's place, and goes on.
 */
#ifndef KL_OBJECT_UNREADABLE_H
#define KL_OBJECT_UNREADABLE_H

#include "base/list.h"
#include "base/map.h"
#include "json/remains.h"
#include "json/scan.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One block of memory. */
typedef struct kl__unreadable {
    const char *key;     /* "namespace/name", or "name" */
    const char *uid;     /* "": it is not known */
    const char *version; /* the same */
    const char *why;     /* "ConfigMap web/x cannot be read: ..." */
    /* The owner of a set uses these (informer/unread.h). */
    kl__list node;
    uint64_t number;
} kl__unreadable;

/* `remains` has a key; `why` says why the object of this kind cannot be read.
 * The caller owns it: kl__free. NULL: out of memory. */
kl__unreadable *kl__unreadable_new(const kl__remains *remains, const char *kind,
                                   const kl_error *why);

/* The same for a frame of that kind, whose object cannot be read as `err` says.
 * If it has no name, or is of another kind, no API server has sent it: then the
 * code of `err`, which stands for all of the answer; otherwise rubbish would be
 * taken for an empty list. KL_ENOMEM. */
kl_code kl__unreadable_of_frame(const kl__frame *frame, const char *kind,
                                kl__unreadable **made, kl_error *err);

/* True if an object of that UID may be the one that cannot be read. */
bool kl__unreadable_may_be(const kl__unreadable *unreadable, const char *uid);

/* Fills the error that handlers get: KL_EUNREADABLE. */
void kl__unreadable_error(const kl__unreadable *unreadable, kl_error *err);

/* A set by key, which owns what it holds. Zeroed: empty. */
typedef struct kl__unreadables {
    kl__map by_key;
} kl__unreadables;

/* Takes `added`, also when it fails; it replaces one of the same key. False:
 * out of memory. */
bool kl__unreadables_add(kl__unreadables *set, kl__unreadable *added);
/* Frees the one of that key, if there is one. */
void kl__unreadables_remove(kl__unreadables *set, const char *key);
kl__unreadable *kl__unreadables_find(const kl__unreadables *set,
                                     const char *key);
/* In no order; *cursor starts at 0; NULL at the end. */
kl__unreadable *kl__unreadables_next(const kl__unreadables *set,
                                     size_t *cursor);
void kl__unreadables_clear(kl__unreadables *set);

#endif
