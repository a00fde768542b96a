/*
 * doc.h - what the core needs of documents beyond value.h.
 */
#ifndef KL_JSON_DOC_H
#define KL_JSON_DOC_H

#include "base/for_sim.h"
#include "json/text.h"
#include "kubelua/value.h"

#include <stddef.h>

/* As kl_doc_parse, for a text that was measured before. */
kl_doc *kl__doc_parse_measured(const char *json, size_t length,
                               const kl__text_shape *shape, kl_error *err);

/* Where the first byte of a string (a value or a member's name) of `doc` was
 * in the text that it was parsed from: after the opening quote. */
KL__FOR_SIM size_t kl__doc_offset(const kl_doc *doc, const kl_value *string);

#endif
