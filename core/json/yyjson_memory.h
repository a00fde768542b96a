/*
 * yyjson_memory.h - the library's allocator as yyjson wants it, and what else
 * the files that include yyjson.h share: doc.c, edit.c, edit_read.c, write.c.
 */
#ifndef KL_JSON_YYJSON_MEMORY_H
#define KL_JSON_YYJSON_MEMORY_H

#include "base/for_sim.h"
#include "kubelua/value.h"

#include <yyjson.h>

KL__FOR_SIM extern const yyjson_alc kl__yyjson_memory;

/* A document of what yyjson has read or copied; takes `tree`, also when it
 * fails. NULL: KL_ENOMEM. */
KL__FOR_SIM kl_doc *kl__doc_adopt(yyjson_doc *tree, kl_error *err);

#endif
