/*
 * writer.h - writes JSON, value by value, into memory: for a language binding
 * that makes a request's body of its tables. value.h reads JSON.
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

/* A new, empty writer, owned by the caller; NULL: out of memory. One thread at
 * a time. Call the functions below in the order of the text. After the first
 * failure they do nothing; kl_writer_finish returns that failure. */
KL_API kl_writer *kl_writer_new(void);
/* Frees the writer, also with an unfinished value; NULL is fine. */
KL_API void kl_writer_free(kl_writer *writer);

/* Begins an object. For each member call kl_writer_name, then write its value.
 */
KL_API void kl_writer_begin_object(kl_writer *writer);
/* Ends the object that began last. */
KL_API void kl_writer_end_object(kl_writer *writer);
/* Begins an array; its elements follow. */
KL_API void kl_writer_begin_array(kl_writer *writer);
/* Ends the array that began last. */
KL_API void kl_writer_end_array(kl_writer *writer);
/* Writes a member's name in UTF-8; the member's value must follow. */
KL_API void kl_writer_name(kl_writer *writer, const char *name, size_t length);
/* Writes null. */
KL_API void kl_writer_null(kl_writer *writer);
/* Writes true or false. */
KL_API void kl_writer_bool(kl_writer *writer, bool value);
/* Writes an integer. */
KL_API void kl_writer_integer(kl_writer *writer, int64_t value);
/* Writes the shortest text that reads back as the same double; KL_EINVAL: it is
 * not finite. */
KL_API void kl_writer_real(kl_writer *writer, double value);
/* Writes a string; KL_EINVAL: it is not UTF-8. */
KL_API void kl_writer_string(kl_writer *writer, const char *text,
                             size_t length);
/* Writes JSON text of a whole value as it is, without a check. */
KL_API void kl_writer_raw(kl_writer *writer, const char *json, size_t length);
/* Writes a value of a parsed document, with everything inside it. */
KL_API void kl_writer_value(kl_writer *writer, const kl_value *value);

/* The whole text, borrowed until the next call with this writer. NULL: the code
 * of the first failure, or KL_EINVAL: the value is not finished. */
KL_API const char *kl_writer_finish(kl_writer *writer, size_t *length,
                                    kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
