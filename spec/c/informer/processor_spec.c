/*
 * processor_spec.c - who is told what, and when: one registration or many,
 * early or late, pulled or with a thread.
 */
#include "informer/processor.h"

#include "base/mem.h"
#include "kubelua/log.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* An indexer, a processor, a clock and a queue. */
typedef struct rig {
    kl__indexer *indexer;
    kl__clock *clock;
    kl__processor *processor;
    kl_event_queue *queue;
} rig;

static rig begin(void)
{
    rig self = {kl__indexer_new(), kl__clock_fake(0), NULL,
                kl_event_queue_new(NULL)};

    self.processor = kl__processor_new(self.indexer, self.clock, 0, "pods");
    assert_non_null(self.processor);
    return self;
}

static void end(rig *self)
{
    kl__processor_close(self->processor);
    kl__processor_remove_owner(self->processor, NULL);
    kl__processor_free(self->processor);
    kl__indexer_free(self->indexer);
    kl_event_queue_free(self->queue);
    kl__clock_fake_free(self->clock);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

static kl_registration *subscribe(rig *self, void *tag,
                                  const kl_handler_options *options)
{
    kl__subscriber subscriber = {
        .queue = self->queue, .tag = tag, .owner = tag, .options = options};
    kl_registration *registration =
        kl__processor_add(self->processor, &subscriber, NULL);

    assert_non_null(registration);
    return registration;
}

static void replace(rig *self, kl_object_list list, const char *version)
{
    assert_int_equal(kl__processor_replace(self->processor, &list, version),
                     KL_OK);
    kl_object_list_clear(&list);
}

static void apply(rig *self, kl__delta_type type, kl_object *object)
{
    kl__delta delta = {.type = type, .object = object};
    kl__delta_batch batch = {&delta, 1, 1};

    assert_int_equal(kl__processor_apply(self->processor, &batch), KL_OK);
    kl__delta_clear(&delta);
}

static size_t describe(char *text, size_t size, const kl_event *event)
{
    static const char *const signs[] = {"+", "~", "-", "synced", "error"};
    const char *sign = signs[event->type];

    if (event->initial) {
        sign = "i+";
    } else if (event->unknown) {
        sign = "?";
    } else if (event->resync) {
        sign = "=";
    }
    if (event->object == NULL) {
        return (size_t)snprintf(
            text, size, "%s%s%s ", sign, event->error != NULL ? ":" : "",
            event->error != NULL ? event->error->message : "");
    }
    return (size_t)snprintf(
        text, size, "%s%s@%s%s%s ", sign, kl_object_name(event->object),
        event->old != NULL ? kl_object_resource_version(event->old) : "",
        event->old != NULL ? ">" : "",
        kl_object_resource_version(event->object));
}

/* All that waits: "i+a@1" an initial add, "+a@1", "~a@1>2", "=a@1>1" a resync,
 * "-a@2", "?a@2" a missed delete. */
static const char *pull(kl_registration *registration)
{
    static char text[4096];
    kl_event event;
    size_t used = 0;

    text[0] = '\0';
    while (kl_registration_next(registration, &event)) {
        used += describe(text + used, sizeof(text) - used, &event);
        kl_registration_done(registration, &event);
    }
    return text;
}

static void an_early_registration_sees_the_first_list_then_synced(void **state)
{
    rig self = begin();
    kl_registration *handler = subscribe(&self, &self, NULL);

    (void)state;
    assert_string_equal(pull(handler), "");
    assert_false(kl_registration_has_synced(handler));
    replace(&self, pod_list(2, pod("a", "1", 1), pod("b", "2", 2)), "5");
    apply(&self, KL__DELTA_ADDED, pod("c", "3", 6));
    assert_false(kl_registration_has_synced(handler));
    assert_string_equal(pull(handler), "i+a@1 i+b@2 synced +c@6 ");
    assert_true(kl_registration_has_synced(handler));
    kl_registration_remove(handler);
    end(&self);
}

static void a_late_registration_is_replayed_what_is_there(void **state)
{
    rig self = begin();
    kl_registration *handler;

    (void)state;
    replace(&self, pod_list(2, pod("b", "2", 2), pod("a", "1", 1)), "5");
    handler = subscribe(&self, &self, NULL);
    apply(&self, KL__DELTA_UPDATED, pod("a", "1", 7));
    assert_string_equal(pull(handler), "i+a@1 i+b@2 synced ~a@1>7 ");
    end(&self);
}

static void a_relist_is_told_as_what_it_changes(void **state)
{
    rig self = begin();
    kl_registration *handler = subscribe(&self, &self, NULL);

    (void)state;
    replace(&self,
            pod_list(3, pod("a", "1", 1), pod("b", "2", 2), pod("c", "3", 3)),
            "5");
    pull(handler);
    replace(&self,
            pod_list(3, pod("a", "1", 1), pod("c", "9", 8), pod("d", "4", 9)),
            "9");
    assert_string_equal(pull(handler), "?b@2 ?c@3 +c@8 +d@9 ");
    end(&self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_early_registration_sees_the_first_list_then_synced),
        cmocka_unit_test(a_late_registration_is_replayed_what_is_there),
        cmocka_unit_test(a_relist_is_told_as_what_it_changes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
