/*
 * writer.h - writing JSON, value by value, into memory. The counterpart of
 * value.h for a binding that turns its own tables into a request's body.
 */
#ifndef KUBELUA_WRITER_H
#define KUBELUA_WRITER_H

#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_writer kl_writer;

/* A new, empty writer, owned by the caller; NULL when out of memory. One
 * thread at a time. Calls may come in any order that makes one JSON value;
 * the first failure sticks and is told by kl_writer_finish. */
KL_API kl_writer *kl_writer_new(void);
/* Frees it at any moment; NULL is fine. */
KL_API void kl_writer_free(kl_writer *writer);

/* An object begins; its members follow: kl_writer_name, then the value. */
KL_API void kl_writer_begin_object(kl_writer *writer);
/* The object that began last ends. */
KL_API void kl_writer_end_object(kl_writer *writer);
/* An array begins; its elements follow. */
KL_API void kl_writer_begin_array(kl_writer *writer);
/* The array that began last ends. */
KL_API void kl_writer_end_array(kl_writer *writer);
/* A member's name, UTF-8; the member's value must follow. */
KL_API void kl_writer_name(kl_writer *writer, const char *name, size_t length);
/* null. */
KL_API void kl_writer_null(kl_writer *writer);
/* true or false. */
KL_API void kl_writer_bool(kl_writer *writer, bool value);
/* An integer. */
KL_API void kl_writer_integer(kl_writer *writer, int64_t value);
/* A double: shortest text that reads back the same; KL_EINVAL if not finite. */
KL_API void kl_writer_real(kl_writer *writer, double value);
/* UTF-8 text; KL_EINVAL if it is not. */
KL_API void kl_writer_string(kl_writer *writer, const char *text,
                             size_t length);
/* JSON text that the caller vouches for: an exact number, a whole value. */
KL_API void kl_writer_raw(kl_writer *writer, const char *json, size_t length);
/* A value of a parsed document, with all that is in it. */
KL_API void kl_writer_value(kl_writer *writer, const kl_value *value);

/* The text so far, which must be one whole value; borrowed until the writer is
 * used again. NULL: the first failure, or KL_EINVAL if unfinished. */
KL_API const char *kl_writer_finish(kl_writer *writer, size_t *length,
                                    kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
