/*
 * packer.h - the limits of packers, which tests change, and the struct of a
 * packer (packer.c).
 */
#ifndef KL_OBJECT_PACKER_H
#define KL_OBJECT_PACKER_H

#include "base/buf.h"
#include "object/pack.h"
#include "object/young.h"

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
    /* How long an object of a watch is young; 0: not at all. Then it is due at
     * the next multiple of young_step_ms, so that the thread wakes up for many
     * at once. */
    int64_t young_ms;
    int64_t young_step_ms;
    size_t young_bytes; /* of all young texts of the process */
    size_t young_slab;  /* so many bytes of them are freed at once */
} kl__pack_limits;

/* Objects that change all the time do so every 2 s (the lease of a leader), or
 * several times in the first seconds of a pod. 64 MB are 13,000 pods. */
#define KL__PACK_YOUNG                       \
    .young_ms = 3000, .young_step_ms = 1000, \
    .young_bytes = (size_t)64 * 1024 * 1024, .young_slab = (size_t)64 * 1024

#define KL__PACK_USUAL                                                   \
    {                                                                    \
        .min_text = 200, .min_crowd = 128 * 1024, .samples = 256 * 1024, \
        .min_samples = 128 * 1024, .content_share = 4, .window = 256,    \
        KL__PACK_YOUNG                                                   \
    }
/* For tests: any few objects have a dictionary; `always`: a new one for every
 * few. */
#define KL__PACK_EAGER(always)                                                \
    {                                                                         \
        .min_text = 16, .samples = 512, .min_samples = 256,                   \
        .content_share = 1, .window = (always) ? 1 : 8, .retrains = (always), \
        KL__PACK_YOUNG                                                        \
    }

/* The limits of packers that are made from now on: KL__PACK_USUAL. A test may
 * change them while there is no packer; a packer borrows them. */
extern const kl__pack_limits *kl__pack_limits_chosen;

enum {
    KL__PACK_MAX_SAMPLES = 2048,
    KL__PACK_SAMPLE_LENGTH = 16 * 1024, /* the first bytes of a text */
    KL__PACK_CONTENT = 64 * 1024,       /* bytes; more has no effect */
    KL__PACK_LEVEL = 1,                 /* 3 takes a quarter longer, for 1 % */
    KL__PACK_PATIENCE = 1024,           /* windows, at most */
    /* Where objects get smaller than a 13th (in 1024ths), frames are so small
     * that coding their literals does not pay: see codes_literals. */
    KL__PACK_DENSE = 78,
    KL__PACK_TRIM = 8 * 1024 * 1024 /* bytes: so many are worth a trim */
};

struct kl__packer {
    const kl__pack_limits *limits;
    kl__dictionary *reads; /* NULL: none yet */
    ZSTD_CDict *writes;    /* the same for writing */
    kl__buf frame;         /* the last packed text */

    kl__young young;
    size_t crowd; /* of the last young object */
    size_t freed; /* bytes of slabs since the last trim */

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

    /* True until the first window of a dictionary shows that its objects are
     * dense. Without Huffman codes of the literals, a pod of 4 KB takes 379
     * bytes, not 262, but 2.0 us to pack, not 2.2, and 0.5 to unpack, not 1.2.
     * Pods that vary would take a fifth more: they are not dense. */
    bool codes_literals;
};

#endif
