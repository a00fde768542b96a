/*
 * threaded_reflector.c - see threaded_reflector.h.
 */
#include "threaded_reflector.h"

#include "base/mem.h"
#include "object/text_slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

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
    self->reflector = kl__reflector_new(&(kl__reflector_options){
        .source = scripted_source_list_watch(self->source),
        .fifo = self->fifo,
        .health = &self->health,
        .stop = &self->stop,
        .clock = self->clock,
        .name = "pods",
        .no_streaming_list = true,
        .compress = compress,
        .seed = 42,
    });
    assert_non_null(self->reflector);
    assert_int_equal(kl__thread_start(&self->thread, "reflector",
                                      kl__reflector_run, self->reflector, NULL),
                     KL_OK);
    self->running = true;
}

void threaded_reflector_join(threaded_reflector *self)
{
    if (self->running) {
        kl__thread_join(&self->thread);
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
