/*
 * notes_spec.c - the rule by which events of one object are merged: each row of
 * its table, and any sequence against what a handler can make sense of.
 */
#include "informer/notes.h"

#include "base/mem.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* One event, by hand: versions of a pod "a" of UID "u". */
typedef struct step {
    kl_event_type type;
    int old;
    int object;
    bool flag; /* initial, resync or unknown */
} step;

static kl_event event_of(const step *what)
{
    kl_event event = {.type = what->type};

    event.object = pod("a", "u", what->object);
    if (what->type == KL_EVENT_UPDATE) {
        event.old = pod("a", "u", what->old);
    }
    event.initial = what->type == KL_EVENT_ADD && what->flag;
    event.resync = what->type == KL_EVENT_UPDATE && what->flag;
    event.unknown = what->type == KL_EVENT_DELETE && what->flag;
    return event;
}

static void append(kl__notes *notes, const kl_event *event)
{
    kl__note *note = kl__note_new();

    assert_non_null(note);
    note->event = *event;
    assert_true(kl__notes_key(notes, 1));
    kl__notes_append(notes, note);
}

/* As a listener beyond its backlog does. */
static void push(kl__notes *notes, kl_event event)
{
    kl__note *unseen;

    assert_true(kl__notes_key(notes, 2));
    if (kl__notes_merge(notes, &event, &unseen)) {
        kl__note_free(unseen);
    } else {
        append(notes, &event);
    }
}

static int version_of(const kl_object *object)
{
    int version = 0;

    if (object != NULL) {
        sscanf(kl_object_resource_version(object), "%d", &version);
    }
    return version;
}

static void assert_step(const kl_event *event, const step *expected)
{
    assert_int_equal(event->type, expected->type);
    assert_int_equal(version_of(event->old), expected->old);
    assert_int_equal(version_of(event->object), expected->object);
    assert_int_equal(event->initial || event->resync || event->unknown,
                     expected->flag);
}

/* A row: what waits, what comes, what waits then. */
typedef struct row {
    step waits;
    step comes;
    size_t count;
    step seen[2];
} row;

static const row rows[] = {
    {{KL_EVENT_ADD, 0, 1, true},
     {KL_EVENT_UPDATE, 1, 2, false},
     1,
     {{KL_EVENT_ADD, 0, 2, true}}},
    {{KL_EVENT_ADD, 0, 1, false},
     {KL_EVENT_UPDATE, 1, 2, false},
     1,
     {{KL_EVENT_ADD, 0, 2, false}}},
    {{KL_EVENT_ADD, 0, 1, true}, {KL_EVENT_DELETE, 0, 2, false}, 0, {{0}}},
    {{KL_EVENT_ADD, 0, 1, false}, {KL_EVENT_DELETE, 0, 1, true}, 0, {{0}}},
    {{KL_EVENT_UPDATE, 1, 2, false},
     {KL_EVENT_UPDATE, 2, 3, false},
     1,
     {{KL_EVENT_UPDATE, 1, 3, false}}},
    {{KL_EVENT_UPDATE, 1, 2, false},
     {KL_EVENT_DELETE, 0, 3, false},
     1,
     {{KL_EVENT_DELETE, 0, 3, false}}},
    {{KL_EVENT_UPDATE, 1, 2, false},
     {KL_EVENT_DELETE, 0, 2, true},
     1,
     {{KL_EVENT_DELETE, 0, 2, true}}},
    {{KL_EVENT_UPDATE, 1, 1, true},
     {KL_EVENT_UPDATE, 1, 2, false},
     1,
     {{KL_EVENT_UPDATE, 1, 2, false}}},
    {{KL_EVENT_UPDATE, 1, 1, true},
     {KL_EVENT_DELETE, 0, 2, false},
     1,
     {{KL_EVENT_DELETE, 0, 2, false}}},
    {{KL_EVENT_DELETE, 0, 1, false},
     {KL_EVENT_ADD, 0, 2, false},
     2,
     {{KL_EVENT_DELETE, 0, 1, false}, {KL_EVENT_ADD, 0, 2, false}}},
};

static void every_row_of_the_merge_table_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const row *each = &rows[i];
        kl__notes notes;
        size_t seen = 0;

        kl__notes_init(&notes);
        push(&notes, event_of(&each->waits));
        push(&notes, event_of(&each->comes));
        assert_int_equal(notes.count, each->count);
        for (kl__list *node = notes.list.next; node != &notes.list;
             node = node->next) {
            assert_step(&KL__CONTAINER(node, kl__note, node)->event,
                        &each->seen[seen++]);
        }
        kl__notes_deinit(&notes);
        assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    }
}

static void only_the_newest_event_of_an_object_is_merged_with(void **state)
{
    const step add = {KL_EVENT_ADD, 0, 1, false};
    const step update = {KL_EVENT_UPDATE, 1, 2, false};
    const step more = {KL_EVENT_UPDATE, 2, 3, false};
    const step merged = {KL_EVENT_UPDATE, 1, 3, false};
    kl__notes notes;
    kl_event event;
    kl__note *note;

    (void)state;
    kl__notes_init(&notes);
    event = event_of(&add);
    append(&notes, &event);
    event = event_of(&update);
    append(&notes, &event);
    push(&notes, event_of(&more));
    assert_int_equal(notes.count, 2);
    note = KL__CONTAINER(notes.list.prev, kl__note, node);
    assert_step(&note->event, &merged);
    kl__notes_deinit(&notes);
}

static void merging_one_object_keeps_the_order_of_others(void **state)
{
    const step update = {KL_EVENT_UPDATE, 1, 2, false};
    kl_event event = {.type = KL_EVENT_ADD};
    kl__notes notes;
    kl__list *node;

    (void)state;
    kl__notes_init(&notes);
    event.object = pod("a", "u", 1);
    append(&notes, &event);
    event.object = pod("b", "v", 1);
    append(&notes, &event);
    push(&notes, event_of(&update));
    node = notes.list.next;
    assert_string_equal(
        kl_object_name(KL__CONTAINER(node, kl__note, node)->event.object), "a");
    assert_string_equal(
        kl_object_name(KL__CONTAINER(node->next, kl__note, node)->event.object),
        "b");
    kl__notes_deinit(&notes);
}

/*
 * Any sequence. A few objects live, change, die and are born again under a new
 * UID; a handler takes an event now and then; what it is shown must make sense
 * to it, and in the end it must know what there is.
 */
enum { KEYS = 4, ROUNDS = 300, STEPS = 200 };

typedef struct world {
    uint32_t seed;
    kl__notes notes;
    int version;
    kl_object *real[KEYS];  /* what there is */
    kl_object *known[KEYS]; /* what the handler knows */
} world;

static uint32_t draw(world *self, uint32_t below)
{
    self->seed = self->seed * 1664525u + 1013904223u;
    return (self->seed >> 8) % below;
}

static kl_object *make(world *self, uint32_t key, const char *uid)
{
    char name[2] = {(char)('a' + key), '\0'};

    return pod(name, uid, ++self->version);
}

static void be_born(world *self, uint32_t key, bool merging)
{
    kl_event event = {.type = KL_EVENT_ADD};
    char uid[16];

    snprintf(uid, sizeof(uid), "u%d", self->version);
    self->real[key] = make(self, key, uid);
    event.object = kl_object_ref(self->real[key]);
    if (merging) {
        push(&self->notes, event);
    } else {
        append(&self->notes, &event);
    }
}

static void change(world *self, uint32_t key, bool merging)
{
    kl_event event = {.type = KL_EVENT_UPDATE, .old = self->real[key]};

    self->real[key] = make(self, key, kl_object_uid(event.old));
    event.object = kl_object_ref(self->real[key]);
    if (merging) {
        push(&self->notes, event);
    } else {
        append(&self->notes, &event);
    }
}

static void die(world *self, uint32_t key, bool merging)
{
    kl_event event = {.type = KL_EVENT_DELETE};

    event.unknown = draw(self, 2) == 0;
    event.object = event.unknown
                       ? kl_object_ref(self->real[key])
                       : make(self, key, kl_object_uid(self->real[key]));
    kl_object_unref(self->real[key]);
    self->real[key] = NULL;
    if (merging) {
        push(&self->notes, event);
    } else {
        append(&self->notes, &event);
    }
}

/* The handler takes the oldest event, and finds it sensible. */
static void handle_one(world *self)
{
    kl__note *note = KL__CONTAINER(self->notes.list.next, kl__note, node);
    kl_event *event = &note->event;
    kl_object **known =
        &self->known[(unsigned)(kl_object_name(event->object)[0] - 'a')];

    kl__notes_remove(&self->notes, note);
    if (event->type == KL_EVENT_ADD) {
        assert_null(*known);
    } else {
        assert_non_null(*known);
        assert_string_equal(kl_object_uid(*known),
                            kl_object_uid(event->object));
    }
    if (event->type == KL_EVENT_UPDATE) {
        assert_ptr_equal(event->old, *known);
        assert_true(version_of(event->object) > version_of(*known));
    }
    kl_object_unref(*known);
    *known =
        event->type != KL_EVENT_DELETE ? kl_object_ref(event->object) : NULL;
    kl__note_free(note);
}

static void live_on(world *self)
{
    uint32_t key = draw(self, KEYS);
    bool merging = draw(self, 4) != 0;

    if (draw(self, 3) == 0 && self->notes.count > 0) {
        handle_one(self);
    } else if (self->real[key] == NULL) {
        be_born(self, key, merging);
    } else if (draw(self, 3) == 0) {
        die(self, key, merging);
    } else {
        change(self, key, merging);
    }
    if (draw(self, 50) == 0) {
        kl__notes_unkey(&self->notes);
    }
}

static void any_coalesced_history_is_consistent(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        world self = {.seed = round};

        kl__notes_init(&self.notes);
        for (int i = 0; i < STEPS; i++) {
            live_on(&self);
        }
        while (self.notes.count > 0) {
            handle_one(&self);
        }
        for (int key = 0; key < KEYS; key++) {
            assert_ptr_equal(self.known[key], self.real[key]);
            kl_object_unref(self.known[key]);
            kl_object_unref(self.real[key]);
        }
        kl__notes_deinit(&self.notes);
        assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    }
}

static void coalescing_bounds_the_backlog_by_objects(void **state)
{
    world self = {.seed = 7};

    (void)state;
    kl__notes_init(&self.notes);
    for (int i = 0; i < 5000; i++) {
        uint32_t key = draw(&self, KEYS);

        if (self.real[key] == NULL) {
            be_born(&self, key, true);
        } else if (draw(&self, 3) == 0) {
            die(&self, key, true);
        } else {
            change(&self, key, true);
        }
        assert_true(self.notes.count <= 2 * KEYS);
    }
    for (int key = 0; key < KEYS; key++) {
        kl_object_unref(self.real[key]);
    }
    kl__notes_deinit(&self.notes);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_of_the_merge_table_holds),
        cmocka_unit_test(only_the_newest_event_of_an_object_is_merged_with),
        cmocka_unit_test(merging_one_object_keeps_the_order_of_others),
        cmocka_unit_test(any_coalesced_history_is_consistent),
        cmocka_unit_test(coalescing_bounds_the_backlog_by_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
