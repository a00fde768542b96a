/*
 * owner_feed.c - see owner_feed.h. owner_put.c puts the endpoints into the map.
 */
#include "shared/owner_feed.h"

#include "base/clock.h"
#include "base/mem.h"
#include "kubelua/handler.h"
#include "kubelua/informer.h"
#include "shared/owner_put.h"
#include "shared/routes.h"
#include "shared/writer.h"

#include <string.h>

enum { READ_MS = 20, EVENTS_AT_ONCE = 256 };

/* An informer of Services or of slices, of one namespace or of all. */
typedef struct source {
    kl_informer *informer;
    kl_registration *registration;
    bool has_slices;
    bool has_synced;
} source;

struct kl__feed {
    kl_event_queue *queue;
    kl__routes *routes;
    kl__keeping *keeping; /* NULL: nothing is kept */
    source *sources;
    size_t count;
};

static kl_code open_source(kl__feed *feed, source *one, kl_client *client,
                           const kl_informer_options *options, kl_error *err)
{
    kl_handler_options handler = {.name = "shared map", .ignores_errors = true};

    one->informer = kl_informer_open(client, options, err);
    if (one->informer == NULL) {
        return err->code;
    }
    one->registration =
        kl_informer_subscribe(one->informer, feed->queue, one, &handler, err);
    return one->registration != NULL ? KL_OK : err->code;
}

static kl_code open_sources(kl__feed *feed, kl_client *client,
                            const kl__feed_scope *scope, kl_error *err)
{
    kl_code code = KL_OK;

    feed->sources = kl__calloc(2 * scope->count + 1, sizeof(*feed->sources));
    if (feed->sources == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < 2 * scope->count && code == KL_OK; i++) {
        kl_informer_options services = {
            .resource = "services",
            .name_space = scope->namespaces[i / 2],
            .labels = scope->labels,
        };
        kl_informer_options slices = {
            .resource = "endpointslices.discovery.k8s.io",
            .name_space = scope->namespaces[i / 2],
        };

        feed->count++;
        feed->sources[i].has_slices = i % 2 == 1;
        code = open_source(feed, &feed->sources[i], client,
                           i % 2 == 1 ? &slices : &services, err);
    }
    return code;
}

kl__feed *kl__feed_open(kl_client *client, const kl__feed_scope *scope,
                        kl_event_queue *queue, kl_error *err)
{
    kl__feed *feed = kl__calloc(1, sizeof(*feed));

    if (feed == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    feed->queue = queue;
    feed->routes = kl__routes_new(&scope->policy, err);
    if (feed->routes != NULL && scope->keep_ms > 0) {
        feed->keeping = kl__keeping_new(feed->routes, scope->keep_ms, err);
    }
    if (feed->routes == NULL || (scope->keep_ms > 0 && feed->keeping == NULL) ||
        open_sources(feed, client, scope, err) != KL_OK) {
        kl__feed_close(feed);
        return NULL;
    }
    return feed;
}

void kl__feed_close(kl__feed *feed)
{
    if (feed == NULL) {
        return;
    }
    for (size_t i = 0; i < feed->count; i++) {
        kl_registration_remove(feed->sources[i].registration);
        kl_informer_close(feed->sources[i].informer);
    }
    kl__keeping_free(feed->keeping);
    kl__routes_free(feed->routes);
    kl__free(feed->sources);
    kl__free(feed);
}

static kl_code put_object(kl__feed *feed, const source *one, kl_object *object,
                          kl_error *err)
{
    return one->has_slices ? kl__routes_put_slice(feed->routes, object, err)
                           : kl__routes_put_service(feed->routes, object, err);
}

static void remove_object(kl__feed *feed, const source *one, const char *key)
{
    if (one->has_slices) {
        kl__routes_remove_slice(feed->routes, key);
    } else {
        kl__routes_remove_service(feed->routes, key);
    }
}

static kl_code take_event(kl__feed *feed, source *one, const kl_event *event,
                          kl_error *err)
{
    switch (event->type) {
    case KL_EVENT_ADD:
    case KL_EVENT_UPDATE:
        return put_object(feed, one, event->object, err);
    case KL_EVENT_DELETE:
        remove_object(feed, one, kl_object_key(event->object));
        return KL_OK;
    case KL_EVENT_SYNCED:
        one->has_synced = true;
        return KL_OK;
    default:
        return KL_OK;
    }
}

/* Handles some events of a source, and puts it back into the queue if there may
 * be more. */
static kl_code read_source(kl__feed *feed, source *one, kl_error *err)
{
    kl_code code = KL_OK;
    kl_event event;
    int left = EVENTS_AT_ONCE;

    while (code == KL_OK && left-- > 0) {
        if (!kl_registration_next(one->registration, &event)) {
            return KL_OK;
        }
        code = take_event(feed, one, &event, err);
        kl_registration_done(one->registration, &event);
    }
    kl_event_queue_again(feed->queue, one->registration);
    return code;
}

kl_code kl__feed_read(kl__feed *feed, kl_error *err)
{
    int64_t end = kl__clock_now(kl__clock_real()) + READ_MS;
    kl_code code = KL_OK;
    source *one;

    while (code == KL_OK && (one = kl_event_queue_next(feed->queue)) != NULL) {
        code = read_source(feed, one, err);
        if (kl__clock_now(kl__clock_real()) >= end) {
            break;
        }
    }
    return code;
}

bool kl__feed_has_synced(const kl__feed *feed)
{
    for (size_t i = 0; i < feed->count; i++) {
        if (!feed->sources[i].has_synced) {
            return false;
        }
    }
    return true;
}

bool kl__feed_has_ended(const kl__feed *feed)
{
    kl_informer_status status;

    if (feed->count == 0) {
        return false;
    }
    kl_informer_status_get(feed->sources[0].informer, &status);
    return status.state == KL_STATE_STOPPED;
}

int64_t kl__feed_age_ms(const kl__feed *feed)
{
    int64_t oldest = feed->count > 0 ? 0 : -1;
    kl_informer_status status;

    for (size_t i = 0; i < feed->count; i++) {
        kl_informer_status_get(feed->sources[i].informer, &status);
        if (status.last_message_age_ms < 0) {
            return -1;
        }
        oldest = status.last_message_age_ms > oldest
                     ? status.last_message_age_ms
                     : oldest;
    }
    return oldest;
}

bool kl__feed_changed(const kl__feed *feed)
{
    return kl__routes_changed(feed->routes);
}

int64_t kl__feed_next_change(const kl__feed *feed)
{
    return feed->keeping != NULL ? kl__keeping_next(feed->keeping) : INT64_MAX;
}

kl_code kl__feed_put(kl__feed *feed, kl_shared *map, kl_error *err)
{
    kl_code code;

    if (feed->keeping != NULL) {
        kl__keeping_expire(feed->keeping, kl__clock_now(kl__clock_real()));
    }
    code = kl__put_routes(feed->routes, map, feed->keeping, err);
    kl__shared_tell_kept(
        map, feed->keeping != NULL ? kl__keeping_count(feed->keeping) : 0);
    return code;
}
