/*
 * records.h - finds endpoints in an entry, between kl__shared_view_begin and
 * kl__shared_view_end. Whatever the records contain, an index that is returned
 * is below `total`, and every search ends.
 */
#ifndef KL_SHARED_RECORDS_H
#define KL_SHARED_RECORDS_H

#include "shared/read.h"

#define KL__NO_RECORD UINT32_MAX

typedef struct kl__records {
    const kl__word
        *first;      /* total * KL__RECORD_WORDS words, all inside the block */
    uint32_t ready;  /* number of ready ones, <= usable */
    uint32_t usable; /* number of ready and serving ones, <= total */
    uint32_t total;
    bool has_weights; /* the weights are not all equal */
} kl__records;

/* The records of an entry. */
typedef struct kl__entry_records {
    kl__records all;
    kl__records by_zone; /* for picks of a zone; mostly the same */
} kl__entry_records;

typedef struct kl__range {
    uint32_t first, end;
} kl__range;

/* Checks the entry's counts. KL_SHARED_OTHER_KIND, KL_SHARED_BROKEN. */
kl_shared_result kl__records_open(const kl__shared_view *view,
                                  kl__entry_records *records);

static inline const kl__word *kl__records_at(const kl__records *records,
                                             uint32_t index)
{
    return records->first + (size_t)index * KL__RECORD_WORDS;
}

/* Finds the records of a zone, or of a node, in the range of a class: the ready
 * or the serving records, which are sorted by zone and node. */
kl__range kl__find_zone(const kl__records *records, kl__range class_,
                        uint64_t zone);
kl__range kl__find_node(const kl__records *records, kl__range class_,
                        uint64_t node);

/* Chooses one of a range that is not empty; KL__NO_RECORD: all are excluded. */
uint32_t kl__choose_by_hash(const kl__records *records, kl__range range,
                            const kl_pick_options *options);
uint32_t kl__choose_by_turn(const kl__records *records, kl__range range,
                            const kl_pick_options *options, uint32_t turn);

#endif
