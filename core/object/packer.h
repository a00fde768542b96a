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

/* A build for tests: makes dictionaries all the time, from small samples. */
#ifdef KUBELUA_RETRAIN
enum {
    KL__PACK_MIN_TEXT = 16,
    KL__PACK_MIN_CROWD = 0,
    KL__PACK_SAMPLES = 512,
    KL__PACK_MIN_SAMPLES = 256,
    KL__PACK_CONTENT_SHARE = 1,
    KL__PACK_WINDOW = 1
};
#else
enum {
    KL__PACK_MIN_TEXT = 200, /* a shorter text stays plain */
    /* Samples are gathered once the cache is estimated at so many bytes. */
    KL__PACK_MIN_CROWD = 128 * 1024,
    KL__PACK_SAMPLES = 256 * 1024,     /* bytes that make a dictionary */
    KL__PACK_MIN_SAMPLES = 128 * 1024, /* enough bytes at the end of a list */
    KL__PACK_CONTENT_SHARE = 4, /* a quarter of them is in the dictionary */
    KL__PACK_WINDOW = 256       /* objects over which the ratio is measured */
};
#endif

enum {
    KL__PACK_MAX_SAMPLES = 2048,
    KL__PACK_SAMPLE_LENGTH = 16 * 1024, /* the first bytes of a text */
    KL__PACK_CONTENT = 64 * 1024,       /* bytes; more has no effect */
    KL__PACK_LEVEL = 1,                 /* 3 takes a quarter longer, for 1 % */
    KL__PACK_PATIENCE = 1024            /* windows, at most */
};

struct kl__packer {
    kl__dictionary *reads; /* NULL: none yet */
    ZSTD_CDict *writes;    /* the same for writing */
    kl__buf frame;         /* the last packed text */

    /* Texts for the next dictionary. */
    bool gathers;
    kl__buf samples;
    size_t *lengths; /* KL__PACK_MAX_SAMPLES of them, while it gathers */
    size_t count;

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
