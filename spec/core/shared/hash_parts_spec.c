/*
 * hash_parts_spec.c - which endpoint has which part of the keys, and that only
 * the parts of an endpoint that went move.
 */
#include "kubelua/shared.h"
#include "kubelua/shared_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 200, STEP = 16 /* every so many parts are looked at */ };

/* Endpoints `first` to MANY - 1, without `gap`. */
typedef struct list {
    uint64_t identities[MANY];
    uint16_t weights[MANY];
    uint32_t count;
} list;

static list make_list(uint32_t first, uint32_t gap)
{
    list self = {0};

    for (uint32_t i = first; i < MANY; i++) {
        char name[32];
        int length = snprintf(name, sizeof(name), "10.0.0.%u:80", i);

        if (i != gap) {
            self.identities[self.count] = kl_shared_hash(name, (size_t)length);
            self.weights[self.count++] = (uint16_t)(1 + i % 2);
        }
    }
    return self;
}

static kl_hash_endpoints endpoints_of(const list *self, bool weighted)
{
    return (kl_hash_endpoints){.identities = self->identities,
                               .weights = weighted ? self->weights : NULL,
                               .count = self->count};
}

static void only_parts_of_an_endpoint_that_went_move(void **state)
{
    list all = make_list(0, MANY), rest = make_list(0, 17);

    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        kl_hash_endpoints before = endpoints_of(&all, weighted);
        kl_hash_endpoints after = endpoints_of(&rest, weighted);
        uint32_t moved = 0;

        for (uint32_t part = 0; part < KL_HASH_PARTS; part += STEP) {
            uint32_t was = kl_hash_choose(&before, part);
            uint32_t now = kl_hash_choose(&after, part);

            if (was == 17) {
                moved++;
            } else {
                assert_true(all.identities[was] == rest.identities[now]);
            }
        }
        assert_true(moved > 5);
    }
}

static void shares_are_as_the_weights(void **state)
{
    list all = make_list(MANY - 10, MANY);
    kl_hash_endpoints endpoints = endpoints_of(&all, true);
    uint32_t counts[MANY] = {0};

    (void)state;
    for (uint32_t part = 0; part < KL_HASH_PARTS; part++) {
        counts[kl_hash_choose(&endpoints, part)]++;
    }
    for (uint32_t i = 0; i < all.count; i++) {
        double share = KL_HASH_PARTS * all.weights[i] / 15.0;

        assert_true(counts[i] > share * 0.95 && counts[i] < share * 1.05);
    }
}

static void an_endpoint_without_weight_has_no_part(void **state)
{
    list all = make_list(MANY - 3, MANY);
    kl_hash_endpoints endpoints = endpoints_of(&all, true);

    (void)state;
    all.weights[1] = 0;
    for (uint32_t part = 0; part < KL_HASH_PARTS; part += STEP) {
        assert_int_not_equal(kl_hash_choose(&endpoints, part), 1);
    }
    memset(all.weights, 0, sizeof(all.weights));
    assert_int_equal(kl_hash_choose(&endpoints, 5), 3);
    endpoints.count = 0;
    assert_int_equal(kl_hash_choose(&endpoints, 5), 0);
}

/* Fills winners of every STEPth part by choosing. */
static void choose_parts(const kl_hash_endpoints *endpoints, uint16_t *winners)
{
    for (uint32_t part = 0; part < KL_HASH_PARTS; part += STEP) {
        winners[part] = (uint16_t)(1 + kl_hash_choose(endpoints, part));
    }
}

static void assert_chosen(const kl_hash_endpoints *endpoints,
                          const uint16_t *winners, uint32_t unknown_least,
                          uint32_t unknown_most)
{
    uint32_t unknown = 0;

    for (uint32_t part = 0; part < KL_HASH_PARTS; part += STEP) {
        if (winners[part] == 0) {
            unknown++;
        } else {
            assert_int_equal(winners[part],
                             1 + kl_hash_choose(endpoints, part));
        }
    }
    assert_in_range(unknown, unknown_least, unknown_most);
    assert_int_equal(winners[1], 0); /* was never known */
}

static void kept_winners_follow_a_change_as_if_chosen_anew(void **state)
{
    static uint16_t winners[KL_HASH_PARTS];
    /* before: 3 to the last; now: 0 to the last, but 17 */
    list old = make_list(3, MANY), new = make_list(0, 17);
    const uint32_t added[] = {0, 1, 2};
    uint16_t moved[MANY];

    (void)state;
    for (uint32_t i = 0; i < old.count; i++) {
        uint32_t was = i + 3, now = was < 17 ? was : was - 1;

        moved[i] = (uint16_t)(was == 17 ? 0 : now + 1);
    }
    for (int weighted = 0; weighted < 2; weighted++) {
        kl_hash_endpoints before = endpoints_of(&old, weighted);
        kl_hash_endpoints after = endpoints_of(&new, weighted);

        memset(winners, 0, sizeof(winners));
        choose_parts(&before, winners);
        kl_hash_change(winners, moved, &after, added, 3);
        assert_chosen(&after, winners, 1, KL_HASH_PARTS / STEP / 50);
    }
}

static void winners_are_forgotten_if_very_many_came(void **state)
{
    static uint16_t winners[KL_HASH_PARTS];
    list old = make_list(MANY - 100, MANY), new = make_list(0, MANY);
    kl_hash_endpoints before = endpoints_of(&old, false);
    kl_hash_endpoints after = endpoints_of(&new, false);
    uint32_t added[100];
    uint16_t moved[MANY];

    (void)state;
    for (uint32_t i = 0; i < 100; i++) {
        added[i] = i;
        moved[i] = (uint16_t)(i + 101);
    }
    choose_parts(&before, winners);
    kl_hash_change(winners, moved, &after, added, 100);
    assert_chosen(&after, winners, KL_HASH_PARTS / STEP, KL_HASH_PARTS / STEP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_parts_of_an_endpoint_that_went_move),
        cmocka_unit_test(shares_are_as_the_weights),
        cmocka_unit_test(an_endpoint_without_weight_has_no_part),
        cmocka_unit_test(kept_winners_follow_a_change_as_if_chosen_anew),
        cmocka_unit_test(winners_are_forgotten_if_very_many_came),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
