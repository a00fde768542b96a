/*
 * loads.h - the layout of the area of kubelua/shared_load.h. loads.c opens it
 * and hands out its columns, load_rows.c finds rows, counts and measures.
 */
#ifndef KL_SHARED_LOADS_H
#define KL_SHARED_LOADS_H

#include "kubelua/shared_load.h"
#include "shared/area.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The first page of the area is of the file (kl__shared_file_open). In the
 * second one is this head; behind it the keys, then the rows. */
typedef struct kl__loads_head {
    /* All columns that were ever used are below this one: sums end there. Kept
     * apart from what is written more often. */
    _Alignas(64) _Atomic uint32_t columns_used;
    _Alignas(64) _Atomic uint64_t swept;
    _Atomic uint64_t full;
    /* 1: the column is in use; or its process has died, and it was not cleared.
     */
    _Atomic uint8_t joined[KL_LOADS_PROCESSES_MAX];
} kl__loads_head;

/*
 * What is known of an endpoint, and then a count of each column. All accesses
 * are relaxed: each word stands for itself, and no other memory depends on it.
 * Only the key of the row orders them (load_rows.c).
 */
typedef struct kl__load_row {
    _Atomic uint64_t arrived_ms; /* 0: it was always there */
    /* Failures (16 bits from the lowest); 1 if a request has tried the endpoint
     * since the last failure (1 bit); when it failed or was tried (47 bits). */
    _Atomic uint64_t fails;
    /* When it was measured (low half, in ms), and the average in seconds as the
     * bits of a float (high half). 0: there was no answer. */
    _Atomic uint64_t latency;
    _Atomic uint32_t counts[];
} kl__load_row;

/* An area in one process. */
struct kl_loads {
    kl__area area;
    kl__loads_head *head;
    /* Of each row: which endpoint has it (36 bits of a hash, from the highest),
     * and when one last looked for it (28 bits of seconds). 0: free. */
    _Atomic uint64_t *keys;
    char *rows;
    uint32_t row_bytes;
    uint32_t endpoints; /* a power of two */
    uint32_t processes;

    /* Guarded by the lock of all areas. */
    pid_t process; /* that has these columns: not its child */
    bool columns[KL_LOADS_PROCESSES_MAX];
};

static inline kl__load_row *kl__loads_row(const kl_loads *loads, uint32_t row)
{
    return (kl__load_row *)(void *)(loads->rows +
                                    (size_t)row * loads->row_bytes);
}

#endif
