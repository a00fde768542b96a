/*
 * sim_below.h - subresources of an object: scale, eviction, binding and others.
 * sim_api.c calls kl__sim_below for all but status. The cluster's mutex is
 * held. A refusal is an answer and KL_OK.
 */
#ifndef KL_SIM_BELOW_H
#define KL_SIM_BELOW_H

#include "sim/json/edit.h"
#include "sim/write/sim_write.h"

/* Answers a request for a subresource other than status. KL_ENOMEM. */
kl_code kl__sim_below(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err);

/* Turns the route of POST .../bindings into that of pods/NAME/binding. */
void kl__sim_below_route(kl__sim_ask *ask);

/* GET, PUT and PATCH of scale. */
kl_code kl__sim_scale(kl__sim_answer *answer, kl__sim_resource *resource,
                      const kl__sim_version *served, kl_error *err);
/* POST of binding, eviction and token. */
kl_code kl__sim_bind(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl_error *err);
kl_code kl__sim_evict(kl__sim_answer *answer, kl__sim_resource *resource,
                      kl_error *err);
kl_code kl__sim_request_token(kl__sim_answer *answer,
                              kl__sim_resource *resource, kl_error *err);

/* The tree of a request's body, which must be an object, and of that kind if it
 * names one; else the answer is a 400. *edit is NULL then; otherwise the caller
 * owns it. KL_ENOMEM. */
kl_code kl__sim_below_body(kl__sim_answer *answer, const char *kind,
                           kl__edit **edit, kl_error *err);
/* Answers 400 unless the body's name and namespace are those of the path.
 * KL_ENOMEM. */
kl_code kl__sim_below_check(kl__sim_answer *answer, const char *kind,
                            const kl__edit *edit, kl_error *err);
/* Answers with a tree, or with a Status "Success". */
kl_code kl__sim_answer_tree(kl__sim_answer *answer, int status,
                            const kl__edit *edit, kl_error *err);
kl_code kl__sim_answer_created(kl__sim_answer *answer, kl_error *err);

/* Sets a condition in a list: in place, or at the end; `reason` and `message`
 * may be NULL. False: out of memory. */
bool kl__sim_put_condition(kl__edit *edit, kl__node *status, const char *type,
                           const char *const texts[3], const char *now);

/* Appends a label selector as a text ("a=b,c in (d,e)"). When memory runs out,
 * `out` keeps the failure. */
void kl__sim_selector_text(const kl__node *selector, kl__buf *out);

#endif
