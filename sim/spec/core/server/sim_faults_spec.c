/*
 * sim_faults_spec.c - faults through the in-process transport; deadlines,
 * cancelling and closing; the record of requests.
 */

#include "spec_case.h"
#include "base/clock.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static int64_t in(int ms)
{
    return kl__clock_now(kl__clock_real()) + ms;
}

static kl__stream *open_with(sim_rig *f, const char *method, const char *target,
                             const char *authorization)
{
    const kl__header header = {"Authorization", authorization};
    const kl__request request = {.method = method,
                                 .base_url = "",
                                 .target = target,
                                 .headers = &header,
                                 .header_count = authorization != NULL};
    kl__stream *stream = kl__transport_open(f->transport, &request, NULL);

    assert_non_null(stream);
    return stream;
}

/* Sends a request to its head; what came of it. */
static kl_code head_of(sim_rig *f, const char *method, const char *target,
                       kl__response *response, kl_error *err)
{
    kl__stream *stream = open_with(f, method, target, NULL);
    kl_code code = kl__stream_response(stream, response,
                                       in(SIM_CLIENT_PATIENCE_MS), NULL, err);

    kl__stream_close(stream);
    return code;
}

static int status_of(sim_rig *f, const char *target)
{
    kl__response response;
    kl_error err;

    if (head_of(f, "GET", target, &response, &err) != KL_OK) {
        fail_msg("%s: %s", target, err.message);
    }
    return response.status;
}

static void watch(sim_rig *f, sim_watch *stream)
{
    sim_watch_open(stream, f->transport, "",
                   CONFIGMAPS "?watch=true&resourceVersion=3");
}

RIG_CASE(a_cut_breaks_open_watches_and_no_new_ones)
{
    sim_watch before, after;
    kl_error err;

    watch(f, &before);
    kl_sim_cut(f->sim);
    assert_int_equal(sim_watch_failure(&before, &err), KL_EUNAVAILABLE);
    sim_watch_close(&before);
    watch(f, &after);
    sim_add(f->sim, "a");
    sim_watch_expect(&after, "ADDED", "a");
    sim_watch_close(&after);
}

static void *cut_later(void *arg)
{
    kl_sim_cut(arg);
    return NULL;
}

RIG_CASE(a_cut_wakes_a_reader_that_waits_for_an_event)
{
    kl__thread thread;
    sim_watch stream;
    kl_error err;

    watch(f, &stream);
    assert_int_equal(kl__thread_start(&thread, "cut", cut_later, f->sim, NULL),
                     KL_OK);
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    kl__thread_join(&thread);
    sim_watch_close(&stream);
}

RIG_CASE(refusing_breaks_everything_until_it_is_over)
{
    kl__response response;
    sim_watch stream;
    kl_error err;

    watch(f, &stream);
    kl_sim_refuse(f->sim, true);
    assert_int_equal(head_of(f, "GET", CONFIGMAPS, &response, &err),
                     KL_EUNAVAILABLE);
    sim_add(f->sim, "a"); /* beside the network */
    kl_sim_refuse(f->sim, false);
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
    assert_int_equal(status_of(f, CONFIGMAPS "/a"), 200);
}

RIG_CASE(a_frozen_stream_is_silent_and_stays_open)
{
    kl__stream *late;
    kl__response response;
    sim_watch stream;

    watch(f, &stream);
    kl_sim_freeze(f->sim, true);
    sim_add(f->sim, "a");
    sim_watch_expect_silence(&stream);
    late = open_with(f, "GET", CONFIGMAPS, NULL);
    assert_int_equal(kl__stream_response(late, &response, in(60), NULL, NULL),
                     KL_ETIMEOUT);
    kl_sim_freeze(f->sim, false);
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_close(&stream);
    assert_int_equal(kl__stream_response(late, &response,
                                         in(SIM_CLIENT_PATIENCE_MS), NULL,
                                         NULL),
                     KL_OK);
    kl__stream_close(late);
}

RIG_CASE(a_freeze_can_end_in_a_cut)
{
    sim_watch stream;
    kl_error err;

    watch(f, &stream);
    kl_sim_freeze(f->sim, true);
    kl_sim_cut(f->sim);
    assert_int_equal(sim_watch_failure(&stream, &err), KL_EUNAVAILABLE);
    sim_watch_close(&stream);
}

RIG_CASE(a_failure_applies_to_its_verb_and_count)
{
    kl__response response;

    assert_int_equal(
        kl_sim_fail(f->sim, &(kl_sim_failure){"list", 2, 429, 7, NULL}, NULL),
        KL_OK);
    assert_int_equal(status_of(f, CONFIGMAPS "/a"), 404);
    assert_int_equal(status_of(f, CONFIGMAPS "?watch=1"), 200);
    assert_int_equal(head_of(f, "GET", CONFIGMAPS, &response, NULL), KL_OK);
    assert_int_equal(response.status, 429);
    assert_int_equal(response.retry_after_ms, 7000);
    assert_int_equal(status_of(f, CONFIGMAPS), 429);
    assert_int_equal(status_of(f, CONFIGMAPS), 200);
    assert_int_equal(
        kl_sim_fail(f->sim, &(kl_sim_failure){NULL, 1, 503, 0, NULL}, NULL),
        KL_OK);
    sim_expect(f->sim, "GET", CONFIGMAPS, NULL, 200); /* beside the faults */
    assert_int_equal(head_of(f, "DELETE", CONFIGMAPS "/a", &response, NULL),
                     KL_OK);
    assert_int_equal(response.status, 503);
    assert_int_equal(response.retry_after_ms, -1);
}

RIG_CASE(a_failure_is_a_status_or_any_text)
{
    sim_watch stream;

    kl_sim_fail(f->sim, &(kl_sim_failure){"watch", 1, 503, 0, NULL}, NULL);
    watch(f, &stream);
    assert_int_equal(stream.status, 503);
    sim_watch_next(&stream);
    sim_watch_close(&stream);
    kl_sim_fail(f->sim, &(kl_sim_failure){"watch", 1, 502, 0, "<html>\n"},
                NULL);
    watch(f, &stream);
    assert_int_equal(stream.status, 502);
    sim_watch_close(&stream);
}

RIG_CASE(an_invalid_failure_is_an_error)
{
    kl_error err;

    assert_int_equal(
        kl_sim_fail(f->sim, &(kl_sim_failure){NULL, 0, 500, 0, NULL}, &err),
        KL_EINVAL);
    assert_int_equal(
        kl_sim_fail(f->sim, &(kl_sim_failure){NULL, 1, 99, 0, NULL}, &err),
        KL_EINVAL);
}

RIG_CASE(a_deadline_leaves_the_stream_as_it_was)
{
    sim_watch stream;

    watch(f, &stream);
    sim_watch_expect_silence(&stream);
    sim_watch_expect_silence(&stream);
    sim_add(f->sim, "a");
    sim_watch_expect(&stream, "ADDED", "a");
    sim_watch_close(&stream);
}

typedef struct reader {
    kl__stream *stream;
    kl__cancel *cancel;
    kl_code code;
} reader;

static void *read_in_thread(void *arg)
{
    reader *r = arg;
    char buffer[64];
    size_t length;

    r->code = kl__stream_read(r->stream, buffer, sizeof(buffer), &length, -1,
                              r->cancel, NULL);
    return NULL;
}

RIG_CASE(a_reader_that_waits_can_be_cancelled)
{
    kl__cancel cancel;
    sim_watch stream;
    kl__thread thread;
    reader r;
    int64_t began;

    watch(f, &stream);
    kl__cancel_init(&cancel);
    r = (reader){stream.stream, &cancel, KL_OK};
    assert_int_equal(
        kl__thread_start(&thread, "reader", read_in_thread, &r, NULL), KL_OK);
    began = in(0);
    kl__cancel_fire(&cancel);
    kl__thread_join(&thread);
    assert_int_equal(r.code, KL_ECANCELED);
    assert_true(in(0) - began < 1000);
    kl__cancel_deinit(&cancel);
    sim_watch_close(&stream);
}

RIG_CASE(a_closed_transport_ends_its_streams_and_opens_none)
{
    const kl__request request = {
        .method = "GET", .base_url = "", .target = CONFIGMAPS};
    sim_watch stream;
    kl__thread thread;
    kl_error err;
    reader r;

    watch(f, &stream);
    r = (reader){stream.stream, NULL, KL_OK};
    assert_int_equal(
        kl__thread_start(&thread, "reader", read_in_thread, &r, NULL), KL_OK);
    kl__transport_close(f->transport);
    kl__thread_join(&thread);
    assert_int_equal(r.code, KL_ECLOSED);
    sim_watch_close(&stream);
    assert_null(kl__transport_open(f->transport, &request, &err));
    assert_int_equal(err.code, KL_ECLOSED);
}

RIG_CASE(a_request_without_the_token_is_401)
{
    const kl_sim_options options = {.token = "secret"};
    kl__response response;
    kl__stream *stream;

    kl_transport_unref(f->transport);
    kl_sim_unref(f->sim);
    f->sim = kl_sim_new(&options, NULL);
    f->transport = kl_sim_transport(f->sim, NULL);
    assert_int_equal(status_of(f, CONFIGMAPS), 401);
    assert_int_equal(status_of(f, "/healthz"), 200);
    stream = open_with(f, "GET", CONFIGMAPS, "Bearer secre");
    kl__stream_response(stream, &response, in(1000), NULL, NULL);
    assert_int_equal(response.status, 401);
    kl__stream_close(stream);
    stream = open_with(f, "GET", CONFIGMAPS, "Bearer secret");
    kl__stream_response(stream, &response, in(1000), NULL, NULL);
    assert_int_equal(response.status, 200);
    assert_string_equal(response.content_type, "application/json");
    kl__stream_close(stream);
    sim_expect(f->sim, "GET", CONFIGMAPS, NULL, 200);
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

RIG_CASE(requests_are_recorded)
{
    kl__response response;
    char *asked;

    head_of(f, "GET", CONFIGMAPS "?limit=5", &response, NULL);
    head_of(f, "DELETE", CONFIGMAPS "/\"a\"", &response, NULL);
    sim_expect(f->sim, "GET", CONFIGMAPS, NULL, 200);
    asked = kl_sim_requests(f->sim, NULL);
    assert_true(starts_with(
        asked,
        "[{\"method\":\"GET\",\"target\":\"" CONFIGMAPS "?limit=5\","
        "\"status\":200,\"path\":\"" CONFIGMAPS "\",\"query\":{\"limit\":"
        "\"5\"},\"verb\":\"list\",\"version\":\"v1\",\"resource\":"
        "\"configmaps\",\"namespace\":\"default\",\"at\":"));
    assert_non_null(
        strstr(asked, "},{\"method\":\"DELETE\",\"target\":\"" CONFIGMAPS
                      "/\\\"a\\\"\","
                      "\"status\":404,\"path\":\"" CONFIGMAPS "/\\\"a\\\"\","
                      "\"query\":{},\"verb\":\"delete\",\"version\":\"v1\","
                      "\"resource\":\"configmaps\",\"namespace\":\"default\","
                      "\"name\":\"\\\"a\\\"\",\"at\":"));
    kl_free(asked);
    kl_sim_requests_clear(f->sim);
    asked = kl_sim_requests(f->sim, NULL);
    assert_string_equal(asked, "[]");
    kl_free(asked);
    for (int i = 0; i < 1001; i++) {
        head_of(f, i == 0 ? "BREW" : "GET", "/healthz", &response, NULL);
    }
    asked = kl_sim_requests(f->sim, NULL);
    assert_null(strstr(asked, "BREW"));
    kl_free(asked);
}

enum { WATCHERS = 4, WRITES = 300 };

static void *watch_in_thread(void *arg)
{
    sim_watch stream;
    int version = 0;

    sim_watch_open(&stream, arg, "",
                   CONFIGMAPS "?watch=true&resourceVersion=4");
    for (int i = 0; i < WRITES; i++) {
        int next;

        sim_watch_next(&stream);
        next = atoi(sim_text(stream.event, "object.metadata.resourceVersion"));
        assert_true(next > version);
        version = next;
    }
    sim_watch_close(&stream);
    return NULL;
}

RIG_CASE(watchers_on_threads_see_every_change_in_order)
{
    kl__thread threads[WATCHERS];
    char value[16];

    sim_add(f->sim, "a");
    for (int i = 0; i < WATCHERS; i++) {
        assert_int_equal(kl__thread_start(&threads[i], "watcher",
                                          watch_in_thread, f->transport, NULL),
                         KL_OK);
    }
    for (int i = 0; i < WRITES; i++) {
        snprintf(value, sizeof(value), "%d", i);
        sim_touch(f->sim, "a", value);
    }
    for (int i = 0; i < WATCHERS; i++) {
        kl__thread_join(&threads[i]);
    }
}
