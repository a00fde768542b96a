/*
 * hostile_chaos_spec.c - one byte of a healthy server's answer is changed,
 * lost, doubled, or the last one: the informer recovers, and in the end has the
 * server's objects. Seeds make the damage, so it can be repeated.
 */
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 150, ROOM = 2048 };

static const char list[] = LIST("10", NODE("a", "1") "," NODE("b", "2"));
static const char initial[] =
    ADDED("a", "1") ADDED("b", "2") END_BOOKMARK("10");
static const char events[] = ADDED("c", "11") MODIFIED("a", "12") BOOKMARK("13")
    DELETED("b", "14") ERROR_EVENT(EXPIRED);

static unsigned draw(unsigned *seed)
{
    *seed = *seed * 1103515245u + 12345u;
    return *seed >> 16;
}

/* Damages one byte; `damaged` has ROOM bytes. */
static void damage(const char *text, unsigned seed, char *damaged)
{
    size_t length = strlen(text);
    size_t at = draw(&seed) % length;
    unsigned kind = draw(&seed) % 4;

    assert_true(length + 2 < ROOM);
    memcpy(damaged, text, length + 1);
    if (kind == 0) {
        damaged[at] = (char)(1 + draw(&seed) % 255);
    } else if (kind == 1) {
        memcpy(damaged + at, text + at + 1, length - at);
    } else if (kind == 2) {
        memcpy(damaged + at + 1, text + at, length - at + 1);
    } else {
        damaged[at + 1] = '\0';
    }
}

/* After the damage: the version is lost, then everything works. */
static void then_all_is_well(kube *k)
{
    kube_on(k, "watch", ENDED_WATCH(ERROR_EVENT(EXPIRED)));
    kube_always(k, "list", ANSWER(200, LIST("30", NODE("a", "29"))));
    kube_always(k, "watch", OPEN_WATCH(ADDED("end", "31")));
    kube_open(k);
    kube_told_at_last(k, "+end@31");
    kube_cache(k, "a@29 end@31", "31");
    assert_true(hostile_requests(k->server, "") < 16);
}

static void the_cache_recovers_from_a_damaged_list(void **state)
{
    char damaged[ROOM];

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        kube *k = kube_renew(state);

        damage(list, seed, damaged);
        k->leaps = true;
        kube_on(k, "list", ANSWER(200, damaged));
        then_all_is_well(k);
    }
}

static void the_cache_recovers_from_a_damaged_watch(void **state)
{
    char damaged[ROOM];

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        kube *k = kube_renew(state);

        damage(events, seed, damaged);
        k->leaps = true;
        kube_on(k, "list", ANSWER(200, list));
        kube_on(k, "watch", ENDED_WATCH(damaged));
        then_all_is_well(k);
    }
}

static void the_cache_recovers_from_a_damaged_streaming_list(void **state)
{
    char damaged[ROOM];

    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        kube *k = kube_renew(state);

        damage(initial, seed, damaged);
        k->leaps = true;
        k->options.no_streaming_list = false;
        kube_on(k, "stream", ENDED_WATCH(damaged));
        kube_always(
            k, "stream",
            OPEN_WATCH(ADDED("a", "29") END_BOOKMARK("30") ADDED("end", "31")));
        then_all_is_well(k);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(the_cache_recovers_from_a_damaged_list),
        KUBE_CASE(the_cache_recovers_from_a_damaged_watch),
        KUBE_CASE(the_cache_recovers_from_a_damaged_streaming_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
