/*
 * sim_encode.h - writes an answer's body in the form that the client wants:
 * indented, as YAML, compressed. Runs after the request was carried out,
 * without a lock.
 */
#ifndef KL_SIM_ENCODE_H
#define KL_SIM_ENCODE_H

#include "sim/core/answer/sim_answer.h"

/* Appends the next bytes of the answer's list to answer->out; none at its end.
 * KL_ENOMEM. */
kl_code kl__sim_encode_list(kl__sim_answer *answer, kl_error *err);

/* Gives the body of an answer (not of a watch) the form answer->form, once its
 * status is known. KL_ENOMEM. */
kl_code kl__sim_encode(kl__sim_answer *answer, kl_error *err);

#endif
