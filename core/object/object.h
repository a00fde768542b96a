/*
 * object.h - functions on objects that only the core uses. The public ones are
 * in kubelua/object.h.
 */
#ifndef KL_OBJECT_OBJECT_H
#define KL_OBJECT_OBJECT_H

#include "json/text.h"
#include "kubelua/object.h"
#include "object/pack.h"

#include <stdbool.h>

/* As kl_object_parse, for a text whose shape is known: the scanner that has cut
 * it from the stream has measured it already. */
kl_object *kl__object_parse_measured(const char *json, size_t length,
                                     const kl__text_shape *shape,
                                     const kl_object_options *options,
                                     kl_error *err);

/* True if both objects have the same content; managedFields that were cut out
 * do not count. Kind and apiVersion may be in another order or place in the
 * text: lists of built-in kinds leave them out and they are added. So the text
 * before the metadata is not compared, only these two values. False, too, if
 * there is no memory to unpack one. */
bool kl__object_is_copy(const kl_object *a, const kl_object *b);

/* The same object with its text packed, which is copied; one reference for the
 * caller, and one to the dictionary for the object. NULL: no memory. */
kl_object *kl__object_copy_packed(const kl_object *object,
                                  const kl__packed *packed);
/* True if its text is packed: see pack.h. Thread-safe. */
bool kl__object_is_packed(const kl_object *object);
/* True if the caller's is not the only reference. Another thread may give up
 * its own at any time; false stays false while the caller makes none. */
bool kl__object_is_shared(const kl_object *object);

#endif
