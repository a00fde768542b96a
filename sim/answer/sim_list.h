/*
 * sim_list.h - LIST and WATCH: from the parameters of a request to a state of
 * the resource, and to the changes after it. The cluster's mutex is held.
 */
#ifndef KL_SIM_LIST_H
#define KL_SIM_LIST_H

#include "sim/answer/sim_answer.h"
#include "sim/answer/sim_options.h"

/* Answers a list. KL_ENOMEM. */
kl_code kl__sim_list(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl_error *err);

/* Answers deletecollection's list of what was deleted: the kept states. */
kl_code kl__sim_list_kept(kl__sim_answer *answer, const kl__sim_kind *kind,
                          kl_error *err);

/* Answers a watch: from now on kl__sim_watch_fill brings its bytes. */
kl_code kl__sim_watch_open(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err);

/* Appends what there is to answer->out; nothing if the watch ended (then
 * watch.ended) or has to wait, until *wake_ms at the latest. KL_ENOMEM. */
kl_code kl__sim_watch_fill(kl__sim_answer *answer, int64_t *wake_ms,
                           kl_error *err);

/* Ends a watch with the ERROR of a version that is too old. */
void kl__sim_watch_expire(kl__sim_answer *answer);

#endif
