/*
 * reflector_chaos_spec.c - whatever a server and a network do: in the end the
 * cache is what the server has, and on the way no object went back in time.
 */
#include "informer/reflector.h"
#include "cache_rig.h"
#include "model_source.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { RUNS = 300, CALLS = 1500 };

typedef struct chaos {
    kl__delta_fifo *fifo;
    kl__indexer *indexer;
    uint64_t seed;
    int errors;
    char reason[KL_ERROR_MESSAGE_SIZE]; /* of the last error that was told */
} chaos;

static void check(const chaos *self, const kl__change *change)
{
    const char *old =
        change->old != NULL ? kl_object_resource_version(change->old) : NULL;
    const char *new = kl_object_resource_version(change->object);
    bool fine = true;

    if (change->type == KL__CHANGE_UPDATE) {
        fine = kl_version_compare(old, new) < 0 &&
               strcmp(kl_object_uid(change->old),
                      kl_object_uid(change->object)) == 0;
    } else if (change->type == KL__CHANGE_DELETE && !change->unknown) {
        fine = kl_version_compare(old, new) < 0;
    }
    if (!fine) {
        print_error("seed %llu: %s went from %s to %s\n",
                    (unsigned long long)self->seed,
                    kl_object_key(change->object), old, new);
    }
    assert_true(fine);
}

/* The consumer: applies what is queued, as the informer thread would. */
static void consume(void *context)
{
    chaos *self = context;
    kl__delta_batch batch = {0};

    while (kl__delta_fifo_pop(self->fifo, &batch, 100, 0) == KL_OK) {
        kl__change_list changes = {0};
        const kl__delta *first = &batch.items[0];

        if (first->type == KL__DELTA_REPLACED) {
            assert_int_equal(cache_transact_list(self->indexer,
                                                 &first->listed->objects,
                                                 first->version, &changes),
                             KL_OK);
        } else if (first->type == KL__DELTA_ERROR) {
            self->errors++;
            snprintf(self->reason, sizeof(self->reason), "%s",
                     first->error->message);
        } else {
            assert_int_equal(
                cache_transact_batch(self->indexer, &batch, &changes), KL_OK);
        }
        for (size_t i = 0; i < changes.count; i++) {
            check(self, &changes.items[i]);
        }
        kl__change_list_clear(&changes);
        kl__delta_batch_clear(&batch);
    }
}

static void compare(const chaos *self, const model_source *model)
{
    kl_object_list list = {0};
    char uid[32], version[32];

    assert_int_equal(kl__indexer_list(self->indexer, NULL, NULL, &list, NULL),
                     KL_OK);
    if (list.count != model_source_count(model)) {
        print_error("seed %llu: %zu objects\n", (unsigned long long)self->seed,
                    list.count);
    }
    assert_int_equal(list.count, model_source_count(model));
    for (size_t i = 0; i < list.count; i++) {
        assert_true(model_source_find(model, kl_object_key(list.items[i]), uid,
                                      version));
        assert_string_equal(kl_object_uid(list.items[i]), uid);
        assert_string_equal(kl_object_resource_version(list.items[i]), version);
    }
    kl_object_list_clear(&list);
}

static void run(uint64_t seed, bool paged)
{
    kl__clock *clock = kl__clock_fake(1000);
    chaos self = {.seed = seed};
    kl__cancel done;
    kl__health health;
    kl__reflector *reflector;
    model_source *model;

    kl__clock_fake_leap(clock);
    kl__cancel_init(&done);
    kl__health_init(&health, clock);
    self.fifo = kl__delta_fifo_new(0, clock);
    self.indexer = kl__indexer_new();
    model = model_source_new(&(model_options){
        .seed = seed,
        .calls = CALLS,
        .clock = clock,
        .done = &done,
        .before_call = consume,
        .context = &self,
    });
    reflector = kl__reflector_new(&(kl__reflector_options){
        .source = model_source_list_watch(model),
        .fifo = self.fifo,
        .known = self.indexer,
        .health = &health,
        .stop = &done,
        .clock = clock,
        .name = "model",
        .no_streaming_list = paged,
        .seed = seed,
    });
    kl__reflector_run(reflector);
    consume(&self);
    compare(&self, model);
    assert_true(model_source_lists(model) > 0);
    assert_true(model_source_faults(model) > 20);
    assert_true(self.errors > 0);
    kl__reflector_free(reflector);
    model_source_free(model);
    kl__indexer_free(self.indexer);
    kl__delta_fifo_free(self.fifo);
    kl__health_deinit(&health);
    kl__cancel_deinit(&done);
    kl__clock_fake_free(clock);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

static void paged_lists_converge_under_every_fault(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        run(seed, true);
    }
}

static void streaming_lists_converge_under_every_fault(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= RUNS; seed++) {
        run(seed, false);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paged_lists_converge_under_every_fault),
        cmocka_unit_test(streaming_lists_converge_under_every_fault),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
