/*
 * shared_load.h - what the workers of a server know together of the endpoints
 * that they send requests to: how many requests are in flight, how long
 * answers take, which endpoint fails, and since when one is there. It stands
 * beside the shared map (kubelua/shared.h): a pick takes endpoints from the
 * map, and chooses among them by this.
 *
 * It is an area of fixed size, which is made before the workers are forked. An
 * endpoint has a row. Each process that sends requests joins, and gets a
 * column: its own count of requests in every row. What is in flight at an
 * endpoint is the sum of a row. So no process writes what another one counts,
 * and the counts of a process that dies, however it dies, are taken back: the
 * kernel drops the lock that it held on its column, kl_loads_sweep of another
 * process sees that, and sets the column to zero.
 *
 * Calls after kl_loads_find take no lock, allocate nothing and make no system
 * call. They may run in all processes and threads at once, except that one
 * thread at a time uses a column. A row KL_LOADS_NONE is that of an endpoint
 * without a row: nothing is counted, and it is neither out nor new.
 *
 * Times are milliseconds of kl_loads_now.
 */
#ifndef KUBELUA_SHARED_LOAD_H
#define KUBELUA_SHARED_LOAD_H

#include "kubelua/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kl_loads kl_loads;

#define KL_LOADS_NONE UINT32_MAX /* no row, or no column */
#define KL_LOADS_ENDPOINTS 8192  /* rows, where the options say none */
#define KL_LOADS_PROCESSES 32    /* columns, where the options say none */
#define KL_LOADS_ENDPOINTS_MAX (1 << 20)
#define KL_LOADS_PROCESSES_MAX 1024
#define KL_LOADS_STALE_MS 60000 /* see kl_loads_find */

/* Zeroed fields are the defaults. */
typedef struct kl_loads_options {
    const char *name;   /* of the area; NULL: "default" */
    uint32_t endpoints; /* rows, rounded up to a power of two */
    /* Columns: twice the workers, as those before and after a reload are there
     * at once, and some more. A row takes 24 bytes, and 4 for each column,
     * rounded up to 64: by default 192. */
    uint32_t processes;
} kl_loads_options;

/*
 * Opens the area of that name. If this process or its parent has an area that
 * is as large as the options say, the call returns that area: nginx's workers
 * share one, before and after a reload. Else the call makes a new area, and
 * reserves all of the area's memory. Zeroed options fit any size. `options` may
 * be NULL. Thread-safe. Close an area as often as you have opened it. NULL:
 * KL_ENOMEM, KL_EIO, KL_EINVAL (a size).
 */
KL_API kl_loads *kl_loads_open(const kl_loads_options *options, kl_error *err);

/* Undoes one kl_loads_open; the last close leaves all columns of this process,
 * and no other call on the area may run beside it. NULL is fine. */
KL_API void kl_loads_close(kl_loads *loads);

/* Takes a free column for this process, or for a thread of it, and sets it to
 * zero. KL_LOADS_NONE: all are taken; requests of the caller are then not
 * counted. The child of a fork has none of the columns of its parent, and must
 * not use them. Some system calls. Thread-safe. */
KL_API uint32_t kl_loads_join(kl_loads *loads);

/* Gives the column back; its requests count no more. For the end of a thread:
 * the end of a process does it, too. Thread-safe. */
KL_API void kl_loads_leave(kl_loads *loads, uint32_t column);

/* Clears the columns of processes that have died, and returns their number. A
 * system call for each column that others use: call it about once a second,
 * in any process or in all. Thread-safe. */
KL_API uint32_t kl_loads_sweep(kl_loads *loads);

/* The time now: milliseconds since the machine started, within some 4 ms. */
KL_API int64_t kl_loads_now(void);

/* What kl_loads_find says of a row. */
typedef struct kl_load_row {
    uint32_t row;      /* KL_LOADS_NONE: there is none, and no room for one */
    uint32_t is_known; /* 1: the endpoint had this row already */
} kl_load_row;

/*
 * Finds the row of the endpoint with this identity, and of this pod (a hash of
 * its name; 0: unknown), so that a pod that gets the address of another one
 * has a row of its own; makes it if there is none. Call it again every few
 * seconds for endpoints in use: rows that no process has looked for within
 * KL_LOADS_STALE_MS, and that have no requests in flight, are given to other
 * endpoints when the area is full. (If that happened to a row in use, two
 * endpoints would have one row until the next kl_loads_find.) Of the 64 rows
 * where an endpoint may be, all can be in use although others are free; that
 * is rare if twice as many rows as endpoints are there.
 */
KL_API void kl_loads_find(kl_loads *loads, uint64_t identity, uint64_t pod,
                          int64_t now_ms, kl_load_row *to);

/* Counts a request of this column that begins, and one that is over. An end
 * without a begin changes nothing. */
KL_API void kl_loads_begin(kl_loads *loads, uint32_t row, uint32_t column);
KL_API void kl_loads_end(kl_loads *loads, uint32_t row, uint32_t column);

/* The requests in flight at an endpoint, of all processes. */
KL_API uint32_t kl_loads_in_flight(const kl_loads *loads, uint32_t row);

/* The sum of kl_loads_in_flight over these rows. */
KL_API uint64_t kl_loads_total(const kl_loads *loads, const uint32_t *rows,
                               uint32_t count);

/*
 * Failures count as in nginx's upstreams. An endpoint is out once it has
 * failed `max_fails` times (0: never), until `out_ms` have passed.
 * Then one request tries it (kl_loads_try, when it is sent): it is out for
 * others again until that one has succeeded, or for the same time once more. A
 * success forgets the failures if the last one is longer ago than that time.
 */
KL_API void kl_loads_fail(kl_loads *loads, uint32_t row, int64_t now_ms);
KL_API void kl_loads_succeed(kl_loads *loads, uint32_t row);
KL_API void kl_loads_try(kl_loads *loads, uint32_t row, int64_t out_ms,
                         int64_t now_ms);
KL_API bool kl_loads_is_out(const kl_loads *loads, uint32_t row,
                            uint32_t max_fails, int64_t out_ms, int64_t now_ms);

/* The failures that count at this moment. */
KL_API uint32_t kl_loads_fails(const kl_loads *loads, uint32_t row);

/*
 * The peak-sensitive moving average of how long an endpoint takes to answer: a
 * longer time than the average counts at once, a shorter one by and by (the
 * weight of what was falls to 1/e within 10 s), and without answers the average
 * falls in the same way, so that an endpoint that was slow once is tried again.
 * kl_loads_latency gives seconds; below 0: there was no answer yet.
 */
KL_API void kl_loads_observe(kl_loads *loads, uint32_t row, double seconds,
                             int64_t now_ms);
KL_API double kl_loads_latency(const kl_loads *loads, uint32_t row,
                               int64_t now_ms);

/* Gives an endpoint without an answer an average to start with; else does
 * nothing. */
KL_API void kl_loads_seed(kl_loads *loads, uint32_t row, double seconds,
                          int64_t now_ms);

/* Says that an endpoint came at this moment; does nothing if it was said
 * before. kl_loads_age gives milliseconds since then; below 0: it was never
 * said, so the endpoint was always there. */
KL_API void kl_loads_arrive(kl_loads *loads, uint32_t row, int64_t now_ms);
KL_API int64_t kl_loads_age(const kl_loads *loads, uint32_t row,
                            int64_t now_ms);

/* What is known of an endpoint at one moment. */
typedef struct kl_load_state {
    uint32_t in_flight;
    uint32_t fails;
    int64_t failed_ms; /* since it failed, or was tried after that; -1: it has
                          not failed */
    int64_t age_ms;    /* as kl_loads_age */
    double latency;    /* as kl_loads_latency */
} kl_load_state;

/* Looks at the endpoint of kl_loads_find, to show it: makes no row,
 * and does not keep one in use. False: it has none, so no process uses it. */
KL_API bool kl_loads_look(const kl_loads *loads, uint64_t identity,
                          uint64_t pod, int64_t now_ms, kl_load_state *to);

/* An area at one moment. */
typedef struct kl_loads_status {
    uint32_t endpoints; /* rows */
    uint32_t used;      /* rows that an endpoint has, or had */
    uint32_t processes; /* columns */
    uint32_t joined;    /* columns in use, or of a process that died since the
                           last sweep */
    uint64_t swept;     /* columns of dead processes that were cleared */
    uint64_t full;      /* times that an endpoint got no row */
} kl_loads_status;

/* Fills `to` with the state of the area. Looks at each row: not for each
 * request. */
KL_API void kl_loads_get_status(const kl_loads *loads, kl_loads_status *to);

#ifdef __cplusplus
}
#endif
#endif
