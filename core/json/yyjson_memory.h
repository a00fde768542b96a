/*
 * yyjson_memory.h - the library's allocator as yyjson wants it; for doc.c and
 * write.c, which alone include yyjson.h.
 */
#ifndef KL_JSON_YYJSON_MEMORY_H
#define KL_JSON_YYJSON_MEMORY_H

#include <yyjson.h>

extern const yyjson_alc kl__yyjson_memory;

#endif
