/*
 * sim_list.h - LIST and WATCH: answers a list with the objects of a resource at
 * a version, and a watch with the changes after a version. The cluster's mutex
 * is held.
 */
#ifndef KL_SIM_LIST_H
#define KL_SIM_LIST_H

#include "sim/core/answer/sim_answer.h"
#include "sim/core/answer/sim_options.h"

/* Answers a list. KL_ENOMEM. */
kl_code kl__sim_list(kl__sim_answer *answer, kl__sim_resource *resource,
                     kl_error *err);

/* Answers deletecollection with the list of the deleted objects, the states
 * that were kept. */
kl_code kl__sim_list_kept(kl__sim_answer *answer, const kl__sim_kind *kind,
                          kl_error *err);

/* Answers a watch: from then on kl__sim_watch_fill makes its bytes. */
kl_code kl__sim_watch_open(kl__sim_answer *answer, kl__sim_resource *resource,
                           kl_error *err);

/* Appends the next events to answer->out. It appends nothing if the watch has
 * ended (watch.ended), or has to wait: until *wake_ms at the latest.
 * KL_ENOMEM. */
kl_code kl__sim_watch_fill(kl__sim_answer *answer, int64_t *wake_ms,
                           kl_error *err);

/* Ends a watch with the ERROR event of a version that is too old (410). */
void kl__sim_watch_expire(kl__sim_answer *answer);

#endif
