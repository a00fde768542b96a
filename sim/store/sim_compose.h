/*
 * sim_compose.h - the JSON text of an object, in kube-apiserver's order of
 * members, out of a tree; and small things about trees.
 */
#ifndef KL_SIM_COMPOSE_H
#define KL_SIM_COMPOSE_H

#include "sim/json/edit.h"
#include "kubelua/writer.h"
#include "sim/kinds/sim_kinds.h"
#include "sim/store/sim_state.h"

/* The state that an object's tree makes at a version: structs for built-in
 * kinds, sorted for custom ones. The tree is put in order. One reference for
 * the caller; NULL: KL_ENOMEM. */
kl__sim_state *kl__sim_compose(const kl__sim_kind *kind, kl__edit *edit,
                               int64_t version, kl_error *err);

/* An object's tree, to be changed; owned by the caller. NULL: KL_ENOMEM. */
kl__edit *kl__sim_state_edit(const kl__sim_state *state, kl_error *err);

/* The key of an object: "namespace/name", or "name". Owned by the caller; NULL
 * when out of memory. */
char *kl__sim_key(const char *name_space, const char *name);

/* A string member, or NULL; borrowed. */
const char *kl__sim_text(const kl_value *object, const char *name);

/* sim_versions.c: the state of a built-in kind as another version has it; one
 * reference for the caller. NULL: KL_ENOMEM. */
kl__sim_state *kl__sim_builtin_view(const kl__sim_state *state,
                                    const kl__sim_kind *kind,
                                    const kl__sim_version *served,
                                    kl_error *err);

/* sim_custom.c: an object as another version of its kind has it, to be written
 * in that version; NULL: out of memory. One reference for the caller. */
kl__sim_state *kl__sim_custom_view(const kl__sim_state *state,
                                   const kl__sim_kind *kind,
                                   const kl__sim_version *served,
                                   kl_error *err);

/* Sets a member to a text, or takes it out where that is NULL or empty. */
bool kl__sim_put_text(kl__edit *edit, kl__node *object, const char *name,
                      const char *text);
/* Sets a member to a copy of a node, or takes it out where that is NULL. */
bool kl__sim_put_copy(kl__edit *edit, kl__node *object, const char *name,
                      const kl__node *node);

#endif
