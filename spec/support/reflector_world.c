/*
 * reflector_world.c - see reflector_world.h.
 */
#include "reflector_world.h"

#include "base/buf.h"
#include "base/mem.h"
#include "object/text_slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { START_MS = 1000000, SEED = 42 };

int reflector_world_setup(void **state)
{
    reflector_world *world = kl__calloc(1, sizeof(*world));

    assert_non_null(world);
    world->clock = kl__clock_fake(START_MS);
    kl__clock_fake_leap(world->clock);
    kl__cancel_init(&world->stop);
    kl__health_init(&world->health, world->clock);
    world->fifo = kl__delta_fifo_new(0, world->clock);
    world->options = (kl__reflector_options){
        .fifo = world->fifo,
        .health = &world->health,
        .stop = &world->stop,
        .clock = world->clock,
        .name = "pods",
        .seed = SEED,
    };
    *state = world;
    return 0;
}

int reflector_world_teardown(void **state)
{
    reflector_world *world = *state;

    kl__reflector_free(world->reflector);
    if (world->source != NULL) {
        scripted_source_free(world->source);
    }
    kl__delta_fifo_free(world->fifo);
    kl__indexer_free(world->known);
    kl__health_deinit(&world->health);
    kl__cancel_deinit(&world->stop);
    kl__clock_fake_free(world->clock);
    kl__free(world->deltas);
    kl__free(world);
    return kl_live_count(KL_LIVE_OBJECT) == 0 ? 0 : -1;
}

static void write_object(kl__buf *out, const char *mark, kl_object *object)
{
    kl__buf_printf(out, "%s%s@%s", mark, kl_object_key(object),
                   kl_object_resource_version(object));
}

static void write_delta(kl__buf *out, const kl__delta *delta)
{
    switch (delta->type) {
    case KL__DELTA_REPLACED:
        kl__buf_putc(out, '[');
        for (size_t i = 0; i < delta->listed->objects.count; i++) {
            write_object(out, i > 0 ? " " : "",
                         delta->listed->objects.items[i]);
        }
        kl__buf_printf(out, "]=%s", delta->version);
        return;
    case KL__DELTA_ADDED:
        write_object(out, "+", delta->object);
        return;
    case KL__DELTA_UPDATED:
        write_object(out, "~", delta->object);
        return;
    case KL__DELTA_DELETED:
        write_object(out, "-", delta->object);
        return;
    case KL__DELTA_UNREADABLE:
        kl__buf_printf(out, "?%s%s@%s", delta->is_gone ? "-" : "",
                       delta->unreadable->key, delta->unreadable->version);
        return;
    case KL__DELTA_BOOKMARK:
        kl__buf_printf(out, "^%s", delta->version);
        return;
    case KL__DELTA_ERROR:
        kl__buf_printf(out, "!%s", kl_code_name(delta->error->code));
        return;
    default:
        kl__buf_puts(out, "?");
    }
}

static char *drain(kl__delta_fifo *fifo)
{
    kl__delta_batch batch = {0};
    kl__buf out = {0};

    while (kl__delta_fifo_pop(fifo, &batch, 100, -1) == KL_OK) {
        for (size_t i = 0; i < batch.count; i++) {
            if (out.length > 0) {
                kl__buf_putc(&out, ' ');
            }
            write_delta(&out, &batch.items[i]);
        }
        kl__delta_batch_clear(&batch);
    }
    return kl__buf_take(&out, NULL);
}

void reflector_world_play(reflector_world *world, const char *script)
{
    reflector_runner runner;

    world->source = scripted_source_new(script, world->clock, &world->stop);
    if (world->renewed_in_ms != 0) {
        scripted_source_renew(world->source, START_MS + world->renewed_in_ms);
    }
    for (const int64_t *in_ms = world->heard_in_ms;
         in_ms != NULL && *in_ms != 0; in_ms++) {
        scripted_source_hear(world->source, START_MS + *in_ms);
    }
    world->options.source = scripted_source_list_watch(world->source);
    world->options.known = world->known;
    world->reflector = kl__reflector_new(&world->options);
    assert_non_null(world->reflector);
    reflector_runner_init(&runner, &world->stop);
    runner.reflector = world->reflector;
    reflector_runner_run(&runner);
    reflector_runner_deinit(&runner);
    kl__reflector_status(world->reflector, &world->status);
}

const char *reflector_world_requests(const reflector_world *world)
{
    return scripted_source_requests(world->source);
}

const char *reflector_world_deltas(reflector_world *world)
{
    if (world->deltas == NULL) {
        world->deltas = drain(world->fifo);
    }
    return world->deltas;
}

int64_t reflector_world_delay(const reflector_world *world, int i)
{
    return scripted_source_time(world->source, i) -
           scripted_source_time(world->source, i - 1);
}

int threaded_reflector_setup(void **state)
{
    threaded_reflector *self = kl__calloc(1, sizeof(*self));

    assert_non_null(self);
    self->clock = kl__clock_fake(1000);
    kl__cancel_init(&self->stop);
    kl__health_init(&self->health, self->clock);
    *state = self;
    return 0;
}

void threaded_reflector_start(threaded_reflector *self, const char *script,
                              size_t bound, bool compress)
{
    self->fifo = kl__delta_fifo_new(bound, self->clock);
    self->source = scripted_source_new(script, self->clock, NULL);
    scripted_source_within(self->source, self->within);
    reflector_runner_init(&self->runner, &self->stop);
    self->reflector = kl__reflector_new(&(kl__reflector_options){
        .source = scripted_source_list_watch(self->source),
        .fifo = self->fifo,
        .health = &self->health,
        .stop = &self->stop,
        .clock = self->clock,
        .name = "pods",
        .no_streaming_list = !self->streams,
        .compress = compress,
        .seed = 42,
        .wake = reflector_runner_wake,
        .context = &self->runner,
    });
    assert_non_null(self->reflector);
    self->runner.reflector = self->reflector;
    assert_int_equal(kl__thread_start(&self->thread, "reflector",
                                      reflector_runner_run, &self->runner,
                                      NULL),
                     KL_OK);
    self->running = true;
}

void threaded_reflector_join(threaded_reflector *self)
{
    if (self->running) {
        kl__thread_join(&self->thread);
        reflector_runner_deinit(&self->runner);
        self->running = false;
    }
}

int threaded_reflector_teardown(void **state)
{
    threaded_reflector *self = *state;

    kl__cancel_fire(&self->stop);
    threaded_reflector_join(self);
    kl__reflector_free(self->reflector);
    scripted_source_free(self->source);
    kl__delta_fifo_free(self->fifo);
    kl__health_deinit(&self->health);
    kl__cancel_deinit(&self->stop);
    kl__clock_fake_free(self->clock);
    kl__free(self);
    return kl_live_count(KL_LIVE_OBJECT) == 0 &&
                   kl_live_count(KL_LIVE_THREAD) == 0 &&
                   kl__text_slab_total() == 0
               ? 0
               : -1;
}
