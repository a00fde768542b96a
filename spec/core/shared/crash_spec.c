/*
 * crash_spec.c - the owner of a shared map is killed at any moment, in the
 * middle of a publish above all: the last published state stays whole, and the
 * next owner goes on from it.
 */
#include "kubelua/shared.h"
#include "shared/writer.h"

#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Entries that change each round, and others that only make a publish long. */
enum { ENTRIES = 8, BALLAST = 1500, KILLS = 100 };

static kl_shared_key key_of(const kl_shared *map, int i)
{
    kl_shared_key key;
    char text[16];
    int length = snprintf(text, sizeof(text), "%d", i);

    kl_shared_key_init(map, "t", text, (size_t)length, &key);
    return key;
}

static bool publish_round(kl_shared *map, uint64_t round)
{
    for (int i = 0; i < ENTRIES; i++) {
        kl_shared_key key = key_of(map, i);
        uint64_t value[8];

        for (int k = 0; k < 8; k++) {
            value[k] = round;
        }
        if (kl_shared_put(map, &key, value, sizeof(value), NULL) != KL_OK) {
            return false;
        }
    }
    return kl_shared_publish(map, NULL) == KL_OK;
}

static void put_ballast(kl_shared *map)
{
    for (int i = 0; i < BALLAST; i++) {
        kl_shared_key key = key_of(map, ENTRIES + i);

        assert_int_equal(kl_shared_put(map, &key, "a long value", 12, NULL),
                         KL_OK);
    }
}

/* The round of all entries, which have to be of one. */
static uint64_t read_round(const kl_shared *map)
{
    uint64_t round = 0;

    for (int i = 0; i < ENTRIES; i++) {
        kl_shared_key key = key_of(map, i);
        kl_shared_value got;
        uint64_t value[8];

        assert_int_equal(kl_shared_get(map, &key, value, sizeof(value), &got),
                         KL_SHARED_OK);
        assert_int_equal(got.length, sizeof(value));
        round = i == 0 ? value[0] : round;
        for (int k = 0; k < 8; k++) {
            assert_int_equal(value[k], round);
        }
    }
    return round;
}

static uint64_t generation_of(const kl_shared *map)
{
    kl_shared_status status;

    kl_shared_get_status(map, &status);
    return status.generation;
}

/* An owner that publishes until it is killed. */
static pid_t fork_owner(kl_shared *map, uint64_t round)
{
    pid_t child = fork();

    if (child == 0) {
        if (kl__shared_take(map, NULL) == KL_OK) {
            put_ballast(map);
            while (publish_round(map, round)) {
                round++;
            }
        }
        _exit(1);
    }
    assert_true(child > 0);
    return child;
}

/* True if the slot after the last generation had been begun. */
static bool was_publishing(const kl_shared *map)
{
    uint64_t next = generation_of(map) + 1;
    const kl__word *slot =
        map->slots + (next % KL__SHARED_SLOTS) * (size_t)map->slot_words;

    return kl__word_load(&slot[KL__SLOT_GENERATION]) == next;
}

static void kill_owner(kl_shared *map, pid_t owner, uint64_t before, int moment)
{
    int status;

    while (generation_of(map) < before + 3) {
        assert_int_equal(waitpid(owner, &status, WNOHANG), 0);
        sched_yield();
    }
    for (volatile int spin = 0; spin < moment * 997; spin++) {
    }
    kill(owner, SIGKILL);
    assert_int_equal(waitpid(owner, &status, 0), owner);
    assert_true(WIFSIGNALED(status));
}

static void the_last_published_state_outlives_its_owner(void **state)
{
    kl_shared *map =
        kl_shared_open(&(kl_shared_options){.size = 1 << 20}, NULL);
    kl_shared_key key;
    kl_shared_status status;
    uint64_t round = 1;
    uint32_t version;
    int publishing = 0;

    (void)state;
    assert_non_null(map);
    key = key_of(map, 0);
    for (int i = 0; i < KILLS; i++) {
        uint64_t before = generation_of(map);
        pid_t owner = fork_owner(map, round);

        kill_owner(map, owner, before, i);
        publishing += was_publishing(map);
        round = read_round(map);
        version = kl_shared_version(map, &key);
        /* Versions that the owner had no time for move on with the next. */
        assert_int_equal(kl__shared_take(map, NULL), KL_OK);
        assert_int_not_equal(kl_shared_version(map, &key), version);
        assert_int_equal(read_round(map), round);
        assert_true(publish_round(map, round + 1));
        assert_int_equal(read_round(map), round + 1);
        kl__shared_drop(map);
        round += 2;
    }
    kl_shared_get_status(map, &status);
    assert_int_equal(status.takeovers, 2 * KILLS);
    print_message("%d of %d were killed in the middle of a publish\n",
                  publishing, KILLS);
    assert_true(publishing > 0);
    kl_shared_close(map);
}

/* What a cut-off publish leaves in its slot is the least of what can be there:
 * the next owner writes it anew. */
static void the_next_owner_overwrites_a_slot_of_rubbish(void **state)
{
    kl_shared *map =
        kl_shared_open(&(kl_shared_options){.size = 1 << 20}, NULL);

    (void)state;
    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    assert_true(publish_round(map, 1));
    kl__shared_drop(map);
    memset((void *)(map->slots + 2 * (size_t)map->slot_words), 0xff,
           (size_t)map->slot_words * 8);
    memset((void *)map->slots, 0xff, (size_t)map->slot_words * 8);
    assert_int_equal(read_round(map), 1);
    assert_int_equal(kl__shared_take(map, NULL), KL_OK);
    for (uint64_t round = 2; round < 6; round++) {
        assert_true(publish_round(map, round));
        assert_int_equal(read_round(map), round);
    }
    kl_shared_close(map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_published_state_outlives_its_owner),
        cmocka_unit_test(the_next_owner_overwrites_a_slot_of_rubbish),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
