/*
 * yyjson_memory.h - the library's allocator in the form that yyjson takes. For
 * the files that include yyjson.h: doc.c and write.c here, and the simulator's
 * edited trees.
 */
#ifndef KL_JSON_YYJSON_MEMORY_H
#define KL_JSON_YYJSON_MEMORY_H

#include "base/for_sim.h"
#include "kubelua/value.h"

#include <yyjson.h>

KL__FOR_SIM extern const yyjson_alc kl__yyjson_memory;

/* Makes a document from a tree of yyjson. Takes `tree`, even if it fails. NULL:
 * KL_ENOMEM. */
KL__FOR_SIM kl_doc *kl__doc_adopt(yyjson_doc *tree, kl_error *err);

#endif
