/*
 * tree.h - a text as a tree, as the simulator reads a body: no object has a
 * name twice.
 */
#ifndef KL_FUZZ_TREE_H
#define KL_FUZZ_TREE_H

#include "fuzz.h"

#include "sim/core/body/repeated.h"
#include "sim/core/json/edit.h"

/* A node of `edit`; NULL: it is no JSON, or has a name twice. */
static inline kl__node *fuzz_tree(kl__edit *edit, fuzz_text text)
{
    kl_doc *doc = kl_doc_parse(text.bytes, text.length, NULL);
    kl__node *node = NULL;

    if (doc != NULL && kl__check_repeated(kl_doc_root(doc), NULL) == KL_OK) {
        node = kl__edit_value(edit, kl_doc_root(doc));
    }
    kl_doc_unref(doc);
    return node;
}

#endif
