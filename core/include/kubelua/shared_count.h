/*
 * shared_count.h - what the workers of a server have counted together: series
 * of counters and histograms by name, such as the requests of a route. It
 * stands beside the shared map (kubelua/shared.h).
 *
 * It is an area of fixed size, which is made before the workers are forked. A
 * series has a row with cells, each of which only grows. All workers add to the
 * same cells by atomic additions, so nothing is lost when a worker ends,
 * however it ends, and a reload goes on counting. A row has several stripes of
 * cells, for different workers, so that these do not wait for one cache line; a
 * read gives the sums.
 *
 * Calls after kl_counts_open take no lock, allocate nothing and make no system
 * call. They may run in all processes and threads at once.
 *
 * Times are milliseconds of kl_loads_now (kubelua/shared_load.h).
 */
#ifndef KUBELUA_SHARED_COUNT_H
#define KUBELUA_SHARED_COUNT_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_counts kl_counts;

#define KL_COUNTS_NONE UINT32_MAX /* no row */
#define KL_COUNTS_SERIES 4096     /* rows, where the options say none */
#define KL_COUNTS_SERIES_MAX 65536
#define KL_COUNTS_STRIPES_MAX 16
#define KL_COUNTS_NAME_MAX 360  /* bytes of a name */
#define KL_COUNTS_KINDS 8       /* counters of a series */
#define KL_COUNTS_BUCKETS 14    /* of a histogram; the last one has no bound */
#define KL_COUNTS_CELLS 24      /* the counters, the buckets, the sum */
#define KL_COUNTS_REST_MS 60000 /* see kl_counts_forget */

/* Zeroed fields are the defaults. */
typedef struct kl_counts_options {
    const char *name; /* of the area; NULL: "default" */
    uint32_t series;  /* rows, rounded up to a power of two */
    uint32_t stripes; /* 1 to KL_COUNTS_STRIPES_MAX; 0: 1. A row takes 384
                         bytes, and 192 for each stripe */
} kl_counts_options;

/*
 * Opens the area of that name. If this process or its parent has such an area,
 * the call returns that area, whatever its size: nginx's workers share one,
 * before and after a reload. Else the call makes a new area, and reserves all
 * of the area's memory. `options` may be NULL. Thread-safe. Close an area as
 * often as you have opened it. NULL: KL_ENOMEM, KL_EIO, KL_EINVAL (a size).
 */
KL_API kl_counts *kl_counts_open(const kl_counts_options *options,
                                 kl_error *err);

/* Undoes one kl_counts_open; no other call on the area may run beside the last
 * close. NULL is fine. */
KL_API void kl_counts_close(kl_counts *counts);

/* A series, as its users keep it. */
typedef struct kl_count_row {
    uint64_t key; /* of the name: below 2^53 */
    uint32_t row; /* KL_COUNTS_NONE: there is no room for it */
    uint32_t spare;
} kl_count_row;

/* Finds the series of a name, or makes it. Of the 64 rows where a name may be,
 * all can be in use although others are free; that is rare if half of all are
 * free. A name that is empty or too long has no row. */
KL_API void kl_counts_find(kl_counts *counts, const char *name, size_t length,
                           int64_t now_ms, kl_count_row *to);

/* Adds 1 to the counter `kind` (below KL_COUNTS_KINDS), and, unless `ms` is
 * below 0, puts `ms` into the histogram. `stripe` is any number, another one
 * for each worker. False: the row is not that series any more, so nothing was
 * counted: find it again. */
KL_API bool kl_counts_add(kl_counts *counts, const kl_count_row *row,
                          uint32_t stripe, uint32_t kind, int64_t ms);

/* A series at one moment. */
typedef struct kl_count_series {
    uint64_t key;
    uint64_t kinds[KL_COUNTS_KINDS];
    uint64_t buckets[KL_COUNTS_BUCKETS]; /* not cumulative */
    uint64_t sum_ms;
    uint32_t length;
    char name[KL_COUNTS_NAME_MAX + 1]; /* ends with NUL */
} kl_count_series;

/* The upper bounds of the buckets but for the last one, in milliseconds. A
 * bucket has what is at most its bound. Static. */
KL_API const uint32_t *kl_counts_bounds(void);

/* The number of rows. */
KL_API uint32_t kl_counts_rows(const kl_counts *counts);

/* Reads a row. False: it has no series. Two rows may have one name, if two
 * processes made it at once while another series was forgotten: their sum is
 * what was counted. */
KL_API bool kl_counts_read(const kl_counts *counts, uint32_t row,
                           kl_count_series *to);

/* Forgets a series, for what is gone. Its row is given to another one after
 * KL_COUNTS_REST_MS at the earliest, when no kl_counts_add that was under way
 * can be any more. False: the row is not that series. */
KL_API bool kl_counts_forget(kl_counts *counts, const kl_count_row *row,
                             int64_t now_ms);

/* How often a series was not made, as there was no room. */
KL_API uint64_t kl_counts_full(const kl_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
