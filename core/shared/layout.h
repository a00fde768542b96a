/*
 * layout.h - the layout of a shared map in memory, for readers, the writer and
 * the fuzz target. A map is a header, the versions and three slots; generation
 * g is in slot g % 3. All of it is 64-bit words, which are read and written as
 * relaxed atomics, as a reader may read what the writer is writing.
 */
#ifndef KL_SHARED_LAYOUT_H
#define KL_SHARED_LAYOUT_H

#include "kubelua/shared.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef _Atomic uint64_t kl__word;

#define KL__SHARED_MAGIC 0x3150414d41554c4bULL /* "KLUAMAP1" */

enum {
    /* Raised by every change of this layout. */
    KL__SHARED_LAYOUT = 6,
    KL__SHARED_SLOTS = 3,
    KL__SHARED_HEAD_BYTES = 4096,
    KL__SHARED_SIZE_MIN = 1 << 20
};

/* The first page. The fields above `generation` are written once, before any
 * other process can see the map. */
typedef struct kl__shared_head {
    uint64_t magic;
    uint32_t layout;
    uint32_t versions;   /* number of versions */
    uint64_t size;       /* bytes of the map */
    uint64_t slots_at;   /* in bytes from the map's start */
    uint64_t slot_words; /* of each slot */
    uint64_t seed;       /* seed of the hash of names */
    char made_by[32];    /* the version of the library, ends with NUL */

    /* The newest generation; its slot's words are stored before it (release).
     */
    _Alignas(64) kl__word generation;
    _Alignas(
        64) kl__word heard_ms; /* when the owner last heard from the server, on
                                  the monotonic clock; 0: never */
    kl__word epoch;
    kl__word takeovers;
    kl__word full;
    kl__word owner_pid;
    kl__word synced;
    kl__word left_out;     /* Services and values that are not published */
    kl__word kept;         /* endpoints of Services that are empty now */
    kl__word taken_ms;     /* when the owner took the map, on that clock */
    kl__word published_ms; /* when `generation` was stored; 0: never */
} kl__shared_head;

_Static_assert(sizeof(kl__shared_head) <= KL__SHARED_HEAD_BYTES, "one page");

/*
 * A slot, in words:
 *   0  its generation
 *   1  words in use (high half), number of entries (low half)
 *   2  the number of buckets is 2^bits: bits
 *   3  0
 *   then 2^bits buckets, a word each: where the first block of its chain begins
 *      (high half), and the high half of that block's hash
 *   then blocks
 */
enum {
    KL__SLOT_GENERATION,
    KL__SLOT_USE,
    KL__SLOT_BITS,
    KL__SLOT_HEAD = 4,
    KL__SLOT_BITS_MAX = 26
};

/*
 * A block is an entry. Offsets in it count words from its start, so it can be
 * copied as it is; only `link` depends on the slot.
 *   0  hash of the name
 *   1  link: next block of the bucket (high half, 0: none), words of this block
 *   2  bytes of the name (16 bits), kind (8), has weights (8); bytes: bytes of
 *      the value (32); endpoints: records by zone, ready ones (16) and other
 *      serving ones (16)
 *   3  endpoints: ready ones (16), other serving ones (16), all (16); an
 *      endpoint with weight 0 counts only among all
 *   then the name: table NUL key
 *   then the value: bytes, or records, records by zone and their texts
 *
 * Blocks, names and values are filled up with NUL to cache lines, so that a
 * pick reads two lines of a block: the first one, and that of the record.
 */
enum {
    KL__BLOCK_HASH,
    KL__BLOCK_LINK,
    KL__BLOCK_FORM,
    KL__BLOCK_COUNTS,
    KL__BLOCK_HEAD,
    KL__BLOCK_BYTES = 1, /* kinds of entries */
    KL__BLOCK_ENDPOINTS = 2
};

/*
 * The record of an endpoint. Records are sorted by class (ready, serving,
 * others), and in each class by the words 0, 1 and 2: zone, node, identity.
 * Texts: host, zone, node, pod, each filled up with at least one NUL to whole
 * words. A host of less than 16 bytes is in the record, and has no text.
 *   0  hash of the zone, 0: none
 *   1  hash of the node, 0: none
 *   2  identity
 *   3  port, weight, flags, bytes of the host (16 each, from the lowest)
 *   4  sum of the weights of all records before it (low half), the word of the
 *      block where its texts begin (high half)
 *   5  bytes of the zone (8), of the node (8), of the pod (8); the lowest 40
 * bits of the hash of the host, by which picks exclude a host whatever its port
 *   6  a short host, and 7
 *
 * Records by zone are there if an endpoint is for several zones, of which its
 * record has the first. They are copies of the ready and of the serving
 * records, one for each zone of an endpoint, sorted in the same way. So the
 * records of a zone are one range, which a pick for the zone reads.
 */
enum {
    KL__RECORD_ZONE,
    KL__RECORD_NODE,
    KL__RECORD_IDENTITY,
    KL__RECORD_FORM,
    KL__RECORD_PLACE,
    KL__RECORD_TEXTS,
    KL__RECORD_HOST,
    KL__RECORD_WORDS = 8,
    KL__RECORD_HOST_SIZE = (KL__RECORD_WORDS - KL__RECORD_HOST) * 8
};

/* ThreadSanitizer does not know fences, and does not need them here, as all
 * accesses are atomic. */
#if defined(__SANITIZE_THREAD__)
#define kl__fence(order) atomic_signal_fence(order)
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define kl__fence(order) atomic_signal_fence(order)
#endif
#endif
#ifndef kl__fence
#define kl__fence(order) atomic_thread_fence(order)
#endif

static inline uint64_t kl__word_load(const kl__word *word)
{
    return atomic_load_explicit(word, memory_order_relaxed);
}

static inline void kl__word_store(kl__word *word, uint64_t value)
{
    atomic_store_explicit(word, value, memory_order_relaxed);
}

static inline uint32_t kl__low(uint64_t word)
{
    return (uint32_t)word;
}

static inline uint32_t kl__high(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

static inline uint64_t kl__pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

/* The 16 bits number `place` (0 to 3, from the lowest). */
static inline uint16_t kl__quarter(uint64_t word, int place)
{
    return (uint16_t)(word >> (16 * place));
}

/* The 8 bits number `place` (0 to 7, from the lowest). */
static inline uint8_t kl__byte(uint64_t word, int place)
{
    return (uint8_t)(word >> (8 * place));
}

/* The part of a host's hash that is in its record. */
static inline uint64_t kl__host_part(uint64_t hash)
{
    return hash & (((uint64_t)1 << 40) - 1);
}

static inline uint32_t kl__words_of(size_t bytes)
{
    return (uint32_t)((bytes + 7) / 8);
}

/* `words` rounded up to whole cache lines. */
static inline uint32_t kl__line_words(uint32_t words)
{
    return (words + 7) & ~(uint32_t)7;
}

/* The word of a block where the value begins, for a name of `name_length`
 * bytes. */
static inline uint32_t kl__value_at(size_t name_length)
{
    return kl__line_words(KL__BLOCK_HEAD + kl__words_of(name_length));
}

/* The words of a text with at least one NUL behind it. */
static inline uint32_t kl__text_words(size_t bytes)
{
    return (uint32_t)(bytes / 8 + 1);
}

/* Divides a map of `size` bytes into its parts: fills the constant fields of
 * `head`, except the seed. KL_EINVAL: the map is too small. */
kl_code kl__shared_divide(size_t size, kl__shared_head *head, kl_error *err);

/* Checks a head that another process wrote: it is a map of this layout, and its
 * parts fit in `size` bytes. `where` is for messages. KL_ECONFIG. */
kl_code kl__shared_check_head(const kl__shared_head *head, size_t size,
                              const char *where, kl_error *err);

/* A well mixed hash of words and of their length in bytes. */
uint64_t kl__shared_hash_words(const uint64_t *words, size_t bytes,
                               uint64_t seed);

#endif
