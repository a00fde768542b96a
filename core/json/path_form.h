/*
 * path_form.h - paths in kubectl's form ("{.metadata.name}",
 * "labels.app\.kubernetes\.io/name"), which would parse and match nothing: they
 * are refused, and the message says how such a path is written here.
 */
#ifndef KL_JSON_PATH_FORM_H
#define KL_JSON_PATH_FORM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if `text` is such a path. `at` is then the position of the character
 * that shows it, and `right` the path in our form, cut to `size` bytes; that
 * one need not parse either.
 */
bool kl__path_is_foreign(const char *text, size_t *at, char *right,
                         size_t size);

#endif
