/*
 * hostile_unreadable_spec.c - an object that cannot be read costs that object
 * only: the list or watch goes on, one error names it, and the cache keeps its
 * former state until it can be read again, or is gone.
 */
#include "event_record.h"
#include "kube_script.h"

#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* A Node with a member `d` of that text. */
#define WITH(name, version, text)                         \
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\"," METADATA( \
        name, version) ",\"d\":" text "}"
#define BAD(name, version) WITH(name, version, "\"\\ud800\"")
#define WHY "Node b cannot be read: not JSON: "

static void begin(kube *k)
{
    k->leaps = true;
    kube_on(k, "list",
            ANSWER(200, LIST("10", NODE("a", "1") "," NODE("b", "2"))));
}

/* Asserts that b is the only one, or that there is none (why: NULL). */
static void unreadable_is(kube *k, const char *why, bool is_cached)
{
    kl_unreadable_list list = {0};

    assert_int_equal(kl_informer_unreadable(k->informer, &list, NULL), KL_OK);
    assert_int_equal(list.count, why != NULL ? 1 : 0);
    assert_int_equal(kube_status(k).unreadable, list.count);
    if (why != NULL) {
        assert_string_equal(list.items[0].key, "b");
        assert_non_null(strstr(list.items[0].why, why));
        assert_int_equal(list.items[0].is_cached, is_cached);
    }
    kl_unreadable_list_clear(&list);
}

/* A version of 64 bytes: one more than there is room for. */
#define FOR_64_BYTES \
    "1234567890123456789012345678901234567890123456789012345678901234"

static const char *const rubbish[] = {
    WITH("b", "12", "\"\\ud800\""),   /* a lone surrogate */
    WITH("b", "12", "\"\\udc00 x\""), /* the second half alone */
    WITH("b", "12", "\"tab\there\""), /* a raw control character */
    WITH("b", "12", "\"\x01\""),
    WITH("b", "12", "\"\xff\xfe\""),     /* no UTF-8 */
    WITH("b", "12", "\"\xc0\xaf\""),     /* overlong */
    WITH("b", "12", "\"\xed\xa0\x80\""), /* a surrogate in UTF-8 */
    WITH("b", "12", "tru"),
    WITH("b", "12", "01"),
    WITH("b", "12", "[1 2]"),
    WITH("b", "12", "[1],,\"e\":0"),
    "{\"kind\":\"Node\",\"metadata\":{\"name\":\"b\",\"uid\":1}}",
    "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":12}}",
    "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"12\\u0000\"}}",
    "{\"metadata\":{\"name\":\"b\",\"resourceVersion\":\"" FOR_64_BYTES "\"}}",
};

static void an_object_of_a_list_costs_that_object_only(void **state)
{
    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        kube *k = i == 0 ? *state : kube_renew(state);
        char items[1000];

        snprintf(items, sizeof(items),
                 PAGE("10", "", NODE("a", "1") ",%s," NODE("c", "3")),
                 rubbish[i]);
        kube_on(k, "list", ANSWER(200, items));
        kube_on(k, "watch", OPEN_WATCH(ADDED("d", "11")));
        kube_open(k);
        kube_told(k, "*a@1 *c@3 synced !unreadable +d@11");
        kube_reason(k, "Node b cannot be read: ");
        kube_cache(k, "a@1 c@3 d@11", "11");
        unreadable_is(k, "Node b cannot be read: ", false);
        assert_int_equal(kube_status(k).failures, 0);
        kube_requests(k, "list", 1);
    }
}

static void an_event_costs_that_object_only(void **state)
{
    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        kube *k = i == 0 ? *state : kube_renew(state);
        char events[1000];

        begin(k);
        snprintf(events, sizeof(events),
                 EVENT("MODIFIED", "%s") ADDED("d", "13"), rubbish[i]);
        kube_on(k, "watch", OPEN_WATCH(events));
        kube_open(k);
        kube_told(k, "*a@1 *b@2 synced !unreadable +d@13");
        kube_cache(k, "a@1 b@2 d@13", "13");
        unreadable_is(k, "Node b cannot be read: ", true);
        kube_requests(k, "watch", 1);
    }
}

static void it_comes_back_when_it_can_be_read(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(EVENT("MODIFIED", BAD("b", "11")) MODIFIED("b", "12")
                           EVENT("MODIFIED", BAD("b", "13"))
                               MODIFIED("b", "14")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !unreadable ~b@2>12 !unreadable ~b@12>14");
    kube_reason(k, WHY);
    kube_cache(k, "a@1 b@14", "14");
    unreadable_is(k, NULL, false);
}

static void handlers_are_told_once(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            ENDED_WATCH(EVENT("MODIFIED", BAD("b", "11"))
                            EVENT("MODIFIED", BAD("b", "12"))));
    kube_on(k, "watch",
            OPEN_WATCH(EVENT("MODIFIED", BAD("b", "13")) ADDED("c", "14")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !unreadable +c@14");
    kube_asked(k, "watch", 1, "resourceVersion=12");
    unreadable_is(k, WHY, true);
}

static void a_delete_of_it_is_a_delete(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(EVENT("MODIFIED", BAD("b", "11"))
                           EVENT("DELETED", BAD("b", "12")) ADDED("c", "13")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !unreadable ?b@2 +c@13");
    unreadable_is(k, NULL, false);
}

/* The name was given to another object: the one in the cache is gone. */
static void another_uid_removes_the_former_state(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(EVENT("MODIFIED",
                             "{\"metadata\":{\"name\":\"b\",\"uid\":\"other\","
                             "\"resourceVersion\":\"11\"},\"d\":\"\\ud800\"}")
                           ADDED("c", "12")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced ?b@2 !unreadable +c@12");
    unreadable_is(k, WHY, false);
}

static void a_relist_keeps_the_former_state(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
    kube_on(k, "list",
            ANSWER(200, LIST("20", NODE("a", "15") "," BAD("b", "16"))));
    kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
    kube_on(k, "list", ANSWER(200, LIST("30", NODE("a", "15"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "31")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !gone ~a@1>15 !unreadable !gone ?b@2 +c@31");
    unreadable_is(k, NULL, false);
}

static void a_relist_with_another_uid_removes_it(void **state)
{
    kube *k = *state;

    begin(k);
    kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
    kube_on(
        k, "list",
        ANSWER(200,
               LIST("20",
                    NODE("a", "1") ",{\"metadata\":{\"name\":\"b\","
                                   "\"uid\":\"other\"},\"d\":\"\\ud800\"}")));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "31")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !gone ?b@2 !unreadable +c@31");
    unreadable_is(k, WHY, false);
}

static void a_streaming_list_goes_on(void **state)
{
    kube *k = *state;

    k->options.no_streaming_list = false;
    kube_on(k, "stream",
            OPEN_WATCH(ADDED("a", "1") EVENT("ADDED", BAD("b", "2"))
                           EVENT("ADDED", BAD("c", "3")) ADDED("c", "4")
                               END_BOOKMARK("10") MODIFIED("b", "11")));
    kube_open(k);
    kube_told(k, "*a@1 *c@4 synced !unreadable +b@11");
    unreadable_is(k, NULL, false);
}

static void a_handler_that_joins_later_is_told_too(void **state)
{
    kube *k = *state;
    kl_registration *late;
    kl_event event;

    begin(k);
    kube_on(k, "watch",
            OPEN_WATCH(EVENT("MODIFIED", BAD("b", "11")) ADDED("c", "12")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !unreadable +c@12");
    late = kl_informer_subscribe(k->informer, k->queue, NULL, NULL, NULL);
    assert_non_null(late);
    for (int i = 0; i < 4; i++) {
        assert_true(kl_registration_next(late, &event));
        assert_int_not_equal(event.type, KL_EVENT_ERROR);
        kl_registration_done(late, &event);
    }
    assert_true(kl_registration_next(late, &event));
    assert_int_equal(event.type, KL_EVENT_ERROR);
    assert_int_equal(event.error->code, KL_EUNREADABLE);
    kl_registration_done(late, &event);
    kl_registration_remove(late);
}

/* The depth of Go's decoder. An API server stores it where fields are
 * preserved. */
static void nesting_of_600_and_of_9000_levels_is_read(void **state)
{
    for (size_t i = 0; i < 2; i++) {
        kube *k = i == 0 ? *state : kube_renew(state);
        size_t levels = i == 0 ? 600 : 9000;
        const char *open = kube_repeated(k, WITH("b", "2", ""), "", 0, "");
        char head[300];
        const char *opened, *whole;

        /* the text of the Node up to the value of `d` */
        snprintf(head, sizeof(head),
                 "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":"
                 "\"10\"},\"items\":[%.*s",
                 (int)strlen(open) - 1, open);
        opened = kube_repeated(k, head, "{\"a\":", levels, "1");
        whole = kube_repeated(k, opened, "}", levels, "}]}");
        kube_on(k, "list", ANSWER(200, whole));
        kube_on(k, "watch", OPEN_WATCH(ADDED("c", "11")));
        kube_open(k);
        kube_told(k, "*b@2 synced +c@11");
        unreadable_is(k, NULL, false);
    }
}

static void nesting_of_10001_levels_costs_that_object_only(void **state)
{
    kube *k = *state;
    const char *opened = kube_repeated(
        k,
        "{\"kind\":\"NodeList\",\"metadata\":{\"resourceVersion\":\"10\"},"
        "\"items\":[{\"kind\":\"Node\",\"d\":",
        "[", 10000, "");
    const char *whole = kube_repeated(
        k, opened, "]", 10000, "," METADATA("b", "2") "}," NODE("c", "3") "]}");

    kube_on(k, "list", ANSWER(200, whole));
    kube_on(k, "watch", OPEN_WATCH(ADDED("d", "11")));
    kube_open(k);
    kube_told(k, "*c@3 synced !unreadable +d@11");
    unreadable_is(k,
                  "Node b cannot be read: JSON nested deeper than 10000 levels",
                  false);
}

/* What has no name is not an object of an API server: it must not be taken for
 * an empty list. */
static void rubbish_without_a_name_fails_the_list(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list",
            ANSWER(200, LIST("10", NODE("a", "1") ",{\"d\":\"\\ud800\"}")));
    kube_on(k, "list", ANSWER(200, LIST("11", NODE("a", "1"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "12")));
    kube_open(k);
    kube_told(k, "!parse *a@1 synced +c@12");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(an_object_of_a_list_costs_that_object_only),
        KUBE_CASE(an_event_costs_that_object_only),
        KUBE_CASE(it_comes_back_when_it_can_be_read),
        KUBE_CASE(handlers_are_told_once),
        KUBE_CASE(a_delete_of_it_is_a_delete),
        KUBE_CASE(another_uid_removes_the_former_state),
        KUBE_CASE(a_relist_keeps_the_former_state),
        KUBE_CASE(a_relist_with_another_uid_removes_it),
        KUBE_CASE(a_streaming_list_goes_on),
        KUBE_CASE(a_handler_that_joins_later_is_told_too),
        KUBE_CASE(nesting_of_600_and_of_9000_levels_is_read),
        KUBE_CASE(nesting_of_10001_levels_costs_that_object_only),
        KUBE_CASE(rubbish_without_a_name_fails_the_list),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
