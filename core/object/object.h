/*
 * object.h - functions on objects that only the core uses. The public ones are
 * in kubelua/object.h.
 */
#ifndef KL_OBJECT_OBJECT_H
#define KL_OBJECT_OBJECT_H

#include "base/table.h"
#include "json/text.h"
#include "kubelua/object.h"
#include "object/pack.h"
#include "object/text_slab.h"

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
 * before the metadata is not compared, only these two values. Also false if
 * there is no memory to unpack one of them. */
bool kl__object_is_copy(const kl_object *a, const kl_object *b);

/* The object's key with its hash; borrowed from the object. */
kl__key kl__object_key(const kl_object *object);
/* The key of an object in a kl__table; `context` is not used. */
const char *kl__object_key_text(const void *context, const void *object);

/* Makes the same object with a packed text, which is copied. The caller gets a
 * reference; the object takes one to the dictionary. NULL: out of memory. */
kl_object *kl__object_copy_packed(const kl_object *object,
                                  const kl__packed *packed);
/* Makes the same object, young: its text is copied into the slab, and it can
 * be packed where it is later. The caller gets a reference. NULL: out of
 * memory, or no room in the slab. Not for a packed object. */
kl_object *kl__object_copy_young(const kl_object *object, kl__text_slab *slab);
/*
 * Packs a young object where it is. The caller has its JSON open; the plain
 * text goes with the last close. Copies the frame, and takes a reference to the
 * dictionary. False: out of memory. One thread at a time; others may read.
 */
bool kl__object_pack(kl_object *object, const kl__packed *packed);
/* Gives a young object that cannot be packed a copy of its text, in place of
 * the text in the slab. The caller has its JSON open. False: out of memory, or
 * another reader has the JSON open, too. One thread at a time; others may read.
 */
bool kl__object_leave_slab(kl_object *object);
/* True if the object's text is packed (pack.h). Thread-safe. */
bool kl__object_is_packed(const kl_object *object);
/* Adds a reference, unless the last one was dropped. The caller knows that the
 * object's memory is not freed meanwhile (young.c). */
bool kl__object_try_ref(kl_object *object);
/* True if there are other references than the caller's. Other threads may drop
 * theirs at any time; false stays false until the caller adds a reference. */
bool kl__object_is_shared(const kl_object *object);

#endif
