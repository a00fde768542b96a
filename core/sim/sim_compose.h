/*
 * sim_compose.h - the JSON text of an object out of what a request says and
 * what the server decides.
 */
#ifndef KL_SIM_COMPOSE_H
#define KL_SIM_COMPOSE_H

#include "kubelua/writer.h"
#include "sim/sim_kinds.h"
#include "sim/sim_state.h"

/* Everything is borrowed; NULL is none. */
typedef struct kl__sim_draft {
    const kl__sim_kind *kind;
    const kl_value *body;     /* all but kind, apiVersion, metadata, status */
    const kl_value *metadata; /* labels, annotations and what else is free */
    const kl_value *status;
    const char *name;
    const char *generate_name;
    const char *name_space;
    const char *uid;
    const char *created;   /* creationTimestamp */
    const char *deleted;   /* deletionTimestamp */
    int64_t grace_seconds; /* counts where `deleted` is set */
    int64_t generation;    /* 0: none */
    int64_t version;
} kl__sim_draft;

/* The state that a draft makes, in kube-apiserver's order of members: structs
 * for built-in kinds, sorted for custom ones. One reference for the caller;
 * NULL: KL_ENOMEM. */
kl__sim_state *kl__sim_compose(const kl__sim_draft *draft, kl_error *err);

/* Fills a draft with what an object has; `root` is its tree. */
void kl__sim_draft_of(kl__sim_draft *draft, const kl__sim_kind *kind,
                      const kl_value *root);

/* Writes `target` with a JSON merge patch (RFC 7386) applied; either may be
 * NULL. */
void kl__sim_merge(kl_writer *writer, const kl_value *target,
                   const kl_value *patch);
/* The same as a document; NULL: KL_ENOMEM. Without `keep_status`, target's
 * member "status" is left out. */
kl_doc *kl__sim_merged(const kl_value *target, bool keep_status,
                       const kl_value *patch, kl_error *err);

/* Whether two values are the same JSON, whatever the order of members. */
bool kl__sim_equal(const kl_value *a, const kl_value *b);

/* A string member, or NULL; borrowed. */
const char *kl__sim_text(const kl_value *object, const char *name);

#endif
