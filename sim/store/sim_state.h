/*
 * sim_state.h - one version of one object, serialized once: lists and watches
 * of any number share its text and splice in what differs.
 */
#ifndef KL_SIM_STATE_H
#define KL_SIM_STATE_H

#include "base/buf.h"
#include "sim/kinds/sim_kinds.h"

#include <stdatomic.h>
#include <stdint.h>

/* Immutable and reference-counted. */
typedef struct kl__sim_state {
    atomic_int refs; /* acquire-release: the last one frees */
    int64_t version;
    int64_t written_ms; /* when it became current, by the cluster's clock */
    char *key;        /* "namespace/name" or "name": etcd's order is strcmp's */
    const char *name; /* in key */
    char *uid;
    char *text; /* compact JSON: kind and apiVersion, metadata, the rest */
    size_t length;
    size_t head;       /* where "metadata" begins */
    size_t rest;       /* what is after its value: a comma or a brace */
    size_t version_at; /* where the digits of metadata.resourceVersion begin */
    size_t version_length;
    kl_doc *labels; /* metadata.labels; NULL: none */
    char *owners;   /* of metadata.ownerReferences, one after the other: 'b' or
                       '-' (blockOwnerDeletion), the UID, NUL; NULL: none */
    bool deleting;  /* it has a deletionTimestamp */
    bool awaits;    /* and waits for the garbage collector */
    bool ready;     /* its condition Ready is True */
    kl_doc *doc;    /* all of it, once kl__sim_state_root was asked */
    size_t field_count;
    char *fields[]; /* values of kind->fields, in their order */
} kl__sim_state;

/* Takes `text` (also when it fails), which compose.h made. One reference for
 * the caller; NULL: KL_ENOMEM. */
kl__sim_state *kl__sim_state_new(const kl__sim_kind *kind, char *text,
                                 size_t length, kl_error *err);
kl__sim_state *kl__sim_state_ref(kl__sim_state *state);
void kl__sim_state_unref(kl__sim_state *state); /* NULL is fine */

/* The namespace, `length` bytes of the key; 0 for none. */
static inline size_t kl__sim_state_namespace(const kl__sim_state *state)
{
    return state->name > state->key ? (size_t)(state->name - state->key) - 1
                                    : 0;
}

/* Its tree, which is kept from then on; borrowed from the state. For few and
 * small states. NULL: KL_ENOMEM. The cluster's mutex is held. */
const kl_value *kl__sim_state_root(kl__sim_state *state, kl_error *err);

/* Whether two states of the same object, but for the version, say the same. */
bool kl__sim_state_says(const kl__sim_state *a, const kl__sim_state *b);

/* How a state is to be shown. */
typedef struct kl__sim_view {
    const kl__sim_kind *kind;
    const char *api_version; /* of the request: "v1" of "apps/v1" */
    bool bare; /* without kind and apiVersion: in a list of a built-in kind */
    int64_t version; /* another resourceVersion; 0: its own */
} kl__sim_view;

/* Appends the object as the view has it. */
void kl__sim_state_write(const kl__sim_state *state, const kl__sim_view *view,
                         kl__buf *out);

/* Appends the object that is its metadata; `version` as in a view. */
void kl__sim_state_write_metadata(const kl__sim_state *state, int64_t version,
                                  kl__buf *out);

/* Appends the members kind and apiVersion with a comma after them, in the order
 * of that sort of kind: `{"kind":"Pod","apiVersion":"v1",`. */
void kl__sim_write_head(const kl__sim_kind *kind, const char *api_version,
                        kl__buf *out);

#endif
