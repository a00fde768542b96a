/*
 * path_form.h - recognises paths in kubectl's form ("{.metadata.name}",
 * "labels.app\.kubernetes\.io/name"). In our syntax some of them would parse
 * but match nothing, so path.c refuses them, and the message shows the same
 * path in our form.
 */
#ifndef KL_JSON_PATH_FORM_H
#define KL_JSON_PATH_FORM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * True if `text` is in kubectl's form. Then `at` gets the position of the
 * character that shows it, and `right` the path in our form, cut to `size`
 * bytes. `right` may still be wrong: the caller must check that it parses.
 */
bool kl__path_is_foreign(const char *text, size_t *at, char *right,
                         size_t size);

#endif
