/*
 * sim_message.h - answers in protobuf: what was written as JSON, as the message
 * that typed Go clients take. Nothing is locked.
 */
#ifndef KL_SIM_MESSAGE_H
#define KL_SIM_MESSAGE_H

#include "sim/answer/sim_answer.h"

/* Appends an object in its envelope; of one that is of no built-in kind, the
 * metadata alone. KL_ENOMEM; out of memory may also stick in `out`. */
kl_code kl__sim_message_put(const kl_value *object, kl__buf *out,
                            kl_error *err);

/* Gives the answer's body that form: answer->out, of a list also answer->tail
 * and answer->items. KL_ENOMEM. */
kl_code kl__sim_message_encode(kl__sim_answer *answer, kl_error *err);

/* Appends an item of such a list. KL_ENOMEM sticks in `out`. */
void kl__sim_message_item(kl__sim_answer *answer, const kl__sim_state *state,
                          kl__buf *out);

#endif
