/*
 * sim_encode.h - an answer's bytes in the form that the client wants: indented,
 * as YAML, compressed. What an answer says is decided before; nothing is locked
 * here.
 */
#ifndef KL_SIM_ENCODE_H
#define KL_SIM_ENCODE_H

#include "sim/answer/sim_answer.h"

/* Appends the next bytes of the answer's list to answer->out, which are none at
 * its end. KL_ENOMEM. */
kl_code kl__sim_encode_list(kl__sim_answer *answer, kl_error *err);

/* Gives the body of an answer that is not a watch the form answer->form, once
 * its status is there. KL_ENOMEM. */
kl_code kl__sim_encode(kl__sim_answer *answer, kl_error *err);

#endif
