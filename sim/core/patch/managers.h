/*
 * managers.h - metadata.managedFields: which manager has set which fields of an
 * object (docs/KUBERNETES.md#managed-fields). Functions that update this list
 * for every write, and carry out server-side apply, by the rules of
 * apimachinery 1.36.
 */
#ifndef KL_PATCH_MANAGERS_H
#define KL_PATCH_MANAGERS_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/schema.h"

/* A manager of fields; texts are borrowed. */
typedef struct kl__manager {
    const char *name;
    const char *api_version;
    const char *subresource; /* "": none */
    const char *time;        /* NULL: none */
    bool applies;            /* its operation is Apply; else Update */
    kl__node *fields;
} kl__manager;

typedef struct kl__managers {
    kl__manager *items;
    size_t count;
    size_t capacity;
} kl__managers;

void kl__managers_deinit(kl__managers *managers);

/* Reads the entries of `list`, a node of the document, which is used up.
 * `given`: a client has sent the list, so its sets are made canonical.
 * KL_EPARSE: an entry is malformed, and `managers` stays empty; KL_ENOMEM. The
 * caller deinits `managers`, whatever the result. */
kl_code kl__managers_read(kl__managers *managers, kl__edit *edit,
                          kl__node *list, bool given, kl_error *err);
/* The manager with the same name, operation, subresource and, unless its
 * operation is Apply, version; NULL: none. */
kl__manager *kl__managers_find(const kl__managers *managers,
                               const kl__manager *like);
/* Adds a manager; NULL: out of memory. */
kl__manager *kl__managers_add(kl__managers *managers, const kl__manager *added);
/* Drops managers of fields in another group, as kube-apiserver drops versions
 * to which it cannot convert. */
void kl__managers_drop_foreign(kl__managers *managers, const char *api_version);
/* The list of entries, in kube-apiserver's order; NULL: out of memory. */
kl__node *kl__managers_write(kl__managers *managers, kl__edit *edit);

/* True if a client's list asks the server to remove all entries: [] or [{}]. */
bool kl__managers_are_reset(const kl__node *list);

/* A write and its manager. Texts are borrowed and live as long as the
 * document. */
typedef struct kl__author {
    kl__edit *edit; /* the document of the write, and of the results */
    const kl__schema *schema;
    const char *api_version; /* the version of the request: "apps/v1" */
    const char *name;
    const char *subresource; /* "": none */
    const char *now;         /* RFC 3339 */
    bool forgets;            /* the request empties managedFields */
    const kl__node *ignored; /* fields that the write cannot change; or NULL */
    /* an object in which nothing is set: a new object is compared with it;
     * NULL: all fields of a new object count as changed */
    const kl__node *nothing;
} kl__author;

/* Updates managedFields for a create (`live` is NULL), update or patch: removes
 * the list from `object`; *managed is the new list, NULL if there is none.
 * KL_ENOMEM. */
kl_code kl__track_update(const kl__author *author, const kl__node *live,
                         kl__node *object, kl__node **managed, kl_error *err);

/* A field that another manager has. */
typedef struct kl__conflict {
    char *manager; /* `"x" using apps/v1` */
    char *path;    /* ".spec.replicas" */
} kl__conflict;

typedef struct kl__conflicts {
    kl__conflict *items;
    size_t count;
    size_t capacity;
} kl__conflicts;

void kl__conflicts_deinit(kl__conflicts *conflicts);
/* "Apply failed with 1 conflict: ..."; to be freed with kl__free. NULL: out of
 * memory. */
char *kl__conflicts_text(const kl__conflicts *conflicts);

/* The result of a server-side apply. */
typedef struct kl__applied {
    kl__node *object;  /* in the author's document, without managedFields */
    kl__node *managed; /* NULL: none */
    bool is_changed;   /* the object itself differs */
    kl__conflicts conflicts;
} kl__applied;

/* Applies a configuration to `live` (NULL: a new object). KL_ECONFLICT:
 * applied->conflicts lists them; KL_EINVAL: the configuration cannot be
 * applied, the message says why; KL_ENOMEM. The caller deinits
 * applied->conflicts. */
kl_code kl__track_apply(const kl__author *author, const kl__node *live,
                        const kl__node *config, bool force,
                        kl__applied *applied, kl_error *err);

/* For managers.c and apply.c: removes the changed and removed fields of a write
 * from every manager but `self`; a manager may then have no field. */
void kl__managers_yield(kl__managers *managers, const kl__manager *self,
                        const kl__node *changed, const kl__node *removed);
/* Removes fields that have no managers: name, uid, resourceVersion ... */
void kl__managers_strip(kl__node *fields);
void kl__managers_drop_idle(kl__managers *managers);

#endif
