/*
 * unreadable.c - see unreadable.h.
 */
#include "object/unreadable.h"

#include "base/mem.h"

#include <stdio.h>
#include <string.h>

enum { VERSION_SIZE = 64 }; /* as in kl__item */

/* Where the next text of a block goes. */
static const char *copy_text(char **at, const char *text)
{
    const char *put = *at;
    size_t size = strlen(text) + 1;

    memcpy(*at, text, size);
    *at += size;
    return put;
}

static kl__unreadable *make_block(const kl__unreadable *from)
{
    size_t size = sizeof(*from) + strlen(from->key) + strlen(from->uid) +
                  strlen(from->version) + strlen(from->why) + 4;
    kl__unreadable *made = kl__calloc(1, size);
    char *at;

    if (made == NULL) {
        return NULL;
    }
    at = (char *)(made + 1);
    made->key = copy_text(&at, from->key);
    made->uid = copy_text(&at, from->uid);
    made->version = copy_text(&at, from->version);
    made->why = copy_text(&at, from->why);
    return made;
}

kl__unreadable *kl__unreadable_new(const kl__remains *remains, const char *kind,
                                   const kl_error *why)
{
    /* A version may be what cannot be read. */
    bool is_long = strlen(remains->version) >= VERSION_SIZE;
    char key[2 * KL__REMAINS_TEXT + 1];
    kl_error said = *why;

    snprintf(key, sizeof(key), "%s%s%s", remains->name_space,
             remains->name_space[0] != '\0' ? "/" : "", remains->name);
    kl_error_prefix(&said, "%s %s cannot be read", kind, key);
    return make_block(
        &(kl__unreadable){.key = key,
                          .uid = remains->uid,
                          .version = is_long ? "" : remains->version,
                          .why = said.message});
}

static bool is_wanted_kind(const char *found, const char *wanted)
{
    return found[0] == '\0' || strcmp(found, wanted) == 0 ||
           strcmp(found, "PartialObjectMetadata") == 0;
}

kl_code kl__unreadable_of_frame(const kl__frame *frame, const char *kind,
                                kl__unreadable **made, kl_error *err)
{
    kl__remains own = {0};
    const kl__remains *remains = frame->remains;

    if (remains == NULL) {
        kl__remains_feed(&own, frame->text, frame->length);
        remains = &own;
    }
    if (!kl__remains_has_key(remains) || !is_wanted_kind(remains->kind, kind)) {
        return err->code;
    }
    *made = kl__unreadable_new(remains, kind, err);
    return *made != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an object");
}

bool kl__unreadable_may_be(const kl__unreadable *unreadable, const char *uid)
{
    return unreadable->uid[0] == '\0' || strcmp(unreadable->uid, uid) == 0;
}

void kl__unreadable_error(const kl__unreadable *unreadable, kl_error *err)
{
    *err = (kl_error){.retry_after_ms = -1};
    kl_error_set(err, KL_EUNREADABLE, "%s", unreadable->why);
}

bool kl__unreadables_add(kl__unreadables *set, kl__unreadable *added)
{
    void *former = NULL;

    if (!kl__map_put(&set->by_key, added->key, added, &former)) {
        kl__free(added);
        return false;
    }
    kl__free(former);
    return true;
}

void kl__unreadables_remove(kl__unreadables *set, const char *key)
{
    if (set->by_key.count > 0) {
        kl__free(kl__map_remove(&set->by_key, key));
    }
}

kl__unreadable *kl__unreadables_find(const kl__unreadables *set,
                                     const char *key)
{
    return kl__map_get(&set->by_key, key);
}

kl__unreadable *kl__unreadables_next(const kl__unreadables *set, size_t *cursor)
{
    const kl__map_slot *slot = kl__map_next(&set->by_key, cursor);

    return slot != NULL ? slot->value : NULL;
}

void kl__unreadables_clear(kl__unreadables *set)
{
    kl__unreadable *each;
    size_t cursor = 0;

    while ((each = kl__unreadables_next(set, &cursor)) != NULL) {
        kl__free(each);
    }
    kl__map_deinit(&set->by_key);
}
