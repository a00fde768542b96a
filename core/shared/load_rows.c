/*
 * load_rows.c - the rows of the area of kubelua/shared_load.h: finds that of an
 * endpoint, counts its requests and failures, and measures its answers.
 *
 * A process claims a row by a compare-and-swap of the row's key. The key has
 * the endpoint's hash, and the time when a process last looked for the
 * endpoint. So one swap writes both: a claimed row never looks unused. Two
 * processes that look for the same new endpoint want the same row, the first
 * free one or that unused for longest; one of them wins, and the other one
 * finds its key. Rows are never freed, only given to another endpoint, so a
 * search may end at a free one.
 */
#include "shared/loads.h"

#include <math.h>
#include <string.h>
#include <time.h>

enum {
    PROBES = 64,       /* rows where an endpoint may be */
    TRIES = 16,        /* to claim a row, if others are faster */
    SEEN_BITS = 28,    /* of a key: seconds, for 8 years */
    DECAY_MS = 10000,  /* a weight falls to 1/e */
    FAILS_MAX = 0xffff /* all bits of the count */
};

#define TRIED ((uint64_t)1 << 16) /* in `fails` */
#define CHECKED_SHIFT 17
#define SEEN_MASK (((uint64_t)1 << SEEN_BITS) - 1)

static uint64_t load_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
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

/* A hash of both. Its lower bits say where the row may be, its upper ones are
 * in the key, and never 0 there. */
static uint64_t hash_endpoint(uint64_t identity, uint64_t pod)
{
    uint64_t hash = identity ^ (pod * 0x9e3779b97f4a7c15ULL);

    hash = (hash ^ (hash >> 32)) * 0xd6e8feb86659fd93ULL;
    hash ^= hash >> 32;
    return hash > SEEN_MASK ? hash : hash | (SEEN_MASK + 1);
}

static uint64_t make_key(uint64_t hash, int64_t now_ms)
{
    return (hash & ~SEEN_MASK) | ((uint64_t)(now_ms / 1000) & SEEN_MASK);
}

static bool is_key_of(uint64_t key, uint64_t hash)
{
    return (key & ~SEEN_MASK) == (hash & ~SEEN_MASK);
}

/* The seconds since a row was looked for; below 0 if another process did it
 * later than `now_ms`. */
static int32_t unused_seconds(uint64_t key, int64_t now_ms)
{
    uint32_t seconds = (uint32_t)(now_ms / 1000) - (uint32_t)key;

    return (int32_t)(seconds << (32 - SEEN_BITS)) >> (32 - SEEN_BITS);
}

/* The key of a row; and if the row may be given to another endpoint. Requests
 * in flight are those of this endpoint: one that claims the row meanwhile has
 * changed the key before it begins any (the fences: and that is seen). */
static uint64_t read_key(const kl_loads *loads, uint32_t row, int64_t now_ms,
                         bool *is_unused)
{
    uint64_t key =
        atomic_load_explicit(&loads->keys[row], memory_order_acquire);
    uint64_t was;

    do {
        was = key;
        *is_unused = key != 0 &&
                     unused_seconds(key, now_ms) > KL_LOADS_STALE_MS / 1000 &&
                     kl_loads_in_flight(loads, row) == 0;
        atomic_thread_fence(memory_order_acquire);
        key = atomic_load_explicit(&loads->keys[row], memory_order_acquire);
    } while (key != was);
    return key;
}

/* A row where an endpoint is, or may be put. */
typedef struct place {
    uint32_t row; /* KL_LOADS_NONE: there is none */
    uint64_t key; /* as it was found; 0: the row is free */
} place;

/* Finds the row of the endpoint: true. Else false, and `to` is where it may be
 * put: the first free row, else that unused for longest, else none. */
static bool search_row(const kl_loads *loads, uint64_t hash, int64_t now_ms,
                       place *to)
{
    int32_t longest = 0;

    *to = (place){.row = KL_LOADS_NONE};
    for (uint32_t i = 0; i < PROBES && i < loads->endpoints; i++) {
        uint32_t at = (uint32_t)(hash + i) & (loads->endpoints - 1);
        bool is_unused;
        uint64_t key = read_key(loads, at, now_ms, &is_unused);

        if (key == 0 || is_key_of(key, hash)) {
            *to = (place){at, key};
            return key != 0;
        }
        if (is_unused && unused_seconds(key, now_ms) > longest) {
            longest = unused_seconds(key, now_ms);
            *to = (place){at, key};
        }
    }
    return false;
}

/* Replaces a key. False: another process was faster. Release: what this one has
 * read of the row, it has read before. */
static bool swap_key(kl_loads *loads, const place *at, uint64_t key)
{
    uint64_t was = at->key;

    return atomic_compare_exchange_strong_explicit(&loads->keys[at->row], &was,
                                                   key, memory_order_acq_rel,
                                                   memory_order_relaxed);
}

/* Sets a word to 0, unless another process has changed it since it was read:
 * that one knows the row by its new endpoint already. */
static void forget_word(_Atomic uint64_t *word, uint64_t was)
{
    atomic_compare_exchange_strong_explicit(word, &was, 0, memory_order_relaxed,
                                            memory_order_relaxed);
}

/* Claims a row that was found free or unused. */
static bool claim_row(kl_loads *loads, const place *at, uint64_t key)
{
    kl__load_row *row = kl__loads_row(loads, at->row);
    uint64_t arrived_ms = load_word(&row->arrived_ms);
    uint64_t fails = load_word(&row->fails);
    uint64_t latency = load_word(&row->latency);

    if (!swap_key(loads, at, key)) {
        return false;
    }
    atomic_thread_fence(memory_order_release); /* see read_key */
    forget_word(&row->arrived_ms, arrived_ms);
    forget_word(&row->fails, fails);
    forget_word(&row->latency, latency);
    return true;
}

/* Marks a row as looked for, once a second. False: it is another one's now. */
static bool touch_row(kl_loads *loads, const place *at, uint64_t key,
                      int64_t now_ms)
{
    return unused_seconds(at->key, now_ms) <= 0 || swap_key(loads, at, key);
}

void kl_loads_find(kl_loads *loads, uint64_t identity, uint64_t pod,
                   int64_t now_ms, kl_load_row *to)
{
    uint64_t hash = hash_endpoint(identity, pod);
    uint64_t key = make_key(hash, now_ms);

    for (int i = 0; i < TRIES; i++) {
        place at;
        bool is_known = search_row(loads, hash, now_ms, &at);

        *to = (kl_load_row){.row = at.row, .is_known = is_known};
        if (at.row == KL_LOADS_NONE) {
            break;
        }
        if (is_known ? touch_row(loads, &at, key, now_ms)
                     : claim_row(loads, &at, key)) {
            return;
        }
    }
    *to = (kl_load_row){.row = KL_LOADS_NONE};
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
    place at;

    if (!search_row(loads, hash_endpoint(identity, pod), now_ms, &at)) {
        return false;
    }
    row = at.row;
    fails = load_word(&kl__loads_row(loads, row)->fails);
    *to = (kl_load_state){.in_flight = kl_loads_in_flight(loads, row),
                          .fails = (uint32_t)(fails & FAILS_MAX),
                          .failed_ms =
                              fails != 0 ? now_ms - checked_ms(fails) : -1,
                          .age_ms = kl_loads_age(loads, row, now_ms),
                          .latency = kl_loads_latency(loads, row, now_ms)};
    return true;
}
