/*
 * catalogue.h - all resources that a server said it serves, in its order of
 * preference: from a name as people type it to a resource. Immutable once it
 * is filled, reference-counted, so that a lookup never waits for a refresh.
 */
#ifndef KL_API_CATALOGUE_H
#define KL_API_CATALOGUE_H

#include "base/buf.h"
#include "object/resource.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Where a text begins in a catalogue's texts. */
typedef uint32_t kl__text_at;

typedef struct kl__entry {
    kl__text_at group, version, plural, singular, kind;
    kl__text_at short_names; /* so many texts, one after the other */
    uint32_t short_count;
    bool namespaced;
    bool watchable; /* both list and watch are among its verbs */
    bool stale;     /* the server had no fresh answer of who serves it */
} kl__entry;

typedef struct kl__catalogue {
    atomic_int refs;    /* acquire-release: the last one frees */
    kl__buf texts;      /* each with its NUL */
    kl__entry *entries; /* preferred groups and versions first */
    size_t count;
    size_t capacity;
    kl__buf unreachable; /* "metrics.k8s.io/v1beta1, ...": not answered for */
} kl__catalogue;

/* What is known of a resource when it is added; NULL reads as "". */
typedef struct kl__listing {
    const char *group, *version, *plural, *singular, *kind;
    bool namespaced;
    bool watchable;
    bool stale;
} kl__listing;

/* One reference for the caller; NULL when out of memory. */
kl__catalogue *kl__catalogue_new(void);
kl__catalogue *kl__catalogue_ref(kl__catalogue *catalogue);
void kl__catalogue_unref(kl__catalogue *catalogue); /* NULL is fine */

/* Fill it: in the server's order. The short names of the entry that was added
 * last follow it. KL_ENOMEM, KL_ETOO_LARGE. */
kl_code kl__catalogue_add(kl__catalogue *catalogue, const kl__listing *listing,
                          kl_error *err);
kl_code kl__catalogue_add_short(kl__catalogue *catalogue, const char *name,
                                kl_error *err);
/* A group and version that the server has, but could not tell about. */
kl_code kl__catalogue_add_unreachable(kl__catalogue *catalogue,
                                      const char *group, const char *version,
                                      kl_error *err);

/* The text at a place; borrowed from the catalogue. */
const char *kl__catalogue_text(const kl__catalogue *catalogue, kl__text_at at);

/* The entry that a name means, as kubectl reads names, or NULL: unknown. */
const kl__entry *kl__catalogue_find(const kl__catalogue *catalogue,
                                    const char *name);

/* Copies an entry; `resource` is the caller's. False: out of memory. */
bool kl__catalogue_resource(const kl__catalogue *catalogue,
                            const kl__entry *entry, kl__resource *resource);

/* Fills `err` with KL_EUNKNOWN_KIND for a name that is not in it: the nearest
 * names, what could not be asked, and the remedy. Returns the code. */
kl_code kl__catalogue_unknown(const kl__catalogue *catalogue, const char *name,
                              kl_error *err);

/* The part of a name that names the resource ("deployments" of
 * "apps/v1/deployments" and of "deployments.apps"): where it begins in `name`,
 * and its length; 0 if it is no name at all. */
const char *kl__resource_word(const char *name, size_t *length);

/* The same for the group: "example.com" of "foos.example.com". */
const char *kl__resource_group(const char *name, size_t *length);

/* True if the server serves a group that is called so, or begins so. */
bool kl__catalogue_has_group(const kl__catalogue *catalogue, const char *group,
                             size_t length);

#endif
