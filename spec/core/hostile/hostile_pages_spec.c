/*
 * hostile_pages_spec.c - a page that fails, repeats itself or has expired never
 * truncates the cache: a list is visible as a whole or not at all.
 */
#include "kube_script.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_1 PAGE("20", "to-page-2", NODE("a", "1"))
#define ALL LIST("30", NODE("a", "1") "," NODE("b", "2") "," NODE("c", "25"))

#define TOO_OLD                                                           \
    "The provided continue parameter is too old to display a consistent " \
    "list result."
#define EXPIRED_TOKEN(token) \
    STATUS_WITH("\"continue\":\"" token "\"", 410, "Expired", TOO_OLD, "")

/* Has the cache hold a and b at version 10, and the version be lost. */
static void begin(kube *k)
{
    k->leaps = true;
    kube_on(k, "list",
            ANSWER(200, LIST("10", NODE("a", "1") "," NODE("b", "2"))));
    kube_on(k, "watch", OPEN_WATCH(ERROR_EVENT(EXPIRED)));
}

/* Page 2 fails like this, a relist succeeds. `reason`: the error that handlers
 * get; NULL: none, as the list is sent again at once. */
static void a_relist_survives(kube *k, const hostile_step *page_2, size_t count,
                              const char *reason)
{
    kl__buf story = {0};

    begin(k);
    kube_on(k, "list", ANSWER(200, PAGE_1));
    kube_on(k, "page", page_2, count);
    kube_on(k, "list", STEPS(HOSTILE_GATE("again"), HOSTILE_ANSWER(200, ALL)));
    kube_on(k, "watch", OPEN_WATCH(DELETED("a", "31")));
    kube_open(k);
    kl__buf_puts(&story, "*a@1 *b@2 synced !gone");
    if (reason != NULL) {
        kl__buf_printf(&story, " !%s", reason);
    }
    kube_told(k, story.bytes);
    assert_true(hostile_await_gate(k->server, "again", 1));
    kube_cache(k, "a@1 b@2", "10");
    hostile_open_gate(k->server, "again");
    kl__buf_puts(&story, " +c@25 -a@31");
    kube_told(k, story.bytes);
    kube_cache(k, "b@2 c@25", "31");
    kube_requests(k, "list", 3);
    kube_requests(k, "page", 1);
    kube_asked(k, "page", 0, "continue=to-page-2");
    kube_not_asked(k, "page", 0, "resourceVersion");
    kl__buf_deinit(&story);
}

static void a_second_page_that_fails_with_500_truncates_nothing(void **state)
{
    kube *k = *state;

    a_relist_survives(
        k, ANSWER(500, STATUS(500, "InternalError", "etcd is unwell")),
        "internal");
    kube_reason(k, "etcd is unwell");
}

static void a_second_page_that_is_html_truncates_nothing(void **state)
{
    a_relist_survives(
        *state,
        STEPS(HOSTILE_ANSWER_WITH(502, "Content-Type: text/html\r\n",
                                  "<html><title>Bad Gateway</title></html>")),
        "unavailable");
}

static void a_second_page_that_is_cut_half_way_truncates_nothing(void **state)
{
    a_relist_survives(
        *state,
        STEPS(HOSTILE_STREAM,
              HOSTILE_CHUNK(
                  "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"resourceVersion\":\"20\"},\"items\":[" NODE("b", "2") ","),
              HOSTILE_RESET),
        "unavailable");
}

static void a_second_page_that_ends_early_truncates_nothing(void **state)
{
    a_relist_survives(
        *state,
        STEPS(HOSTILE_STREAM,
              HOSTILE_CHUNK(
                  "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"
                  "\"resourceVersion\":\"20\"},\"items\":[" NODE("b", "2")),
              HOSTILE_STREAM_END),
        "unavailable");
}

static void a_second_page_that_is_a_status_truncates_nothing(void **state)
{
    a_relist_survives(*state, ANSWER(200, STATUS(200, "", "fine")), "parse");
}

static void a_repeated_continue_token_does_not_list_for_ever(void **state)
{
    a_relist_survives(
        *state, ANSWER(200, PAGE("20", "to-page-2", NODE("b", "2"))), "parse");
}

static void an_expired_token_without_another_begins_anew(void **state)
{
    kube *k = *state;

    a_relist_survives(k, ANSWER(410, STATUS(410, "Expired", TOO_OLD)), NULL);
    kube_asked(k, "list", 1, "resourceVersion=10&");
    kube_not_asked(k, "list", 2, "resourceVersion=");
}

/* Tokens of an endless list are all new, and its pages all full: it is the
 * server's right. It ends when the server ends it. */
static void pages_follow_pages(void **state)
{
    kube *k = *state;

    k->options.page_size = 1;
    kube_on(k, "list", ANSWER(200, PAGE("10", "2/+&=", NODE("a", "1"))));
    kube_on(k, "page", ANSWER(200, PAGE("10", "3", "")));
    kube_on(k, "page",
            ANSWER(200, PAGE("10", "4", NODE("b", "2") "," NODE("a", "3"))));
    kube_on(k, "page", ANSWER(200, LIST("10", "")));
    kube_on(k, "watch", OPEN_WATCH(ADDED("c", "11")));
    kube_open(k);
    kube_told(k, "*a@3 *b@2 synced +c@11");
    kube_requests(k, "page", 3);
    kube_asked(k, "list", 0, "limit=1");
    kube_asked(k, "page", 0, "limit=1");
    kube_asked(k, "page", 0, "continue=2%2F%2B%26%3D");
}

/* ---- the token that a server offers for an expired one ---- */

/* The rest of the list is newer than its first page: what the watch tells from
 * the first page's version on is partly known. */
static void an_expired_token_is_exchanged_for_the_one_offered(void **state)
{
    kube *k = *state;

    kube_on(k, "list", ANSWER(200, PAGE("10", "old", NODE("a", "1"))));
    kube_on(k, "page", ANSWER(410, EXPIRED_TOKEN("new")));
    kube_on(k, "page",
            ANSWER(200, LIST("20", NODE("b", "15") "," NODE("d", "18"))));
    kube_on(k, "watch",
            OPEN_WATCH(ADDED("b", "11") MODIFIED("b", "15") MODIFIED("a", "16")
                           ADDED("d", "17") MODIFIED("d", "18")
                               MODIFIED("b", "21")));
    kube_open(k);
    kube_told(k, "*a@1 *b@15 *d@18 synced ~a@1>16 ~b@15>21");
    kube_cache(k, "a@16 b@21 d@18", "21");
    kube_asked(k, "page", 1, "continue=new");
    kube_asked(k, "watch", 0, "resourceVersion=10 ");
    kube_requests(k, "list", 1);
    kube_requests(k, "page", 2);
}

/* What was deleted between the first page and the others is in none of them, or
 * in the first one only: the watch tells. */
static void an_inconsistent_list_is_repaired_by_its_watch(void **state)
{
    kube *k = *state;

    kube_on(k, "list", ANSWER(200, PAGE("10", "old", NODE("a", "1"))));
    kube_on(k, "page", ANSWER(410, EXPIRED_TOKEN("new")));
    kube_on(k, "page", ANSWER(200, LIST("20", NODE("b", "15"))));
    kube_on(k, "watch",
            OPEN_WATCH(DELETED("a", "12") DELETED("c", "13") DELETED("b", "14")
                           ADDED("b", "15") ADDED("e", "21")));
    kube_open(k);
    kube_told(k, "*a@1 *b@15 synced -a@12 +e@21");
    kube_cache(k, "b@15 e@21", "21");
}

static void an_offered_token_that_has_expired_too_begins_anew(void **state)
{
    kube *k = *state;

    k->leaps = true;
    kube_on(k, "list", ANSWER(200, PAGE("10", "old", NODE("x", "1"))));
    kube_on(k, "page", ANSWER(410, EXPIRED_TOKEN("new")));
    kube_on(k, "page", ANSWER(410, EXPIRED_TOKEN("newer")));
    kube_on(k, "list", ANSWER(200, LIST("20", NODE("a", "1"))));
    kube_on(k, "watch", QUIET_WATCH);
    kube_open(k);
    kube_told(k, "!gone *a@1 synced");
    kube_requests(k, "page", 2);
    kube_requests(k, "list", 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KUBE_CASE(a_second_page_that_fails_with_500_truncates_nothing),
        KUBE_CASE(a_second_page_that_is_html_truncates_nothing),
        KUBE_CASE(a_second_page_that_is_cut_half_way_truncates_nothing),
        KUBE_CASE(a_second_page_that_ends_early_truncates_nothing),
        KUBE_CASE(a_second_page_that_is_a_status_truncates_nothing),
        KUBE_CASE(a_repeated_continue_token_does_not_list_for_ever),
        KUBE_CASE(an_expired_token_without_another_begins_anew),
        KUBE_CASE(pages_follow_pages),
        KUBE_CASE(an_expired_token_is_exchanged_for_the_one_offered),
        KUBE_CASE(an_inconsistent_list_is_repaired_by_its_watch),
        KUBE_CASE(an_offered_token_that_has_expired_too_begins_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
