/*
 * hostile_rubbish_spec.c - what is no JSON, or no object of the kind that was
 * asked for: refused, told once, and nothing of it gets into the cache. If a
 * single byte of a healthy server's answer is changed, lost, doubled, or the
 * last one, the informer recovers; seeds make the damage, so it can be
 * repeated.
 */
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MB = 1024 * 1024, DEEP = 100000 };

/* ---- in a list ---- */

static void
a_body_that_is_no_list_is_reported_once_and_empties_nothing(void **state)
{
    static const char *const bodies[] = {
        "<<<<",
        "null",
        "[]",
        "{}",
        "\"NodeList\"",
        STATUS(200, "", "no list"),
        "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
        "\"resourceVersion\":\"20\"},\"columnDefinitions\":[],\"rows\":[]}",
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":\"20\"},\"items\":{}}",
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":\"20\"},\"items\":[null]}",
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":\"20\"},\"items\":[\"a\"]}",
        "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{"
        "\"resourceVersion\":\"20\"},\"items\":[]}",
        "{\"metadata\":{\"resourceVersion\":\"20\"},\"items\":[]}",
        LIST("20", "") "rubbish",
        LIST("20", "") LIST("20", NODE("x", "1")),
        LIST("20", OBJECT("Pod", "x", "2")),
        LIST("20", "{\"metadata\":{\"resourceVersion\":\"2\"}}"),
        LIST("20", NODE("../../x", "2")),
        LIST("20", NODE("x\xff\xfe", "2")),
        LIST("20", NODE("x", "1") "," NODE("x", "1") ","),
    };
    kube *k = *state;

    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        print_message("    %.60s\n", bodies[i]);
        k->leaps = true;
        kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
        kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
        kube_on(k, "list", ANSWER(200, bodies[i]));
        kube_on(k, "list", ANSWER(200, bodies[i]));
        kube_on(k, "list", ANSWER(200, LIST("30", NODE("b", "29"))));
        kube_on(k, "watch", OPEN_WATCH(ADDED("c", "31")));
        kube_open(k);
        kube_told(k, "*a@1 synced !gone !parse ?a@1 +b@29 +c@31");
        kube_cache(k, "b@29 c@31", "31");
        kube_requests(k, "list", 4);
        kube_requests(k, "watch", 2);
        k = kube_renew(state);
    }
}

static void a_list_with_null_for_items_is_an_empty_list(void **state)
{
    kube *k = *state;

    /* Go's encoding of a nil slice. */
    kube_on(k, "list",
            ANSWER(200, "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\","
                        "\"metadata\":{\"resourceVersion\":\"10\"},"
                        "\"items\":null}"));
    kube_on(k, "watch", OPEN_WATCH(ADDED("a", "11")));
    kube_open(k);
    kube_told(k, "synced +a@11");
}

/* ---- in a watch ---- */

static void rubbish_after_good_events_ends_the_watch_and_no_more(void **state)
{
    static const char *const rubbish[] = {
        "<html>",
        "{\"type\":\"ADDED\",\"object\":}\n",
        "{\"type\":\"ADDED\"}\n",
        "{\"object\":" NODE("x", "12") "}\n",
        "{\"type\":7,\"object\":" NODE("x", "12") "}\n",
        "[]\n",
        "null\n",
        "{}\n",
        "\"ADDED\"\n",
        "}\n",
        "{\"type\":\"ADDED\",\"object\":null}\n",
        "{\"type\":\"ADDED\",\"object\":\"x\"}\n",
        EVENT("RENAMED", NODE("x", "12")),
        EVENT("added", NODE("x", "12")),
        EVENT("", NODE("x", "12")),
        EVENT("ADDED", OBJECT("Pod", "x", "12")),
        EVENT("ADDED", "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\","
                       "\"rows\":[]}"),
        EVENT("ADDED", "{\"kind\":\"Node\",\"apiVersion\":\"v1\"}"),
        EVENT("ADDED", NODE("x/y", "12")),
        EVENT("ADDED", NODE("", "12")),
        EVENT("ADDED", NODE("x\xc0\xaf", "12")),
        EVENT("ADDED", NODE("x\\ud800", "12")),
        EVENT("ADDED", "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":["
                       "\"x\"]}"),
    };
    kube *k = *state;

    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        print_message("    %.60s\n", rubbish[i]);
        k->leaps = true;
        kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
        kube_on(k, "watch",
                STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(ADDED("b", "11")),
                      HOSTILE_CHUNK(rubbish[i]), HOSTILE_FREEZE));
        kube_on(k, "watch", OPEN_WATCH(ADDED("c", "12")));
        kube_open(k);
        kube_told(k, "*a@1 synced +b@11 !parse +c@12");
        kube_cache(k, "a@1 b@11 c@12", "12");
        kube_requests(k, "list", 1);
        kube_asked(k, "watch", 1, "resourceVersion=11 ");
        k = kube_renew(state);
    }
}

static void a_nul_byte_between_events_is_rubbish(void **state)
{
    static const char event[] = ADDED("b", "11") "\0" ADDED("x", "12");
    kube *k = *state;
    hostile_step chunk = HOSTILE_CHUNK(event);

    chunk.length = sizeof(event) - 1;
    k->leaps = true;
    kube_on(k, "list", ANSWER(200, LIST("10", "")));
    kube_on(k, "watch", STEPS(HOSTILE_STREAM, chunk, HOSTILE_FREEZE));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "12")));
    kube_open(k);
    kube_told(k, "synced +b@11 !parse +c@12");
}

static void a_nul_inside_of_a_string_is_data(void **state)
{
    kube *k = *state;
    kl_object *object;
    const kl_value *root;
    size_t length;

    kube_on(k, "list", ANSWER(200, LIST("10", "")));
    kube_on(k, "watch",
            OPEN_WATCH(EVENT("ADDED", "{\"kind\":\"Node\",\"apiVersion\":"
                                      "\"v1\"," METADATA("a", "11") ",\"data\":"
                                                                    "\"x\\"
                                                                    "u0000y\""
                                                                    "}")));
    kube_open(k);
    kube_told(k, "synced +a@11");
    object = kl_informer_get(k->informer, "a");
    root = kl_object_open(object, NULL);
    kl_value_string(kl_value_get(root, "data"), &length);
    assert_int_equal(length, 3);
    kl_object_close(object);
    kl_object_unref(object);
}

static void a_watch_that_is_always_rubbish_leads_to_a_list(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
    for (int i = 0; i < 3; i++) {
        kube_on(k, "watch", OPEN_WATCH("rubbish"));
    }
    kube_on(k, "list", ANSWER(200, LIST("20", NODE("a", "15"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "21")));
    kube_open(k);
    kube_told(k, "*a@1 synced !parse ~a@1>15 +b@21");
    kube_reason(k, "rubbish");
    kube_requests(k, "list", 2);
    kube_requests(k, "watch", 4);
    assert_true(kube_elapsed(k) >= 800 + 1600 + 3200);
    kube_await_health(k);
}

/* ---- bombs ---- */

/* An object's end is looked for, however deep it is nested; here the answer
 * ends before it. */
static void a_nesting_bomb_is_refused_wherever_it_is(void **state)
{
    kube *k = *state;
    const char *deep_list = kube_repeated(
        k,
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":\"10\"},\"items\":[{\"metadata\":{\"name\":\"x\"},"
        "\"spec\":",
        "[", DEEP, "1");
    const char *deep_event = kube_repeated(
        k,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":"
        "\"v1\"," METADATA("x", "11") ",\"spec\":",
        "{\"a\":", DEEP, "1");
    const char *deep_groups = kube_repeated(
        k, "{\"kind\":\"APIGroupDiscoveryList\",\"items\":", "[", DEEP, "");

    k->leaps = true;
    k->options.resource = "nodes.v1"; /* not in the table: asks discovery */
    kube_on(k, "api", ANSWER(200, deep_groups));
    kube_on(k, "list", ANSWER(200, deep_list));
    kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
    kube_on(
        k, "watch",
        STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(deep_event), HOSTILE_STREAM_END));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    kube_told(k, "!parse !unavailable *a@1 synced !unavailable +b@11");
    kube_reason(k, "the answer broke off inside an event");
    kube_requests(k, "list", 2);
    kube_requests(k, "watch", 2);
}

static void objects_of_5_mb_are_objects(void **state)
{
    kube *k = *state;
    const char *tail = "\"},\"x\":1}";
    const char *item = kube_repeated(
        k,
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
        "\"resourceVersion\":\"10\"},\"items\":[{" METADATA(
            "a", "1") ",\"data\":{\"k\":\"",
        "0123456789abcdef", 5 * MB / 16, "\"}}]}");
    const char *event = kube_repeated(
        k,
        "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Node\",\"apiVersion\":"
        "\"v1\"," METADATA("b", "11") ",\"data\":{\"k\":\"",
        "0123456789abcdef", 5 * MB / 16, tail);
    kl_object *object;

    kube_on(k, "list", ANSWER(200, item));
    kube_on(k, "watch",
            STEPS(HOSTILE_STREAM, HOSTILE_CHUNK(event), HOSTILE_CHUNK("}\n"),
                  HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, "*a@1 synced +b@11");
    object = kl_informer_get(k->informer, "b");
    assert_non_null(object);
    assert_in_range(kl_object_json_length(object), 5 * MB, 6 * MB);
    kl_object_unref(object);
}

static void an_object_without_an_end_is_refused_at_a_bound(void **state)
{
    static const char start[] = "{\"type\":\"ADDED\",\"object\":{\"a\":\"";
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list", ANSWER(200, LIST("10", "")));
    kube_on(k, "watch",
            STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: "
                               "application/json\r\nConnection: close\r\n\r\n"),
                  HOSTILE_TEXT(start),
                  HOSTILE_FLOOD(
                      kube_repeated(k, "", "0123456789abcdef", MB / 16, ""),
                      257 * MB),
                  HOSTILE_FREEZE));
    kube_on(k, "watch", OPEN_WATCH(ADDED("a", "11")));
    kube_open(k);
    kube_told(k, "synced !too_large +a@11");
    kube_reason(k, "256 MB");
    kube_requests(k, "list", 1);
}

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
        KUBE_CASE(a_body_that_is_no_list_is_reported_once_and_empties_nothing),
        KUBE_CASE(a_list_with_null_for_items_is_an_empty_list),
        KUBE_CASE(rubbish_after_good_events_ends_the_watch_and_no_more),
        KUBE_CASE(a_nul_byte_between_events_is_rubbish),
        KUBE_CASE(a_nul_inside_of_a_string_is_data),
        KUBE_CASE(a_watch_that_is_always_rubbish_leads_to_a_list),
        KUBE_CASE(a_nesting_bomb_is_refused_wherever_it_is),
        KUBE_CASE(objects_of_5_mb_are_objects),
        KUBE_CASE(an_object_without_an_end_is_refused_at_a_bound),
        KUBE_CASE(the_cache_recovers_from_a_damaged_list),
        KUBE_CASE(the_cache_recovers_from_a_damaged_watch),
        KUBE_CASE(the_cache_recovers_from_a_damaged_streaming_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
