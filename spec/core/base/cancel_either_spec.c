/*
 * cancel_either_spec.c - a token made of two others fires with the first of
 * them, whenever that was, and not without one.
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

static void either_of_two_fires_it_and_wakes_who_waits(void **state)
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

static void one_that_has_fired_before_fires_it_at_once(void **state)
{
    world *self = *state;

    kl__cancel_fire(&self->sources[1]);
    kl__cancel_either_init(&self->either, &self->sources[0], &self->sources[1]);
    assert_true(kl__cancel_fired(&self->either.token));
    assert_false(kl__cancel_add(&self->either.token, &self->hook));
    kl__cancel_either_deinit(&self->either);
}

static void none_may_be_there(void **state)
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

static void the_others_know_nothing_of_it_afterwards(void **state)
{
    world *self = *state;

    kl__cancel_either_init(&self->either, &self->sources[0], &self->sources[1]);
    kl__cancel_either_deinit(&self->either);
    assert_true(kl__list_empty(&self->sources[0].hooks));
    assert_true(kl__list_empty(&self->sources[1].hooks));
    kl__cancel_fire(&self->sources[0]);
    assert_false(kl__cancel_fired(&self->sources[1]));
}

static void one_may_be_the_source_of_another(void **state)
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

static void one_that_is_fired_itself_leaves_the_others_alone(void **state)
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
        SPEC(either_of_two_fires_it_and_wakes_who_waits),
        SPEC(one_that_has_fired_before_fires_it_at_once),
        SPEC(none_may_be_there),
        SPEC(the_others_know_nothing_of_it_afterwards),
        SPEC(one_may_be_the_source_of_another),
        SPEC(one_that_is_fired_itself_leaves_the_others_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
