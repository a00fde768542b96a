/*
 * hostile_http_spec.c - heads, statuses and bodies that no healthy API server
 * sends.
 */
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define LIST_A LIST("10", NODE("a", "1"))
#define OK_HEAD "HTTP/1.1 200 OK\r\n"
#define JSON_HEAD OK_HEAD "Content-Type: application/json\r\n"
#define PAGE_502                                            \
    "<html>\n<head><title>502 Bad Gateway</title></head>\n" \
    "<body><h1>Bad Gateway</h1><p>\x1b[31mnginx</body></html>"

/* ---- Retry-After ---- */

static const char *date_in(int seconds, char *buffer, size_t size)
{
    time_t then = time(NULL) + seconds;
    struct tm parts;

    gmtime_r(&then, &parts);
    strftime(buffer, size, "Retry-After: %a, %d %b %Y %H:%M:%S GMT\r\n",
             &parts);
    return buffer;
}

/* How long the informer waits, after such an answer to a list, before it lists
 * again. */
static int64_t wait_after(void **state, int status, const char *field)
{
    kube *k = kube_renew(state);
    char head[256];

    snprintf(head, sizeof(head),
             "HTTP/1.1 %d Later\r\nContent-Type: text/plain\r\n%s"
             "Content-Length: 4\r\n\r\nwait",
             status, field);
    k->leaps = true;
    kube_on(k, "list", STEPS(HOSTILE_TEXT(head)));
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    kube_told(k, status == 429 ? "!too_many_requests *a@1 synced"
                               : "!unavailable *a@1 synced");
    return kube_elapsed(k);
}

static void retry_after_is_the_shortest_wait(void **state)
{
    char date[128];

    assert_in_range(wait_after(state, 429, "Retry-After: 20\r\n"), 20000,
                    20800);
    assert_in_range(wait_after(state, 503, "retry-after:30\r\n"), 30000, 30800);
    date_in(40, date, sizeof(date));
    assert_in_range(wait_after(state, 503, date), 38000, 40800);
}

static void
an_invalid_retry_after_is_ignored_and_a_huge_one_bounded(void **state)
{
    static const char *const fields[] = {
        "",
        "Retry-After: 0\r\n",
        "Retry-After: soon\r\n",
        "Retry-After: -5\r\n",
        "Retry-After: Mon, 01 Jan 2001 00:00:00 GMT\r\n",
    };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        assert_in_range(wait_after(state, 503, fields[i]), 800, 1600);
    }
    assert_in_range(
        wait_after(state, 503, "Retry-After: 99999999999999999\r\n"), 300000,
        300800);
}

static void overload_of_a_watch_is_no_reason_to_list(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch",
            STEPS(HOSTILE_ANSWER_WITH(429,
                                      "Content-Type: text/plain\r\n"
                                      "Retry-After: 5\r\n",
                                      "Too many requests")));
    kube_on(k, "watch",
            STEPS(HOSTILE_ANSWER_WITH(
                503,
                "Content-Type: application/json\r\n"
                "Retry-After: 1\r\n",
                STATUS(503, "ServiceUnavailable", "shutting down"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    kube_told(k, "*a@1 synced !too_many_requests !unavailable +b@11");
    assert_true(kube_elapsed(k) >= 5000 + 1000);
    kube_requests(k, "list", 1);
}

/* ---- what is not of an API server ---- */

/* Two lists and a watch get this answer, and valid answers after it. */
static void is_told_and_survived(kube *k, const hostile_step *steps,
                                 size_t count, const char *code)
{
    kl__buf story = {0};

    k->leaps = true;
    kube_on(k, "list", steps, count);
    kube_on(k, "list", steps, count);
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch", steps, count);
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    /* One error for two lists; the third list succeeds, so the watch's error is
     * reported again. */
    kl__buf_printf(&story, "!%s *a@1 synced !%s +b@11", code, code);
    kube_told(k, story.bytes);
    kube_requests(k, "list", 3);
    kube_requests(k, "watch", 2);
    assert_true(kube_elapsed(k) >= 800 + 1600 + 800);
    kl__buf_deinit(&story);
}

static void html_with_200_is_reported_as_a_page_of_a_proxy(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_ANSWER_WITH(200, "Content-Type: text/html\r\n",
                                  "<html><form>Password:</form></html>")),
        "parse");
    kube_reason(*state, "login page");
    kube_reason(*state, "<html>");
}

static void a_redirect_is_not_followed_and_names_its_location(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_ANSWER_WITH(302, "Location: https://login.test/x?y=1\r\n",
                                  "")),
        "parse");
    kube_reason(*state, "a redirect to https://login.test/x?y=1,");
}

static void html_with_200_and_no_type_is_reported_too(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_ANSWER_WITH(200, "Server: x\r\n", "<html>no</html>")),
        "parse");
    kube_reason(*state, "login page");
}

static void html_with_502_is_reported_by_its_title(void **state)
{
    kube *k = *state;

    is_told_and_survived(k,
                         STEPS(HOSTILE_ANSWER_WITH(
                             502, "Content-Type: text/html\r\n", PAGE_502)),
                         "unavailable");
    kube_reason(k, "502 Bad Gateway");
    assert_null(strchr(k->error.message, '\x1b'));
}

static void json_of_another_type_is_refused(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_ANSWER_WITH(
            200, "Content-Type: application/vnd.kubernetes.protobuf\r\n",
            "k8s")),
        "parse");
    kube_reason(*state, "application/vnd.kubernetes.protobuf");
}

static void a_204_without_a_body_is_an_error(void **state)
{
    is_told_and_survived(*state,
                         STEPS(HOSTILE_TEXT("HTTP/1.1 204 No Content\r\n\r\n")),
                         "parse");
}

static void an_answer_that_is_not_http_is_an_error(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_TEXT("SSH-2.0-OpenSSH_9.2p1\r\n"), HOSTILE_FREEZE),
        "parse");
}

/* The transport may try an idle connection's request once more. */
static void a_connection_closed_without_an_answer_is_reported_once(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_always(k, "list", STEPS(HOSTILE_CLOSE));
    kube_open(k);
    kube_told(k, "!unavailable");
    kube_reason(k, "without an answer");
    assert_true(hostile_await_requests(k->server, "list", 20));
    assert_true(kube_elapsed(k) >= 800 * 63 + 30000);
    kube_told_no_more(k, "!unavailable");
}

static void a_truncated_head_is_an_error(void **state)
{
    is_told_and_survived(
        *state, STEPS(HOSTILE_TEXT(JSON_HEAD "Content-Le"), HOSTILE_CLOSE),
        "unavailable");
}

static void a_head_without_an_end_is_refused_at_a_bound(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_TEXT(OK_HEAD),
              HOSTILE_FLOOD("X-Padding: 0123456789abcdef0123456789abcdef"
                            "0123456789abcdef0123456789abcdef\r\n",
                            2 * 1024 * 1024),
              HOSTILE_FREEZE),
        "unavailable");
}

static void a_chunk_without_a_size_is_an_error(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_STREAM, HOSTILE_TEXT("not a size\r\n"), HOSTILE_FREEZE),
        "parse");
}

static void an_unrequested_content_encoding_is_an_error(void **state)
{
    is_told_and_survived(
        *state,
        STEPS(HOSTILE_ANSWER_WITH(200,
                                  "Content-Type: application/json\r\n"
                                  "Content-Encoding: br\r\n",
                                  "\x8b\x01\x80{}\x03")),
        "parse");
}

/* If the client followed, the other server would get its credentials. */
static void a_redirect_is_an_error_and_not_followed(void **state)
{
    hostile_server *elsewhere = hostile_new(NULL);
    char fields[256];

    snprintf(fields, sizeof(fields), "Location: %s/login\r\n",
             hostile_url(elsewhere));
    is_told_and_survived(
        *state, STEPS(HOSTILE_ANSWER_WITH(301, fields, "moved")), "parse");
    kube_reason(*state, "301");
    assert_int_equal(hostile_connections(elsewhere), 0);
    hostile_free(elsewhere);
}

/* ---- what is allowed, if odd ---- */

static void interim_responses_are_skipped(void **state)
{
    kube *k = *state;

    kube_on(k, "list",
            STEPS(HOSTILE_TEXT("HTTP/1.1 100 Continue\r\n\r\n"
                               "HTTP/1.1 103 Early Hints\r\nRetry-After: "
                               "100\r\nContent-Type: text/html\r\n\r\n"),
                  HOSTILE_ANSWER(200, LIST_A)));
    kube_on(k, "watch",
            STEPS(HOSTILE_TEXT("HTTP/1.1 102 Processing\r\n\r\n"),
                  HOSTILE_STREAM, HOSTILE_CHUNK(ADDED("b", "11")),
                  HOSTILE_FREEZE));
    kube_open(k);
    kube_told(k, "*a@1 synced +b@11");
}

static void connection_close_after_each_answer_loses_nothing(void **state)
{
    static const char fields[] =
        "Content-Type: application/json\r\nConnection: close\r\n";
    kube *k = *state;

    kube_on(
        k, "list",
        STEPS(HOSTILE_ANSWER_WITH(200, fields, PAGE("10", "2", NODE("a", "1"))),
              HOSTILE_CLOSE));
    kube_on(k, "page",
            STEPS(HOSTILE_ANSWER_WITH(200, fields, LIST("10", NODE("b", "2"))),
                  HOSTILE_CLOSE));
    for (int i = 0; i < 3; i++) {
        kube_on(k, "watch",
                STEPS(HOSTILE_TEXT(JSON_HEAD "Connection: close\r\n\r\n"),
                      HOSTILE_TEXT(i == 0   ? ADDED("c", "11")
                                   : i == 1 ? ADDED("d", "12")
                                            : ADDED("e", "13")),
                      HOSTILE_CLOSE));
    }
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@11 +d@12 +e@13");
    kube_requests(k, "watch", 4);
    assert_int_equal(hostile_connections(k->server), 6);
    kube_await_health(k);
}

static void json_may_name_its_charset(void **state)
{
    kube *k = *state;

    kube_on(
        k, "list",
        STEPS(HOSTILE_ANSWER_WITH(
            200, "content-type: application/json; charset=utf-8\r\n", LIST_A)));
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    kube_told(k, "*a@1 synced");
}

/* A sender that could put bytes behind an answer must not answer the next
 * request. */
static void a_second_answer_behind_the_first_is_not_used(void **state)
{
    static const char first[] = PAGE("10", "2", NODE("a", "1"));
    static const char second[] = LIST("99", NODE("evil", "98"));
    kube *k = *state;
    char both[1024];

    snprintf(both, sizeof(both),
             JSON_HEAD "Content-Length: %zu\r\n\r\n%s" JSON_HEAD
                       "Content-Length: %zu\r\n\r\n%s",
             sizeof(first) - 1, first, sizeof(second) - 1, second);
    kube_on(k, "list", STEPS(HOSTILE_TEXT(both)));
    kube_on(k, "page", ANSWER(200, LIST("10", NODE("b", "2"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "11")));
    kube_open(k);
    kube_told(k, "*a@1 *b@2 synced +c@11");
}

/* ---- refusals of a list ---- */

static void a_403_to_a_list_is_reported_once_and_paced(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_always(k, "list",
                ANSWER(403, STATUS(403, "Forbidden",
                                   "nodes is forbidden: User \\\"u\\\" cannot "
                                   "list resource \\\"nodes\\\"")));
    kube_open(k);
    kube_told(k, "!forbidden");
    kube_reason(k, "RBAC");
    assert_true(hostile_await_requests(k->server, "list", 12));
    assert_true(kube_elapsed(k) >= 800 * 63 + 30000 * 4);
    kube_told_no_more(k, "!forbidden");
    assert_int_equal(kube_status(k).error.code, KL_EFORBIDDEN);
    kube_requests(k, "api", 0);
}

static void each_reason_is_reported_when_it_changes(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list", ANSWER(403, STATUS(403, "Forbidden", "no")));
    kube_on(k, "list", ANSWER(403, STATUS(403, "Forbidden", "no")));
    kube_on(k, "list", ANSWER(401, STATUS(401, "Unauthorized", "who?")));
    kube_on(k, "list", ANSWER(500, STATUS(500, "InternalError", "etcd")));
    kube_on(k, "list", ANSWER(500, STATUS(500, "InternalError", "etcd")));
    kube_on(k, "list", ANSWER(403, STATUS(403, "Forbidden", "no")));
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    kube_told(k, "!forbidden !unauthorized !internal !forbidden *a@1 synced "
                 "+b@11");
    kube_await_health(k);
}

/* Its plugin has another token each time, which the server may never like. */
static void after_a_401_a_list_is_sent_once_more(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_log_in(k, "true");
    kube_on(k, "list", ANSWER(401, STATUS(401, "Unauthorized", "who?")));
    kube_on(k, "list", ANSWER(401, STATUS(401, "Unauthorized", "still?")));
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "11")));
    kube_open(k);
    kube_told(k, "!unauthorized *a@1 synced +b@11");
    kube_reason(k, "still?");
    kube_requests(k, "list", 3);
}

static void a_version_too_large_is_asked_for_once(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list", ANSWER(200, LIST_A));
    kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
    kube_on(k, "list",
            ANSWER(504, STATUS_WITH("", 504, "Timeout",
                                    "not yet, says a later server",
                                    "\"retryAfterSeconds\":1,\"causes\":[{"
                                    "\"reason\":\"ResourceVersionTooLarge\"}"
                                    "]")));
    kube_on(k, "list", ANSWER(200, LIST("6", NODE("a", "1"))));
    kube_on(k, "watch", OPEN_WATCH(ADDED("b", "7")));
    kube_open(k);
    kube_told(k, "*a@1 synced !gone !version_ahead +b@7");
    kube_asked(k, "list", 1, "resourceVersion=10&");
    kube_not_asked(k, "list", 2, "resourceVersion=");
    kube_requests(k, "list", 3);
    assert_true(kube_elapsed(k) >= 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(retry_after_is_the_shortest_wait),
        KUBE_CASE(an_invalid_retry_after_is_ignored_and_a_huge_one_bounded),
        KUBE_CASE(overload_of_a_watch_is_no_reason_to_list),
        KUBE_CASE(html_with_200_is_reported_as_a_page_of_a_proxy),
        KUBE_CASE(a_redirect_is_not_followed_and_names_its_location),
        KUBE_CASE(html_with_200_and_no_type_is_reported_too),
        KUBE_CASE(html_with_502_is_reported_by_its_title),
        KUBE_CASE(json_of_another_type_is_refused),
        KUBE_CASE(a_204_without_a_body_is_an_error),
        KUBE_CASE(an_answer_that_is_not_http_is_an_error),
        KUBE_CASE(a_connection_closed_without_an_answer_is_reported_once),
        KUBE_CASE(a_truncated_head_is_an_error),
        KUBE_CASE(a_head_without_an_end_is_refused_at_a_bound),
        KUBE_CASE(a_chunk_without_a_size_is_an_error),
        KUBE_CASE(an_unrequested_content_encoding_is_an_error),
        KUBE_CASE(a_redirect_is_an_error_and_not_followed),
        KUBE_CASE(interim_responses_are_skipped),
        KUBE_CASE(connection_close_after_each_answer_loses_nothing),
        KUBE_CASE(json_may_name_its_charset),
        KUBE_CASE(a_second_answer_behind_the_first_is_not_used),
        KUBE_CASE(a_403_to_a_list_is_reported_once_and_paced),
        KUBE_CASE(each_reason_is_reported_when_it_changes),
        KUBE_CASE(after_a_401_a_list_is_sent_once_more),
        KUBE_CASE(a_version_too_large_is_asked_for_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
