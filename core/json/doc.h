/*
 * doc.h - functions on parsed JSON documents that only the core uses. The
 * public ones are in kubelua/value.h.
 */
#ifndef KL_JSON_DOC_H
#define KL_JSON_DOC_H

#include "base/for_sim.h"
#include "json/text.h"
#include "kubelua/value.h"

#include <stddef.h>

/* As kl_doc_parse, for a text that kl__text_measure has measured. */
kl_doc *kl__doc_parse_measured(const char *json, size_t length,
                               const kl__text_shape *shape, kl_error *err);

/* As kl_doc_parse, for a reader that allows fewer levels of nesting. */
KL__FOR_SIM kl_doc *kl__doc_parse_within(const char *json, size_t length,
                                         size_t most, kl_error *err);

/* As kl_doc_parse, for the text of an object: its depth was checked when the
 * object was made, and is not checked again. Takes `text`, also when it fails.
 * Four NULs stand behind its `length` bytes; the document keeps its strings in
 * it. */
kl_doc *kl__doc_parse_in_place(char *text, size_t length, kl_error *err);

/* Returns where a string (a value or a member's name) of `doc` was in the text
 * that `doc` was parsed from: the offset of the first byte behind the opening
 * quote. Not for a document of kl__doc_parse_in_place. */
KL__FOR_SIM size_t kl__doc_offset(const kl_doc *doc, const kl_value *string);

#endif
