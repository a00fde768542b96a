/*
 * load_rows.c - the rows of the area of kubelua/shared_load.h: finds that of an
 * endpoint, counts its requests and failures, and measures its answers.
 *
 * A row is claimed by a compare-and-swap of its key. Rows are never freed, only
 * given to another endpoint, so a search may end at the first free one; and two
 * processes that look for the same new endpoint want the same free row, where
 * one of them wins and the other one finds its key.
 */
#include "shared/loads.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
    PROBES = 64,       /* rows where an endpoint may be */
    TRIES = 16,        /* to claim a row, if others are faster */
    TOUCH_MS = 1000,   /* a row is marked as seen at most so often */
    DECAY_MS = 10000,  /* a weight falls to 1/e */
    FAILS_MAX = 0xffff /* all bits of the count */
};

#define TRIED ((uint64_t)1 << 16) /* in `fails` */
#define CHECKED_SHIFT 17

static uint64_t load_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static bool swap_word(_Atomic uint64_t *word, uint64_t *was, uint64_t value)
{
    return atomic_compare_exchange_weak_explicit(
        word, was, value, memory_order_relaxed, memory_order_relaxed);
}

int64_t kl_loads_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool has_row(const kl_loads *loads, uint32_t row)
{
    return row < loads->endpoints;
}

uint32_t kl_loads_in_flight(const kl_loads *loads, uint32_t row)
{
    uint32_t columns, sum = 0;
    const kl__load_row *self;

    if (!has_row(loads, row)) {
        return 0;
    }
    self = kl__loads_row(loads, row);
    columns =
        atomic_load_explicit(&loads->head->columns_used, memory_order_relaxed);
    for (uint32_t i = 0; i < columns; i++) {
        sum += atomic_load_explicit(&self->counts[i], memory_order_relaxed);
    }
    return sum;
}

uint64_t kl_loads_total(const kl_loads *loads, const uint32_t *rows,
                        uint32_t count)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < count; i++) {
        sum += kl_loads_in_flight(loads, rows[i]);
    }
    return sum;
}

/* A key that is never 0, of both hashes. */
static uint64_t key_of(uint64_t identity, uint64_t pod)
{
    uint64_t key = identity ^ (pod * 0x9e3779b97f4a7c15ULL);

    key = (key ^ (key >> 32)) * 0xd6e8feb86659fd93ULL;
    key ^= key >> 32;
    return key != 0 ? key : 1;
}

/* True if the row may be given to another endpoint. */
static bool is_stale(const kl_loads *loads, uint32_t row, int64_t now_ms)
{
    uint64_t seen = load_word(&kl__loads_row(loads, row)->seen_ms);

    return (uint64_t)now_ms > seen + KL_LOADS_STALE_MS &&
           kl_loads_in_flight(loads, row) == 0;
}

/* The row of the key: true. Else false, and `row` is where it may be put: the
 * first free row, else the stale one that was unused for longest, else none. */
static bool search_row(const kl_loads *loads, uint64_t key, int64_t now_ms,
                       uint32_t *row)
{
    uint64_t oldest = UINT64_MAX;

    *row = KL_LOADS_NONE;
    for (uint32_t i = 0; i < PROBES && i < loads->endpoints; i++) {
        uint32_t at = (uint32_t)(key + i) & (loads->endpoints - 1);
        uint64_t found = load_word(&loads->keys[at]);

        if (found == key || found == 0) {
            *row = at;
            return found == key;
        }
        if (is_stale(loads, at, now_ms) &&
            load_word(&kl__loads_row(loads, at)->seen_ms) < oldest) {
            oldest = load_word(&kl__loads_row(loads, at)->seen_ms);
            *row = at;
        }
    }
    return false;
}

/* Sets a word to 0, unless another process has changed it since it was read:
 * that one knows the row by its new endpoint already. */
static void forget_word(_Atomic uint64_t *word, uint64_t was)
{
    atomic_compare_exchange_strong_explicit(word, &was, 0, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* Claims a row that was found free or stale. False: another process was faster.
 */
static bool claim_row(kl_loads *loads, uint32_t at, uint64_t key,
                      int64_t now_ms)
{
    kl__load_row *row = kl__loads_row(loads, at);
    uint64_t was = load_word(&loads->keys[at]);
    uint64_t arrived_ms = load_word(&row->arrived_ms);
    uint64_t fails = load_word(&row->fails);
    uint64_t latency = load_word(&row->latency);

    if (was != 0 && !is_stale(loads, at, now_ms)) {
        return false;
    }
    /* seen first: from now on no other process takes it for a stale one */
    store_word(&row->seen_ms, (uint64_t)now_ms);
    if (!atomic_compare_exchange_strong_explicit(&loads->keys[at], &was, key,
                                                 memory_order_relaxed,
                                                 memory_order_relaxed)) {
        return false;
    }
    forget_word(&row->arrived_ms, arrived_ms);
    forget_word(&row->fails, fails);
    forget_word(&row->latency, latency);
    return true;
}

static void touch_row(kl_loads *loads, uint32_t at, int64_t now_ms)
{
    _Atomic uint64_t *seen = &kl__loads_row(loads, at)->seen_ms;

    if ((uint64_t)now_ms > load_word(seen) + TOUCH_MS) {
        store_word(seen, (uint64_t)now_ms);
    }
}

void kl_loads_find(kl_loads *loads, uint64_t identity, uint64_t pod,
                   int64_t now_ms, kl_load_row *to)
{
    uint64_t key = key_of(identity, pod);

    for (int i = 0; i < TRIES; i++) {
        *to = (kl_load_row){0};
        if (search_row(loads, key, now_ms, &to->row)) {
            to->is_known = 1;
            touch_row(loads, to->row, now_ms);
            return;
        }
        if (to->row == KL_LOADS_NONE) {
            break;
        }
        if (claim_row(loads, to->row, key, now_ms)) {
            return;
        }
    }
    to->row = KL_LOADS_NONE;
    atomic_fetch_add_explicit(&loads->head->full, 1, memory_order_relaxed);
}

/* The count of a column in a row; NULL: there is none. */
static _Atomic uint32_t *count_of(const kl_loads *loads, uint32_t row,
                                  uint32_t column)
{
    return has_row(loads, row) && column < loads->processes
               ? &kl__loads_row(loads, row)->counts[column]
               : NULL;
}

void kl_loads_begin(kl_loads *loads, uint32_t row, uint32_t column)
{
    _Atomic uint32_t *count = count_of(loads, row, column);

    if (count != NULL) {
        /* no other thread writes it, so this is no read-modify-write */
        uint32_t now = atomic_load_explicit(count, memory_order_relaxed);

        atomic_store_explicit(count, now + 1, memory_order_relaxed);
    }
}

void kl_loads_end(kl_loads *loads, uint32_t row, uint32_t column)
{
    _Atomic uint32_t *count = count_of(loads, row, column);

    if (count != NULL) {
        uint32_t now = atomic_load_explicit(count, memory_order_relaxed);

        atomic_store_explicit(count, now > 0 ? now - 1 : 0,
                              memory_order_relaxed);
    }
}

/* The time in a word of `fails`. */
static int64_t checked_ms(uint64_t fails)
{
    return (int64_t)(fails >> CHECKED_SHIFT);
}

void kl_loads_fail(kl_loads *loads, uint32_t row, int64_t now_ms)
{
    _Atomic uint64_t *word;
    uint64_t was, count;

    if (!has_row(loads, row)) {
        return;
    }
    word = &kl__loads_row(loads, row)->fails;
    was = load_word(word);
    do {
        count = was & FAILS_MAX;
        count += count < FAILS_MAX ? 1 : 0;
    } while (!swap_word(word, &was, (uint64_t)now_ms << CHECKED_SHIFT | count));
}

void kl_loads_succeed(kl_loads *loads, uint32_t row)
{
    uint64_t was;

    if (!has_row(loads, row)) {
        return;
    }
    was = load_word(&kl__loads_row(loads, row)->fails);
    if ((was & TRIED) != 0) {
        /* if a failure came meanwhile, it counts */
        atomic_compare_exchange_strong_explicit(
            &kl__loads_row(loads, row)->fails, &was, 0, memory_order_relaxed,
            memory_order_relaxed);
    }
}

void kl_loads_try(kl_loads *loads, uint32_t row, int64_t out_ms, int64_t now_ms)
{
    uint64_t was, tried;

    if (!has_row(loads, row)) {
        return;
    }
    was = load_word(&kl__loads_row(loads, row)->fails);
    if (was != 0 && now_ms - checked_ms(was) > out_ms) {
        tried = (uint64_t)now_ms << CHECKED_SHIFT | TRIED | (was & FAILS_MAX);
        atomic_compare_exchange_strong_explicit(
            &kl__loads_row(loads, row)->fails, &was, tried,
            memory_order_relaxed, memory_order_relaxed);
    }
}

bool kl_loads_is_out(const kl_loads *loads, uint32_t row, uint32_t max_fails,
                     int64_t out_ms, int64_t now_ms)
{
    uint64_t fails;

    if (max_fails == 0 || !has_row(loads, row)) {
        return false;
    }
    fails = load_word(&kl__loads_row(loads, row)->fails);
    return (fails & FAILS_MAX) >= max_fails &&
           now_ms - checked_ms(fails) <= out_ms;
}

uint32_t kl_loads_fails(const kl_loads *loads, uint32_t row)
{
    return has_row(loads, row)
               ? (uint32_t)(load_word(&kl__loads_row(loads, row)->fails) &
                            FAILS_MAX)
               : 0;
}

static uint64_t pack_latency(double seconds, int64_t now_ms)
{
    float value = (float)seconds;
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    /* the time is never 0, so that the word is not */
    return (uint64_t)bits << 32 | ((uint32_t)now_ms | 1);
}

/* The average that a word was given, and the part of it that is kept now. */
static double read_latency(uint64_t word, int64_t now_ms, double *kept)
{
    uint32_t bits = (uint32_t)(word >> 32);
    int32_t passed = (int32_t)((uint32_t)now_ms - (uint32_t)word);
    float value;

    memcpy(&value, &bits, sizeof(value));
    *kept = passed > 1 ? (double)expf(-(float)passed / DECAY_MS) : 1;
    return (double)value;
}

double kl_loads_latency(const kl_loads *loads, uint32_t row, int64_t now_ms)
{
    uint64_t word = has_row(loads, row)
                        ? load_word(&kl__loads_row(loads, row)->latency)
                        : 0;
    double kept, average = read_latency(word, now_ms, &kept);

    return word != 0 ? average * kept : -1;
}

void kl_loads_observe(kl_loads *loads, uint32_t row, double seconds,
                      int64_t now_ms)
{
    _Atomic uint64_t *word;
    uint64_t was;
    double kept, average;

    if (!has_row(loads, row) || !(seconds >= 0 && seconds < 1e9)) {
        return;
    }
    word = &kl__loads_row(loads, row)->latency;
    was = load_word(word);
    do {
        average = read_latency(was, now_ms, &kept);
        average = was == 0 || seconds >= average
                      ? seconds
                      : average * kept + seconds * (1 - kept);
    } while (!swap_word(word, &was, pack_latency(average, now_ms)));
}

void kl_loads_seed(kl_loads *loads, uint32_t row, double seconds,
                   int64_t now_ms)
{
    uint64_t was = 0;

    if (has_row(loads, row) && seconds >= 0) {
        atomic_compare_exchange_strong_explicit(
            &kl__loads_row(loads, row)->latency, &was,
            pack_latency(seconds, now_ms), memory_order_relaxed,
            memory_order_relaxed);
    }
}

void kl_loads_arrive(kl_loads *loads, uint32_t row, int64_t now_ms)
{
    uint64_t was = 0;

    if (has_row(loads, row)) {
        atomic_compare_exchange_strong_explicit(
            &kl__loads_row(loads, row)->arrived_ms, &was, (uint64_t)now_ms,
            memory_order_relaxed, memory_order_relaxed);
    }
}

int64_t kl_loads_age(const kl_loads *loads, uint32_t row, int64_t now_ms)
{
    uint64_t arrived = has_row(loads, row)
                           ? load_word(&kl__loads_row(loads, row)->arrived_ms)
                           : 0;

    if (arrived == 0) {
        return -1;
    }
    return now_ms > (int64_t)arrived ? now_ms - (int64_t)arrived : 0;
}

bool kl_loads_look(const kl_loads *loads, uint64_t identity, uint64_t pod,
                   int64_t now_ms, kl_load_state *to)
{
    uint64_t fails;
    uint32_t row;

    if (!search_row(loads, key_of(identity, pod), now_ms, &row)) {
        return false;
    }
    fails = load_word(&kl__loads_row(loads, row)->fails);
    *to = (kl_load_state){.in_flight = kl_loads_in_flight(loads, row),
                          .fails = (uint32_t)(fails & FAILS_MAX),
                          .failed_ms =
                              fails != 0 ? now_ms - checked_ms(fails) : -1,
                          .age_ms = kl_loads_age(loads, row, now_ms),
                          .latency = kl_loads_latency(loads, row, now_ms)};
    return true;
}
