/*
 * processor_rig.c - see processor_rig.h.
 */
#include "processor_rig.h"

#include "kubelua/log.h"
#include "kubelua/memory.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static atomic_int log_lines;
static char log_line[2048];

processor_rig rig_begin(void)
{
    processor_rig rig = {kl__indexer_new(), kl__clock_fake(0),
                         malloc(sizeof(kl__health)), NULL,
                         kl_event_queue_new(NULL)};

    assert_non_null(rig.indexer);
    assert_non_null(rig.health);
    kl__health_init(rig.health, rig.clock);
    rig.processor =
        kl__processor_new(rig.indexer, rig.health, rig.clock, "pods");
    assert_non_null(rig.processor);
    return rig;
}

/* Waits for detached threads, which end soon by themselves. */
static void await_threads(void)
{
    int64_t deadline = kl__clock_now(kl__clock_real()) + 60000;

    while (kl_live_count(KL_LIVE_THREAD) > 0 &&
           kl__clock_now(kl__clock_real()) < deadline) {
        sched_yield();
    }
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

void rig_end(processor_rig *rig)
{
    kl__processor_close(rig->processor);
    kl__processor_remove_owner(rig->processor, NULL, NULL);
    kl__processor_free(rig->processor);
    kl__indexer_free(rig->indexer);
    kl__health_deinit(rig->health);
    free(rig->health);
    kl_event_queue_free(rig->queue);
    await_threads();
    kl__clock_fake_free(rig->clock);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_REGISTRATION), 0);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
}

static kl_registration *add(processor_rig *rig,
                            const kl__subscriber *subscriber)
{
    kl_error err = {0};
    kl_registration *registration =
        kl__processor_add(rig->processor, subscriber, &err);

    assert_string_equal(err.message, "");
    assert_non_null(registration);
    return registration;
}

kl_registration *rig_subscribe(processor_rig *rig, void *tag,
                               const kl_handler_options *options)
{
    return add(rig, &(kl__subscriber){.queue = rig->queue,
                                      .tag = tag,
                                      .owner = tag,
                                      .options = options});
}

kl_registration *rig_handle(processor_rig *rig, const kl_handler *handler,
                            const kl_handler_options *options)
{
    return add(rig, &(kl__subscriber){.handler = handler,
                                      .owner = handler->context,
                                      .options = options});
}

void rig_replace(processor_rig *rig, kl_object_list list, const char *version)
{
    kl__listed listed = {.objects = list};

    assert_int_equal(kl__processor_replace(rig->processor, &listed, version),
                     KL_OK);
    kl__listed_clear(&listed);
}

void rig_apply(processor_rig *rig, kl__delta_type type, kl_object *object)
{
    kl__delta delta = {.type = type, .object = object};
    kl__delta_batch batch = {.items = &delta, .count = 1, .capacity = 1};

    assert_int_equal(kl__processor_apply(rig->processor, &batch), KL_OK);
    kl__delta_clear(&delta);
}

void rig_fail(processor_rig *rig, const kl_error *error)
{
    uint64_t number = kl__health_fail(rig->health, error, false);

    if (number != 0) {
        kl__processor_error(rig->processor, error, number);
    }
}

static const char *sign_of(const kl_event *event)
{
    static const char *const signs[] = {"+", "~", "-", "synced", "error:"};

    if (event->initial) {
        return "i+";
    }
    if (event->unknown) {
        return "?";
    }
    return event->resync ? "=" : signs[event->type];
}

static size_t write_event(char *text, size_t size, const kl_event *event)
{
    const char *sign = sign_of(event);

    if (event->object == NULL) {
        return (size_t)snprintf(text, size, "%s%s", sign,
                                event->error != NULL ? event->error->message
                                                     : "");
    }
    if (event->old == NULL) {
        return (size_t)snprintf(text, size, "%s%s@%s", sign,
                                kl_object_name(event->object),
                                kl_object_resource_version(event->object));
    }
    return (size_t)snprintf(text, size, "%s%s@%s>%s", sign,
                            kl_object_name(event->object),
                            kl_object_resource_version(event->old),
                            kl_object_resource_version(event->object));
}

const char *rig_describe(const kl_event *event)
{
    static _Thread_local char text[1100];

    write_event(text, sizeof(text), event);
    return text;
}

const char *rig_pull(kl_registration *registration)
{
    static char text[8192];
    kl_event event;
    size_t used = 0;

    text[0] = '\0';
    while (kl_registration_next(registration, &event)) {
        if (used > 0) {
            text[used++] = ' ';
        }
        used += write_event(text + used, sizeof(text) - used, &event);
        kl_registration_done(registration, &event);
    }
    return text;
}

static void keep_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    (void)level;
    snprintf(log_line, sizeof(log_line), "%s", message);
    atomic_fetch_add(&log_lines, 1);
}

void rig_log(void)
{
    atomic_store(&log_lines, 0);
    log_line[0] = '\0';
    kl_set_log(keep_line, NULL, KL_LOG_WARN);
}

int rig_log_lines(void)
{
    return atomic_load(&log_lines);
}

const char *rig_log_line(void)
{
    return log_line;
}
