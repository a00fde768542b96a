/*
 * lists.h - sorts the public lists of objects and of strings.
 */
#ifndef KL_OBJECT_LISTS_H
#define KL_OBJECT_LISTS_H

#include "kubelua/object.h"

/* Sorts by key, bytewise; objects with one key are in no order. */
void kl__object_list_sort(kl_object_list *list);

/* Sorts bytewise. */
void kl__string_list_sort(kl_string_list *list);

#endif
