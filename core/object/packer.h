/*
 * packer.h - what a packer is made of, for the files that make it: packer.c
 * packs, packer_train.c makes dictionaries.
 */
#ifndef KL_OBJECT_PACKER_H
#define KL_OBJECT_PACKER_H

#include "base/buf.h"
#include "object/pack.h"

#include <stdint.h>
#include <zstd.h>

/* A build for tests makes dictionaries all the time, of anything. */
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
    KL__PACK_MIN_TEXT = 200,           /* a shorter one stays plain */
    KL__PACK_MIN_CROWD = 128 * 1024,   /* bytes, by estimate, from which on
                                          texts are gathered */
    KL__PACK_SAMPLES = 256 * 1024,     /* bytes that make a dictionary */
    KL__PACK_MIN_SAMPLES = 128 * 1024, /* the same at the end of a list */
    KL__PACK_CONTENT_SHARE = 4, /* one byte in four is in the dictionary */
    KL__PACK_WINDOW = 256       /* objects whose share is compared */
};
#endif

enum {
    KL__PACK_MAX_SAMPLES = 2048,
    KL__PACK_SAMPLE_LENGTH = 16 * 1024, /* of a longer text its beginning */
    KL__PACK_CONTENT = 64 * 1024, /* of a dictionary; more brings nothing */
    KL__PACK_LEVEL = 1,           /* 3 takes a quarter longer, for 1 % */
    KL__PACK_PATIENCE = 1024      /* windows, at most */
};

struct kl__packer {
    kl__dictionary *reads; /* NULL: none yet */
    ZSTD_CDict *writes;    /* the same for writing */
    kl__buf frame;         /* what was packed last */

    /* Texts for the next dictionary. */
    bool gathers;
    kl__buf samples;
    size_t *lengths; /* KL__PACK_MAX_SAMPLES of them, while it gathers */
    size_t count;

    /* How well the dictionary fits, in 1024ths of the text. */
    size_t seen; /* objects of this window */
    size_t plain_bytes;
    size_t packed_bytes;
    size_t best;     /* share of a window since it was made; 0: none yet */
    size_t rest;     /* windows until it is judged again */
    size_t patience; /* that many, when the next is no better */
    size_t replaced; /* the share for which the last one was given up */
};

/* Makes a dictionary of the samples, which are forgotten; where that fails, the
 * former one stays. */
void kl__packer_train(kl__packer *packer);

/* Stops gathering. */
void kl__packer_forget_samples(kl__packer *packer);

#endif
