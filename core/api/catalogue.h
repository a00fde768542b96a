/*
 * catalogue.h - the resources that a server serves, in its order of preference,
 * and the search for one by a name as people type it. It does not change once
 * it is filled, and is reference-counted: a lookup never waits for a refresh.
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

typedef struct kl__catalogue_entry {
    kl__text_at group, version, plural, singular, kind;
    kl__text_at short_names; /* short_count texts, one after the other */
    uint32_t short_count;
    bool namespaced;
    bool watchable; /* both list and watch are among its verbs */
    bool stale;     /* the server's information on it is old */
} kl__catalogue_entry;

/* A group and version that gave no answer in its time. */
typedef struct kl__hung {
    kl__text_at group, version;
    int64_t since_ms; /* when it was asked last, on the clock of discovery */
} kl__hung;

typedef struct kl__catalogue {
    atomic_int refs;              /* acquire-release: the last one frees */
    kl__buf texts;                /* each with its NUL */
    kl__catalogue_entry *entries; /* preferred groups and versions first */
    size_t count;
    size_t capacity;
    kl__buf unreachable; /* "metrics.k8s.io/v1beta1, ...": discovery failed for
                            them */
    kl__hung *hung;
    size_t hung_count;
    kl__buf asked; /* groups that were asked for by name, as the list of groups
                      did not have them: each with its NUL */
    bool is_partial; /* some versions had no time to answer, but may well do:
                        an unknown name is asked for again at once */
} kl__catalogue;

/* A resource to add; NULL reads as "". */
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

/* Adds a resource, in the server's order, and short names of the resource that
 * was added last. KL_ENOMEM, KL_ETOO_LARGE. */
kl_code kl__catalogue_add(kl__catalogue *catalogue, const kl__listing *listing,
                          kl_error *err);
kl_code kl__catalogue_add_short(kl__catalogue *catalogue, const char *name,
                                kl_error *err);
/* Adds a group and version that the server has, but for which discovery failed.
 */
kl_code kl__catalogue_add_unreachable(kl__catalogue *catalogue,
                                      const char *group, const char *version,
                                      kl_error *err);

/* The same for one that gave no answer, and when it was asked. */
kl_code kl__catalogue_add_hung(kl__catalogue *catalogue, const char *group,
                               const char *version, int64_t since_ms,
                               kl_error *err);

/* Notes that a group was asked for by its name, whatever the answer was; true
 * if it was. */
kl_code kl__catalogue_note_asked(kl__catalogue *catalogue, const char *group,
                                 kl_error *err);
bool kl__catalogue_was_asked(const kl__catalogue *catalogue, const char *group,
                             size_t length);

/* When a version that hung was asked; -1: it did not hang. `catalogue` NULL:
 * nothing is known. */
int64_t kl__catalogue_hung_ms(const kl__catalogue *catalogue, const char *group,
                              const char *version);

/* Adds what `former` (NULL: nothing) has of a group and version. KL_ENOMEM,
 * KL_ETOO_LARGE. */
kl_code kl__catalogue_keep(kl__catalogue *catalogue,
                           const kl__catalogue *former, const char *group,
                           const char *version, kl_error *err);

/* The text at a position; borrowed from the catalogue. */
const char *kl__catalogue_text(const kl__catalogue *catalogue, kl__text_at at);

/* Finds the entry of a name, read as kubectl does; NULL: unknown. */
const kl__catalogue_entry *kl__catalogue_find(const kl__catalogue *catalogue,
                                              const char *name);

/* Copies an entry to `resource`, which the caller clears. False: out of memory.
 */
bool kl__catalogue_resource(const kl__catalogue *catalogue,
                            const kl__catalogue_entry *entry,
                            kl__resource *resource);

/* Fills `err` with KL_EUNKNOWN_KIND for a name that is not in the catalogue:
 * the message has the nearest names, the groups for which discovery failed, and
 * the remedy. Returns the code. */
kl_code kl__catalogue_unknown(const kl__catalogue *catalogue, const char *name,
                              kl_error *err);

/* The part of a name that is the resource ("deployments" in
 * "apps/v1/deployments" and in "deployments.apps"): where it begins in `name`,
 * and its length; 0: it is no valid name. */
const char *kl__resource_word(const char *name, size_t *length);

/* The same for the group: "example.com" of "foos.example.com". */
const char *kl__resource_group(const char *name, size_t *length);

/* The group in `name`, if nothing is known of it, as with kl__resource_group:
 * the server has neither it nor one whose name begins so, and its discovery has
 * not failed. Length 0: it is known, is no DNS name with a dot, or there is
 * none. */
const char *kl__catalogue_missing_group(const kl__catalogue *catalogue,
                                        const char *name, size_t *length);

/* True if the server serves a group of that name, or one whose name begins with
 * these letters: "networking" for "networking.k8s.io". */
bool kl__catalogue_has_group(const kl__catalogue *catalogue, const char *group,
                             size_t length);

#endif
