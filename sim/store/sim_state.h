/*
 * sim_state.h - a state: one version of one object, serialized once. Any number
 * of lists and watches share its text, and splice in what differs.
 */
#ifndef KL_SIM_STATE_H
#define KL_SIM_STATE_H

#include "base/buf.h"
#include "sim/kinds/sim_kinds.h"

#include <stdatomic.h>
#include <stdint.h>

/* Immutable and reference-counted. */
typedef struct kl__sim_state {
    atomic_int refs; /* acquire-release: the last unref frees */
    int64_t version;
    int64_t written_ms; /* when it was stored, by the cluster's clock */
    /* "namespace/name" or "name"; sorted by strcmp, as in etcd */
    char *key;
    const char *name; /* points into key */
    char *uid;
    char *text; /* compact JSON: kind and apiVersion, metadata, the rest */
    size_t length;
    size_t head;       /* offset of "metadata" */
    size_t rest;       /* offset of the comma or brace after metadata's value */
    size_t version_at; /* offset of the digits of metadata.resourceVersion */
    size_t version_length;
    kl_doc *labels; /* metadata.labels; NULL: none */
    /* of metadata.ownerReferences, one after another: 'b' or '-'
     * (blockOwnerDeletion), the UID, NUL; NULL: none */
    char *owners;
    bool deleting; /* it has a deletionTimestamp */
    bool awaits;   /* deleted, and waits for the garbage collector */
    bool ready;    /* its condition Ready is "True" */
    kl_doc *doc;   /* the parsed text, once kl__sim_state_root was called */
    size_t field_count;
    char *fields[]; /* the values of kind->fields, in that order */
} kl__sim_state;

/* Takes `text` (also when it fails), which sim_compose.h made. One reference
 * for the caller; NULL: KL_ENOMEM. */
kl__sim_state *kl__sim_state_new(const kl__sim_kind *kind, char *text,
                                 size_t length, kl_error *err);
kl__sim_state *kl__sim_state_ref(kl__sim_state *state);
void kl__sim_state_unref(kl__sim_state *state); /* NULL is fine */

/* The length of the namespace, which is the start of the key; 0 for none. */
static inline size_t kl__sim_state_namespace(const kl__sim_state *state)
{
    return state->name > state->key ? (size_t)(state->name - state->key) - 1
                                    : 0;
}

/* The parsed text, kept from then on; borrowed from the state. For few and
 * small states. NULL: KL_ENOMEM. The cluster's mutex is held. */
const kl_value *kl__sim_state_root(kl__sim_state *state, kl_error *err);

/* True if two states of an object differ in their version only. */
bool kl__sim_state_says(const kl__sim_state *a, const kl__sim_state *b);

/* How to write a state for a request. */
typedef struct kl__sim_view {
    const kl__sim_kind *kind;
    const char *api_version; /* the version of the request: "v1" of "apps/v1" */
    bool bare; /* without kind and apiVersion, as in lists of built-in kinds */
    int64_t version; /* write this resourceVersion; 0: the state's own */
} kl__sim_view;

/* Appends the object as the view has it. */
void kl__sim_state_write(const kl__sim_state *state, const kl__sim_view *view,
                         kl__buf *out);

/* Appends the object's metadata as a PartialObjectMetadata; `version` as in a
 * view. */
void kl__sim_state_write_metadata(const kl__sim_state *state, int64_t version,
                                  kl__buf *out);

/* Appends the members kind and apiVersion, and a comma, in the order of that
 * kind (built-in or custom): `{"kind":"Pod","apiVersion":"v1",`. */
void kl__sim_write_head(const kl__sim_kind *kind, const char *api_version,
                        kl__buf *out);

#endif
