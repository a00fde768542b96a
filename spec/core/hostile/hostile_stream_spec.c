/*
 * hostile_stream_spec.c - streaming lists of servers that cannot do them, do
 * them half, or do them wrong; and servers that cut, space, order and compress
 * their answers at will: the informer delivers the same events.
 */
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define A_LIST LIST("10", NODE("a", "1"))

static void stream(kube *k)
{
    k->options.no_streaming_list = false;
    k->leaps = true;
}

/* ---- servers that refuse ---- */

static void a_refused_streaming_list_is_a_paged_one_at_once(void **state)
{
    static const struct {
        int status;
        const char *body;
    } refusals[] = {
        {422, STATUS(422, "Invalid",
                     "ListOptions.meta.k8s.io \\\"\\\" is invalid: "
                     "sendInitialEvents: Forbidden")},
        {400, STATUS(400, "BadRequest", "unknown parameter")},
        {400, "no such thing here"},
        {405, STATUS(405, "MethodNotAllowed", "watch is not supported")},
    };
    kube *k = *state;

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        stream(k);
        kube_on(k, "stream", ANSWER(refusals[i].status, refusals[i].body));
        kube_on(k, "list", ANSWER(200, A_LIST));
        kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
        kube_open(k);
        kube_told(k, "*a@1 synced +b@11");
        assert_int_equal(kube_elapsed(k), 0);
        kube_requests(k, "stream", 1);
        k = kube_renew(state);
    }
}

static void a_refusal_is_remembered_by_the_next_relist(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream", ANSWER(422, STATUS(422, "Invalid", "no")));
    kube_on(k, "list", ANSWER(200, A_LIST));
    kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
    kube_on(k, "list", ANSWER(200, LIST("20", NODE("a", "1"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "21")));
    kube_open(k);
    kube_told(k, "*a@1 synced !gone +b@21");
    kube_requests(k, "stream", 1);
    kube_requests(k, "list", 2);
}

/* Servers are upgraded. */
static void a_refusal_is_forgotten_after_an_hour(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream", ANSWER(422, STATUS(422, "Invalid", "no")));
    kube_always(k, "list",
                STEPS(HOSTILE_ANSWER_WITH(503, "Retry-After: 300\r\n", "")));
    kube_on(k, "stream", OPEN_WATCH(ADDED("a", "1") END_BOOKMARK("10")));
    kube_open(k);
    kube_told(k, "!unavailable *a@1 synced");
    assert_in_range(kube_elapsed(k), 3600000, 4200000);
    kube_requests(k, "stream", 2);
    assert_in_range(hostile_requests(k->server, "list"), 10, 13);
}

static void a_storage_that_cannot_stream_says_so_in_an_event(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream",
            OPEN_WATCH(ERROR_EVENT(
                STATUS(500, "InternalError",
                       "sendInitialEvents is not supported by storage"))));
    kube_on(k, "list", ANSWER(200, A_LIST));
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    kube_told(k, "*a@1 synced");
    kube_requests(k, "stream", 1);
}

/* ---- servers that do not know it ---- */

static void an_early_end_is_tried_once_more_and_then_paged(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream", ENDED_WATCH(ADDED("a", "1") ADDED("x", "2")));
    kube_on(k, "stream", ENDED_WATCH(ADDED("a", "1") BOOKMARK("9")));
    kube_on(k, "list", ANSWER(200, A_LIST));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    /* x was never in the cache. */
    kube_told(k, "*a@1 synced +b@11");
    assert_true(kube_elapsed(k) >= 800);
    kube_requests(k, "stream", 2);
    kube_requests(k, "list", 1);
}

static void an_end_at_once_is_tried_once_more_and_then_paged(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream", STEPS(HOSTILE_STREAM, HOSTILE_STREAM_END));
    kube_on(k, "stream", STEPS(HOSTILE_STREAM, HOSTILE_STREAM_END));
    kube_on(k, "list", ANSWER(200, A_LIST));
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    kube_told(k, "*a@1 synced");
    kube_requests(k, "stream", 2);
}

/* A server, or a proxy's cache, that looks at the path alone. */
static void a_plain_list_for_a_stream_leads_to_paged_lists(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream", ANSWER(200, A_LIST));
    kube_on(k, "stream", ANSWER(200, A_LIST));
    kube_on(k, "list", ANSWER(200, A_LIST));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    kube_told(k, "*a@1 synced +b@11");
    kube_cache(k, "a@1 b@11", "11");
    kube_requests(k, "stream", 2);
    kube_requests(k, "list", 1);
}

/* ---- what ends it, and what does not ---- */

static void only_the_end_bookmark_ends_a_streaming_list(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(
        k, "stream",
        STEPS(
            HOSTILE_STREAM,
            HOSTILE_CHUNK(ADDED("a", "1") BOOKMARK("8") ADDED("b", "2")),
            HOSTILE_CHUNK(MARK("Node", "9",
                               ",\"annotations\":{\"k8s.io/initial-events-"
                               "end\":\"yes\"}")),
            HOSTILE_CHUNK(MARK("Node", "9",
                               ",\"annotations\":{\"k8s.io/initial-events-"
                               "end\":true}")),
            HOSTILE_CHUNK(MODIFIED("a", "3") DELETED("b", "4") ADDED("c", "5")),
            HOSTILE_GATE("end"), HOSTILE_CHUNK(END_BOOKMARK("10")),
            HOSTILE_CHUNK(ADDED("d", "11") END_BOOKMARK("12")),
            HOSTILE_CHUNK(ADDED("e", "13")), HOSTILE_FREEZE));
    kube_open(k);
    assert_true(hostile_await_gate(k->server, "end", 1));
    assert_false(kl_informer_has_synced(k->informer));
    assert_int_equal(kl_informer_count(k->informer), 0);
    hostile_open_gate(k->server, "end");
    kube_told(k, "*a@3 *c@5 synced +d@11 +e@13");
    kube_cache(k, "a@3 c@5 d@11 e@13", "13");
    kube_requests(k, "stream", 1);
    kube_requests(k, "watch", 0);
}

/* client-go discards such a bookmark, and never syncs. */
static void an_end_bookmark_of_another_kind_ends_the_list(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream",
            OPEN_WATCH(ADDED("a", "1") MARK("Table", "10", END_MARK)
                           ADDED("b", "11")));
    kube_open(k);
    kube_told(k, "*a@1 synced +b@11");
    kube_requests(k, "stream", 1);
}

static void an_end_bookmark_without_a_version_ends_no_list(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream", ENDED_WATCH(ADDED("x", "1") END_BOOKMARK("")));
    kube_on(k, "stream", OPEN_WATCH(ADDED("a", "1") END_BOOKMARK("10")));
    kube_open(k);
    kube_told(k, "*a@1 synced");
    kube_requests(k, "stream", 2);
    kube_requests(k, "list", 0);
}

/* ---- what breaks it ---- */

static void a_relist_that_breaks_in_the_middle_truncates_nothing(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream",
            OPEN_WATCH(ADDED("a", "1") ADDED("b", "2") END_BOOKMARK("10")
                           ERROR_EVENT(EXPIRED)));
    kube_on(k, "stream", RESET_WATCH(ADDED("a", "1") "{\"type\":\"ADD"));
    kube_on(k, "stream",
            STEPS(HOSTILE_GATE("again"), HOSTILE_STREAM,
                  HOSTILE_CHUNK(ADDED("a", "1") ADDED("b", "2") ADDED("c", "15")
                                    END_BOOKMARK("20") DELETED("b", "21")),
                  HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced !gone !unavailable");
    assert_true(hostile_await_gate(k->server, "again", 1));
    kube_cache(k, "a@1 b@2", "10");
    hostile_open_gate(k->server, "again");
    kube_told(k, "*a@1 *b@2 synced !gone !unavailable +c@15 -b@21");
    kube_requests(k, "stream", 3);
    kube_requests(k, "list", 0);
    kube_asked(k, "stream", 0, "resourceVersionMatch=NotOlderThan");
    kube_not_asked(k, "stream", 0, "resourceVersion=");
    kube_asked(k, "stream", 1, "resourceVersion=10&");
}

static void a_version_too_large_is_asked_for_no_more(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(
        k, "stream",
        OPEN_WATCH(ADDED("a", "1") END_BOOKMARK("100") ERROR_EVENT(EXPIRED)));
    kube_on(k, "stream",
            OPEN_WATCH(ERROR_EVENT(STATUS_WITH(
                "", 504, "Timeout",
                "Timeout: Too large resource version: 100, current: 50", ""))));
    kube_on(k, "stream", OPEN_WATCH(ADDED("b", "2") END_BOOKMARK("50")));
    kube_open(k);
    kube_told(k, "*a@1 synced !gone ?a@1 +b@2");
    kube_cache(k, "b@2", "50");
    kube_not_asked(k, "stream", 2, "resourceVersion=");
    kube_requests(k, "stream", 3);
}

static void overload_is_waited_for_and_no_reason_to_fall_back(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream",
            STEPS(HOSTILE_ANSWER_WITH(429,
                                      "Content-Type: text/plain\r\n"
                                      "Retry-After: 7\r\n",
                                      "Too many requests, please try again "
                                      "later.\n")));
    kube_on(k, "stream",
            OPEN_WATCH(ERROR_EVENT(STATUS_WITH("", 429, "TooManyRequests",
                                               "storage is (re)initializing",
                                               "\"retryAfterSeconds\":9"))));
    kube_on(k, "stream", OPEN_WATCH(ADDED("a", "1") END_BOOKMARK("10")));
    kube_open(k);
    kube_told(k, "!too_many_requests !too_many_requests *a@1 synced");
    assert_true(kube_elapsed(k) >= 7000 + 9000);
    assert_true(kube_elapsed(k) < 7000 + 9000 + 800 + 1600 + 2);
    kube_requests(k, "stream", 3);
    kube_requests(k, "list", 0);
}

static void a_streaming_list_may_send_an_object_twice(void **state)
{
    kube *k = *state;

    stream(k);
    kube_on(k, "stream",
            OPEN_WATCH(ADDED("a", "1") ADDED("a", "1") ADDED("b", "2")
                           ADDED("a", "3") DELETED("b", "4") DELETED("b", "4")
                               DELETED("x", "4") END_BOOKMARK("10")));
    kube_open(k);
    kube_told(k, "*a@3 synced");
    kube_cache(k, "a@3", "10");
}

/* Strings with brackets, quotes, escapes and multi-byte characters, which make
 * the end of a frame hard to find. */
#define NASTY                                                        \
    "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{"        \
    "\"name\":\"b\",\"uid\":\"uid-b\",\"resourceVersion\":\"2\","    \
    "\"annotations\":{\"}]\":\"{[\\\\\\\"\\u00e9\xf0\x9f\x90\xb3\"," \
    "\"items\":\"[\"}},\"items\":[[{}],{\"type\":\"ADDED\"}]}"

static const char the_list[] =
    LIST("10", NODE("a", "1") "," NASTY "," NODE("c", "3"));
static const char the_events[] =
    ADDED("d", "11") MODIFIED("a", "12") BOOKMARK("13") DELETED("c", "14")
        MODIFIED("a", "15") EVENT("MODIFIED", NODE_OF("uid-b", "b", "16"));
static const char the_story[] =
    "*a@1 *b@2 *c@3 synced +d@11 ~a@1>12 -c@14 ~a@12>15 ~b@2>16";

#define CHUNKED_HEAD                                        \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" \
    "Transfer-Encoding: chunked\r\n\r\n"

/* One life of an informer whose list and watch come in such chunks. */
static void live_in_chunks(void **state, size_t size, unsigned seed)
{
    kube *k = kube_renew(state);
    const char *list = kube_chunked(k, the_list, size, seed);
    const char *events = kube_chunked(k, the_events, size, seed + 1);

    kube_on(k, "list", STEPS(HOSTILE_TEXT(CHUNKED_HEAD), HOSTILE_TEXT(list)));
    /* Without the last chunk: the watch stays open. */
    kube_on(k, "watch",
            STEPS(HOSTILE_TEXT(CHUNKED_HEAD),
                  HOSTILE_BYTES(events, strlen(events) - 5), HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, the_story);
    kube_cache(k, "a@15 b@16 d@11", "16");
    kube_requests(k, "list", 1);
    kube_requests(k, "watch", 1);
}

static void lines_may_be_cut_into_pieces_of_any_size(void **state)
{
    for (size_t size = 1; size <= 64; size++) {
        live_in_chunks(state, size, 0);
    }
}

static void lines_may_be_cut_at_random(void **state)
{
    for (unsigned seed = 1; seed <= 32; seed++) {
        live_in_chunks(state, 0, seed);
    }
}

#define API_VERSIONS "{\"kind\":\"APIVersions\",\"versions\":[\"v1\"]}"
#define API_RESOURCES                                        \
    "{\"kind\":\"APIResourceList\",\"groupVersion\":\"v1\"," \
    "\"resources\":[{\"name\":\"nodes\",\"kind\":\"Node\","  \
    "\"namespaced\":false,\"verbs\":[\"list\",\"watch\"]}]}"

static void a_whole_session_may_come_byte_by_byte(void **state)
{
    kube *k = *state;
    const char *watch = kube_chunked(k,
                                     ADDED("a", "1") ADDED("b", "2")
                                         END_BOOKMARK("10") DELETED("a", "11"),
                                     1, 0);

    k->options.no_streaming_list = false;
    k->options.resource = "nodes.v1"; /* not in the table: discovery is asked */
    kube_on(k, "api",
            STEPS(HOSTILE_PIECES(CHUNKED_HEAD, 1),
                  HOSTILE_PIECES(kube_chunked(k, API_VERSIONS, 1, 0), 1)));
    kube_on(k, "resources",
            STEPS(HOSTILE_PIECES(CHUNKED_HEAD, 1),
                  HOSTILE_PIECES(kube_chunked(k, API_RESOURCES, 1, 0), 1)));
    kube_on(k, "stream",
            STEPS(HOSTILE_PIECES(CHUNKED_HEAD, 1),
                  {.kind = HOSTILE_KIND_SEND,
                   .bytes = watch,
                   .length = strlen(watch) - 5,
                   .piece = 1},
                  HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced -a@11");
    kube_cache(k, "b@2", "11");
    kube_requests(k, "resources", 1);
    kube_requests(k, "stream", 1);
}

static void events_need_no_newline_and_may_be_indented(void **state)
{
    kube *k = *state;

    kube_on(k, "list", ANSWER(200, " \n" LIST("10", " \t\r\n ") "\n\n"));
    kube_on(k, "watch",
            OPEN_WATCH("\n\n  {\n\t\"object\" : " NODE(
                "a", "11") " ,\n \"type\" : \"ADDED\" }"
                           "{\"type\":\"ADDED\",\"object\":" NODE(
                               "b", "12") "}"
                                          "\r\n \r\n" ADDED("c", "13")));
    kube_open(k);
    kube_told(k, "synced +a@11 +b@12 +c@13");
}

static void a_list_may_tell_its_version_after_its_items(void **state)
{
    kube *k = *state;

    kube_on(
        k, "list",
        ANSWER(
            200,
            "{\"apiVersion\":\"v1\",\"items\":[" NODE(
                "a",
                "1") "],\"kind\":\"NodeList\",\"metadata\":{\"continue\":\"\","
                     "\"resourceVersion\":\"10\"}}"));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    kube_told(k, "*a@1 synced +b@11");
    kube_asked(k, "watch", 0, "resourceVersion=10 ");
}

#define GZIP_HEAD                                           \
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" \
    "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"

/* As servers from 1.37 on do: each flush ends a member. */
static void each_gzip_member_of_a_watch_is_delivered_as_it_comes(void **state)
{
    kube *k = *state;

    k->options.no_streaming_list = false;
    kube_on(k, "stream",
            STEPS(HOSTILE_TEXT(GZIP_HEAD), kube_gzip(k, ADDED("a", "1")),
                  kube_gzip(k, ""), kube_gzip(k, ADDED("b", "2")),
                  kube_gzip(k, END_BOOKMARK("10")), HOSTILE_GATE("synced"),
                  kube_gzip(k, "{\"type\":\"ADDED\",\"obj"),
                  kube_gzip(k, "ect\":" NODE("c", "11") "}"), HOSTILE_GATE("c"),
                  kube_gzip(k, DELETED("a", "12")), HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced");
    hostile_open_gate(k->server, "synced");
    kube_told(k, "*a@1 *b@2 synced +c@11");
    hostile_open_gate(k->server, "c");
    kube_told(k, "*a@1 *b@2 synced +c@11 -a@12");
    kube_requests(k, "stream", 1);
}

static void a_gzip_list_that_is_cut_in_the_middle_is_no_list(void **state)
{
    kube *k = *state;
    const char *list = kube_repeated(k, "", "", 0, LIST("10", NODE("a", "1")));
    hostile_step whole = kube_gzip(k, list);
    hostile_step half = whole;

    half.length /= 2;
    k->leaps = true;
    kube_on(k, "list",
            STEPS(HOSTILE_TEXT(GZIP_HEAD), half, HOSTILE_STREAM_END));
    kube_on(k, "list", STEPS(HOSTILE_TEXT(GZIP_HEAD), half, HOSTILE_RESET));
    kube_on(k, "list",
            STEPS(HOSTILE_TEXT(GZIP_HEAD), whole, HOSTILE_STREAM_END));
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    /* Two errors: an end without the end of the gzip stream, and a reset. */
    kube_told(k, "!unavailable !unavailable *a@1 synced");
    kube_reason(k, "broke off");
    kube_requests(k, "list", 3);
}

static void a_list_that_is_not_gzip_is_an_error_and_listed_again(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list",
            STEPS(HOSTILE_ANSWER_WITH(200,
                                      "Content-Type: application/json\r\n"
                                      "Content-Encoding: gzip\r\n",
                                      LIST("10", NODE("a", "1")))));
    kube_on(k, "list", ANSWER(200, LIST("10", NODE("a", "1"))));
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    kube_told(k, "!parse *a@1 synced");
    kube_reason(k, "gzip");
    kube_requests(k, "list", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(a_refused_streaming_list_is_a_paged_one_at_once),
        KUBE_CASE(a_refusal_is_remembered_by_the_next_relist),
        KUBE_CASE(a_refusal_is_forgotten_after_an_hour),
        KUBE_CASE(a_storage_that_cannot_stream_says_so_in_an_event),
        KUBE_CASE(an_early_end_is_tried_once_more_and_then_paged),
        KUBE_CASE(an_end_at_once_is_tried_once_more_and_then_paged),
        KUBE_CASE(a_plain_list_for_a_stream_leads_to_paged_lists),
        KUBE_CASE(only_the_end_bookmark_ends_a_streaming_list),
        KUBE_CASE(an_end_bookmark_of_another_kind_ends_the_list),
        KUBE_CASE(an_end_bookmark_without_a_version_ends_no_list),
        KUBE_CASE(a_relist_that_breaks_in_the_middle_truncates_nothing),
        KUBE_CASE(a_version_too_large_is_asked_for_no_more),
        KUBE_CASE(overload_is_waited_for_and_no_reason_to_fall_back),
        KUBE_CASE(a_streaming_list_may_send_an_object_twice),
        KUBE_CASE(lines_may_be_cut_into_pieces_of_any_size),
        KUBE_CASE(lines_may_be_cut_at_random),
        KUBE_CASE(a_whole_session_may_come_byte_by_byte),
        KUBE_CASE(events_need_no_newline_and_may_be_indented),
        KUBE_CASE(a_list_may_tell_its_version_after_its_items),
        KUBE_CASE(each_gzip_member_of_a_watch_is_delivered_as_it_comes),
        KUBE_CASE(a_gzip_list_that_is_cut_in_the_middle_is_no_list),
        KUBE_CASE(a_list_that_is_not_gzip_is_an_error_and_listed_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
