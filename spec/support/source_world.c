/*
 * source_world.c - see source_world.h.
 */
#include "source_world.h"

#include "api/discovery.h"
#include "kubelua/client.h"
#include "served.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void source_world_use(source_world *self, const kl__list_watch_options *options)
{
    kl__list_watch_free(self->source);
    self->source = kl__list_watch_new(self->client, options, &self->err);
    assert_non_null(self->source);
    assert_int_equal(kl__list_watch_resolve(self->source, NULL, &self->err),
                     KL_OK);
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

kl_code source_world_list(source_world *self)
{
    return kl__list_watch_list(self->source, &(kl__list_params){0}, NULL,
                               &self->err);
}

kl_code source_world_watch(source_world *self)
{
    return kl__list_watch_watch(self->source,
                                &(kl__watch_params){.resource_version = "1"},
                                NULL, &self->err);
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
