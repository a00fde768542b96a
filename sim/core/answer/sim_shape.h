/*
 * sim_shape.h - writes objects in the shape of an answer's form: whole, only
 * metadata, or as rows of a Table.
 */
#ifndef KL_SIM_SHAPE_H
#define KL_SIM_SHAPE_H

#include "sim/core/answer/sim_answer.h"

/* Appends an element of the answer's list. When memory runs out, `out` keeps
 * the failure. */
void kl__sim_shape_item(const kl__sim_answer *answer,
                        const kl__sim_state *state, kl__buf *out);

/* Appends one object: an answer, or the object of an event. */
void kl__sim_shape_object(const kl__sim_answer *answer,
                          const kl__sim_view *view, const kl__sim_state *state,
                          kl__buf *out);

/* Appends the object of a bookmark, which has metadata only: "{...}". */
void kl__sim_shape_bookmark(const kl__sim_answer *answer,
                            const kl__sim_view *view, const char *metadata,
                            kl__buf *out);

/* Writes the start of a list of metadata or of a Table, up to the first item;
 * the second function writes the end. `metadata`: "{...}". The caller has kept
 * the states before (kl__sim_answer_keep). */
void kl__sim_shape_begin(const kl__sim_answer *answer, const char *metadata,
                         kl__buf *out);
void kl__sim_shape_end(const kl__sim_answer *answer, kl__buf *out);

#endif
