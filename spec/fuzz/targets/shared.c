/*
 * shared.c - a slot of a shared map into which another process may have written
 * anything. A line for each word that differs from the original map: its place
 * and its new value, in hexadecimal ("1f ffff0000"); "+" before the value adds
 * it. Reads stay within the slot, which ends at the end of its block of memory;
 * a next owner reads the slot, and the entries that it then publishes are found
 * by name.
 */
#include "fuzz.h"

#include "shared/entries.h"
#include "shared/map.h"
#include "shared/writer.h"

#include <stdlib.h>
#include <string.h>

enum { SERVICES = 3, ENTRIES = 5, MOST_WORDS = 1024, MOST_ENDPOINTS = 8 };

typedef struct world {
    kl_shared map;
    kl__shared_head head;
    /* three slots; the last one is read, and ends where the block ends */
    kl__word *block;
    uint32_t used;
    kl_shared_key keys[ENTRIES];
} world;

static void put_entries(kl__entries *entries, world *self)
{
    static const kl_endpoint endpoints[] = {
        {.host = "10.0.0.1", .zone = "a", .node = "n", .weight = 1, .flags = 1},
        {.host = "10.0.0.2", .zone = "b", .node = "m", .weight = 2, .flags = 3},
        {.host = "a-host-with-a-long-name.example", .weight = 2, .flags = 2},
        {.host = "10.0.0.4", .zone = "a", .node = "n", .weight = 1, .flags = 0},
    };

    for (int i = 0; i < ENTRIES; i++) {
        char text = (char)('a' + i);
        kl__change *change;

        kl_shared_key_init(&self->map, "t", &text, 1, &self->keys[i]);
        change = i < SERVICES
                     ? kl__change_put_endpoints(&self->keys[i], endpoints,
                                                (size_t)i + 2, NULL)
                     : kl__change_put(&self->keys[i], "some bytes", 10, NULL);
        FUZZ_EXPECT(change != NULL && kl__entries_apply(entries, change));
    }
}

/* Makes a map without a file. Its second generation is in the last slot, which
 * has exactly the words that it needs. */
static void begin(world *self)
{
    kl__entries *entries = calloc(1, sizeof(*entries));

    self->map.head = &self->head;
    self->map.seed = 7;
    self->map.versions = calloc(KL_SHARED_VERSIONS, sizeof(uint32_t));
    put_entries(entries, self);
    self->used = (uint32_t)kl__entries_size(entries);
    FUZZ_EXPECT(self->used <= MOST_WORDS);
    self->map.slot_words = self->used;
    self->block = calloc(KL__SHARED_SLOTS, (size_t)self->used * 8);
    self->map.slots = self->block;
    kl__entries_write(entries, self->block + 2 * (size_t)self->used, 2);
    kl__word_store(&self->head.generation, 2);
    kl__entries_deinit(entries);
    free(entries);
}

static void change_word(world *self, fuzz_text line)
{
    char *text = fuzz_string(line), *end;
    kl__word *slot = self->block + 2 * (size_t)self->used;
    uint32_t place = (uint32_t)strtoull(text, &end, 16) % self->used;
    uint64_t value;

    while (*end == ' ') {
        end++;
    }
    value = strtoull(end, NULL, 16);
    kl__word_store(&slot[place],
                   *end == '+' ? kl__word_load(&slot[place]) + value : value);
    free(text);
}

static void expect_pick(const kl_pick *pick)
{
    FUZZ_EXPECT(strlen(pick->host) <= KL_SHARED_HOST_MAX);
    FUZZ_EXPECT(strlen(pick->zone) <= KL_SHARED_PLACE_MAX);
    FUZZ_EXPECT(strlen(pick->node) <= KL_SHARED_NODE_MAX);
    FUZZ_EXPECT(pick->ready <= pick->total);
}

static void read_picks(world *self, kl_shared_key *key)
{
    kl_pick_options options = {.with_places = 1};
    kl_pick *pick = malloc(sizeof(*pick));

    for (int i = 0; i < 16; i++) {
        kl_shared_result result;

        options.hash = (uint64_t)(i & 1);
        options.zone = i & 2 ? kl_shared_hash("a", 1) : 0;
        options.node = i & 4 ? kl_shared_hash("n", 1) : 0;
        result = kl_shared_pick(&self->map, key, &options, pick);
        FUZZ_EXPECT(result <= KL_SHARED_BROKEN && result != KL_SHARED_BUSY);
        if (result == KL_SHARED_OK) {
            expect_pick(pick);
            options.exclude[options.excluded++] = pick->identity;
        }
    }
    free(pick);
}

static void read_entry(world *self, kl_shared_key *key)
{
    kl_pick *picks = malloc(MOST_ENDPOINTS * sizeof(*picks));
    char *bytes = malloc(16);
    kl_shared_value value;
    uint32_t count;

    read_picks(self, key);
    if (kl_shared_endpoints(&self->map, key, picks, MOST_ENDPOINTS, &count) ==
        KL_SHARED_OK) {
        for (uint32_t i = 0; i < count; i++) {
            expect_pick(&picks[i]);
        }
    }
    if (kl_shared_get(&self->map, key, bytes, 16, &value) == KL_SHARED_OK) {
        FUZZ_EXPECT(value.length <= 16);
    }
    free(bytes);
    free(picks);
}

/* The entries that a next owner accepts are found by their names. */
static void expect_taken(world *self)
{
    kl__entries *entries = calloc(1, sizeof(*entries));
    const kl__map_slot *slot;
    size_t cursor = 0;

    FUZZ_EXPECT(kl__entries_read(entries, &self->map, NULL) == KL_OK);
    FUZZ_EXPECT(entries->words <= self->used);
    while ((slot = kl__map_next(&entries->by_name, &cursor)) != NULL) {
        size_t table = strlen(slot->key);
        kl_shared_key key;

        FUZZ_EXPECT(table < slot->length);
        FUZZ_EXPECT(kl_shared_key_init(&self->map, slot->key,
                                       slot->key + table + 1,
                                       slot->length - table - 1, &key));
        FUZZ_EXPECT(key.hash ==
                    ((const kl__change *)slot->value)->block[KL__BLOCK_HASH]);
    }
    if (kl__entries_size(entries) <= self->used) {
        kl__entries_write(entries, self->block, 3);
        kl__word_store(&self->head.generation, 3);
    }
    kl__entries_deinit(entries);
    free(entries);
}

void fuzz_shared(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    world *self = calloc(1, sizeof(*self));
    kl_shared_key found[ENTRIES];

    begin(self);
    for (int i = 0; i < ENTRIES; i++) {
        read_entry(self, &self->keys[i]);
    }
    memcpy(found, self->keys, sizeof(found));
    while (text.length > 0) {
        change_word(self, fuzz_line(&text));
    }
    for (int i = 0; i < ENTRIES; i++) {
        /* Once by the place found before, once by a new search. */
        read_entry(self, &found[i]);
        self->keys[i].at = 0;
        read_entry(self, &self->keys[i]);
    }
    expect_taken(self);
    for (int i = 0; i < ENTRIES; i++) {
        read_entry(self, &self->keys[i]);
    }
    free((void *)self->block);
    free((void *)self->map.versions);
    free(self);
}
