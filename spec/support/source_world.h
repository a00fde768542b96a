/*
 * source_world.h - a list_watch of pods on a scripted transport, with short
 * calls for its specs.
 */
#ifndef KL_SPEC_SOURCE_WORLD_H
#define KL_SPEC_SOURCE_WORLD_H

#include "api/list_watch.h"
#include "fake_transport.h"

/* Texts of objects, lists and events. */
#define POD(name, version)                                                   \
    "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name \
    "\",\"namespace\":\"web\",\"resourceVersion\":\"" version "\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
#define BARE(name) \
    "{\"metadata\":{\"name\":\"" name "\",\"managedFields\":[{\"a\":1}]}}"
#define LIST(items, metadata)                                             \
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

/* Begin a list; and a watch from version 1. */
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
