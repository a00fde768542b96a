/*
 * sim_compose.h - turns an object's tree into its stored JSON text, with
 * members in kube-apiserver's order; and small helpers for trees.
 */
#ifndef KL_SIM_COMPOSE_H
#define KL_SIM_COMPOSE_H

#include "sim/core/json/edit.h"
#include "kubelua/writer.h"
#include "sim/core/kinds/sim_kinds.h"
#include "sim/core/store/sim_state.h"

/* Makes a state of an object's tree, at a version. Members are in the order of
 * Go's structs for built-in kinds, and sorted for custom kinds; the tree itself
 * is reordered. One reference for the caller; NULL: KL_ENOMEM. */
kl__sim_state *kl__sim_compose(const kl__sim_kind *kind, kl__edit *edit,
                               int64_t version, kl_error *err);

/* An object's tree, to be edited; owned by the caller. NULL: KL_ENOMEM. */
kl__edit *kl__sim_state_edit(const kl__sim_state *state, kl_error *err);

/* The key of an object: "namespace/name" or "name". Owned by the caller; NULL
 * when out of memory. */
char *kl__sim_key(const char *name_space, const char *name);

/* A string member, or NULL; borrowed. */
const char *kl__sim_text(const kl_value *object, const char *name);

/* Sets a member to a text; removes it if the text is NULL or empty. */
bool kl__sim_put_text(kl__edit *edit, kl__node *object, const char *name,
                      const char *text);
/* Sets a member to a copy of a node; removes it if the node is NULL. */
bool kl__sim_put_copy(kl__edit *edit, kl__node *object, const char *name,
                      const kl__node *node);

#endif
