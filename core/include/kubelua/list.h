/*
 * list.h - reads the answer to a LIST request: for programs that send it by
 * kl_request. An informer needs none of this.
 */
#ifndef KUBELUA_LIST_H
#define KUBELUA_LIST_H

#include "kubelua/informer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One page of a list. */
typedef struct kl_list_page {
    kl_object_list objects;
    /* Objects that are there and cannot be read, as in kl_informer_unreadable,
     * in the order of the list; `is_cached` is false. All of them. */
    kl_unreadable_list unreadable;
    char *continue_token; /* of the next page; "": this is the last one */
} kl_list_page;

/* Drops all that the list has, zeroes it. */
KL_API void kl_list_clear(kl_list_page *list);

/*
 * Reads a list, `length` bytes of JSON. Items have neither kind nor apiVersion,
 * so `options` must have both. One item that cannot be read costs that item
 * only. A list without the member "items" is empty, if its kind ends in "List".
 * The caller clears `list`. KL_EPARSE (no list, or an item without a name),
 * KL_ETOO_LARGE, KL_ENOMEM: `list` is zeroed. Thread-safe.
 */
KL_API kl_code kl_list_parse(const char *json, size_t length,
                             const kl_object_options *options,
                             kl_list_page *list, kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
