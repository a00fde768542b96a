/*
 * client_rig.h - a client on the fake transport, for specs of what sends
 * requests: the discovery that it is served, one-line calls for requests, and a
 * list_watch of pods.
 */
#ifndef KL_SPEC_CLIENT_RIG_H
#define KL_SPEC_CLIENT_RIG_H

#include "fake_transport.h"

#include "api/list_watch.h"
#include "kubelua/client.h"
#include "kubelua/request.h"

/* ---- discovery ---- */

/* The aggregated documents of "/api" and "/apis": pods, nodes, bindings and
 * events of the core; deployments and controllerrevisions in apps (v1 and the
 * older v1beta1, which alone has scales); events in events.k8s.io;
 * storageclasses in storage.k8s.io; metrics.k8s.io/v1beta1 stale and empty. */
extern const char served_api[];
extern const char served_apis[];

/* Scripts both, each to be used `times` times. */
void serve_discovery(fake_transport *fake, int times);

/* A client without a config on the fake transport; asserts that it was made. */
kl_client *client_on(fake_transport *fake);

/* Asserts that no client, stream, object, document or thread lives. */
void assert_nothing_lives(void);

/* ---- requests ---- */

typedef struct request_rig {
    fake_transport *fake;
    kl_client *client;
    kl_event_queue *queue;
    kl_error err; /* the error of the last result */
} request_rig;

/* cmocka's setup and teardown; the teardown asserts that nothing is left. */
int request_rig_set_up(void **state);
int request_rig_tear_down(void **state);

/* Sends a call; asserts that it was sent. Its tag is `tag`, or (NULL) the
 * rig. */
kl_request *request_send_call(request_rig *self, const kl_call *call,
                              void *tag);
kl_request *request_send_it(request_rig *self, const char *method,
                            const char *target);

/* The tag of the next event; asserts that one comes within 60 s. */
void *request_next_tag(request_rig *self);

/* Waits for the end of a request whose tag is the rig, takes its result and
 * frees it: returns the code, with the error in the rig. The second: asserts
 * that it failed; the third: that it was answered, and returns the status. */
kl_code request_end_of(request_rig *self, kl_request *request, kl_reply *reply);
kl_code request_failure_of(request_rig *self, kl_request *request);
int request_status_of(request_rig *self, kl_request *request);

/* ---- a list_watch ---- */

/* Texts of objects, lists and events. */
#define POD(name, version)                                                   \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"web\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BARE(name) \
    "{\"metadata\":{\"name\":\"" name "\",\"managedFields\":[{\"a\":1}]}}"
#define POD_LIST(items, metadata)                                         \
    "{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\"metadata\":{" metadata \
    "},\"items\":[" items "]}\n"

typedef struct source_world {
    fake_transport *fake;
    kl_client *client;
    kl__list_watch *source; /* resolved */
    kl__item item;          /* the last one */
    kl_error err;
} source_world;

/* cmocka's setup and teardown: *state is a source_world *. */
int source_world_set_up(void **state);
int source_world_tear_down(void **state);

#define SOURCE_SPEC(name)                                      \
    cmocka_unit_test_setup_teardown(name, source_world_set_up, \
                                    source_world_tear_down)

/* Replaces the source of pods by another one, and resolves it. */
void source_world_use(source_world *self,
                      const kl__list_watch_options *options);

/* Scripts the next answer to a list or watch of pods; `chunk` as in
 * fake_answer. */
void source_world_answer(source_world *self, const char *body, size_t chunk,
                         fake_end end);

/* The last request. */
fake_request source_world_asked(source_world *self);

/* Resolves the resource; begins a list; and a watch from version 1: until the
 * answer has come. */
kl_code source_world_resolve(source_world *self);
kl_code source_world_list(source_world *self);
kl_code source_world_watch(source_world *self);

/* Reads the next item into `item`: within `timeout_ms`, or within 60 s. */
kl_code source_world_next_within(source_world *self, int64_t timeout_ms);
kl_code source_world_next(source_world *self);

/* Asserts the next item's type and version, and its object's key (NULL: no
 * object). */
void source_world_expect(source_world *self, kl__item_type type,
                         const char *key, const char *version);

/* Asserts that the next item fails with `code` and a message that contains
 * `text`. */
void source_world_expect_failure(source_world *self, kl_code code,
                                 const char *text);

#endif
