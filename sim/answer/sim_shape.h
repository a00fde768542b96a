/*
 * sim_shape.h - objects as an answer's form has them: themselves, only their
 * metadata, or rows of a table.
 */
#ifndef KL_SIM_SHAPE_H
#define KL_SIM_SHAPE_H

#include "sim/answer/sim_answer.h"

/* Appends an element of the answer's list. Out of memory sticks in `out`. */
void kl__sim_shape_item(const kl__sim_answer *answer,
                        const kl__sim_state *state, kl__buf *out);

/* Appends an object that stands alone: an answer, or in an event. */
void kl__sim_shape_object(const kl__sim_answer *answer,
                          const kl__sim_view *view, const kl__sim_state *state,
                          kl__buf *out);

/* Appends a bookmark's object, of which there is metadata only: "{...}". */
void kl__sim_shape_bookmark(const kl__sim_answer *answer,
                            const kl__sim_view *view, const char *metadata,
                            kl__buf *out);

/* Begins a list of another shape than whole objects, up to its first item,
 * and ends it. `metadata`: "{...}". The states are kept already. */
void kl__sim_shape_begin(const kl__sim_answer *answer, const char *metadata,
                         kl__buf *out);
void kl__sim_shape_end(const kl__sim_answer *answer, kl__buf *out);

#endif
