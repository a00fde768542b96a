/*
 * event_record.c - see event_record.h.
 */
#include "event_record.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000 };

void event_record_init(event_record *record)
{
    *record = (event_record){.count = 0};
    kl__mutex_init(&record->mutex, KL__RANK_LOG - 5);
    kl__cond_init(&record->cond);
    kl__buf_puts(&record->text, "");
}

void event_record_deinit(event_record *record)
{
    kl__buf_deinit(&record->text);
    kl__cond_deinit(&record->cond);
    kl__mutex_deinit(&record->mutex);
}

KL_PRINTF(2, 3)
static void write_word(event_record *record, const char *format, ...)
{
    char word[256];
    va_list args;

    va_start(args, format);
    vsnprintf(word, sizeof(word), format, args);
    va_end(args);
    kl__mutex_lock(&record->mutex);
    kl__buf_printf(&record->text, "%s%s", record->count > 0 ? "; " : "", word);
    record->count++;
    kl__cond_broadcast(&record->cond);
    kl__mutex_unlock(&record->mutex);
}

static void add(void *context, kl_object *object, bool initial)
{
    write_word(context, "+%s@%s%s", kl_object_key(object),
               kl_object_resource_version(object), initial ? " initial" : "");
}

static void update(void *context, kl_object *old, kl_object *object)
{
    write_word(context, "~%s@%s>%s", kl_object_key(object),
               kl_object_resource_version(old),
               kl_object_resource_version(object));
}

static void removed(void *context, kl_object *object, bool unknown)
{
    write_word(context, "-%s@%s%s", kl_object_key(object),
               kl_object_resource_version(object), unknown ? " unknown" : "");
}

static void leave(void *context, kl_object *object)
{
    write_word(context, "<%s@%s", kl_object_key(object),
               kl_object_resource_version(object));
}

static void synced(void *context)
{
    write_word(context, "synced");
}

static void error(void *context, const kl_error *reason)
{
    write_word(context, "!%s", kl_code_name(reason->code));
}

static void drop(void *context)
{
    event_record *record = context;

    kl__mutex_lock(&record->mutex);
    record->dropped++;
    kl__cond_broadcast(&record->cond);
    kl__mutex_unlock(&record->mutex);
}

kl_handler event_record_handler(event_record *record)
{
    return (kl_handler){
        .add = add,
        .update = update,
        .remove = removed,
        .synced = synced,
        .error = error,
        .context = record,
        .drop_context = drop,
        .left_shard = leave,
    };
}

bool event_record_await(event_record *record, int count)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool arrived;

    kl__mutex_lock(&record->mutex);
    while (record->count < count &&
           kl__cond_wait(&record->cond, &record->mutex, deadline)) {
    }
    arrived = record->count >= count;
    kl__mutex_unlock(&record->mutex);
    return arrived;
}

bool event_record_await_dropped(event_record *record)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + PATIENCE_MS;
    bool dropped;

    kl__mutex_lock(&record->mutex);
    while (record->dropped == 0 &&
           kl__cond_wait(&record->cond, &record->mutex, deadline)) {
    }
    dropped = record->dropped > 0;
    kl__mutex_unlock(&record->mutex);
    return dropped;
}

char *event_record_text(event_record *record)
{
    char *text;

    kl__mutex_lock(&record->mutex);
    text = kl__strdup(record->text.bytes);
    kl__mutex_unlock(&record->mutex);
    return text;
}

int event_record_dropped(event_record *record)
{
    int dropped;

    kl__mutex_lock(&record->mutex);
    dropped = record->dropped;
    kl__mutex_unlock(&record->mutex);
    return dropped;
}

static size_t key_of(const kl_object *object)
{
    size_t key = (size_t)(kl_object_name(object)[0] - 'a');

    assert_true(key < WITNESS_KEYS);
    return key;
}

void witness_see(witness *self, const kl_event *event)
{
    kl_object **known;

    self->events++;
    if (event->object == NULL) {
        if (event->type == KL_EVENT_SYNCED) {
            assert_false(self->has_synced);
            self->has_synced = true;
        }
        return;
    }
    known = &self->known[key_of(event->object)];
    if (event->type == KL_EVENT_ADD) {
        assert_null(*known);
        assert_true(event->initial == !self->has_synced);
    } else {
        assert_non_null(*known);
        assert_string_equal(kl_object_uid(*known),
                            kl_object_uid(event->object));
    }
    if (event->type == KL_EVENT_UPDATE) {
        assert_ptr_equal(event->old, *known);
        assert_true(event->resync == (event->object == event->old));
    }
    kl_object_unref(*known);
    *known =
        event->type != KL_EVENT_DELETE ? kl_object_ref(event->object) : NULL;
}

bool witness_knows(const witness *self, const kl_object_list *list)
{
    size_t count = 0;

    for (size_t i = 0; i < WITNESS_KEYS; i++) {
        count += self->known[i] != NULL;
    }
    for (size_t i = 0; i < list->count; i++) {
        if (self->known[key_of(list->items[i])] != list->items[i]) {
            return false;
        }
    }
    return count == list->count;
}

void witness_clear(witness *self)
{
    for (size_t i = 0; i < WITNESS_KEYS; i++) {
        kl_object_unref(self->known[i]);
    }
    *self = (witness){0};
}
