/*
 * shard_range.c - see shard_range.h.
 */
#include "base/shard_range.h"

#include "kubelua/shard.h"

#include <inttypes.h>
#include <string.h>

enum { MOST_SHARDS = 65536, MOST_DIGITS = 5 };

/* Reads digits up to `end`; -1: there is something else. */
static int64_t read_digits(const char *text, const char *end)
{
    int64_t number = 0;

    if (text == end || end - text > MOST_DIGITS) {
        return -1;
    }
    for (; text < end; text++) {
        if (*text < '0' || *text > '9') {
            return -1;
        }
        number = number * 10 + (*text - '0');
    }
    return number;
}

/* 2^64 / count, rounded down. Of 256 it is exact: these are the parts of
 * kubelua/shard.h. */
static uint64_t size_of_shard(uint64_t count)
{
    return UINT64_MAX / count + (UINT64_MAX % count == count - 1 ? 1 : 0);
}

/* Reads one shard: "0/4", which ends at `end`. */
static bool read_shard(const char *text, const char *end,
                       kl__shard_range *range)
{
    const char *slash = memchr(text, '/', (size_t)(end - text));
    int64_t index = slash != NULL ? read_digits(text, slash) : -1;
    int64_t count = slash != NULL ? read_digits(slash + 1, end) : -1;
    uint64_t size;

    if (index < 0 || count < 1 || count > MOST_SHARDS || index >= count) {
        return false;
    }
    size = count > 1 ? size_of_shard((uint64_t)count) : 0;
    range->first = (uint64_t)index * size;
    range->last = index + 1 < count ? range->first + (size - 1) : UINT64_MAX;
    return true;
}

/* True if a range meets another one, or begins where that one ends. */
static bool touches(const kl__shard_range *a, const kl__shard_range *b)
{
    return (a->last == UINT64_MAX || b->first <= a->last + 1) &&
           (b->last == UINT64_MAX || a->first <= b->last + 1);
}

static void remove_range(kl__shard_ranges *ranges, size_t at)
{
    ranges->count--;
    memmove(&ranges->items[at], &ranges->items[at + 1],
            (ranges->count - at) * sizeof(ranges->items[0]));
}

/* Adds a range at its place, joined with those that it touches. False: there
 * are too many. */
static bool add_range(kl__shard_ranges *ranges, kl__shard_range added)
{
    size_t at = 0;

    while (at < ranges->count) {
        const kl__shard_range *other = &ranges->items[at];

        if (touches(other, &added)) {
            added.first =
                other->first < added.first ? other->first : added.first;
            added.last = other->last > added.last ? other->last : added.last;
            remove_range(ranges, at);
        } else if (other->first < added.first) {
            at++;
        } else {
            break;
        }
    }
    if (ranges->count == KL__SHARD_RANGES_MAX) {
        return false;
    }
    memmove(&ranges->items[at + 1], &ranges->items[at],
            (ranges->count - at) * sizeof(ranges->items[0]));
    ranges->items[at] = added;
    ranges->count++;
    return true;
}

kl_code kl__shard_ranges_parse(const char *text, kl__shard_ranges *ranges,
                               kl_error *err)
{
    const char *at = text;

    ranges->count = 0;
    ranges->is_mixed = false;
    while (at != NULL && text[0] != '\0') {
        const char *comma = strchr(at, ',');
        const char *end = comma != NULL ? comma : at + strlen(at);
        kl__shard_range range;

        if (!read_shard(at, end, &range)) {
            return kl_error_set(
                err, KL_EINVAL,
                "the shard \"%.40s\" is none: write \"0/4\" for "
                "the first of four, up to \"3/4\", or several, as "
                "in \"0/4,1/4\"",
                text);
        }
        if (!add_range(ranges, range)) {
            return kl_error_set(
                err, KL_EINVAL,
                "the shards \"%.40s...\" are more than %d ranges: "
                "choose shards beside each other, or fewer",
                text, KL__SHARD_RANGES_MAX);
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    if (ranges->count == 1 && ranges->items[0].first == 0 &&
        ranges->items[0].last == UINT64_MAX) {
        ranges->count = 0;
    }
    return KL_OK;
}

bool kl__shard_ranges_are_all(const kl__shard_ranges *ranges)
{
    return ranges->count == 0;
}

bool kl__shard_ranges_have(const kl__shard_ranges *ranges, const char *text)
{
    uint64_t hash = ranges->is_mixed ? kl_shard_mixed_hash(text, strlen(text))
                                     : kl_shard_hash(text, strlen(text));
    size_t low = 0, high = ranges->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (ranges->items[middle].last < hash) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return ranges->count == 0 ||
           (low < ranges->count && ranges->items[low].first <= hash);
}

void kl__shard_ranges_selector(const kl__shard_ranges *ranges, kl__buf *text)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const kl__shard_range *range = &ranges->items[i];

        kl__buf_printf(text,
                       "%sshardRange(object.metadata.uid,'0x%016" PRIx64 "',",
                       i > 0 ? " || " : "", range->first);
        if (range->last == UINT64_MAX) {
            kl__buf_puts(text, "'0x10000000000000000')");
        } else {
            kl__buf_printf(text, "'0x%016" PRIx64 "')", range->last + 1);
        }
    }
}
