/*
 * sim_pipeline.h - a write on its way from a request to the store. The verbs
 * open one and give it the object as it is to be; then it goes through the
 * stages of sim_pipeline.c, each a function of a file of its own. The cluster's
 * mutex is held.
 */
#ifndef KL_SIM_PIPELINE_H
#define KL_SIM_PIPELINE_H

#include "sim/json/edit.h"
#include "sim/schema/field_errors.h"
#include "sim/schema/schema_check.h"
#include "sim/answer/sim_answer.h"
#include "sim/answer/sim_status.h"

typedef enum kl__sim_operation {
    KL__SIM_CREATE,
    KL__SIM_UPDATE,
    KL__SIM_PATCH
} kl__sim_operation;

typedef struct kl__sim_write {
    kl__sim_answer *answer;
    kl__sim_resource *resource;    /* its kind is the one that is stored */
    const kl__sim_kind *kind;      /* of the request: of another group, maybe */
    const kl__sim_version *served; /* of the request */
    kl__sim_operation operation;
    const char *subresource; /* "": the object itself */
    kl__sim_state *old;      /* a reference; NULL: the object is new */
    kl__edit *before;        /* its tree, not to be changed; NULL likewise */
    kl__edit *edit;          /* what it is to be; stages change it */
    bool generates;          /* the server made its name up */
    bool says_status;        /* the request's object has one */
    bool forgets_managers;   /* the request empties managedFields */
    bool is_tracked;         /* `managed` is what managedFields are to be */
    kl__node *managed;       /* of `edit`; NULL: none */
    kl__findings sent;       /* what strict decoding found in the patch */
    kl__sim_status invalid;  /* causes of a 422; answered after validation */
    kl__field_errors errors; /* more of them, which come after those */
    /* Answers with the new state, where that is not the object itself. */
    kl_code (*present)(struct kl__sim_write *write, int status,
                       const kl__sim_view *view, const kl__sim_state *state,
                       kl_error *err);
} kl__sim_write;

/* Begins a write of the request's object; owes kl__sim_write_close whatever
 * comes. */
void kl__sim_write_open(kl__sim_write *write, kl__sim_answer *answer,
                        kl__sim_resource *resource,
                        const kl__sim_version *served);
void kl__sim_write_close(kl__sim_write *write);

/* Finds the object that the path names, and its tree. Without one the answer is
 * a 404. */
kl_code kl__sim_write_find(kl__sim_write *write, kl_error *err);

/* sim_patch.c: whether the request's patch is one that the kind takes; and
 * makes `write->edit` of what was before and the patch. */
kl_code kl__sim_patch_check(kl__sim_write *write, kl_error *err);
kl_code kl__sim_patch_apply(kl__sim_write *write, kl_error *err);

/* A step changes the write, or answers, which ends it; or fails. */
typedef kl_code (*kl__sim_step)(kl__sim_write *write, kl_error *err);
/* Takes one step after the other, until one has answered or failed. */
kl_code kl__sim_write_steps(kl__sim_write *write, const kl__sim_step *steps,
                            size_t count, kl_error *err);

/* Sends `write->edit` through all stages; they end with the answer. */
kl_code kl__sim_write_run(kl__sim_write *write, kl_error *err);

/* Whether nothing has been answered yet. */
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

/* The object as it was, or NULL. */
static inline const kl__node *kl__sim_write_old(const kl__sim_write *write)
{
    return write->before != NULL ? kl__edit_root(write->before) : NULL;
}

static inline bool kl__sim_write_is_custom(const kl__sim_write *write)
{
    return kl__sim_kind_is(write->kind, KL__SIM_CUSTOM);
}

/* Whether it is one of status. */
bool kl__sim_write_is_status(const kl__sim_write *write);

/* --- Stages. A stage changes the write, or answers (which ends it), or fails:
 * KL_ENOMEM. In the order in which they run. ------------------------------- */

/* sim_decode.c: the body as a tree; the verbs of create and update call it. */
kl_code kl__sim_decode(kl__sim_write *write, kl_error *err);
/* sim_custom.c: a custom object by its schema: unknown fields, nulls,
 * defaults. */
kl_code kl__sim_custom_shape(kl__sim_write *write, kl_error *err);
/* sim_fields.c: an object of a built-in kind as Go decodes it: types, unknown
 * and duplicate fields are found, and defaults put in. */
kl_code kl__sim_decode_fields(kl__sim_write *write, kl_error *err);
/* sim_identity.c: name and namespace, that of the path; UID and version. */
kl_code kl__sim_identify(kl__sim_write *write, kl_error *err);
/* sim_namespace.c: whether the namespace takes new objects. */
kl_code kl__sim_enter_namespace(kl__sim_write *write, kl_error *err);
/* sim_track.c: whether the request forgets who does, before that is dropped. */
kl_code kl__sim_note_managers(kl__sim_write *write, kl_error *err);
/* sim_admit.c: what admission sets, and what it does not let in. */
kl_code kl__sim_admit(kl__sim_write *write, kl_error *err);
/* sim_prepare.c: what the server sets and resets, whatever the request says. */
kl_code kl__sim_prepare(kl__sim_write *write, kl_error *err);
/* sim_validate.c: what no object may be; collects causes. */
kl_code kl__sim_validate(kl__sim_write *write, kl_error *err);
/* sim_admit.c: what admission does not let in of what is valid. */
kl_code kl__sim_admit_valid(kl__sim_write *write, kl_error *err);
/* sim_custom.c: what the version that is stored does not know is dropped. */
kl_code kl__sim_custom_convert(kl__sim_write *write, kl_error *err);
/* sim_track.c: who manages the fields that the request changes. */
kl_code kl__sim_track(kl__sim_write *write, kl_error *err);
/* sim_versions.c: from the request's version to the one that is stored. */
kl_code kl__sim_convert_fields(kl__sim_write *write, kl_error *err);
/* sim_fields.c: and as Go encodes it: what is empty goes, or comes. */
kl_code kl__sim_encode_fields(kl__sim_write *write, kl_error *err);
/* sim_track.c: managedFields, as they came out. */
kl_code kl__sim_keep_track(kl__sim_write *write, kl_error *err);
/* sim_commit.c: the new state, and the answer with it. */
kl_code kl__sim_conclude(kl__sim_write *write, kl_error *err);

/* --- Parts of stages. ----------------------------------------------------- */

/* sim_validate_metadata.c: what a request changes of metadata that stays as it
 * was; called before that is put back. */
void kl__sim_check_kept(kl__sim_write *write);
/* sim_validate_metadata.c: what is wrong with owners and finalizers. */
void kl__sim_check_metadata(kl__sim_write *write);
/* sim_custom.c: what the object was, as the request's version has it. */
kl_code kl__sim_custom_before(kl__sim_write *write, kl_error *err);
/* sim_custom_validate.c: what is wrong with a custom object by its schema. */
kl_code kl__sim_custom_validate(kl__sim_write *write, kl_error *err);

/* sim_crd.c: fills in what a definition leaves out, and its status. KL_ENOMEM.
 */
kl_code kl__sim_crd_complete(kl__sim_write *write, kl_error *err);
/* sim_crd.c: what is wrong with it, as errors of the write. KL_ENOMEM. */
kl_code kl__sim_crd_validate(kl__sim_write *write, kl_error *err);

/* --- For stages. ---------------------------------------------------------- */

static inline kl_code kl__sim_no_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for an object");
}

/* sim_versions.c: the stored object that `edit` begins with, in the request's
 * version. */
kl_code kl__sim_show_served(kl__sim_write *write, kl_error *err);
/* sim_fields.c: makes the tree of an object what Go writes of it. */
kl_code kl__sim_encode_stored(const kl__sim_kind *stored, kl__edit *edit,
                              kl_error *err);
/* sim_fields.c: what the stored version has defaults for. */
kl_code kl__sim_complete_stored(kl__sim_write *write, kl_error *err);

#endif
