/*
 * shard_spec.c - which member of a ring has which part: all have the same
 * picture, none has much more than its share, and little moves.
 */
#include "kubelua/shard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 40, NAME_SIZE = 32 };

typedef struct ring {
    char names[MOST][NAME_SIZE];
    const char *members[MOST];
    size_t count;
    uint16_t owners[KL_SHARD_PARTS];
} ring;

/* The members of a round of names, `first` to `last`, without `gap`. */
static void make_ring(ring *self, int round, int first, int last, int gap)
{
    self->count = 0;
    for (int i = first; i <= last; i++) {
        char *name = self->names[self->count];

        if (i != gap) {
            snprintf(name, NAME_SIZE, "%02d-replica-%d", i, round);
            self->members[self->count++] = name;
        }
    }
    kl_shard_assign(self->members, self->count, self->owners);
}

static const char *owner_of(const ring *self, int part)
{
    return self->members[self->owners[part]];
}

static int count_moved(const ring *before, const ring *after)
{
    int moved = 0;

    for (int part = 0; part < KL_SHARD_PARTS; part++) {
        moved += strcmp(owner_of(before, part), owner_of(after, part)) != 0;
    }
    return moved;
}

/* The first vectors of draft-eastlake-fnv, 64-bit FNV-1a. */
static void a_text_has_the_hash_of_the_published_vectors(void **state)
{
    static const struct {
        const char *text;
        uint64_t hash;
    } known[] = {{"", 0xcbf29ce484222325},
                 {"a", 0xaf63dc4c8601ec8c},
                 {"foobar", 0x85944171f73967e8}};

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        assert_int_equal(kl_shard_hash(known[i].text, strlen(known[i].text)),
                         known[i].hash);
    }
}

static void the_part_of_a_uid_is_a_range_of_hashes(void **state)
{
    (void)state;
    assert_int_equal(kl_shard_part_of_uid("foobar", 6), 0x85);
}

/* 1,000 numbered names in 256 parts: even throws leave 5 of them empty. */
static void numbered_names_are_spread_over_the_parts(void **state)
{
    int filled = 0, names[KL_SHARD_PARTS] = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        char name[NAME_SIZE];
        int length = snprintf(name, sizeof(name), "web/shop-%d", i);

        names[kl_shard_part(name, (size_t)length)]++;
    }
    for (int part = 0; part < KL_SHARD_PARTS; part++) {
        filled += names[part] > 0;
        assert_in_range(names[part], 0, 16);
    }
    assert_in_range(filled, 240, KL_SHARD_PARTS);
}

static void one_member_has_every_part(void **state)
{
    ring self;

    (void)state;
    make_ring(&self, 0, 1, 1, 0);
    for (int part = 0; part < KL_SHARD_PARTS; part++) {
        assert_int_equal(self.owners[part], 0);
    }
}

static void no_member_has_more_than_a_quarter_above_its_share(void **state)
{
    (void)state;
    for (int count = 1; count <= MOST; count++) {
        ring self;
        int parts[MOST] = {0};

        make_ring(&self, count, 1, count, 0);
        for (int part = 0; part < KL_SHARD_PARTS; part++) {
            parts[self.owners[part]]++;
        }
        for (int i = 0; i < count; i++) {
            assert_in_range(parts[i], 1, 1.25 * KL_SHARD_PARTS / count + 1);
        }
    }
}

static void a_member_that_goes_moves_at_most_half_above_its_share(void **state)
{
    (void)state;
    for (int count = 2; count <= 10; count++) {
        for (int gap = 1; gap <= count; gap++) {
            ring before, after;

            make_ring(&before, count, 1, count, 0);
            make_ring(&after, count, 1, count, gap);
            assert_in_range(count_moved(&before, &after), 1,
                            1.5 * KL_SHARD_PARTS / count);
        }
    }
}

static void a_fifth_member_that_comes_moves_about_a_fifth(void **state)
{
    (void)state;
    for (int round = 0; round < 50; round++) {
        ring before, after;

        make_ring(&before, round, 1, 4, 0);
        make_ring(&after, round, 1, 5, 0);
        assert_in_range(count_moved(&before, &after), KL_SHARD_PARTS / 10,
                        1.5 * KL_SHARD_PARTS / 5);
    }
}

/* Without members there is nothing to write to. */
static void an_empty_ring_leaves_the_owners_alone(void **state)
{
    uint16_t owners[KL_SHARD_PARTS] = {7};

    (void)state;
    kl_shard_assign(NULL, 0, owners);
    assert_int_equal(owners[0], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_has_the_hash_of_the_published_vectors),
        cmocka_unit_test(the_part_of_a_uid_is_a_range_of_hashes),
        cmocka_unit_test(numbered_names_are_spread_over_the_parts),
        cmocka_unit_test(one_member_has_every_part),
        cmocka_unit_test(no_member_has_more_than_a_quarter_above_its_share),
        cmocka_unit_test(a_member_that_goes_moves_at_most_half_above_its_share),
        cmocka_unit_test(a_fifth_member_that_comes_moves_about_a_fifth),
        cmocka_unit_test(an_empty_ring_leaves_the_owners_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
