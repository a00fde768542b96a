/*
 * count_rows.c - the rows of the area of kubelua/shared_count.h: finds that of
 * a name, adds to its cells, reads and forgets it.
 *
 * Cells and names are accessed relaxed. What orders them is the key, and the
 * time when a row was forgotten: the row rests for a minute before another
 * series has it, so an addition that began before is long over.
 */
#include "shared/counts.h"

#include "shared/layout.h"

#include <string.h>

enum {
    PROBES = 64, /* rows where a series may be */
    TRIES = 16   /* to claim a row, if others are faster */
};

#define NEVER                                                           \
    UINT64_MAX /* in `freed_ms`: the row has a series, or had one whose \
                  cells are not cleared yet */

static const uint32_t bounds[KL_COUNTS_BUCKETS - 1] = {
    1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10000};

static uint64_t load_word(const _Atomic uint64_t *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static void store_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static void add_to_word(_Atomic uint64_t *word, uint64_t value)
{
    atomic_fetch_add_explicit(word, value, memory_order_relaxed);
}

const uint32_t *kl_counts_bounds(void)
{
    return bounds;
}

/* Acquire: the cells of a row that has rested are seen as 0. */
static bool has_rested(const kl__count_row *row, uint64_t now_ms)
{
    uint64_t freed_ms =
        atomic_load_explicit(&row->freed_ms, memory_order_acquire);

    return freed_ms != NEVER && now_ms > freed_ms + KL_COUNTS_REST_MS;
}

/* The row of the key: true. Else false, and `at` is where it may be put, with
 * the key `was` there; or KL_COUNTS_NONE. Keys of freed rows are stepped over,
 * so a series may be behind one; a key that is 0 ends the search. */
static bool search_row(const kl_counts *counts, uint64_t key, uint64_t now_ms,
                       uint32_t *at, uint64_t *was)
{
    *at = KL_COUNTS_NONE;
    for (uint32_t i = 0; i < PROBES && i < counts->series; i++) {
        uint32_t place = (uint32_t)(key + i) & (counts->series - 1);
        const kl__count_row *row = kl__counts_row(counts, place);
        /* Acquire: of a row that was forgotten, freed_ms is not that of before;
         * of another one, the cells are not those of a series before. */
        uint64_t found = atomic_load_explicit(&row->key, memory_order_acquire);
        bool is_free =
            found == 0 || (found == KL__COUNT_FREED && has_rested(row, now_ms));

        if (found == key || (is_free && *at == KL_COUNTS_NONE)) {
            *at = place;
            *was = found;
        }
        if (found == key || found == 0) {
            return found == key;
        }
    }
    return false;
}

/* Writes the name, unless it is there. Several processes may do so at once:
 * they write the same. */
static void write_name(kl__count_row *row, const char *name, size_t length)
{
    for (size_t i = 0; i * 8 < length; i++) {
        uint64_t word = 0;
        size_t rest = length - i * 8;

        memcpy(&word, name + i * 8, rest < 8 ? rest : 8);
        if (load_word(&row->name[i]) != word) {
            store_word(&row->name[i], word);
        }
    }
    if (load_word(&row->length) != length) {
        store_word(&row->length, length);
    }
}

static bool claim_row(kl__count_row *row, uint64_t was, uint64_t key)
{
    /* If another process is faster, it has stored the same. */
    store_word(&row->freed_ms, NEVER);
    /* Release: with the key, `freed_ms` and the zeros are seen. */
    return atomic_compare_exchange_strong_explicit(
        &row->key, &was, key, memory_order_acq_rel, memory_order_relaxed);
}

void kl_counts_find(kl_counts *counts, const char *name, size_t length,
                    int64_t now_ms, kl_count_row *to)
{
    uint64_t was = 0;

    *to = (kl_count_row){.key = kl_shared_hash(name, length),
                         .row = KL_COUNTS_NONE};
    if (length == 0 || length > KL_COUNTS_NAME_MAX) {
        return;
    }
    for (int i = 0; i < TRIES; i++) {
        bool is_known =
            search_row(counts, to->key, (uint64_t)now_ms, &to->row, &was);

        if (to->row == KL_COUNTS_NONE) {
            break;
        }
        if (is_known ||
            claim_row(kl__counts_row(counts, to->row), was, to->key)) {
            write_name(kl__counts_row(counts, to->row), name, length);
            return;
        }
    }
    to->row = KL_COUNTS_NONE;
    add_to_word(counts->full, 1);
}

static int bucket_of(int64_t ms)
{
    int bucket = 0;

    while (bucket < KL_COUNTS_BUCKETS - 1 && ms > bounds[bucket]) {
        bucket++;
    }
    return bucket;
}

bool kl_counts_add(kl_counts *counts, const kl_count_row *row, uint32_t stripe,
                   uint32_t kind, int64_t ms)
{
    kl__count_row *self;
    _Atomic uint64_t *cells;

    if (row->row >= counts->series || kind >= KL_COUNTS_KINDS) {
        return false;
    }
    self = kl__counts_row(counts, row->row);
    if (load_word(&self->key) != row->key) {
        return false;
    }
    cells = &self->cells[(stripe & (counts->stripes - 1)) * KL_COUNTS_CELLS];
    add_to_word(&cells[kind], 1);
    if (ms >= 0) {
        add_to_word(&cells[KL__COUNT_BUCKETS_AT + bucket_of(ms)], 1);
        add_to_word(&cells[KL__COUNT_SUM_AT], (uint64_t)ms);
    }
    return true;
}

/* Copies the name. False: it is not that of the key (yet). */
static bool read_series_name(const kl__count_row *row, kl_count_series *to)
{
    uint64_t words[KL__COUNT_NAME_WORDS], length = load_word(&row->length);

    if (length == 0 || length > KL_COUNTS_NAME_MAX) {
        return false;
    }
    for (size_t i = 0; i * 8 < length; i++) {
        words[i] = load_word(&row->name[i]);
    }
    memcpy(to->name, words, length);
    to->name[length] = '\0';
    to->length = (uint32_t)length;
    return kl_shared_hash(to->name, length) == to->key;
}

static uint64_t sum_stripes(const kl_counts *counts, const kl__count_row *row,
                            int cell)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < counts->stripes; i++) {
        sum += load_word(&row->cells[i * KL_COUNTS_CELLS + (uint32_t)cell]);
    }
    return sum;
}

bool kl_counts_read(const kl_counts *counts, uint32_t row, kl_count_series *to)
{
    const kl__count_row *self;

    if (row >= counts->series) {
        return false;
    }
    self = kl__counts_row(counts, row);
    to->key = load_word(&self->key);
    if (to->key == 0 || to->key == KL__COUNT_FREED ||
        !read_series_name(self, to)) {
        return false;
    }
    for (int i = 0; i < KL_COUNTS_KINDS; i++) {
        to->kinds[i] = sum_stripes(counts, self, i);
    }
    for (int i = 0; i < KL_COUNTS_BUCKETS; i++) {
        to->buckets[i] = sum_stripes(counts, self, KL__COUNT_BUCKETS_AT + i);
    }
    to->sum_ms = sum_stripes(counts, self, KL__COUNT_SUM_AT);
    /* If a cell was read after it was cleared, the key has changed. */
    kl__fence(memory_order_acquire);
    return load_word(&self->key) == to->key;
}

static void clear_cells(const kl_counts *counts, kl__count_row *row)
{
    for (uint32_t i = 0; i < counts->stripes * KL_COUNTS_CELLS; i++) {
        store_word(&row->cells[i], 0);
    }
}

bool kl_counts_forget(kl_counts *counts, const kl_count_row *row,
                      int64_t now_ms)
{
    uint64_t key = row->key;
    kl__count_row *self;

    if (row->row >= counts->series || key == 0 || key == KL__COUNT_FREED) {
        return false;
    }
    self = kl__counts_row(counts, row->row);
    /* 1. The key: nothing is counted any more. 2. The cells. 3. The time, from
     * which on the row rests. A process that dies before 3 leaves a row that no
     * series gets. */
    if (!atomic_compare_exchange_strong_explicit(
            &self->key, &key, KL__COUNT_FREED, memory_order_acq_rel,
            memory_order_relaxed)) {
        return false;
    }
    /* A reader that sees a cleared cell also sees, after its fence, the key. */
    kl__fence(memory_order_release);
    clear_cells(counts, self);
    /* Release: see has_rested. */
    atomic_store_explicit(&self->freed_ms, (uint64_t)now_ms,
                          memory_order_release);
    return true;
}
