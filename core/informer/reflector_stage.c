/*
 * reflector_stage.c - collects the objects of a list until it is complete, and
 * finds events that the list already contains; see reflector_stage.h.
 */
#include "informer/reflector_stage.h"

#include "base/mem.h"
#include "base/str.h"
#include "object/object.h"

#include <limits.h>
#include <string.h>

enum { FIRST_CAPACITY = 64, AHEAD = 64 * 1024 };

static bool same_version(const kl_object *a, const kl_object *b)
{
    return kl_object_resource_version(a)[0] != '\0' &&
           strcmp(kl_object_resource_version(a),
                  kl_object_resource_version(b)) == 0 &&
           strcmp(kl_object_uid(a), kl_object_uid(b)) == 0 &&
           strcmp(kl_object_api_version(a), kl_object_api_version(b)) == 0;
}

/* The cached object if it is the same, else `object` in its packed form. Takes
 * `object`. */
static kl_object *share_cached(const kl__stage *stage, const kl__key *key,
                               kl_object *object)
{
    kl_object *cached =
        stage->known != NULL ? kl__indexer_get_key(stage->known, key) : NULL;

    if (cached != NULL && same_version(cached, object) &&
        (!stage->by_text || kl__object_is_copy(cached, object))) {
        kl_object_unref(object);
        return cached;
    }
    kl_object_unref(cached);
    return kl__packer_pack(stage->packer, object, stage->count);
}

static bool grow_stage(kl__stage *stage)
{
    size_t capacity =
        stage->capacity != 0 ? stage->capacity * 2 : FIRST_CAPACITY;
    kl_object **items;

    if (stage->count < stage->capacity) {
        return true;
    }
    items = kl__realloc(stage->items, capacity * sizeof(kl_object *));
    if (items == NULL) {
        return false;
    }
    stage->items = items;
    stage->capacity = capacity;
    return true;
}

/* Asks the system for memory in large pieces: a list has thousands of objects
 * that stay. */
static void reserve_ahead(kl__stage *stage, const kl_object *object)
{
    stage->bytes += kl_object_bytes(object);
    if (stage->bytes >= AHEAD) {
        stage->bytes = 0;
        kl__mem_ahead(AHEAD);
    }
}

static const char *key_of_place(const void *context, const void *place)
{
    kl_object *const *items = context;

    return kl_object_key(items[(uintptr_t)place - 1]);
}

static uint32_t find_place(const kl__stage *stage, const kl__key *key)
{
    return kl__table_find(&stage->places, key, key_of_place, stage->items);
}

bool kl__stage_put(kl__stage *stage, kl_object *object)
{
    kl__key key = kl__object_key(object);
    uint32_t slot;

    object = share_cached(stage, &key, object);
    key.text = kl_object_key(object);
    kl__unreadables_remove(&stage->unreadable, key.text);
    reserve_ahead(stage, object);
    slot = find_place(stage, &key);
    if (slot != KL__NO_SLOT) {
        uintptr_t place = (uintptr_t)stage->places.items[slot];

        kl_object_unref(stage->items[place - 1]);
        stage->items[place - 1] = object;
        return true;
    }
    if (!grow_stage(stage) || !kl__table_reserve(&stage->places, 1)) {
        kl_object_unref(object);
        return false;
    }
    stage->items[stage->count++] = object;
    kl__table_add(&stage->places, key.hash, (void *)(uintptr_t)stage->count);
    return true;
}

bool kl__stage_put_unreadable(kl__stage *stage, kl__unreadable *unreadable)
{
    kl__stage_remove(stage, unreadable->key);
    return kl__unreadables_add(&stage->unreadable, unreadable);
}

void kl__stage_remove(kl__stage *stage, const char *key)
{
    kl__key hashed = kl__key_of(key);
    uint32_t slot = find_place(stage, &hashed);

    kl__unreadables_remove(&stage->unreadable, key);
    if (slot != KL__NO_SLOT) {
        uintptr_t place = (uintptr_t)stage->places.items[slot];

        kl__table_remove(&stage->places, slot);
        kl_object_unref(stage->items[place - 1]);
        stage->items[place - 1] = NULL;
    }
}

void kl__stage_finish(kl__stage *stage)
{
    if (stage->packer == NULL) {
        return;
    }
    kl__packer_end_list(stage->packer);
    kl__table_deinit(&stage->places); /* no object is added any more */
    for (size_t i = 0; i < stage->count; i++) {
        kl_object *object = stage->items[i];

        /* An object with another reference belongs to the cache, too: it stays
         * as it is. */
        if (object != NULL && !kl__object_is_shared(object)) {
            stage->items[i] = kl__packer_pack(stage->packer, object, 0);
        }
    }
}

void kl__stage_take(kl__stage *stage, kl__listed *listed)
{
    size_t kept = 0;

    for (size_t i = 0; i < stage->count; i++) {
        if (stage->items[i] != NULL) {
            stage->items[kept++] = stage->items[i];
        }
    }
    listed->objects = (kl_object_list){stage->items, kept};
    listed->unreadable = stage->unreadable;
    stage->unreadable = (kl__unreadables){0};
    stage->items = NULL;
    stage->count = stage->capacity = 0;
    kl__table_deinit(&stage->places);
}

void kl__stage_clear(kl__stage *stage)
{
    kl__listed listed;

    kl__stage_take(stage, &listed);
    kl__listed_clear(&listed);
}

/* True if both are numbers and a > b. */
static bool is_newer(const char *a, const char *b)
{
    return kl_version_compare(a, b) > 0;
}

static bool is_older(const char *a, const char *b)
{
    int order = kl_version_compare(a, b);

    return order < 0 && order != INT_MIN;
}

bool kl__ahead_note(kl__ahead *ahead, kl_object *object, const char *version)
{
    const char *own = kl_object_resource_version(object);
    void *former = NULL;

    if (!is_newer(own, version) || strlen(own) >= sizeof(ahead->until)) {
        return true;
    }
    if (!kl__map_put(&ahead->objects, kl_object_key(object), object, &former)) {
        return false;
    }
    kl_object_ref(object);
    kl_object_unref(former);
    kl__ahead_reach(ahead, own);
    return true;
}

void kl__ahead_reach(kl__ahead *ahead, const char *version)
{
    if (version[0] != '\0' && strlen(version) < sizeof(ahead->until) &&
        (ahead->until[0] == '\0' || is_newer(version, ahead->until))) {
        strcpy(ahead->until, version);
    }
}

bool kl__ahead_covers(kl__ahead *ahead, const char *key, const char *version)
{
    const kl_object *object;

    if (ahead->until[0] == '\0' || version[0] == '\0') {
        return false;
    }
    if (is_newer(version, ahead->until)) {
        kl__ahead_clear(ahead);
        return false;
    }
    object = kl__map_get(&ahead->objects, key);
    return object != NULL &&
           is_older(version, kl_object_resource_version(object));
}

void kl__ahead_clear(kl__ahead *ahead)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    while ((slot = kl__map_next(&ahead->objects, &cursor)) != NULL) {
        kl_object_unref(slot->value);
    }
    kl__map_deinit(&ahead->objects);
    ahead->until[0] = '\0';
}
