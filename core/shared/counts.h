/*
 * counts.h - the layout of the area of kubelua/shared_count.h. counts.c opens
 * it, count_rows.c finds rows, counts and reads.
 */
#ifndef KL_SHARED_COUNTS_H
#define KL_SHARED_COUNTS_H

#include "kubelua/shared_count.h"
#include "shared/area.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    KL__COUNT_NAME_WORDS = KL_COUNTS_NAME_MAX / 8,
    KL__COUNT_BUCKETS_AT = KL_COUNTS_KINDS,
    KL__COUNT_SUM_AT = KL_COUNTS_KINDS + KL_COUNTS_BUCKETS
};

/* In `key`: the row had a series, which was forgotten. No key is so large. */
#define KL__COUNT_FREED UINT64_MAX

/*
 * A series. Whose it is says `key` alone: it is claimed and forgotten by a
 * compare-and-swap. The name is written after the claim, by each process that
 * finds another one there; a reader believes it if it has the hash `key`.
 */
typedef struct kl__count_row {
    _Atomic uint64_t key;      /* 0: free since the start; KL__COUNT_FREED */
    _Atomic uint64_t freed_ms; /* when its cells were cleared */
    _Atomic uint64_t length;   /* of the name */
    _Atomic uint64_t name[KL__COUNT_NAME_WORDS];
    /* KL_COUNTS_CELLS for each stripe: three cache lines */
    _Atomic uint64_t cells[];
} kl__count_row;

/* An area in one process. */
struct kl_counts {
    kl__area area;
    char *rows;
    _Atomic uint64_t *full;
    uint32_t row_bytes;
    uint32_t series;  /* a power of two */
    uint32_t stripes; /* a power of two */
};

static inline kl__count_row *kl__counts_row(const kl_counts *counts,
                                            uint32_t row)
{
    return (kl__count_row *)(void *)(counts->rows +
                                     (size_t)row * counts->row_bytes);
}

#endif
