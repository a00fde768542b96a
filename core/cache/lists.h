/*
 * lists.h - what the cache does with the public lists of objects and strings.
 */
#ifndef KL_CACHE_LISTS_H
#define KL_CACHE_LISTS_H

#include "kubelua/informer.h"

/* Sorts by key, bytewise; of several with one key the order is open. */
void kl__object_list_sort(kl_object_list *list);

/* Sorts bytewise. */
void kl__string_list_sort(kl_string_list *list);

#endif
