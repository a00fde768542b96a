/*
 * pick_spec.c - which endpoint a pick gives: by turns and by hash, with
 * weights, excludes, zones and nodes, and of which class.
 */
#include "kubelua/shared.h"
#include "shared/writer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { READY = KL_ENDPOINT_READY | KL_ENDPOINT_SERVING, MANY = 100 };

typedef struct world {
    kl_shared *map;
    kl_shared_key key;
} world;

static int begin(void **state)
{
    static world self;

    self.map = kl_shared_open(&(kl_shared_options){.size = 1 << 20}, NULL);
    assert_non_null(self.map);
    assert_int_equal(kl__shared_take(self.map, NULL), KL_OK);
    assert_true(kl_shared_key_init(self.map, "services", "web/shop:http", 13,
                                   &self.key));
    *state = &self;
    return 0;
}

static int end(void **state)
{
    world *self = *state;

    kl_shared_close(self->map);
    return 0;
}

static void put(world *self, const kl_endpoint *endpoints, size_t count)
{
    assert_int_equal(
        kl_shared_put_endpoints(self->map, &self->key, endpoints, count, NULL),
        KL_OK);
    assert_int_equal(kl_shared_publish(self->map, NULL), KL_OK);
}

static kl_endpoint ready(const char *host)
{
    return (kl_endpoint){.host = host, .port = 80, .weight = 1, .flags = READY};
}

/* `count` ready endpoints 10.0.0.0, 10.0.0.1, ... */
static void fill_many(kl_endpoint *endpoints, char (*hosts)[24], int count)
{
    for (int i = 0; i < count; i++) {
        snprintf(hosts[i], sizeof(hosts[i]), "10.0.0.%d", i);
        endpoints[i] = ready(hosts[i]);
    }
}

static void put_many(world *self, int count)
{
    kl_endpoint endpoints[MANY];
    char hosts[MANY][24];

    fill_many(endpoints, hosts, count);
    put(self, endpoints, (size_t)count);
}

static kl_pick pick(world *self, const kl_pick_options *options)
{
    kl_pick pick = {0};

    assert_int_equal(kl_shared_pick(self->map, &self->key, options, &pick),
                     KL_SHARED_OK);
    return pick;
}

static int number_of(const kl_pick *pick)
{
    return atoi(strrchr(pick->host, '.') + 1);
}

static void picks_are_round_robin(void **state)
{
    world *self = *state;
    int count[7] = {0};

    put_many(self, 7);
    for (int i = 0; i < 700; i++) {
        kl_pick one = pick(self, NULL);

        count[number_of(&one)]++;
        assert_int_equal(one.port, 80);
        assert_int_equal(one.ready, 7);
        assert_int_equal(one.host_length, strlen(one.host));
    }
    for (int i = 0; i < 7; i++) {
        assert_int_equal(count[i], 100);
    }
}

static void round_robin_begins_elsewhere_in_each_process(void **state)
{
    world *self = *state;
    int seen[MANY] = {0}, different = 0, status;

    put_many(self, MANY);
    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            kl_pick one = pick(self, NULL);

            _exit(number_of(&one));
        }
        wait(&status);
        seen[WEXITSTATUS(status)]++;
    }
    for (int i = 0; i < MANY; i++) {
        different += seen[i] > 0;
    }
    assert_in_range(different, 4, 8);
}

static void weights_are_kept_and_spread(void **state)
{
    world *self = *state;
    kl_endpoint endpoints[] = {ready("10.0.0.0"), ready("10.0.0.1"),
                               ready("10.0.0.2"), ready("10.0.0.3")};
    const uint16_t weights[] = {1, 3, 16, 0};
    int count[4] = {0};

    for (int i = 0; i < 4; i++) {
        endpoints[i].weight = weights[i];
    }
    put(self, endpoints, 4);
    for (int i = 1; i <= 20000; i++) {
        kl_pick one = pick(self, NULL);

        count[number_of(&one)]++;
        for (int k = 0; k < 4; k++) {
            /* At no moment is one more than a few turns from its share. */
            assert_true(abs(count[k] - i * weights[k] / 20) <= 8);
        }
    }
    assert_int_equal(count[3], 0);
}

static void weights_count_for_hashes(void **state)
{
    world *self = *state;
    kl_endpoint endpoints[] = {ready("10.0.0.0"), ready("10.0.0.1")};
    int count[2] = {0};

    endpoints[1].weight = 3;
    put(self, endpoints, 2);
    for (int i = 0; i < 20000; i++) {
        kl_pick one = pick(
            self, &(kl_pick_options){.hash = kl_shared_hash(&i, sizeof(i))});

        count[number_of(&one)]++;
    }
    assert_in_range(count[0], 4700, 5300);
}

static uint64_t hash_of(int i)
{
    return kl_shared_hash(&i, sizeof(i));
}

static void one_endpoint_less_moves_its_share_of_hashes_only(void **state)
{
    world *self = *state;
    enum { HASHES = 10000, COUNT = 10 };
    static int before[HASHES];
    int moved = 0, share[COUNT] = {0};

    put_many(self, COUNT);
    for (int i = 0; i < HASHES; i++) {
        kl_pick one = pick(self, &(kl_pick_options){.hash = hash_of(i)});

        before[i] = number_of(&one);
        share[before[i]]++;
    }
    for (int i = 0; i < COUNT; i++) {
        assert_in_range(share[i], 800, 1200);
    }
    put_many(self, COUNT - 1);
    for (int i = 0; i < HASHES; i++) {
        kl_pick one = pick(self, &(kl_pick_options){.hash = hash_of(i)});

        moved += number_of(&one) != before[i];
        assert_true(number_of(&one) == before[i] || before[i] == COUNT - 1);
    }
    assert_int_equal(moved, share[COUNT - 1]);
}

static void a_retry_excludes_what_was_tried(void **state)
{
    world *self = *state;
    uint64_t hashes[] = {0, hash_of(7)};

    put_many(self, 4);
    for (int h = 0; h < 2; h++) {
        uint64_t tried[4];
        kl_pick_options options = {.hash = hashes[h], .exclude = tried};
        int seen = 0;
        kl_pick one;

        for (int i = 0; i < 4; i++) {
            one = pick(self, &options);
            assert_false(seen >> number_of(&one) & 1);
            seen |= 1 << number_of(&one);
            tried[options.excluded++] = one.identity;
        }
        assert_int_equal(kl_shared_pick(self->map, &self->key, &options, &one),
                         KL_SHARED_EXCLUDED);
    }
}

/* Picks so many times, and counts by number what was picked. */
static void count_picks(world *self, const kl_pick_options *options, int picks,
                        int *count)
{
    memset(count, 0, MANY * sizeof(*count));
    for (int i = 0; i < picks; i++) {
        kl_pick one = pick(self, options);

        count[number_of(&one)]++;
    }
}

static void any_number_of_endpoints_is_excluded(void **state)
{
    world *self = *state;
    uint64_t tried[MANY];
    kl_pick_options options = {.exclude = tried};
    kl_pick one;

    for (int count = 4; count <= MANY; count += 96) {
        put_many(self, count);
        for (int h = 0; h < 2; h++) {
            options.hash = h > 0 ? hash_of(7) : 0;
            for (int i = 0; i < count; i++) {
                char text[24];
                int length = snprintf(text, sizeof(text), "10.0.0.%d", i);

                tried[i] = kl_shared_hash(text, (size_t)length);
            }
            options.excluded = (uint32_t)count - 1;
            one = pick(self, &options);
            assert_int_equal(number_of(&one), count - 1);
            options.excluded = (uint32_t)count;
            assert_int_equal(
                kl_shared_pick(self->map, &self->key, &options, &one),
                KL_SHARED_EXCLUDED);
        }
    }
}

/* Today's neighbour would get the load of a pod that has failed, and fail. */
static void the_share_of_the_excluded_goes_to_all_others(void **state)
{
    world *self = *state;
    uint64_t tried[] = {kl_shared_hash("10.0.0.1:80", 11),
                        kl_shared_hash("10.0.0.2", 8)};
    kl_pick_options options = {.exclude = tried, .excluded = 2};
    int count[MANY];

    for (int others = 4; others <= 98; others += 94) {
        put_many(self, others + 2);
        count_picks(self, &options, others * 200, count);
        for (int i = 0; i < others + 2; i++) {
            if (i == 1 || i == 2) {
                assert_int_equal(count[i], 0);
            } else {
                assert_in_range(count[i], 150, 260);
            }
        }
    }
}

static void the_share_of_the_excluded_goes_by_weights(void **state)
{
    world *self = *state;
    kl_endpoint endpoints[MANY];
    char hosts[MANY][24];
    uint64_t tried = kl_shared_hash("10.0.0.1", 8);
    kl_pick_options options = {.exclude = &tried, .excluded = 1};
    int count[MANY];

    for (int all = 4; all <= 44; all += 40) {
        int heavy = 0;

        fill_many(endpoints, hosts, all);
        for (int i = 0; i < all; i++) {
            endpoints[i].weight = i % 4 == 0 ? 3 : 1;
        }
        put(self, endpoints, (size_t)all);
        count_picks(self, &options, all * 500, count);
        assert_int_equal(count[1], 0);
        for (int i = 0; i < all; i += 4) {
            heavy += count[i];
        }
        /* a quarter of them has three of six parts; one part is excluded */
        assert_in_range(
            heavy, all * 500 * 3 * (all / 4) / (6 * (all / 4) - 1) - all * 10,
            all * 500 * 3 * (all / 4) / (6 * (all / 4) - 1) + all * 10);
    }
}

static void a_host_is_excluded_whatever_its_port(void **state)
{
    world *self = *state;
    kl_endpoint endpoints[] = {ready("fd00::1"), ready("fd00::1"),
                               ready("10.0.0.1"),
                               ready("a-host-of-more-than-16-bytes")};
    uint64_t tried[2] = {kl_shared_hash("fd00::1", 7)};
    kl_pick_options options = {.exclude = tried, .excluded = 2};
    kl_pick one;

    endpoints[1].port = 81;
    put(self, endpoints, 4);
    tried[1] = kl_shared_hash(endpoints[3].host, strlen(endpoints[3].host));
    for (int i = 0; i < 8; i++) {
        one = pick(self, &options);
        assert_string_equal(one.host, "10.0.0.1");
    }
    tried[0] = kl_shared_hash("fd00::1:80", 10);
    tried[1] = kl_shared_hash("10.0.0.1:80", 11);
    for (int i = 0; i < 8; i++) {
        one = pick(self, &options);
        assert_true(one.port == 81 || one.host[0] == 'a');
    }
}

static void endpoints_have_their_pods(void **state)
{
    world *self = *state;
    kl_endpoint endpoints[] = {ready("10.0.0.1"), ready("10.0.0.2"),
                               ready("a-host-of-more-than-16-bytes")};
    kl_pick all[3];
    uint32_t count;

    endpoints[0].pod = "shop-abcdef-1";
    endpoints[2].pod = "shop-abcdef-3";
    endpoints[2].zone = "z";
    put(self, endpoints, 3);
    assert_int_equal(kl_shared_endpoints(self->map, &self->key, all, 3, &count),
                     KL_SHARED_OK);
    for (uint32_t i = 0; i < 3; i++) {
        assert_string_equal(
            all[i].pod, strcmp(all[i].host, "10.0.0.1") == 0 ? "shop-abcdef-1"
                        : all[i].host[0] == 'a'              ? "shop-abcdef-3"
                                                             : "");
    }
}

/* Three in zone a (nodes 1, 1, 2), one in zone b (node 3). */
static void put_places(world *self)
{
    kl_endpoint endpoints[] = {ready("10.0.0.0"), ready("10.0.0.1"),
                               ready("10.0.0.2"), ready("10.0.0.3")};
    const char *nodes[] = {"n1", "n1", "n2", "n3"};

    for (int i = 0; i < 4; i++) {
        endpoints[i].zone = i < 3 ? "a" : "b";
        endpoints[i].node = nodes[i];
    }
    put(self, endpoints, 4);
}

/* Which of them turn after turn gives, as bits. */
static int seen_with(world *self, const kl_pick_options *options, int scope)
{
    int seen = 0;

    for (int i = 0; i < 40; i++) {
        kl_pick one = pick(self, options);

        assert_int_equal(one.scope, scope);
        seen |= 1 << number_of(&one);
    }
    return seen;
}

static void the_node_goes_before_the_zone_and_that_before_all(void **state)
{
    world *self = *state;
    uint64_t tried[2];
    kl_pick_options options = {.zone = kl_shared_hash("a", 1),
                               .node = kl_shared_hash("n1", 2),
                               .exclude = tried};
    kl_pick one, other;

    put_places(self);
    assert_int_equal(seen_with(self, &options, KL_PICK_NODE), 3);
    one = pick(self, &options);
    tried[options.excluded++] = one.identity;
    other = pick(self, &options);
    tried[options.excluded++] = other.identity;
    assert_int_equal(seen_with(self, &options, KL_PICK_ZONE), 4);
    options = (kl_pick_options){.node = kl_shared_hash("n3", 2)};
    assert_int_equal(seen_with(self, &options, KL_PICK_NODE), 8);
    options = (kl_pick_options){.zone = kl_shared_hash("c", 1)};
    assert_int_equal(seen_with(self, &options, KL_PICK_ALL), 15);
    options =
        (kl_pick_options){.zone = kl_shared_hash("b", 1), .with_places = 1};
    one = pick(self, &options);
    assert_string_equal(one.zone, "b");
    assert_string_equal(one.node, "n3");
}

/* 0 for zones a and b, 1 for b, 2 for c and a, 3 for a while it terminates. */
static void put_zones(world *self, uint16_t weight)
{
    kl_endpoint endpoints[] = {ready("10.0.0.0"), ready("10.0.0.1"),
                               ready("10.0.0.2"), ready("10.0.0.3")};
    const char *zones[] = {"a,b", "b", "c,a,c", "a,b"};
    const char *nodes[] = {"n", "m", "m", "n"};

    for (int i = 0; i < 4; i++) {
        endpoints[i].zone = zones[i];
        endpoints[i].node = nodes[i];
    }
    endpoints[0].weight = weight;
    endpoints[3].flags = KL_ENDPOINT_SERVING | KL_ENDPOINT_TERMINATING;
    put(self, endpoints, 4);
}

static void an_endpoint_for_several_zones_is_picked_for_each(void **state)
{
    world *self = *state;
    kl_pick_options in_a = {.zone = kl_shared_hash("a", 1), .with_places = 1};
    kl_pick_options in_b = {.zone = kl_shared_hash("b", 1)};
    kl_pick_options in_c = {.zone = kl_shared_hash("c", 1)};
    kl_pick_options on_n = {.node = kl_shared_hash("n", 1)};
    kl_pick one, all[4];
    uint64_t tried;
    uint32_t count;

    put_zones(self, 1);
    assert_int_equal(seen_with(self, &in_a, KL_PICK_ZONE), 1 | 4);
    assert_int_equal(seen_with(self, &in_b, KL_PICK_ZONE), 1 | 2);
    assert_int_equal(seen_with(self, &in_c, KL_PICK_ZONE), 4);
    assert_int_equal(seen_with(self, &on_n, KL_PICK_NODE), 1);
    assert_int_equal(seen_with(self, NULL, KL_PICK_ALL), 1 | 2 | 4);
    one = pick(self, &in_c);
    assert_int_equal(one.ready, 3);
    assert_int_equal(one.total, 4);
    tried = one.identity;
    in_c.exclude = &tried;
    in_c.excluded = 1;
    assert_int_equal(seen_with(self, &in_c, KL_PICK_ALL), 1 | 2);
    in_a.exclude = &tried;
    in_a.excluded = 1;
    one = pick(self, &in_a);
    assert_string_equal(one.host, "10.0.0.0");
    assert_string_equal(one.zone, "a,b");
    assert_string_equal(one.node, "n");
    assert_int_equal(kl_shared_endpoints(self->map, &self->key, all, 4, &count),
                     KL_SHARED_OK);
    assert_int_equal(count, 4);
    for (uint64_t hash = 1; hash < 100; hash++) {
        in_b.hash = hash;
        one = pick(self, &in_b);
        assert_true(number_of(&one) < 2);
        assert_int_equal(one.scope, KL_PICK_ZONE);
    }
}

static void weights_count_within_each_of_several_zones(void **state)
{
    world *self = *state;
    kl_pick_options in_a = {.zone = kl_shared_hash("a", 1)};
    int count[4] = {0};

    put_zones(self, 3);
    for (int i = 0; i < 400; i++) {
        kl_pick one = pick(self, &in_a);

        count[number_of(&one)]++;
    }
    assert_in_range(count[0], 298, 302);
    assert_in_range(count[2], 98, 102);
}

static void serving_ones_are_picked_when_none_is_ready(void **state)
{
    world *self = *state;
    kl_endpoint endpoints[] = {ready("10.0.0.0"), ready("10.0.0.1"),
                               ready("10.0.0.2")};
    kl_pick all[3], one;
    uint32_t count;

    endpoints[1].flags = KL_ENDPOINT_SERVING | KL_ENDPOINT_TERMINATING;
    endpoints[2].flags = KL_ENDPOINT_TERMINATING;
    put(self, endpoints, 3);
    assert_int_equal(seen_with(self, NULL, KL_PICK_ALL), 1);
    put(self, endpoints + 1, 2);
    assert_int_equal(seen_with(self, NULL, KL_PICK_ALL), 2);
    assert_int_equal(kl_shared_endpoints(self->map, &self->key, all, 3, &count),
                     KL_SHARED_OK);
    assert_int_equal(count, 2);
    assert_string_equal(all[1].host, "10.0.0.2");
    assert_int_equal(kl_shared_endpoints(self->map, &self->key, all, 1, &count),
                     KL_SHARED_TOO_SMALL);
    assert_int_equal(count, 2);
    put(self, endpoints + 2, 1);
    assert_int_equal(kl_shared_pick(self->map, &self->key, NULL, &one),
                     KL_SHARED_EMPTY);
    put(self, NULL, 0);
    assert_int_equal(kl_shared_pick(self->map, &self->key, NULL, &one),
                     KL_SHARED_EMPTY);
}

static void the_same_endpoints_in_another_order_are_no_change(void **state)
{
    world *self = *state;
    kl_endpoint endpoints[] = {ready("10.0.0.0"), ready("10.0.0.1"),
                               ready("::1"), ready("10.0.0.1")};
    kl_shared_status before, after;

    endpoints[3].flags = KL_ENDPOINT_SERVING;
    put(self, endpoints, 3);
    kl_shared_get_status(self->map, &before);
    kl_endpoint other[] = {endpoints[3], endpoints[2], endpoints[1],
                           endpoints[0]};
    put(self, other, 4);
    kl_shared_get_status(self->map, &after);
    assert_int_equal(before.generation, after.generation);
}

static void endpoints_that_cannot_be_put_are_refused(void **state)
{
    world *self = *state;
    char text[KL_SHARED_HOST_MAX + 2] = {0};
    kl_endpoint endpoint = ready("");

    assert_int_equal(
        kl_shared_put_endpoints(self->map, &self->key, &endpoint, 1, NULL),
        KL_EINVAL);
    memset(text, 'x', sizeof(text) - 1);
    endpoint.host = text;
    assert_int_equal(
        kl_shared_put_endpoints(self->map, &self->key, &endpoint, 1, NULL),
        KL_ETOO_LARGE);
    assert_int_equal(kl_shared_put_endpoints(self->map, &self->key, &endpoint,
                                             KL_SHARED_ENDPOINTS_MAX + 1, NULL),
                     KL_ETOO_LARGE);
    text[KL_SHARED_HOST_MAX] = '\0';
    put(self, &endpoint, 1);
    assert_int_equal(pick(self, NULL).host_length, KL_SHARED_HOST_MAX);
}

#define PICK_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PICK_TEST(picks_are_round_robin),
        PICK_TEST(round_robin_begins_elsewhere_in_each_process),
        PICK_TEST(weights_are_kept_and_spread),
        PICK_TEST(weights_count_for_hashes),
        PICK_TEST(one_endpoint_less_moves_its_share_of_hashes_only),
        PICK_TEST(a_retry_excludes_what_was_tried),
        PICK_TEST(any_number_of_endpoints_is_excluded),
        PICK_TEST(the_share_of_the_excluded_goes_to_all_others),
        PICK_TEST(the_share_of_the_excluded_goes_by_weights),
        PICK_TEST(a_host_is_excluded_whatever_its_port),
        PICK_TEST(endpoints_have_their_pods),
        PICK_TEST(the_node_goes_before_the_zone_and_that_before_all),
        PICK_TEST(an_endpoint_for_several_zones_is_picked_for_each),
        PICK_TEST(weights_count_within_each_of_several_zones),
        PICK_TEST(serving_ones_are_picked_when_none_is_ready),
        PICK_TEST(the_same_endpoints_in_another_order_are_no_change),
        PICK_TEST(endpoints_that_cannot_be_put_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
