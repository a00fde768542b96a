/*
 * client_rig.c - see client_rig.h.
 */
#include "client_rig.h"
#include "answered.h"
#include "http_client.h"

#include "api/discovery.h"
#include "kubelua/client.h"
#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000 };

int request_rig_set_up(void **state)
{
    static request_rig shared;

    shared = (request_rig){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    shared.queue = kl_event_queue_new(NULL);
    *state = &shared;
    return 0;
}

int request_rig_tear_down(void **state)
{
    request_rig *self = *state;

    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    kl_event_queue_free(self->queue);
    assert_int_equal(kl_live_count(KL_LIVE_REQUEST), 0);
    assert_int_equal(kl_live_count(KL_LIVE_QUEUE), 0);
    assert_nothing_lives();
    return 0;
}

kl_request *request_send_call(request_rig *self, const kl_call *call, void *tag)
{
    kl_request *request =
        kl_client_send(self->client, call, self->queue, tag, &self->err);

    if (request == NULL) {
        fail_msg("%s", self->err.message);
    }
    return request;
}

kl_request *request_send_it(request_rig *self, const char *method,
                            const char *target)
{
    const kl_call call = {.method = method, .target = target};

    return request_send_call(self, &call, self);
}

void *request_next_tag(request_rig *self)
{
    void *tag;

    while ((tag = kl_event_queue_next(self->queue)) == NULL) {
        assert_int_equal(kl_event_queue_wait(self->queue, PATIENCE_MS), KL_OK);
    }
    return tag;
}

kl_code request_end_of(request_rig *self, kl_request *request, kl_reply *reply)
{
    kl_code code;

    assert_ptr_equal(request_next_tag(self), self);
    self->err = (kl_error){0};
    code = kl_request_result(request, reply, &self->err);
    kl_request_free(request);
    return code;
}

kl_code request_failure_of(request_rig *self, kl_request *request)
{
    kl_reply reply;
    kl_code code = request_end_of(self, request, &reply);

    assert_int_not_equal(code, KL_OK);
    assert_int_equal(self->err.code, code);
    assert_null(reply.body);
    return code;
}

int request_status_of(request_rig *self, kl_request *request)
{
    kl_reply reply;
    int status;

    if (request_end_of(self, request, &reply) != KL_OK) {
        fail_msg("%s", self->err.message);
    }
    status = reply.status;
    kl_reply_clear(&reply);
    return status;
}

void source_world_use(source_world *self, const kl__list_watch_options *options)
{
    kl__list_watch_free(self->source);
    self->source = kl__list_watch_new(self->client, options, &self->err);
    assert_non_null(self->source);
    assert_int_equal(source_world_resolve(self), KL_OK);
}

int source_world_set_up(void **state)
{
    static source_world shared;
    kl__list_watch_options options = {.resource = "po"};
    kl__resource known;

    shared = (source_world){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    serve_discovery(shared.fake, FAKE_FOREVER);
    assert_int_equal(
        kl__discovery_resolve(shared.client, "po", &known, NULL, &shared.err),
        KL_OK);
    kl__resource_clear(&known);
    source_world_use(&shared, &options);
    *state = &shared;
    return 0;
}

int source_world_tear_down(void **state)
{
    source_world *self = *state;

    kl__item_clear(&self->item);
    kl__list_watch_free(self->source);
    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    assert_nothing_lives();
    return 0;
}

fake_request source_world_asked(source_world *self)
{
    return fake_transport_request(self->fake,
                                  fake_transport_count(self->fake) - 1);
}

void source_world_answer(source_world *self, const char *body, size_t chunk,
                         fake_end end)
{
    fake_transport_answer(self->fake, &(fake_answer){.target = "/api/v1/pods",
                                                     .body = body,
                                                     .chunk = chunk,
                                                     .end = end});
}

kl_code source_world_resolve(source_world *self)
{
    kl_code code = kl__list_watch_resolve(self->source, NULL, &self->err);

    return answered(code, self->source, NULL, &self->err);
}

kl_code source_world_list(source_world *self)
{
    kl_code code = kl__list_watch_list(self->source, &(kl__list_params){0},
                                       NULL, &self->err);

    return answered(code, self->source, NULL, &self->err);
}

kl_code source_world_watch(source_world *self)
{
    kl_code code = kl__list_watch_watch(
        self->source, &(kl__watch_params){.resource_version = "1"}, NULL,
        &self->err);

    return answered(code, self->source, NULL, &self->err);
}

kl_code source_world_next_within(source_world *self, int64_t timeout_ms)
{
    kl__item_clear(&self->item);
    return kl__list_watch_next(self->source, &self->item, timeout_ms, NULL,
                               &self->err);
}

kl_code source_world_next(source_world *self)
{
    return source_world_next_within(self, 60000);
}

void source_world_expect(source_world *self, kl__item_type type,
                         const char *key, const char *version)
{
    if (source_world_next(self) != KL_OK) {
        fail_msg("%s", self->err.message);
    }
    assert_int_equal(self->item.type, type);
    assert_string_equal(self->item.version, version);
    if (key != NULL) {
        assert_string_equal(kl_object_key(self->item.object), key);
    } else {
        assert_null(self->item.object);
    }
}

void source_world_expect_failure(source_world *self, kl_code code,
                                 const char *text)
{
    assert_int_equal(source_world_next(self), code);
    assert_int_equal(self->err.code, code);
    if (strstr(self->err.message, text) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", self->err.message, text);
    }
    assert_null(self->item.object);
}

#define LIST_WATCH "\"verbs\":[\"create\",\"get\",\"list\",\"watch\"]"

const char served_api[] =
    "{\"kind\":\"APIGroupDiscoveryList\","
    "\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
    "{\"metadata\":{\"creationTimestamp\":null},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"bindings\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Binding\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"binding\",\"verbs\":[\"create\"]},"
    "{\"resource\":\"events\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Event\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"event\"," LIST_WATCH ",\"shortNames\":[\"ev\"]},"
    "{\"resource\":\"nodes\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Node\"},\"scope\":\"Cluster\","
    "\"singularResource\":\"node\"," LIST_WATCH ",\"shortNames\":[\"no\"],"
    "\"subresources\":[{\"subresource\":\"status\",\"responseKind\":"
    "{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Node\"},"
    "\"verbs\":[\"get\"]}]},"
    "{\"resource\":\"pods\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Pod\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"pod\"," LIST_WATCH ",\"shortNames\":[\"po\"]}"
    "]}]}]}";

const char served_apis[] =
    "{\"kind\":\"APIGroupDiscoveryList\","
    "\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
    "{\"metadata\":{\"name\":\"apps\"},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"controllerrevisions\",\"responseKind\":"
    "{\"group\":\"apps\",\"version\":\"v1\",\"kind\":\"ControllerRevision\"},"
    "\"scope\":\"Namespaced\",\"singularResource\":"
    "\"controllerrevision\"," LIST_WATCH "},"
    "{\"resource\":\"deployments\",\"responseKind\":{\"group\":\"apps\","
    "\"version\":\"v1\",\"kind\":\"Deployment\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"deployment\"," LIST_WATCH
    ",\"shortNames\":[\"deploy\"]}]},"
    "{\"version\":\"v1beta1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"deployments\",\"responseKind\":{\"group\":\"apps\","
    "\"version\":\"v1beta1\",\"kind\":\"Deployment\"},"
    "\"scope\":\"Namespaced\",\"singularResource\":\"deployment\"," LIST_WATCH
    ",\"shortNames\":[\"deploy\"]},"
    "{\"resource\":\"scales\",\"responseKind\":{\"group\":\"apps\","
    "\"version\":\"v1beta1\",\"kind\":\"Scale\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"scale\"," LIST_WATCH "}]}]},"
    "{\"metadata\":{\"name\":\"events.k8s.io\"},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"events\",\"responseKind\":{\"group\":\"events.k8s.io\","
    "\"version\":\"v1\",\"kind\":\"Event\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"event\"," LIST_WATCH ",\"shortNames\":[\"ev\"]}"
    "]}]},"
    "{\"metadata\":{\"name\":\"storage.k8s.io\"},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"storageclasses\",\"responseKind\":"
    "{\"group\":\"storage.k8s.io\",\"version\":\"v1\","
    "\"kind\":\"StorageClass\"},\"scope\":\"Cluster\","
    "\"singularResource\":\"storageclass\"," LIST_WATCH
    ",\"shortNames\":[\"sc\"]}]}]},"
    "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":["
    "{\"version\":\"v1beta1\",\"freshness\":\"Stale\"}]}]}";

void serve_discovery(fake_transport *fake, int times)
{
    const char *type = "application/json;g=apidiscovery.k8s.io;v=v2;"
                       "as=APIGroupDiscoveryList";

    fake_transport_answer(fake, &(fake_answer){.target = "/api$",
                                               .body = served_api,
                                               .type = type,
                                               .times = times});
    fake_transport_answer(fake, &(fake_answer){.target = "/apis$",
                                               .body = served_apis,
                                               .type = type,
                                               .times = times});
}

kl_client *client_on(fake_transport *fake)
{
    kl_client_options options = {.transport = fake_transport_of(fake),
                                 .shares_thread = clients_share_a_thread()};
    kl_error err;
    kl_client *client = kl_client_new(&options, &err);

    if (client == NULL) {
        fail_msg("%s", err.message);
    }
    return client;
}

void assert_nothing_lives(void)
{
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        long count = kl_live_count((kl_live_kind)kind);

        if (count != 0) {
            fail_msg("%ld live %s", count, kl_live_name((kl_live_kind)kind));
        }
    }
}
