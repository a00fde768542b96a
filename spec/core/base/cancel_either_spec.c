/*
 * cancel_either_spec.c - a token that combines two others fires when the first
 * of them fires, also if that was earlier.
 */
#include "base/cancel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct world {
    kl__cancel sources[2];
    kl__cancel_either either;
    kl__cancel_hook hook;
    int woken;
} world;

static void wake(void *arg)
{
    (*(int *)arg)++;
}

static int set_up(void **state)
{
    static world shared;

    shared = (world){.hook = {.wake = wake, .arg = &shared.woken}};
    kl__cancel_init(&shared.sources[0]);
    kl__cancel_init(&shared.sources[1]);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl__cancel_deinit(&self->sources[0]);
    kl__cancel_deinit(&self->sources[1]);
    return 0;
}

static void either_source_token_fires_it_and_wakes_waiters(void **state)
{
    world *self = *state;

    for (int i = 0; i < 2; i++) {
        kl__cancel_either_init(&self->either, &self->sources[0],
                               &self->sources[1]);
        assert_false(kl__cancel_fired(&self->either.token));
        assert_true(kl__cancel_add(&self->either.token, &self->hook));
        kl__cancel_fire(&self->sources[i]);
        assert_true(kl__cancel_fired(&self->either.token));
        assert_int_equal(self->woken, i + 1);
        kl__cancel_remove(&self->either.token, &self->hook);
        kl__cancel_either_deinit(&self->either);
        kl__cancel_deinit(&self->sources[i]);
        kl__cancel_init(&self->sources[i]);
    }
}

static void a_source_that_was_fired_before_fires_it_at_once(void **state)
{
    world *self = *state;

    kl__cancel_fire(&self->sources[1]);
    kl__cancel_either_init(&self->either, &self->sources[0], &self->sources[1]);
    assert_true(kl__cancel_fired(&self->either.token));
    assert_false(kl__cancel_add(&self->either.token, &self->hook));
    kl__cancel_either_deinit(&self->either);
}

static void both_sources_may_be_null(void **state)
{
    world *self = *state;

    kl__cancel_either_init(&self->either, NULL, &self->sources[1]);
    kl__cancel_fire(&self->sources[1]);
    assert_true(kl__cancel_fired(&self->either.token));
    kl__cancel_either_deinit(&self->either);
    kl__cancel_either_init(&self->either, NULL, NULL);
    assert_false(kl__cancel_fired(&self->either.token));
    kl__cancel_either_deinit(&self->either);
}

static void after_deinit_the_sources_have_no_hook(void **state)
{
    world *self = *state;

    kl__cancel_either_init(&self->either, &self->sources[0], &self->sources[1]);
    kl__cancel_either_deinit(&self->either);
    assert_true(kl__list_empty(&self->sources[0].hooks));
    assert_true(kl__list_empty(&self->sources[1].hooks));
    kl__cancel_fire(&self->sources[0]);
    assert_false(kl__cancel_fired(&self->sources[1]));
}

static void a_combined_token_may_be_a_source_of_another(void **state)
{
    world *self = *state;
    kl__cancel_either above;

    kl__cancel_either_init(&self->either, &self->sources[0], NULL);
    kl__cancel_either_init(&above, &self->sources[1], &self->either.token);
    assert_true(kl__cancel_add(&above.token, &self->hook));
    kl__cancel_fire(&self->sources[0]);
    assert_true(kl__cancel_fired(&above.token));
    assert_int_equal(self->woken, 1);
    kl__cancel_remove(&above.token, &self->hook);
    kl__cancel_either_deinit(&above);
    kl__cancel_either_deinit(&self->either);
}

static void firing_the_combined_token_fires_no_source(void **state)
{
    world *self = *state;

    kl__cancel_either_init(&self->either, &self->sources[0], NULL);
    kl__cancel_fire(&self->either.token);
    assert_true(kl__cancel_fired(&self->either.token));
    assert_false(kl__cancel_fired(&self->sources[0]));
    kl__cancel_either_deinit(&self->either);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(either_source_token_fires_it_and_wakes_waiters),
        SPEC(a_source_that_was_fired_before_fires_it_at_once),
        SPEC(both_sources_may_be_null),
        SPEC(after_deinit_the_sources_have_no_hook),
        SPEC(a_combined_token_may_be_a_source_of_another),
        SPEC(firing_the_combined_token_fires_no_source),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
