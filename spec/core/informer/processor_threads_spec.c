/*
 * processor_threads_spec.c - several threads at once: an informer that changes
 * the cache, handlers that are slow, that see every change, that join late or
 * that leave, and readers of the cache. In every schedule, each handler sees a
 * valid history and ends with what the cache holds. What an event may ask for
 * is there before it.
 */
#include "gate.h"
#include "kubelua/memory.h"
#include "pods.h"
#include "processor_rig.h"
#include "event_record.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum {
    CHANGES = 3000,
    KEYS = 12,
    SLOW = 2,
    JOINS = 60,
    INDEXES = 12,
    LISTS = 500
};

typedef struct stage {
    processor_rig rig;
    atomic_bool is_over; /* the informer has made its last change */
    uint32_t seed;
    int version;
    uint64_t errors;
} stage;

static uint32_t draw(uint32_t *seed, uint32_t below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Pod "a", "b", ... in one of three lives; "y" and "z" change together only. */
static kl_object *next_pod(stage *self, uint32_t key)
{
    char name[2] = {(char)('a' + key), '\0'};
    char uid[8], node[8];

    snprintf(uid, sizeof(uid), "u%u", draw(&self->seed, 3));
    snprintf(node, sizeof(node), "n%u", draw(&self->seed, 3));
    return pod_make(&(pod_text){"web", name, uid, ++self->version, node, NULL});
}

static kl_object *twin(const char *name, int version)
{
    return pod(name, name, version);
}

static void change_some(stage *self)
{
    kl__delta items[6];
    kl__delta_batch batch = {.items = items, .count = 0, .capacity = 6};
    size_t count = 1 + draw(&self->seed, 4);

    while (batch.count < count) {
        kl__delta_type type =
            draw(&self->seed, 4) == 0 ? KL__DELTA_DELETED : KL__DELTA_UPDATED;

        items[batch.count++] = (kl__delta){
            .type = type, .object = next_pod(self, draw(&self->seed, KEYS))};
    }
    self->version++;
    items[batch.count++] = (kl__delta){.type = KL__DELTA_UPDATED,
                                       .object = twin("y", self->version)};
    items[batch.count++] = (kl__delta){.type = KL__DELTA_UPDATED,
                                       .object = twin("z", self->version)};
    assert_int_equal(kl__processor_apply(self->rig.processor, &batch), KL_OK);
    for (size_t i = 0; i < batch.count; i++) {
        kl__delta_clear(&items[i]);
    }
}

static void relist(stage *self)
{
    int version = ++self->version;

    rig_replace(&self->rig,
                pod_list(5, next_pod(self, 0), next_pod(self, 1),
                         next_pod(self, 2), twin("y", version),
                         twin("z", version)),
                "1");
}

/* The informer's thread. */
static void *inform(void *arg)
{
    stage *self = arg;
    kl_error error = {.code = KL_EGONE, .message = "expired"};

    relist(self);
    for (int i = 0; i < CHANGES; i++) {
        uint32_t what = draw(&self->seed, 40);

        if (what == 0) {
            relist(self);
        } else if (what == 1) {
            kl__clock_advance(self->rig.clock, 1000);
            assert_int_equal(kl__processor_resync(self->rig.processor), KL_OK);
        } else if (what == 2) {
            kl__processor_error(self->rig.processor, &error, ++self->errors);
        } else {
            change_some(self);
        }
        assert_int_equal(kl__processor_wait_room(self->rig.processor, NULL),
                         KL_OK);
    }
    atomic_store(&self->is_over, true);
    return NULL;
}

/* Shows the witness every event that waits. */
static void pull_all(kl_registration *registration, witness *seen)
{
    kl_event event;

    while (kl_registration_next(registration, &event)) {
        witness_see(seen, &event);
        kl_registration_done(registration, &event);
    }
}

/* A handler that takes events while the informer runs, and then the rest. */
typedef struct puller {
    stage *stage;
    kl_event_queue *queue;
    kl_registration *registration;
    kl_handler_options options;
    witness seen;
    kl__thread thread;
} puller;

static void puller_join(puller *self, stage *where)
{
    self->stage = where;
    self->queue = kl_event_queue_new(NULL);
    self->registration = kl__processor_add(
        where->rig.processor,
        &(kl__subscriber){
            .queue = self->queue, .tag = self, .options = &self->options},
        NULL);
    assert_non_null(self->registration);
}

static void *pull(void *arg)
{
    puller *self = arg;

    while (!atomic_load(&self->stage->is_over)) {
        if (kl_event_queue_wait(self->queue, 10) == KL_OK &&
            kl_event_queue_next(self->queue) != NULL) {
            pull_all(self->registration, &self->seen);
        }
    }
    pull_all(self->registration, &self->seen);
    return NULL;
}

static void puller_end(puller *self, const kl_object_list *truth)
{
    kl__thread_join(&self->thread);
    assert_true(witness_knows(&self->seen, truth));
    assert_true(kl_registration_has_synced(self->registration));
    kl_registration_remove(self->registration);
    kl_event_queue_free(self->queue);
    witness_clear(&self->seen);
}

/* A handler that joins, takes its first deltas and leaves, again and again. */
static void *come_and_go(void *arg)
{
    stage *self = arg;

    for (int i = 0; i < JOINS; i++) {
        puller visitor = {.options = {.backlog = 3}};

        puller_join(&visitor, self);
        pull_all(visitor.registration, &visitor.seen);
        kl_registration_remove(visitor.registration);
        kl_event_queue_free(visitor.queue);
        witness_clear(&visitor.seen);
    }
    return NULL;
}

static void check_twins(const kl_object_list *list)
{
    const char *versions[2] = {"", ""};

    for (size_t i = 0; i < list->count; i++) {
        char first = kl_object_name(list->items[i])[0];

        if (first >= 'y') {
            versions[first - 'y'] = kl_object_resource_version(list->items[i]);
        }
    }
    assert_string_equal(versions[0], versions[1]);
}

/* A reader: what it finds is before or after a transaction, never between. */
static void *read_cache(void *arg)
{
    stage *self = arg;
    kl__indexer *indexer = self->rig.indexer;
    kl_object_list list;
    kl_string_list values;

    while (!atomic_load(&self->is_over)) {
        assert_int_equal(kl__indexer_list(indexer, "web", NULL, &list, NULL),
                         KL_OK);
        check_twins(&list);
        kl_object_list_clear(&list);
        if (kl__indexer_by_index(indexer, "node", "n1", &list, NULL) == KL_OK) {
            kl_object_list_clear(&list);
            assert_int_equal(
                kl__indexer_index_values(indexer, "node", &values, NULL),
                KL_OK);
            kl_string_list_clear(&values);
        }
        sched_yield();
    }
    return NULL;
}

/* Adds indexes while all that goes on. */
static void *add_indexes(void *arg)
{
    stage *self = arg;

    for (int i = 0; i < INDEXES; i++) {
        char name[16];
        kl__index_options options = {
            .name = name, .path = kl_path_parse("spec.nodeName", NULL)};

        snprintf(name, sizeof(name), i == 0 ? "node" : "node%d", i);
        assert_int_equal(
            kl__indexer_add_index(self->rig.indexer, &options, NULL), KL_OK);
    }
    return NULL;
}

/* Each index holds what has a node: all but the twins. */
static void check_indexes(kl__indexer *indexer, size_t count)
{
    for (int i = 0; i < INDEXES; i++) {
        char name[16], node[8];
        size_t found = 0;

        snprintf(name, sizeof(name), i == 0 ? "node" : "node%d", i);
        for (int k = 0; k < 3; k++) {
            kl_object_list list;

            snprintf(node, sizeof(node), "n%d", k);
            assert_int_equal(
                kl__indexer_by_index(indexer, name, node, &list, NULL), KL_OK);
            for (size_t n = 0; n < list.count; n++) {
                kl_object *now =
                    kl__indexer_get(indexer, kl_object_key(list.items[n]));

                assert_ptr_equal(now, list.items[n]);
                kl_object_unref(now);
            }
            found += list.count;
            kl_object_list_clear(&list);
        }
        assert_int_equal(found, count - 2);
    }
}

/* A handler with a thread; it is slow every now and then. */
typedef struct listener {
    witness seen;
} listener;

static void see(listener *self, const kl_event *event)
{
    witness_see(&self->seen, event);
    if (self->seen.events % 8 == 0) {
        sched_yield();
    }
}

static void on_add(void *context, kl_object *object, bool initial)
{
    see(context, &(kl_event){.type = KL_EVENT_ADD,
                             .object = object,
                             .initial = initial});
}

static void on_update(void *context, kl_object *old, kl_object *object)
{
    see(context, &(kl_event){.type = KL_EVENT_UPDATE,
                             .old = old,
                             .object = object,
                             .resync = old == object});
}

static void on_remove(void *context, kl_object *object, bool unknown)
{
    see(context, &(kl_event){.type = KL_EVENT_DELETE,
                             .object = object,
                             .unknown = unknown});
}

static void on_synced(void *context)
{
    see(context, &(kl_event){.type = KL_EVENT_SYNCED});
}

static void every_handler_ends_with_the_final_state(void **state)
{
    stage self = {.rig = rig_begin(), .seed = 1};
    puller pullers[3] = {
        {.options = {.backlog = SLOW}},
        {.options = {.backlog = 20, .every_change = true}},
        {.options = {.resync_ms = 1500}},
    };
    listener listeners[2] = {{.seen = {.events = 0}}};
    kl_handler_options options[2] = {{.backlog = SLOW},
                                     {.backlog = 5, .every_change = true}};
    kl_registration *registrations[2];
    void *(*const entries[])(void *) = {inform, come_and_go, read_cache,
                                        add_indexes};
    kl__thread threads[4];
    kl_object_list truth;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        kl_handler handler = {.add = on_add,
                              .update = on_update,
                              .remove = on_remove,
                              .synced = on_synced,
                              .context = &listeners[i]};

        registrations[i] = rig_handle(&self.rig, &handler, &options[i]);
    }
    for (size_t i = 0; i < 3; i++) {
        puller_join(&pullers[i], &self);
        kl__thread_start(&pullers[i].thread, "puller", pull, &pullers[i], NULL);
    }
    for (size_t i = 0; i < 4; i++) {
        kl__thread_start(&threads[i], "actor", entries[i], &self, NULL);
    }
    for (size_t i = 0; i < 4; i++) {
        kl__thread_join(&threads[i]);
    }
    assert_int_equal(
        kl__indexer_list(self.rig.indexer, NULL, NULL, &truth, NULL), KL_OK);
    check_indexes(self.rig.indexer, truth.count);
    for (size_t i = 0; i < 3; i++) {
        puller_end(&pullers[i], &truth);
    }
    for (size_t i = 0; i < 2; i++) {
        while (kl_registration_backlog(registrations[i]) > 0) {
            sched_yield();
        }
        kl_registration_remove(registrations[i]);
        assert_true(witness_knows(&listeners[i].seen, &truth));
        witness_clear(&listeners[i].seen);
    }
    kl_object_list_clear(&truth);
    rig_end(&self.rig);
}

/* A handler that asks, at each event of a list, for the number of lists. */
typedef struct counter {
    processor_rig rig;
    gate seen;
    uint64_t lists; /* at the last event */
} counter;

static void count_lists(void *context, kl_object *old, kl_object *object)
{
    counter *self = context;

    (void)old;
    (void)object;
    kl__health_count_lists(self->rig.health, &self->lists);
    gate_pass(&self->seen);
}

/* By the number a controller knows that what it remembers may be of another
 * history of the cluster. */
static void
a_handler_that_gets_an_event_of_a_list_finds_it_counted(void **state)
{
    counter self = {.rig = rig_begin()};
    kl_registration *registration;

    (void)state;
    gate_init(&self.seen);
    registration = rig_handle(
        &self.rig, &(kl_handler){.update = count_lists, .context = &self},
        NULL);
    rig_replace(&self.rig, pod_list(1, twin("y", 1)), "1");
    for (int list = 2; list <= LISTS; list++) {
        rig_replace(&self.rig, pod_list(1, twin("y", list)), "1");
        assert_true(gate_await(&self.seen, list - 1));
        assert_int_equal(self.lists, list);
    }
    kl_registration_remove(registration);
    rig_end(&self.rig);
    gate_deinit(&self.seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_handler_ends_with_the_final_state),
        cmocka_unit_test(
            a_handler_that_gets_an_event_of_a_list_finds_it_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
