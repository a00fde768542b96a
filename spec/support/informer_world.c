/*
 * informer_world.c - see informer_world.h.
 */
#include "informer_world.h"

#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int informer_world_setup(void **state)
{
    informer_world *self = kl__calloc(1, sizeof(*self));

    assert_non_null(self);
    self->clock = kl__clock_fake(1000);
    event_record_init(&self->record);
    *state = self;
    return 0;
}

int informer_world_teardown(void **state)
{
    informer_world *self = *state;
    long live = 0;

    kl_registration_remove(self->registration);
    kl_informer_close(self->informer);
    scripted_source_free(self->source);
    event_record_deinit(&self->record);
    kl__clock_fake_free(self->clock);
    kl__free(self);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        live += kl_live_count((kl_live_kind)kind);
    }
    return live == 0 ? 0 : -1;
}

void informer_world_open(informer_world *self, const char *script)
{
    kl_informer_options options = {
        .resource = "pods",
        .resync_ms = self->resync_ms,
        .no_streaming_list = true,
    };

    self->source = scripted_source_new(script, self->clock, NULL);
    self->informer = kl__informer_over(scripted_source_list_watch(self->source),
                                       self->clock, &options, NULL);
    assert_non_null(self->informer);
}

void informer_world_add_handler(informer_world *self,
                                const kl_handler_options *options)
{
    kl_handler handler = event_record_handler(&self->record);

    self->registration =
        kl_informer_add_handler(self->informer, &handler, options, NULL);
    assert_non_null(self->registration);
}

void informer_world_await_synced(informer_world *self)
{
    assert_int_equal(kl_informer_wait_synced(self->informer, -1, NULL), KL_OK);
}

/* Waits until the record has `count` words, and compares all of them. */
void informer_world_expect(informer_world *self, int count,
                           const char *expected)
{
    char *text;

    assert_true(event_record_await(&self->record, count));
    text = event_record_text(&self->record);
    assert_string_equal(text, expected);
    kl__free(text);
}

/* Waits until the reflector is in backoff, and advances the clock. */
void informer_world_pass_backoff(informer_world *self)
{
    kl_informer_status status;

    do {
        assert_true(kl__clock_await_waiters(self->clock, 1));
        kl_informer_status_get(self->informer, &status);
    } while (status.state != KL_STATE_BACKOFF);
    kl__clock_advance(self->clock, status.retry_in_ms);
}
