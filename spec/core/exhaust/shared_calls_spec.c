/*
 * shared_calls_spec.c - every public call on shared maps, with each of its
 * allocations failing: reads need none, and what has no memory can be tried
 * again.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "kubelua/shared_serve.h"
#include "shared/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct world {
    kl_shared *map; /* of one run */
    kl_shared_key key;
} world;

static const kl_shared_options small = {.name = "small", .size = 1 << 20};

static kl_code open_map(void *world_, kl_error *err)
{
    (void)world_;
    kl_shared_close(kl_shared_open(&small, err));
    return err->code;
}

static kl_code begin_owned(void *world_, kl_error *err)
{
    world *self = world_;

    self->map = kl_shared_open(&small, err);
    if (self->map == NULL) {
        return err->code;
    }
    kl_shared_key_init(self->map, "services", "web/shop", 8, &self->key);
    return kl__shared_take(self->map, err);
}

static kl_code begin_published(void *world_, kl_error *err)
{
    world *self = world_;
    const kl_endpoint endpoint = {.host = "10.0.0.1", .weight = 1, .flags = 1};

    if (begin_owned(world_, err) != KL_OK ||
        kl_shared_put_endpoints(self->map, &self->key, &endpoint, 1, err) !=
            KL_OK) {
        return err->code;
    }
    return kl_shared_publish(self->map, err);
}

static kl_code begin_unpublished(void *world_, kl_error *err)
{
    world *self = world_;

    return begin_owned(world_, err) == KL_OK
               ? kl_shared_put(self->map, &self->key, "x", 1, err)
               : err->code;
}

static kl_code end(world *self, kl_code code)
{
    kl_shared_close(self->map);
    return code;
}

static kl_code put_bytes(void *world_, kl_error *err)
{
    world *self = world_;

    return end(self, kl_shared_put(self->map, &self->key, "x", 1, err));
}

static kl_code put_endpoints(void *world_, kl_error *err)
{
    world *self = world_;
    const kl_endpoint endpoint = {.host = "10.0.0.1", .weight = 1};

    return end(self, kl_shared_put_endpoints(self->map, &self->key, &endpoint,
                                             1, err));
}

static kl_code remove_entry(void *world_, kl_error *err)
{
    world *self = world_;

    return end(self, kl_shared_remove(self->map, &self->key, err));
}

static kl_code complete_table(void *world_, kl_error *err)
{
    world *self = world_;

    return end(self, kl_shared_complete(self->map, "services", err));
}

static kl_code commit_batch(void *world_, kl_error *err)
{
    world *self = world_;
    kl_shared_batch *batch = kl_shared_batch_new(self->map, err);
    kl_code code = batch == NULL ? KL_ENOMEM : KL_OK;

    if (code == KL_OK) {
        code = kl_shared_batch_put(batch, &self->key, "x", 1, err);
    }
    if (code == KL_OK) {
        code = kl_shared_batch_remove(batch, &self->key, err);
    }
    if (code == KL_OK) {
        code = kl_shared_batch_commit(batch, err);
    }
    kl_shared_batch_free(batch);
    return end(self, code);
}

/* What has no memory is published by the next try. */
static kl_code publish(void *world_, kl_error *err)
{
    world *self = world_;
    kl_code code = kl_shared_publish(self->map, err);
    kl_shared_status status;

    kl_shared_get_status(self->map, &status);
    assert_int_equal(status.entries, code == KL_OK ? 1 : 0);
    return end(self, code);
}

static kl_code read_all(void *world_, kl_error *err)
{
    world *self = world_;
    kl_shared_key key;
    kl_shared_value value;
    kl_shared_status status;
    kl_shared_entry entry;
    kl_shared_cursor cursor = {0};
    uint32_t count;
    kl_pick pick;

    (void)err;
    assert_true(kl_shared_key_init(self->map, "services", "web/shop", 8, &key));
    assert_int_equal(kl_shared_pick(self->map, &key, NULL, &pick),
                     KL_SHARED_OK);
    assert_int_equal(kl_shared_endpoints(self->map, &key, &pick, 1, &count),
                     KL_SHARED_OK);
    assert_int_equal(kl_shared_get(self->map, &key, NULL, 0, &value),
                     KL_SHARED_OTHER_KIND);
    assert_int_equal(kl_shared_walk(self->map, &cursor, &entry, 1, &count),
                     KL_SHARED_OK);
    assert_int_equal(count, 1);
    assert_string_equal(kl_shared_result_name(KL_SHARED_BUSY), "busy");
    assert_int_equal(kl_shared_versions(self->map)[key.bucket],
                     kl_shared_version(self->map, &key));
    assert_int_not_equal(kl_shared_hash("a", 1), 0);
    assert_false(kl_shared_synced(self->map));
    assert_int_equal(kl_shared_age_ms(self->map), -1);
    kl_shared_get_status(self->map, &status);
    return end(self, KL_OK);
}

static kl_code open_unserved(void *world_, kl_error *err)
{
    world *self = world_;

    self->map = kl_shared_open(&small, err);
    return err->code;
}

static kl_code begin_served(void *world_, kl_error *err)
{
    world *self = world_;
    const kl_serve_options nothing = {.no_services = true};

    return open_unserved(world_, err) == KL_OK
               ? kl_shared_serve(self->map, NULL, &nothing, err)
               : err->code;
}

static kl_code serve(void *world_, kl_error *err)
{
    world *self = world_;
    const char *const namespaces[] = {"web", "db"};
    const kl_serve_options options = {
        .namespaces = namespaces, .namespace_count = 2, .no_services = true};

    return end(self, kl_shared_serve(self->map, NULL, &options, err));
}

static kl_code leave(void *world_, kl_error *err)
{
    world *self = world_;

    (void)err;
    kl_shared_publish_soon(self->map);
    kl_shared_tell_age(self->map, 0);
    assert_int_not_equal(kl_shared_role(self->map), KL_ROLE_NONE);
    kl_shared_leave(self->map);
    assert_false(kl_shared_has_owner(self->map));
    assert_int_equal(kl_shared_role(self->map), KL_ROLE_NONE);
    return end(self, KL_OK);
}

static const every_call calls[] = {
    REFUSES(kl_shared_open, open_map),
    REFUSES(kl_shared_close, open_map),
    REFUSES_AFTER(kl_shared_put, put_bytes, begin_owned),
    REFUSES_AFTER(kl_shared_put_endpoints, put_endpoints, begin_owned),
    REFUSES_AFTER(kl_shared_remove, remove_entry, begin_published),
    REFUSES_AFTER(kl_shared_complete, complete_table, begin_published),
    REFUSES_AFTER(kl_shared_batch_new, commit_batch, begin_owned),
    REFUSES_AFTER(kl_shared_batch_put, commit_batch, begin_owned),
    REFUSES_AFTER(kl_shared_batch_remove, commit_batch, begin_owned),
    REFUSES_AFTER(kl_shared_batch_commit, commit_batch, begin_owned),
    REFUSES_AFTER(kl_shared_batch_free, commit_batch, begin_owned),
    REFUSES_AFTER(kl_shared_publish, publish, begin_unpublished),
    NEVER_ALLOCATES_AFTER(kl_shared_key_init, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_pick, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_endpoints, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_get, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_walk, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_result_name, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_version, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_versions, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_hash, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_synced, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_age_ms, read_all, begin_published),
    NEVER_ALLOCATES_AFTER(kl_shared_get_status, read_all, begin_published),
};

static const every_call serve_calls[] = {
    REFUSES_AFTER(kl_shared_serve, serve, open_unserved),
    NEVER_ALLOCATES_AFTER(kl_shared_role, leave, begin_served),
    NEVER_ALLOCATES_AFTER(kl_shared_has_owner, leave, begin_served),
    NEVER_ALLOCATES_AFTER(kl_shared_publish_soon, leave, begin_served),
    NEVER_ALLOCATES_AFTER(kl_shared_tell_age, leave, begin_served),
    NEVER_ALLOCATES_AFTER(kl_shared_leave, leave, begin_served),
};

static void each_call_on_maps_survives_each_failed_allocation(void **state)
{
    world self;

    (void)state;
    failing_alloc_install();
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &self});
    every_call_try(serve_calls, sizeof(serve_calls) / sizeof(serve_calls[0]),
                   &(every_call_stage){.world = &self, .is_busy = true});
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
    assert_int_equal(kl_live_count(KL_LIVE_SHARED), 0);
}

/* Many changes, of which the nth allocation of applying them fails: the next
 * publish has them all, in their order. */
static void a_publish_without_memory_loses_no_change(void **state)
{
    kl_shared *map;
    kl_error err;

    (void)state;
    failing_alloc_install();
    map = kl_shared_open(&small, NULL);
    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    for (char i = 0; i < 100; i++) {
        kl_shared_key key;

        kl_shared_key_init(map, "t", &i, 1, &key);
        assert_int_equal(kl_shared_put(map, &key, "old", 3, NULL), KL_OK);
        assert_int_equal(kl_shared_put(map, &key, "new", 3, NULL), KL_OK);
    }
    for (long nth = 1; nth <= 3; nth++) {
        failing_alloc_fail_at(nth == 1 ? 1 : 2, 1);
        assert_int_equal(kl_shared_publish(map, &err), KL_ENOMEM);
        failing_alloc_fail_at(0, 0);
    }
    assert_int_equal(kl_shared_publish(map, NULL), KL_OK);
    for (char i = 0; i < 100; i++) {
        kl_shared_key key;
        kl_shared_value value;
        char text[3];

        kl_shared_key_init(map, "t", &i, 1, &key);
        assert_int_equal(kl_shared_get(map, &key, text, 3, &value),
                         KL_SHARED_OK);
        assert_memory_equal(text, "new", 3);
    }
    kl_shared_close(map);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_maps_survives_each_failed_allocation),
        cmocka_unit_test(a_publish_without_memory_loses_no_change),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
