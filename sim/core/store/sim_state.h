/*
 * sim_state.h - a state: one version of one object as JSON text, made once. All
 * lists and watches share this text; kind, apiVersion and resourceVersion are
 * replaced while the text is copied out.
 */
#ifndef KL_SIM_STATE_H
#define KL_SIM_STATE_H

#include "base/buf.h"
#include "sim/core/kinds/sim_kinds.h"

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
    char *text; /* compact JSON: kind and apiVersion, metadata, all others */
    size_t length;
    size_t head;       /* offset of "metadata" */
    size_t rest;       /* offset of the comma or brace after metadata's value */
    size_t version_at; /* offset of the digits of metadata.resourceVersion */
    size_t version_length;
    kl_doc *labels; /* metadata.labels; NULL: none */
    /* for each of metadata.ownerReferences: 'b' (blockOwnerDeletion) or '-',
     * then the UID and a NUL; an empty text ends them. NULL: no owners */
    char *owners;
    bool deleting; /* it has a deletionTimestamp */
    bool awaits;   /* deleting, and waits for the garbage collector */
    bool ready;    /* its condition Ready is "True" */
    kl_doc *doc;   /* the parsed text, after kl__sim_state_root; else NULL */
    size_t field_count;
    char *fields[]; /* the values of kind->fields, in that order */
} kl__sim_state;

/* Makes a state of a text that kl__sim_compose has written; takes `text`, also
 * when it fails. One reference for the caller; NULL: KL_ENOMEM. */
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

/* The parsed text, borrowed from the state. The state keeps it, which takes
 * memory: call this only for kinds with few and small objects. NULL: KL_ENOMEM.
 * The cluster's mutex is held. */
const kl_value *kl__sim_state_root(kl__sim_state *state, kl_error *err);

/* True if two states of an object have the same text, except for the
 * version. */
bool kl__sim_state_says(const kl__sim_state *a, const kl__sim_state *b);

/* How to write a state for a request. */
typedef struct kl__sim_view {
    const kl__sim_kind *kind;
    const char *api_version; /* the request's version: "v1", not "apps/v1" */
    bool bare; /* without kind and apiVersion, as in lists of built-in kinds */
    int64_t version; /* write this resourceVersion; 0: the state's own */
} kl__sim_view;

/* Appends the object as the view describes it; the schema of the state is
 * already that of the view's version. When memory runs out, `out` keeps the
 * failure. */
void kl__sim_state_write(const kl__sim_state *state, const kl__sim_view *view,
                         kl__buf *out);

/* Appends the value of the object's metadata, for a PartialObjectMetadata;
 * `version` as in a view. */
void kl__sim_state_write_metadata(const kl__sim_state *state, int64_t version,
                                  kl__buf *out);

/* Appends the start of an object: `{"kind":"Pod","apiVersion":"v1",`. In an
 * object of a custom kind, apiVersion comes first. */
void kl__sim_write_head(const kl__sim_kind *kind, const char *api_version,
                        kl__buf *out);

#endif
