/*
 * sim_message.h - answers in protobuf: turns the JSON of an answer into the
 * messages that typed Go clients read. Nothing is locked.
 */
#ifndef KL_SIM_MESSAGE_H
#define KL_SIM_MESSAGE_H

#include "sim/core/answer/sim_answer.h"

/* Appends an object in its envelope; if its kind is not built in, only the
 * metadata. KL_ENOMEM, or `out` keeps the failure. */
kl_code kl__sim_message_put(const kl_value *object, kl__buf *out,
                            kl_error *err);

/* Encodes the answer's body: answer->out, and for a list also answer->tail and
 * answer->items. KL_ENOMEM. */
kl_code kl__sim_message_encode(kl__sim_answer *answer, kl_error *err);

/* Appends one item of the answer's list. On KL_ENOMEM `out` keeps the
 * failure. */
void kl__sim_message_item(kl__sim_answer *answer, const kl__sim_state *state,
                          kl__buf *out);

#endif
