/*
 * kube_stack.c - see kube_script.h: the user's side: client, informer and
 * subscription, and the events that it got.
 */
#include "kube_script.h"

#include "api/list_watch.h"
#include "informer/informer.h"
#include "kubelua/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

enum { CLOSE_MS = 1000 };

static const char core_group[] =
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
    "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[{\"metadata\":{},"
    "\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"nodes\","
    "\"responseKind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Node\"},"
    "\"scope\":\"Cluster\",\"singularResource\":\"node\",\"verbs\":[\"get\","
    "\"list\",\"watch\"],\"shortNames\":[\"no\"]}]}]}]}";
static const char no_groups[] =
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
    "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[]}";

static int64_t real_now(void)
{
    return kl__clock_now(kl__clock_real());
}

/* ---- life ---- */

static void open_informer(kube *k)
{
    kl_error err = {0};

    if (k->leaps) {
        kl__list_watch_options options = {.resource = k->options.resource};
        kl__list_watch *source = kl__list_watch_new(k->client, &options, &err);

        assert_non_null(source);
        k->clock = kl__clock_fake(0);
        kl__clock_fake_leap(k->clock);
        k->informer = kl__informer_over(source, k->clock, &k->options, &err);
    } else {
        k->informer = kl_informer_open(k->client, &k->options, &err);
    }
    assert_non_null(k->informer);
}

void kube_open(kube *k)
{
    kl_config_options config_options = {.server = hostile_url(k->server)};
    kl_client_options client_options = {0};

    kube_always(k, "api", ANSWER(200, core_group));
    kube_always(k, "apis", ANSWER(200, no_groups));
    hostile_on_accept(k->server, STEPS(HOSTILE_GATE("subscribed")));
    client_options.config = kl_config_load(&config_options, NULL);
    assert_non_null(client_options.config);
    k->client = kl_client_new(&client_options, NULL);
    kl_config_unref(client_options.config);
    assert_non_null(k->client);
    open_informer(k);
    k->queue = kl_event_queue_new(NULL);
    assert_non_null(k->queue);
    k->registration =
        kl_informer_subscribe(k->informer, k->queue, k, NULL, NULL);
    assert_non_null(k->registration);
    hostile_open_gate(k->server, "subscribed");
}

void kube_close(kube *k)
{
    int64_t began = real_now();

    kl_registration_remove(k->registration);
    kl_informer_close(k->informer);
    kl_event_queue_free(k->queue);
    kl_client_unref(k->client);
    assert_in_range(real_now() - began, 0, CLOSE_MS);
    kl__clock_fake_free(k->clock);
    k->registration = NULL;
    k->informer = NULL;
    k->queue = NULL;
    k->client = NULL;
    k->clock = NULL;
}

/* ---- events ---- */

static void write_word(kube *k, const kl_event *event)
{
    const char *key =
        event->object != NULL ? kl_object_key(event->object) : NULL;
    const char *version =
        event->object != NULL ? kl_object_resource_version(event->object) : "";

    if (k->told.length > 0) {
        kl__buf_puts(&k->told, " ");
    }
    switch (event->type) {
    case KL_EVENT_ADD:
        kl__buf_printf(&k->told, "%s%s@%s", event->initial ? "*" : "+", key,
                       version);
        break;
    case KL_EVENT_UPDATE:
        kl__buf_printf(&k->told, "~%s@%s>%s", key,
                       kl_object_resource_version(event->old), version);
        break;
    case KL_EVENT_DELETE:
        kl__buf_printf(&k->told, "%s%s@%s", event->unknown ? "?" : "-", key,
                       version);
        break;
    case KL_EVENT_SYNCED:
        kl__buf_puts(&k->told, "synced");
        break;
    case KL_EVENT_ERROR:
        kl__buf_printf(&k->told, "!%s", kl_code_name(event->error->code));
        k->error = *event->error;
        break;
    }
}

/* Takes the next event, if there is one. */
static bool take_event(kube *k)
{
    kl_event event;

    if (!kl_registration_next(k->registration, &event)) {
        return false;
    }
    write_word(k, &event);
    kl_registration_done(k->registration, &event);
    return true;
}

static void compare(const kube *k, const char *expected)
{
    if (strcmp(k->told.bytes, expected) != 0) {
        kl_informer_status status = kube_status(k);

        print_error("%s, told \"%s\", status \"%s\"\n",
                    kl_informer_state_name(status.state), k->error.message,
                    status.error.message);
    }
    assert_string_equal(k->told.bytes, expected);
}

/* Takes one event, waiting for it until the deadline; false: none came. */
static bool await_event(kube *k, int64_t deadline)
{
    while (!take_event(k)) {
        int64_t left = deadline - real_now();

        if (kl_event_queue_next(k->queue) == NULL &&
            (left <= 0 || kl_event_queue_wait(k->queue, left) != KL_OK)) {
            return false;
        }
    }
    return true;
}

void kube_told(kube *k, const char *expected)
{
    int64_t deadline = real_now() + k->patience_ms;

    kl__buf_puts(&k->told, "");
    while (k->told.length < strlen(expected) && await_event(k, deadline)) {
    }
    compare(k, expected);
}

void kube_told_at_last(kube *k, const char *word)
{
    int64_t deadline = real_now() + k->patience_ms;
    size_t length = strlen(word);

    while (await_event(k, deadline)) {
        if (k->told.length >= length &&
            strcmp(k->told.bytes + k->told.length - length, word) == 0) {
            return;
        }
    }
    compare(k, word);
}

void kube_told_no_more(kube *k, const char *expected)
{
    while (take_event(k)) {
    }
    compare(k, expected);
}

void kube_reason(const kube *k, const char *text)
{
    if (strstr(k->error.message, text) == NULL) {
        print_error("told: %s\n", k->error.message);
    }
    assert_non_null(strstr(k->error.message, text));
}

/* ---- the cache and the status ---- */

void kube_cache(const kube *k, const char *expected, const char *version)
{
    kl_object_list list = {0};
    kl__buf text = {0};
    char now[64];

    assert_int_equal(kl_informer_list(k->informer, NULL, NULL, &list, NULL),
                     KL_OK);
    kl__buf_puts(&text, "");
    for (size_t i = 0; i < list.count; i++) {
        kl__buf_printf(&text, "%s%s@%s", i > 0 ? " " : "",
                       kl_object_key(list.items[i]),
                       kl_object_resource_version(list.items[i]));
    }
    kl_object_list_clear(&list);
    assert_string_equal(text.bytes, expected);
    kl__buf_deinit(&text);
    kl_informer_resource_version(k->informer, now, sizeof(now));
    assert_string_equal(now, version);
}

/* A change of status sends no signal, so it is polled. */
static void await_status(const kube *k,
                         bool (*is_so)(const kl_informer_status *status,
                                       kl_informer_state state),
                         kl_informer_state state)
{
    int64_t deadline = real_now() + k->patience_ms;
    struct timespec pause = {0, 1000000};
    kl_informer_status status = kube_status(k);

    while (!is_so(&status, state) && real_now() < deadline) {
        nanosleep(&pause, NULL);
        status = kube_status(k);
    }
    assert_true(is_so(&status, state));
}

static bool is_in_state(const kl_informer_status *status,
                        kl_informer_state state)
{
    return status->state == state;
}

static bool is_well(const kl_informer_status *status, kl_informer_state state)
{
    return status->state == state && status->error.code == KL_OK;
}

void kube_await_state(const kube *k, kl_informer_state state)
{
    await_status(k, is_in_state, state);
}

void kube_await_health(const kube *k)
{
    await_status(k, is_well, KL_STATE_WATCHING);
}

kl_informer_status kube_status(const kube *k)
{
    kl_informer_status status;

    kl_informer_status_get(k->informer, &status);
    return status;
}

int64_t kube_elapsed(const kube *k)
{
    return kl__clock_now(k->clock);
}
