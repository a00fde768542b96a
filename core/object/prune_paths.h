/*
 * prune_paths.h - the two lists of paths of a kl__prune, between prune.c, which
 * reads them, and prune_text.c, which follows them; other files do not include
 * it.
 */
#ifndef KL_OBJECT_PRUNE_PATHS_H
#define KL_OBJECT_PRUNE_PATHS_H

#include "object/prune.h"

#include <stdatomic.h>
#include <stddef.h>

/* Steps of one path at most: kl__prune_text recurses at each of them. */
enum { KL__PRUNE_STEPS = 64 };

typedef struct kl__paths {
    kl_path *items[KL__PRUNE_MAX]; /* sorted by text, each once */
    size_t count;
} kl__paths;

struct kl__prune {
    atomic_uint references;
    kl__paths drop;
    kl__paths keep;
};

#endif
