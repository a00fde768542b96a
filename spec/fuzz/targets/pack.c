/*
 * pack.c - objects that rest packed. The first byte chooses the limits of the
 * packer: "u" the usual ones, "a" a new dictionary all the time, else one of
 * the first few objects. Then each line is a step: its first byte and its text.
 *     +TEXT   packs an object with that text
 *     *TEXT   packs 40 objects with that text eight times, and their number
 *     yTEXT   makes a young object with that text
 *     p       packs two of the young ones
 *     e       the end of a list
 *     u a f   goes on with a new packer
 *     oN -N   opens object N, a byte; drops it
 *     !NAM    damages byte A of the frame of object N by the mask M, reads it
 *     ?DF     reads F, bytes that claim to be a frame, D their length
 * Each object reads as it did before it was packed, also after its packer and
 * with other dictionaries than the next object's. A damaged one aborts, says
 * why, and delivers nothing.
 */
#include "fuzz.h"

#include "base/mem.h"
#include "object/block.h"
#include "object/packer.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 24, MANY = 40, CROWD = 100000, NOW = 100000 };

typedef struct pair {
    kl_object *plain;
    kl_object *packed;
} pair;

typedef struct state {
    kl__packer *packer;
    pair pairs[KEPT];
    size_t made;
} state;

static sigjmp_buf damaged;

static void note_abort(int number)
{
    (void)number;
    siglongjmp(damaged, 1);
}

static const kl__pack_limits *limits_of(char letter)
{
    static const kl__pack_limits usual = KL__PACK_USUAL;
    static kl__pack_limits few = KL__PACK_EAGER(false);
    static kl__pack_limits always = KL__PACK_EAGER(true);

    /* Room for few young objects. */
    few.young_slab = always.young_slab = 1024;
    few.young_bytes = always.young_bytes = 4096;
    return letter == 'u' ? &usual : letter == 'a' ? &always : &few;
}

static void begin_packer(state *self, char letter)
{
    const kl__pack_limits *before = kl__pack_limits_chosen;

    kl__packer_free(self->packer);
    kl__pack_limits_chosen = limits_of(letter);
    self->packer = kl__packer_new();
    kl__pack_limits_chosen = before;
}

/* A ConfigMap, or each seventh a Secret, whose data are the text, `times`
 * times; any bytes. */
static kl_object *make_object(fuzz_text text, size_t number, int times)
{
    kl__buf json = {0};
    kl_object *object;

    kl__buf_printf(&json,
                   "{\"kind\":\"%s\",\"apiVersion\":\"v1\",\"metadata\":"
                   "{\"name\":\"o%zu\",\"namespace\":\"n\",\"uid\":\"u%zu\","
                   "\"resourceVersion\":\"%zu\"},\"data\":{\"text\":\"",
                   number % 7 == 6 ? "Secret" : "ConfigMap", number, number,
                   number + 7);
    for (size_t i = 0; i < text.length * (size_t)times; i++) {
        unsigned char byte = (unsigned char)text.bytes[i % text.length];

        if (byte < ' ' || byte > '~' || byte == '"' || byte == '\\') {
            kl__buf_printf(&json, "\\u%04x", byte);
        } else {
            kl__buf_putc(&json, (char)byte);
        }
    }
    kl__buf_puts(&json, "\"}}");
    object = kl_object_parse(json.bytes, json.length, NULL, NULL);
    FUZZ_EXPECT(object != NULL);
    kl__buf_deinit(&json);
    return object;
}

static void check_identity(const kl_object *a, const kl_object *b)
{
    FUZZ_EXPECT(strcmp(kl_object_key(a), kl_object_key(b)) == 0);
    FUZZ_EXPECT(strcmp(kl_object_name(a), kl_object_name(b)) == 0);
    FUZZ_EXPECT(strcmp(kl_object_uid(a), kl_object_uid(b)) == 0);
    FUZZ_EXPECT(strcmp(kl_object_kind(a), kl_object_kind(b)) == 0);
    FUZZ_EXPECT(strcmp(kl_object_api_version(a), kl_object_api_version(b)) ==
                0);
    FUZZ_EXPECT(strcmp(kl_object_resource_version(a),
                       kl_object_resource_version(b)) == 0);
    /* One that was young has a pointer to its frame. */
    FUZZ_EXPECT(kl_object_bytes(a) <= kl_object_bytes(b) + sizeof(char *));
}

static void check_pair(const pair *self)
{
    size_t length, expected_length;
    const char *text = kl_object_json(self->packed, &length, NULL);
    const char *expected = kl_object_json(self->plain, &expected_length, NULL);

    FUZZ_EXPECT(text != NULL && length == expected_length);
    FUZZ_EXPECT(memcmp(text, expected, length + 1) == 0);
    FUZZ_EXPECT(kl__object_is_copy(self->packed, self->plain));
    check_identity(self->packed, self->plain);
    kl_object_close_json(self->packed);
}

static void drop_pair(pair *self)
{
    kl_object_unref(self->plain);
    kl_object_unref(self->packed);
    *self = (pair){NULL, NULL};
}

static void add_object(state *self, fuzz_text text, int times, bool is_young)
{
    pair *place = &self->pairs[self->made % KEPT];
    kl_object *plain = make_object(text, self->made, times);
    kl_object *object = make_object(text, self->made, times);

    drop_pair(place);
    place->plain = plain;
    place->packed =
        is_young ? kl__packer_keep_young(self->packer, object, CROWD, NOW)
                 : kl__packer_pack(self->packer, object, CROWD);
    self->made++;
    check_pair(place);
}

/* Opened the second time, its tree may be kept. */
static void open_twice(const pair *self)
{
    for (int i = 0; i < 2; i++) {
        const kl_value *root = kl_object_open(self->packed, NULL);

        FUZZ_EXPECT(root != NULL);
        FUZZ_EXPECT(fuzz_same(root, kl_object_open(self->plain, NULL)));
        kl_object_close(self->plain);
        kl_object_close(self->packed);
    }
}

/* Unpacks, also if that aborts. NULL: it did, and has said why; or there was no
 * memory for what the frame claims. */
static char *unpack_damaged(const kl__packed *packed)
{
    struct sigaction action = {.sa_handler = note_abort}, before;
    char *volatile text = NULL;
#ifdef __GLIBC__
    FILE *usual = stderr;
    char *said = NULL;
    size_t length = 0;

    stderr = open_memstream(&said, &length);
#endif
    sigaction(SIGABRT, &action, &before);
    if (sigsetjmp(damaged, 1) == 0) {
        text = kl__unpack(packed);
#ifdef __GLIBC__
        fclose(stderr);
        stderr = usual;
    } else {
        fclose(stderr);
        stderr = usual;
        FUZZ_EXPECT(strstr(said, "damaged in memory") != NULL);
#endif
    }
    sigaction(SIGABRT, &before, NULL);
#ifdef __GLIBC__
    free(said);
#endif
    return text;
}

static void damage(const pair *self, unsigned char at, char mask)
{
    kl_object *object = self->packed;
    size_t expected_length;
    const char *expected = kl_object_json(self->plain, &expected_length, NULL);
    char *byte, *text;

    if (object->dictionary == NULL) {
        return;
    }
    byte = (char *)(uintptr_t)kl__object_frame(object) +
           at * object->frame_length / 256;
    *byte = (char)(*byte ^ mask);
    text = unpack_damaged(
        &(kl__packed){object->dictionary, kl__object_frame(object),
                      object->frame_length, object->json_length});
    FUZZ_EXPECT(text == NULL || memcmp(text, expected, expected_length) == 0);
    *byte = (char)(*byte ^ mask);
    kl__free(text);
    FUZZ_EXPECT(
        unpack_damaged(&(kl__packed){
            object->dictionary, kl__object_frame(object), object->frame_length,
            (size_t)object->json_length + 1 + at}) == NULL);
    check_pair(self);
}

/* The frame's own bytes are the dictionary, too. */
static void unpack_claimed(fuzz_text frame, size_t length)
{
    kl_object *of = make_object(frame, 0, 1);
    kl__dictionary *dictionary =
        kl__dictionary_new(frame.bytes, frame.length / 2, kl_object_kind(of),
                           kl_object_api_version(of));
    char *block = fuzz_block(frame);

    if (dictionary != NULL) {
        kl__free(unpack_damaged(
            &(kl__packed){dictionary, block, frame.length, length}));
    }
    kl__dictionary_unref(dictionary);
    kl_object_unref(of);
    free(block);
}

static void take_step(state *self, char letter, fuzz_text text)
{
    unsigned char first = text.length > 0 ? (unsigned char)text.bytes[0] : 0;
    pair *named = &self->pairs[first % KEPT];

    switch (letter) {
    case '+':
    case 'y':
        add_object(self, text, 1, letter == 'y');
        break;
    case 'p':
        kl__packer_pack_due(self->packer, INT64_MAX / 2, 2);
        break;
    case '*':
        for (int i = 0; i < MANY; i++) {
            add_object(self, text, 8, i % 2 == 0);
        }
        break;
    case 'e':
        kl__packer_end_list(self->packer);
        break;
    case 'u':
    case 'a':
    case 'f':
        begin_packer(self, letter);
        break;
    case '?':
        if (text.length > 1) {
            unpack_claimed((fuzz_text){text.bytes + 1, text.length - 1}, first);
        }
        break;
    default:
        if (named->plain != NULL && letter == 'o') {
            open_twice(named);
        } else if (named->plain != NULL && letter == '!' && text.length > 2) {
            damage(named, (unsigned char)text.bytes[1], text.bytes[2]);
        } else if (letter == '-') {
            drop_pair(named);
        }
        break;
    }
}

void fuzz_pack(const char *bytes, size_t length)
{
    fuzz_text rest = {bytes, length};
    state self = {.made = 0};
    int many = 0;

    begin_packer(&self, length > 0 ? bytes[0] : 'f');
    while (rest.length > 0) {
        fuzz_text line = fuzz_line(&rest);

        many += line.length > 0 && line.bytes[0] == '*' ? 1 : 0;
        if (line.length > 0 && many < 8) {
            take_step(&self, line.bytes[0],
                      (fuzz_text){line.bytes + 1, line.length - 1});
        }
    }
    kl__packer_free(self.packer);
    for (size_t i = 0; i < KEPT; i++) {
        if (self.pairs[i].plain != NULL) {
            open_twice(&self.pairs[i]);
            check_pair(&self.pairs[i]);
        }
        drop_pair(&self.pairs[i]);
    }
}
