/*
 * sim_below.h - subresources of an object: paths below the object's own path,
 * such as scale, eviction and binding. sim_api.c finds the function of each.
 * The cluster's mutex is held. A function that refuses a request answers it and
 * returns KL_OK.
 */
#ifndef KL_SIM_BELOW_H
#define KL_SIM_BELOW_H

#include "sim/core/json/edit.h"
#include "sim/core/write/sim_write.h"

/* GET, PUT and PATCH of scale. */
kl_code kl__sim_scale(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err);
/* POST of binding and eviction. */
kl_code kl__sim_bind(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl_error *err);
kl_code kl__sim_evict(kl__sim_answer *answer, kl__sim_resource *resource,
                      kl_error *err);

/* Parses the body, which must be an object of that kind or without a kind. The
 * caller owns *edit. If the body is wrong, answers 400, and *edit is NULL.
 * KL_ENOMEM. */
kl_code kl__sim_below_body(kl__sim_answer *answer, const char *kind,
                           kl__edit **edit, kl_error *err);
/* Answers 400 unless the body has the name of the path, and its namespace or
 * none. KL_ENOMEM. */
kl_code kl__sim_below_check(kl__sim_answer *answer, const char *kind,
                            const kl__edit *edit, kl_error *err);
/* The first answers with the tree, the second with 201 and a Status "Success".
 * KL_ENOMEM. */
kl_code kl__sim_answer_tree(kl__sim_answer *answer, int status,
                            const kl__edit *edit, kl_error *err);
kl_code kl__sim_answer_created(kl__sim_answer *answer, kl_error *err);

/* Sets the condition of that type in status.conditions, or adds it at the end.
 * `texts`: its status, reason and message; the last two may be NULL. `now`: the
 * time to note if its status changes. False: out of memory. */
bool kl__sim_put_condition(kl__edit *edit, kl__node *status, const char *type,
                           const char *const texts[3], const char *now);

/* Appends a LabelSelector, or a map of labels, as a text ("a=b,c in (d,e)").
 * When memory runs out, `out` keeps the failure. */
void kl__sim_selector_text(const kl__node *selector, kl__buf *out);

#endif
