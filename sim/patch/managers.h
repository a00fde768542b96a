/*
 * managers.h - metadata.managedFields: who set which fields of an object. What
 * a write makes of them, and server-side apply, by the rules of apimachinery's
 * managedfields of 1.36.
 */
#ifndef KL_PATCH_MANAGERS_H
#define KL_PATCH_MANAGERS_H

#include "sim/json/edit.h"
#include "sim/schema/schema.h"

/* One who manages fields; texts are borrowed. */
typedef struct kl__manager {
    const char *name;
    const char *api_version;
    const char *subresource; /* "": none */
    const char *time;        /* NULL: none */
    bool applies;            /* operation Apply; else Update */
    kl__node *fields;
} kl__manager;

typedef struct kl__managers {
    kl__manager *items;
    size_t count;
    size_t capacity;
} kl__managers;

void kl__managers_deinit(kl__managers *managers);

/* Takes entries in: `list` is of the document, and is used up. `given`: by a
 * client, to be made canonical. KL_EPARSE: not one of them counts; KL_ENOMEM.
 * It is to be deinited whatever comes. */
kl_code kl__managers_read(kl__managers *managers, kl__edit *edit,
                          kl__node *list, bool given, kl_error *err);
/* Those of the same name, operation, version and subresource, or NULL. */
kl__manager *kl__managers_find(const kl__managers *managers,
                               const kl__manager *like);
/* Adds one; NULL: no memory. */
kl__manager *kl__managers_add(kl__managers *managers, const kl__manager *added);
void kl__managers_drop(kl__managers *managers, kl__manager *dropped);
/* Drops those who manage fields of another group: kube-apiserver does that with
 * versions that it cannot convert to. */
void kl__managers_drop_foreign(kl__managers *managers, const char *api_version);
/* Less than 0 where the first is older; of one time, by what they are called.
 */
int kl__manager_compare_age(const kl__manager *a, const kl__manager *b);
/* managers_cap.c: merges the oldest who update, those of a version each, into
 * "ancient-changes" until ten are left. */
bool kl__managers_cap(kl__managers *managers, kl__edit *edit);
/* The entries in their order; NULL: no memory. */
kl__node *kl__managers_write(kl__managers *managers, kl__edit *edit);

/* Whether a list of entries says to forget them all: [] or [{}]. */
bool kl__managers_are_reset(const kl__node *list);

/* A write and who makes it. Texts are borrowed and live as the document. */
typedef struct kl__author {
    kl__edit *edit; /* of what is written, and of what comes out */
    const kl__schema *schema;
    const char *api_version; /* of the request: "apps/v1" */
    const char *name;
    const char *subresource; /* "": none */
    const char *now;         /* RFC 3339 */
    bool forgets;            /* the request empties managedFields */
    const kl__node *ignored; /* fields that the write does not reach; NULL */
    const kl__node *nothing; /* what a new object is compared with: one in which
                              * nothing is set; NULL: with none */
} kl__author;

/* What a create (`live` is NULL), update or patch makes of managedFields: takes
 * them out of `object`; `*managed` is the new list, NULL where there is none.
 * KL_ENOMEM. */
kl_code kl__track_update(const kl__author *author, const kl__node *live,
                         kl__node *object, kl__node **managed, kl_error *err);

/* A field that another manages. */
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
/* "Apply failed with 1 conflict: ..."; NULL: no memory. For kl__free. */
char *kl__conflicts_text(const kl__conflicts *conflicts);

/* What server-side apply makes of an object. */
typedef struct kl__applied {
    kl__node *object;  /* of the author's document, without managedFields */
    kl__node *managed; /* NULL: none */
    bool is_changed;   /* the object itself */
    kl__conflicts conflicts;
} kl__applied;

/* Applies a configuration to `live` (NULL: to nothing). KL_ECONFLICT: see the
 * conflicts; KL_EINVAL: it cannot be applied, the message says why; KL_ENOMEM.
 * The caller deinits the conflicts. */
kl_code kl__track_apply(const kl__author *author, const kl__node *live,
                        const kl__node *config, bool force,
                        kl__applied *applied, kl_error *err);

/* --- Scale: scale_managers.c. --------------------------------------------- */

#define KL__SCALE_VERSION "autoscaling/v1"
#define KL__SCALE_PATH ".spec.replicas"

/* Where objects of a version have what their scale changes. */
typedef struct kl__scale_path {
    const char *api_version; /* NULL ends a list of them */
    const char *path;        /* ".spec.replicas"; NULL: it has no scale */
} kl__scale_path;

/* The entries of an object's list as they are in its scale: of those who manage
 * the field. `*scale` is NULL where there are none. KL_ENOMEM. */
kl_code kl__managers_to_scale(kl__edit *edit, const kl__node *list,
                              const kl__scale_path *paths, kl__node **scale,
                              kl_error *err);

typedef struct kl__scale_lists {
    const kl__node *parent; /* of the object, as it was */
    const kl__node *scale;  /* of its scale, as it is now */
} kl__scale_lists;

/* And back: the object's list after its scale was written through a version.
 * `*managed` is NULL where it is empty. KL_ENOMEM. */
kl_code kl__managers_from_scale(kl__edit *edit, const kl__scale_lists *lists,
                                const kl__scale_path *paths,
                                const char *api_version, kl__node **managed,
                                kl_error *err);

/* Shared by both. Takes from each manager but `self` what a write changed and
 * took out; some may be left with nothing. */
void kl__managers_yield(kl__managers *managers, const kl__manager *self,
                        const kl__node *changed, const kl__node *removed);
/* Takes out what nobody manages: name, uid, version, ... */
void kl__managers_strip(kl__node *fields);
void kl__managers_drop_idle(kl__managers *managers);

#endif
