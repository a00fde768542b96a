/*
 * packer.h - the struct of a packer, for the two files that work on it:
 * packer.c packs objects, packer_train.c makes dictionaries.
 */
#ifndef KL_OBJECT_PACKER_H
#define KL_OBJECT_PACKER_H

#include "base/buf.h"
#include "object/pack.h"

#include <stdint.h>
#include <zstd.h>

/* When objects are packed, and of how much a dictionary is made. In bytes. */
typedef struct kl__pack_limits {
    size_t min_text; /* a shorter text stays plain */
    /* Samples are gathered once the cache is estimated at so many bytes. */
    size_t min_crowd;
    size_t samples;       /* so many make a dictionary */
    size_t min_samples;   /* so many are enough at the end of a list */
    size_t content_share; /* 4: a quarter of the samples is in the dictionary */
    size_t window;        /* objects over which the ratio is measured */
    bool retrains;        /* for tests: makes a dictionary after each window */
} kl__pack_limits;

#define KL__PACK_USUAL                                                   \
    {                                                                    \
        .min_text = 200, .min_crowd = 128 * 1024, .samples = 256 * 1024, \
        .min_samples = 128 * 1024, .content_share = 4, .window = 256     \
    }
/* For tests: any few objects have a dictionary; `always`: a new one for every
 * few. */
#define KL__PACK_EAGER(always)                                               \
    {                                                                        \
        .min_text = 16, .samples = 512, .min_samples = 256,                  \
        .content_share = 1, .window = (always) ? 1 : 8, .retrains = (always) \
    }

/* The limits of packers that are made from now on: KL__PACK_USUAL. A test may
 * change them while there is no packer; a packer borrows them. */
extern const kl__pack_limits *kl__pack_limits_chosen;

enum {
    KL__PACK_MAX_SAMPLES = 2048,
    KL__PACK_SAMPLE_LENGTH = 16 * 1024, /* the first bytes of a text */
    KL__PACK_CONTENT = 64 * 1024,       /* bytes; more has no effect */
    KL__PACK_LEVEL = 1,                 /* 3 takes a quarter longer, for 1 % */
    KL__PACK_PATIENCE = 1024            /* windows, at most */
};

struct kl__packer {
    const kl__pack_limits *limits;
    kl__dictionary *reads; /* NULL: none yet */
    ZSTD_CDict *writes;    /* the same for writing */
    kl__buf frame;         /* the last packed text */

    /* Texts for the next dictionary. */
    bool gathers;
    kl__buf samples;
    size_t *lengths; /* KL__PACK_MAX_SAMPLES of them, while it gathers */
    size_t count;
    kl_object *sample; /* a reference to the object of the last one */

    /* How well the dictionary fits. The ratio is packed bytes to plain bytes,
     * in 1024ths. */
    size_t seen; /* objects in this window */
    size_t plain_bytes;
    size_t packed_bytes;
    size_t best;     /* best ratio since the dictionary was made; 0: none */
    size_t rest;     /* windows until the next check */
    size_t patience; /* `rest` after a new dictionary that is no better */
    size_t replaced; /* the ratio at which the last one was replaced */
};

/* Makes a dictionary of the samples and drops them. If that fails, the old
 * dictionary stays. */
void kl__packer_train(kl__packer *packer);

/* Stops gathering samples and drops them. */
void kl__packer_forget_samples(kl__packer *packer);

#endif
