/*
 * shared.c - a slot of a shared map into which another process may have written
 * anything. A line for each word that differs from the original map: its place
 * and its new value, in hexadecimal ("1f ffff0000"); "+" before the value adds
 * it. A place can be "@c" or "@c+2", a word of the block of entry c; "#c", the
 * bucket of c; or "g", the newest generation. The value "~c" is the hash of c's
 * name; "!" is the hash of the name that the block there has now.
 *
 * Reads stay within the slot, which ends at the end of its block of memory.
 * They give an entry of the key's hash and of the kind that was asked for, or
 * an error. A next owner reads the slot, and the entries that it then publishes
 * are found by name. Of the corpus, a file "no-..." fails without that check.
 */
#include "fuzz.h"

#include "shared/entries.h"
#include "shared/map.h"
#include "shared/read.h"
#include "shared/writer.h"

#include <stdlib.h>
#include <string.h>

enum {
    SERVICES = 3,
    ENTRIES = 5,
    BUCKETS = 8, /* of so many entries */
    MOST_WORDS = 1024,
    MOST_ENDPOINTS = 8
};

typedef struct world {
    kl_shared map;
    kl__shared_head head;
    /* three slots; the last one is read, and ends where the block ends */
    kl__word *block;
    uint32_t used;
    kl_shared_key keys[ENTRIES];
    kl_shared_key found[ENTRIES]; /* the same, found in the original map */
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
        kl__shared_change *change;

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

static kl__word *slot_of(world *self)
{
    return self->block + 2 * (size_t)self->used;
}

/* The key that a letter names. */
static const kl_shared_key *key_at(const world *self, const char *letter)
{
    return &self->found[(unsigned char)(*letter - 'a') % ENTRIES];
}

/* Reads a place and moves *text behind it. */
static kl__word *read_place(world *self, char **text)
{
    uint64_t place = 0;
    char kind = **text;

    if (kind == 'g') {
        *text += 1;
        return &self->head.generation;
    }
    if ((kind == '@' || kind == '#') && (*text)[1] != '\0') {
        const kl_shared_key *key = key_at(self, *text + 1);

        place = kind == '@' ? key->at : KL__SLOT_HEAD + key->hash % BUCKETS;
        *text += 2;
    }
    if (**text != ' ') { /* else the value is next */
        place += strtoull(*text, text, 16);
    }
    return &slot_of(self)[place % self->used];
}

/* The hash of the name of a block, as far as the slot goes. */
static uint64_t hash_name(world *self, const kl__word *block)
{
    uint64_t *name = calloc(UINT16_MAX / 8 + 1, sizeof(*name)), hash = 0;
    const kl__word *end = slot_of(self) + self->used;

    if (end - block >= KL__BLOCK_HEAD) {
        uint16_t length = kl__quarter(kl__word_load(&block[KL__BLOCK_FORM]), 0);

        block += KL__BLOCK_HEAD;
        if (kl__words_of(length) <= end - block) {
            kl__shared_copy_out(block, kl__words_of(length), name);
        }
        hash = kl__shared_hash_words(name, length, self->map.seed);
    }
    free(name);
    return hash;
}

static void change_word(world *self, fuzz_text line)
{
    char *text = fuzz_string(line), *at = text;
    kl__word *place = read_place(self, &at);
    uint64_t value;

    while (*at == ' ') {
        at++;
    }
    if (*at == '~') {
        value = key_at(self, at + 1)->hash;
    } else if (*at == '!' && place != &self->head.generation) {
        value = hash_name(self, place);
    } else {
        value = strtoull(at, NULL, 16);
        value += *at == '+' ? kl__word_load(place) : 0;
    }
    kl__word_store(place, value);
    free(text);
}

static void expect_pick(const kl_pick *pick)
{
    FUZZ_EXPECT(strlen(pick->host) <= KL_SHARED_HOST_MAX);
    FUZZ_EXPECT(strlen(pick->zone) <= KL_SHARED_ZONES_MAX);
    FUZZ_EXPECT(strlen(pick->node) <= KL_SHARED_NODE_MAX);
    FUZZ_EXPECT(pick->ready <= pick->total);
}

/* The entry that was found has the key's hash, and is of that kind. */
static void expect_found(world *self, const kl_shared_key *key, uint32_t kind)
{
    uint64_t generation = kl__word_load(&self->head.generation);
    const kl__word *slot =
        self->block + generation % KL__SHARED_SLOTS * (size_t)self->used;
    const kl__word *block = &slot[key->at];

    FUZZ_EXPECT(generation != 0 && key->generation == generation);
    FUZZ_EXPECT(kl__word_load(&slot[KL__SLOT_GENERATION]) == generation);
    FUZZ_EXPECT(key->at >= KL__SLOT_HEAD && key->at < self->used);
    FUZZ_EXPECT(kl__word_load(&block[KL__BLOCK_HASH]) == key->hash);
    FUZZ_EXPECT((kl__word_load(&block[KL__BLOCK_FORM]) >> 16 & 0xff) == kind);
}

/* The entry that was looked for by its name has that name. */
static void expect_named(world *self, const kl_shared_key *key)
{
    uint64_t generation = kl__word_load(&self->head.generation);
    const kl__word *block = self->block +
                            generation % KL__SHARED_SLOTS * (size_t)self->used +
                            key->at;

    FUZZ_EXPECT(kl__quarter(kl__word_load(&block[KL__BLOCK_FORM]), 0) ==
                key->name_length);
    for (uint32_t i = 0; i < kl__words_of(key->name_length); i++) {
        FUZZ_EXPECT(kl__word_load(&block[KL__BLOCK_HEAD + i]) == key->name[i]);
    }
}

static void expect_result(world *self, kl_shared_result result)
{
    FUZZ_EXPECT(result <= KL_SHARED_BROKEN && result != KL_SHARED_BUSY);
    if (kl__word_load(&self->head.generation) == 0) {
        FUZZ_EXPECT(result == KL_SHARED_NOT_SYNCED);
    }
}

static void read_picks(world *self, kl_shared_key *key)
{
    uint64_t tried[16];
    kl_pick_options options = {.with_places = 1, .exclude = tried};
    kl_pick *pick = malloc(sizeof(*pick));

    for (int i = 0; i < 16; i++) {
        kl_shared_result result;

        options.hash = (uint64_t)(i & 1);
        options.zone = i & 2 ? kl_shared_hash("a", 1) : 0;
        options.node = i & 4 ? kl_shared_hash("n", 1) : 0;
        result = kl_shared_pick(&self->map, key, &options, pick);
        expect_result(self, result);
        if (result == KL_SHARED_OK) {
            expect_found(self, key, KL__BLOCK_ENDPOINTS);
            expect_pick(pick);
            tried[options.excluded++] = pick->identity;
        }
    }
    free(pick);
}

static void read_entry(world *self, kl_shared_key *key)
{
    kl_pick *picks = malloc(MOST_ENDPOINTS * sizeof(*picks));
    char *bytes = malloc(16);
    bool is_looked_for = key->at == 0;
    kl_shared_result result;
    kl_shared_value value;
    uint32_t count;

    result = kl_shared_get(&self->map, key, bytes, 16, &value);
    expect_result(self, result);
    if (result == KL_SHARED_OK) {
        expect_found(self, key, KL__BLOCK_BYTES);
        FUZZ_EXPECT(value.length <= 16);
    }
    if (is_looked_for && key->at != 0) {
        expect_named(self, key);
    }
    read_picks(self, key);
    if (kl_shared_endpoints(&self->map, key, picks, MOST_ENDPOINTS, &count) ==
        KL_SHARED_OK) {
        expect_found(self, key, KL__BLOCK_ENDPOINTS);
        for (uint32_t i = 0; i < count; i++) {
            expect_pick(&picks[i]);
        }
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
    if (kl__word_load(&slot_of(self)[KL__SLOT_GENERATION]) !=
        kl__word_load(&self->head.generation)) {
        FUZZ_EXPECT(entries->by_name.count == 0);
    }
    while ((slot = kl__map_next(&entries->by_name, &cursor)) != NULL) {
        const kl__shared_change *entry = slot->value;
        uint32_t kind = entry->block[KL__BLOCK_FORM] >> 16 & 0xff;
        size_t table = strnlen(slot->key, slot->length);
        kl_shared_key key;

        FUZZ_EXPECT(kind == KL__BLOCK_BYTES || kind == KL__BLOCK_ENDPOINTS);
        FUZZ_EXPECT(table < slot->length);
        FUZZ_EXPECT(kl_shared_key_init(&self->map, slot->key,
                                       slot->key + table + 1,
                                       slot->length - table - 1, &key));
        FUZZ_EXPECT(key.hash == entry->block[KL__BLOCK_HASH]);
    }
    if (kl__word_load(&self->head.generation) == 2 &&
        kl__entries_size(entries) <= self->used) {
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

    begin(self);
    for (int i = 0; i < ENTRIES; i++) {
        read_entry(self, &self->keys[i]);
    }
    memcpy(self->found, self->keys, sizeof(self->found));
    while (text.length > 0) {
        change_word(self, fuzz_line(&text));
    }
    for (int i = 0; i < ENTRIES; i++) {
        /* Once by the place found before, once by a new search. */
        read_entry(self, &self->found[i]);
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
