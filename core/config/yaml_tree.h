/*
 * yaml_tree.h - parses YAML text into a tree of nodes for each document. Only
 * yaml_tree.c uses libyaml.
 */
#ifndef KL_CONFIG_YAML_TREE_H
#define KL_CONFIG_YAML_TREE_H

#include "base/for_sim.h"
#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>

/* Deeper nesting is refused: what writes a tree recurses over its levels. */
enum { KL__YAML_DEPTH = 512 };

typedef enum kl__yaml_kind {
    KL__YAML_SCALAR,
    KL__YAML_SEQUENCE,
    KL__YAML_MAPPING, /* its children: key, value, key, value, .. */
    KL__YAML_ALIAS
} kl__yaml_kind;

typedef struct kl__yaml_node kl__yaml_node;
struct kl__yaml_node {
    kl__yaml_kind kind;
    bool plain;       /* a scalar without quotes: its text decides its type */
    bool open;        /* being written: an alias to it would be a loop */
    size_t line;      /* from 1 */
    size_t column;    /* from 1 */
    const char *tag;  /* "tag:yaml.org,2002:int"; NULL: none */
    const char *text; /* of a scalar, or the name of an alias or anchor */
    size_t length;    /* of `text` */
    kl__yaml_node *target; /* of an alias */
    kl__yaml_node *first;  /* first child; `next` links the children */
    kl__yaml_node *last;
    kl__yaml_node *next;
    kl__yaml_node *older; /* links all nodes of the document, to free them */
};

typedef struct kl__yaml kl__yaml;

/* Makes a parser for the documents in `text`, which must outlive it. Owned by
 * the caller; NULL when out of memory. One thread at a time. */
KL__FOR_SIM kl__yaml *kl__yaml_new(const char *text, size_t length);
KL__FOR_SIM void kl__yaml_free(kl__yaml *yaml); /* NULL is fine */

/* Reads the next document; `*root` is borrowed until the next call, and NULL at
 * the end of the text. KL_EPARSE with line and column; KL_ETOO_LARGE (nesting
 * over KL__YAML_DEPTH, more than 100 %TAG directives); KL_ENOMEM. */
KL__FOR_SIM kl_code kl__yaml_next(kl__yaml *yaml, kl__yaml_node **root,
                                  kl_error *err);

/* Fills `err` with the code and "line L, column C: MESSAGE"; returns the
 * code. */
kl_code kl__yaml_error(kl_error *err, kl_code code, const kl__yaml_node *at,
                       const char *format, ...) KL_PRINTF(4, 5);

#endif
