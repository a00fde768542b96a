/*
 * witness.c - see witness.h.
 */
#include "witness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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
