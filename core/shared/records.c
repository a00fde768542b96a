/*
 * records.c - binary searches in sorted records, and the choice of one by hash
 * or round robin; see records.h.
 */
#include "shared/records.h"

#include <math.h>

kl_shared_result kl__records_open(const kl__shared_view *view,
                                  kl__entry_records *records)
{
    uint64_t form = kl__word_load(&view->block[KL__BLOCK_FORM]);
    uint64_t counts = kl__word_load(&view->block[KL__BLOCK_COUNTS]);
    uint32_t room = (view->words - view->value_at) / KL__RECORD_WORDS;
    kl__records *all = &records->all, *by_zone = &records->by_zone;

    if ((form >> 16 & 0xff) != KL__BLOCK_ENDPOINTS) {
        return KL_SHARED_OTHER_KIND;
    }
    all->first = view->block + view->value_at;
    all->ready = kl__quarter(counts, 0);
    all->usable = all->ready + kl__quarter(counts, 1);
    all->total = kl__quarter(counts, 2);
    all->has_weights = (form >> 24 & 0xff) != 0;
    if (all->usable > all->total || all->total > room) {
        return KL_SHARED_BROKEN;
    }
    *by_zone = *all;
    if (kl__high(form) != 0) {
        by_zone->first = kl__records_at(all, all->total);
        by_zone->ready = kl__quarter(form, 2);
        by_zone->usable = by_zone->ready + kl__quarter(form, 3);
        by_zone->total = by_zone->usable;
        if (by_zone->total > room - all->total) {
            return KL_SHARED_BROKEN;
        }
    }
    return KL_SHARED_OK;
}

static uint64_t field(const kl__records *records, uint32_t index, int which)
{
    return kl__word_load(&kl__records_at(records, index)[which]);
}

/* The first record of a sorted range whose field is `least` or more. */
static uint32_t lower_bound(const kl__records *records, kl__range range,
                            int which, uint64_t least)
{
    while (range.first < range.end) {
        uint32_t middle = range.first + (range.end - range.first) / 2;

        if (field(records, middle, which) < least) {
            range.first = middle + 1;
        } else {
            range.end = middle;
        }
    }
    return range.first;
}

/* The part of a sorted range whose field is `value`. */
static kl__range equal_range(const kl__records *records, kl__range range,
                             int which, uint64_t value)
{
    range.first = lower_bound(records, range, which, value);
    range.end = lower_bound(records, range, which, value + 1);
    return range;
}

kl__range kl__find_zone(const kl__records *records, kl__range class_,
                        uint64_t zone)
{
    return equal_range(records, class_, KL__RECORD_ZONE, zone);
}

/* A node is in one zone, so this searches zone by zone. */
kl__range kl__find_node(const kl__records *records, kl__range class_,
                        uint64_t node)
{
    kl__range rest = class_;

    while (rest.first < rest.end) {
        uint64_t zone = field(records, rest.first, KL__RECORD_ZONE);
        kl__range in_zone = rest, found;

        in_zone.end = lower_bound(records, rest, KL__RECORD_ZONE, zone + 1);
        found = equal_range(records, in_zone, KL__RECORD_NODE, node);
        if (found.first < found.end) {
            return found;
        }
        /* at least one step, even if the records are torn and not sorted */
        rest.first = in_zone.end > rest.first ? in_zone.end : rest.first + 1;
    }
    return rest;
}

/* True if the options exclude the record, by its identity or by its host. */
static bool is_excluded(const kl__records *records, uint32_t index,
                        const kl_pick_options *options)
{
    uint64_t identity, host;

    if (options->excluded == 0) {
        return false;
    }
    identity = field(records, index, KL__RECORD_IDENTITY);
    host = field(records, index, KL__RECORD_TEXTS) >> 24;
    for (uint32_t i = 0; i < options->excluded; i++) {
        if (options->exclude[i] == identity ||
            kl__host_part(options->exclude[i]) == host) {
            return true;
        }
    }
    return false;
}

static uint64_t mix_hash(uint64_t value)
{
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ULL;
    value = (value ^ (value >> 32)) * 0xd6e8feb86659fd93ULL;
    return value ^ (value >> 32);
}

/* Weighted rendezvous hashing: for u uniform in (0, 1) and a weight w, -w /
 * ln(u) is the highest with a probability proportional to w. */
static double score_of(const kl__records *records, uint32_t index,
                       uint64_t hash)
{
    uint64_t mixed =
        mix_hash(hash ^ field(records, index, KL__RECORD_IDENTITY));
    double even = ((double)(mixed >> 11) + 0.5) * 0x1p-53;
    uint64_t form;

    if (!records->has_weights) {
        return even;
    }
    form = field(records, index, KL__RECORD_FORM);
    return -(double)kl__quarter(form, 1) / log(even);
}

uint32_t kl__choose_by_hash(const kl__records *records, kl__range range,
                            const kl_pick_options *options)
{
    /* mixed again, so that similar hashes choose independently */
    uint64_t hash = mix_hash(options->hash);
    uint32_t best = KL__NO_RECORD;
    double best_score = -1;

    for (uint32_t i = range.first; i < range.end; i++) {
        double score = score_of(records, i, hash);

        if (score > best_score && !is_excluded(records, i, options)) {
            best_score = score;
            best = i;
        }
    }
    return best;
}

/* The record in whose share of the weights the turn falls. Turns times the
 * golden ratio are spread evenly: after any number of turns each record is
 * within about one turn of its share (three-distance theorem). */
static uint32_t choose_by_weight(const kl__records *records, kl__range range,
                                 uint32_t turn)
{
    uint32_t low = range.first, high = range.end;
    uint32_t base = kl__low(field(records, low, KL__RECORD_PLACE));
    uint64_t last = field(records, high - 1, KL__RECORD_FORM);
    uint32_t total = kl__low(field(records, high - 1, KL__RECORD_PLACE)) +
                     kl__quarter(last, 1) - base;
    uint64_t even = (turn * 0x9e3779b97f4a7c15ULL) >> 32;
    uint32_t share = (uint32_t)((even * total) >> 32);

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;

        if (kl__low(field(records, middle, KL__RECORD_PLACE)) - base > share) {
            high = middle;
        } else {
            low = middle;
        }
    }
    return low;
}

/* The weight of a record in the round robin. */
static uint32_t weight_of(const kl__records *records, uint32_t index)
{
    return records->has_weights
               ? kl__quarter(field(records, index, KL__RECORD_FORM), 1)
               : 1;
}

/* The record by turn among those of the range that are not excluded, as if the
 * others were not there. It looks at each record. */
static uint32_t choose_of_rest(const kl__records *records, kl__range range,
                               const kl_pick_options *options, uint32_t turn)
{
    uint64_t total = 0, share;

    for (uint32_t i = range.first; i < range.end; i++) {
        total += is_excluded(records, i, options) ? 0 : weight_of(records, i);
    }
    if (total == 0) {
        return KL__NO_RECORD;
    }
    share = records->has_weights
                ? (((turn * 0x9e3779b97f4a7c15ULL) >> 32) * total) >> 32
                : turn % total;
    for (uint32_t i = range.first; i < range.end; i++) {
        uint32_t weight =
            is_excluded(records, i, options) ? 0 : weight_of(records, i);

        if (share < weight) {
            return i;
        }
        share -= weight;
    }
    return KL__NO_RECORD; /* the records were overwritten meanwhile */
}

static uint32_t choose_any(const kl__records *records, kl__range range,
                           uint32_t turn)
{
    uint32_t count = range.end - range.first;

    return records->has_weights && count > 1
               ? choose_by_weight(records, range, turn)
               : range.first + (uint32_t)(turn % count);
}

/*
 * The share of excluded records goes to all others. If its own record is
 * excluded, a turn draws another one, each with the probability of its weight.
 * In a long range some draws find one almost surely, unless most are excluded;
 * then, and in a short range, all are looked at.
 */
uint32_t kl__choose_by_turn(const kl__records *records, kl__range range,
                            const kl_pick_options *options, uint32_t turn)
{
    enum { SHORT = 32, DRAWS = 16 };
    uint64_t draws = range.end - range.first > SHORT ? DRAWS : 0;

    if (options->excluded == 0) {
        return choose_any(records, range, turn);
    }
    for (uint64_t i = 0; i < draws; i++) {
        uint32_t drawn = i == 0 ? turn : (uint32_t)mix_hash(i << 32 | turn);
        uint32_t index = choose_any(records, range, drawn);

        if (!is_excluded(records, index, options)) {
            return index;
        }
    }
    return choose_of_rest(records, range, options, turn);
}
