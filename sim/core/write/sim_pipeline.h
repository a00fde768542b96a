/*
 * sim_pipeline.h - a write: the way of one object from a request to the store.
 * A verb (create, update, patch, apply) opens the write and makes the object's
 * new tree. Then all stages of sim_write.c run on that tree. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_PIPELINE_H
#define KL_SIM_PIPELINE_H

#include "sim/core/json/edit.h"
#include "sim/core/schema/field_errors.h"
#include "sim/core/schema/schema_check.h"
#include "sim/core/answer/sim_answer.h"
#include "sim/core/answer/sim_status.h"

#include <string.h>

typedef enum kl__sim_operation {
    KL__SIM_CREATE,
    KL__SIM_UPDATE,
    KL__SIM_PATCH
} kl__sim_operation;

typedef struct kl__sim_write {
    kl__sim_answer *answer;
    /* the resource that stores the object; the stored kind is its kind */
    kl__sim_resource *resource;
    /* the request's kind; for an Event it can be that of the other group */
    const kl__sim_kind *kind;
    const kl__sim_version *served; /* the version in the request's path */
    kl__sim_operation operation;
    const char *subresource; /* "" for the object itself */
    kl__sim_state *old;      /* a reference; NULL: the object is new */
    /* the tree of `old`, which must not be changed; NULL if new */
    kl__edit *before;
    kl__edit *edit;          /* the new object; stages change it */
    bool says_status;        /* the request has a status */
    bool forgets_managers;   /* the request empties managedFields */
    bool is_tracked;         /* `managed` has been computed */
    kl__node *managed;       /* the new managedFields, of `edit`; NULL: none */
    kl__findings sent;       /* findings of strict decoding in the patch */
    kl__sim_status invalid;  /* causes of a 422, answered after validation */
    kl__field_errors errors; /* more causes; the 422 lists them after those */
    /* Writes the answer, for a subresource whose answer is not the object; else
     * NULL. */
    kl_code (*present)(struct kl__sim_write *write, int status,
                       const kl__sim_view *view, const kl__sim_state *state,
                       kl_error *err);
} kl__sim_write;

/* Begins a write of the request's object. The caller calls kl__sim_write_close
 * in any case. */
void kl__sim_write_open(kl__sim_write *write, kl__sim_answer *answer,
                        kl__sim_resource *resource,
                        const kl__sim_version *served);
void kl__sim_write_close(kl__sim_write *write);

/* Sets `old` and `before` to the object that the path names; answers 404 if
 * there is none. */
kl_code kl__sim_write_find(kl__sim_write *write, kl_error *err);

/* sim_patch.c. The first refuses a patch of a type that the kind does not take.
 * The second makes `edit`: a copy of `before` to which the patch is applied. */
kl_code kl__sim_patch_check(kl__sim_write *write, kl_error *err);
kl_code kl__sim_patch_apply(kl__sim_write *write, kl_error *err);

/* A step changes the write; or it answers the request, which ends the write; or
 * it fails. */
typedef kl_code (*kl__sim_step)(kl__sim_write *write, kl_error *err);
/* Runs steps until one has answered or failed. */
kl_code kl__sim_write_steps(kl__sim_write *write, const kl__sim_step *steps,
                            size_t count, kl_error *err);

/* Runs all stages on `write->edit`; the last stage answers. */
kl_code kl__sim_write_run(kl__sim_write *write, kl_error *err);

/* True while there is no answer yet. */
static inline bool kl__sim_write_goes_on(const kl__sim_write *write)
{
    return write->answer->status == 0;
}

static inline kl__node *kl__sim_write_root(const kl__sim_write *write)
{
    return kl__edit_root(write->edit);
}

static inline kl__node *kl__sim_write_metadata(const kl__sim_write *write)
{
    return kl__node_get(kl__sim_write_root(write), "metadata");
}

/* The object before the write; NULL: it is new. */
static inline const kl__node *kl__sim_write_old(const kl__sim_write *write)
{
    return write->before != NULL ? kl__edit_root(write->before) : NULL;
}

static inline bool kl__sim_write_is_custom(const kl__sim_write *write)
{
    return kl__sim_kind_is(write->kind, KL__SIM_CUSTOM);
}

/* True for a write of status. */
static inline bool kl__sim_write_is_status(const kl__sim_write *write)
{
    return strcmp(write->subresource, "status") == 0;
}

/* --- Stages. They are steps, and fail with KL_ENOMEM. The table in
 * sim_write.c has their order. */

/* sim_decode.c: makes a tree of the body. No stage: create and update call
 * it. */
kl_code kl__sim_decode(kl__sim_write *write, kl_error *err);
/* sim_fields.c: decodes an object of a built-in kind as Go does: checks types,
 * finds unknown and repeated fields, sets defaults. */
kl_code kl__sim_decode_fields(kl__sim_write *write, kl_error *err);
/* sim_identity.c: checks name, namespace, UID and version. */
kl_code kl__sim_identify(kl__sim_write *write, kl_error *err);
/* sim_identity.c: refuses a new object if its namespace does not exist or is
 * being deleted. A load creates the namespace (KL_EINVAL: invalid name). */
kl_code kl__sim_enter_namespace(kl__sim_write *write, kl_error *err);
/* sim_track.c: sets `forgets_managers`, before later stages remove the empty
 * managedFields. */
kl_code kl__sim_note_managers(kl__sim_write *write, kl_error *err);
/* sim_prepare.c: sets the fields that only the server may set, whatever the
 * request has there. */
kl_code kl__sim_prepare(kl__sim_write *write, kl_error *err);
/* sim_validate.c: validates the object; answers 422 with all causes. */
kl_code kl__sim_validate(kl__sim_write *write, kl_error *err);
/* sim_track.c: computes `managed`: the write's manager gets the fields that
 * have changed. */
kl_code kl__sim_track(kl__sim_write *write, kl_error *err);
/* sim_track.c: converts from the request's version to the stored one. */
kl_code kl__sim_convert_fields(kl__sim_write *write, kl_error *err);
/* sim_fields.c: gives the tree the form in which Go writes the object: adds or
 * removes empty fields. */
kl_code kl__sim_encode_fields(kl__sim_write *write, kl_error *err);
/* sim_track.c: sets managedFields to `managed`. */
kl_code kl__sim_keep_track(kl__sim_write *write, kl_error *err);
/* sim_commit.c: stores the new state and answers with it. */
kl_code kl__sim_conclude(kl__sim_write *write, kl_error *err);

/* --- Parts of stages. ----------------------------------------------------- */

/* sim_validate.c: adds errors for changes of metadata that an update
 * cannot make. Called before these members get their old values back. */
void kl__sim_check_kept(kl__sim_write *write);

/* --- Helpers for stages. -------------------------------------------------- */

static inline kl_code kl__sim_no_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for an object");
}

/* sim_track.c: converts `edit`, a copy of the stored object, to the
 * request's version. */
kl_code kl__sim_show_served(kl__sim_write *write, kl_error *err);
/* sim_fields.c: gives the tree of a stored object the form in which Go writes
 * it. */
kl_code kl__sim_encode_stored(const kl__sim_kind *stored, kl__edit *edit,
                              kl_error *err);
/* sim_fields.c: sets the defaults of the stored version. */
kl_code kl__sim_complete_stored(kl__sim_write *write, kl_error *err);

#endif
