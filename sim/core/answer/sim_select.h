/*
 * sim_select.h - selections: the objects of a resource that a list, watch or
 * deletecollection is about, by namespace, labels and fields.
 */
#ifndef KL_SIM_SELECT_H
#define KL_SIM_SELECT_H

#include "kubelua/object.h"
#include "sim/core/store/sim_state.h"

/* One requirement of a field selector. */
typedef struct kl__sim_term {
    int field; /* index in the stored kind's fields; < 0: see below */
    bool equals;
    char *value;
} kl__sim_term;

enum { KL__SIM_TERM_NAME = -1, KL__SIM_TERM_NAMESPACE = -2 };

/* A zeroed selection selects everything. kl__sim_selection_deinit frees it. */
typedef struct kl__sim_selection {
    char *name_space; /* NULL: all */
    kl_selector *labels;
    kl__sim_term *terms;
    size_t term_count;
} kl__sim_selection;

void kl__sim_selection_deinit(kl__sim_selection *selection);

/* The kind that the request names, and the kind under which its objects are
 * stored. They differ for Events, which are in two groups. */
typedef struct kl__sim_selectable {
    const kl__sim_kind *asked;
    const kl__sim_kind *stored;
} kl__sim_selectable;

/* Compiles a field selector "a=b,c!=d". KL_EINVAL with kube-apiserver's words,
 * KL_ENOMEM. */
kl_code kl__sim_selection_fields(kl__sim_selection *selection,
                                 const kl__sim_selectable *of, const char *text,
                                 kl_error *err);

/* Adds the requirement that metadata.name is `name`. KL_ENOMEM. */
kl_code kl__sim_selection_name(kl__sim_selection *selection, const char *name,
                               kl_error *err);

/* True if labels or fields are selected (a namespace does not count). */
bool kl__sim_selection_is_picky(const kl__sim_selection *selection);

bool kl__sim_selection_matches(const kl__sim_selection *selection,
                               const kl__sim_state *state);

#endif
