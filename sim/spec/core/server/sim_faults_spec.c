/*
 * sim_faults_spec.c - faults through the in-process transport; deadlines,
 * cancelling and closing; the record of requests.
 */
#include "spec_case.h"
#include "fault_rig.h"

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

static void expect_broken_watch(sim_rig *f)
{
    kl_error err;

    assert_int_equal(sim_watch_failure(&f->watch, &err), KL_EUNAVAILABLE);
}

static void fail_next(sim_rig *f, kl_sim_failure failure)
{
    assert_int_equal(kl_sim_fail(f->sim, &failure, NULL), KL_OK);
}

RIG_CASE(a_cut_breaks_open_watches_and_no_new_ones)
{
    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    kl_sim_cut(f->sim);
    expect_broken_watch(f);
    rig_play(f, "WATCH configmaps?resourceVersion=3\n"
                "ADD a\n"
                "ADDED a\n");
}

static void *cut_later(void *arg)
{
    kl_sim_cut(arg);
    return NULL;
}

RIG_CASE(a_cut_wakes_a_reader_that_waits_for_an_event)
{
    kl__thread thread;

    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    assert_int_equal(kl__thread_start(&thread, "cut", cut_later, f->sim, NULL),
                     KL_OK);
    expect_broken_watch(f);
    kl__thread_join(&thread);
}

RIG_CASE(refusing_breaks_everything_until_it_is_over)
{
    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    kl_sim_refuse(f->sim, true);
    assert_int_equal(fault_outcome(f, CONFIGMAPS, NULL), -KL_EUNAVAILABLE);
    sim_add(f->sim, "a"); /* beside the network */
    kl_sim_refuse(f->sim, false);
    expect_broken_watch(f);
    rig_play(f, "SEND configmaps/a -> 200\n");
}

RIG_CASE(a_frozen_stream_is_silent_and_stays_open)
{
    kl__stream *late;
    kl__response response;

    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    kl_sim_freeze(f->sim, true);
    rig_play(f, "ADD a\n"
                "SILENCE\n");
    late = fault_send(f, CONFIGMAPS, NULL);
    assert_int_equal(
        kl__stream_response(late, &response, fault_in(60), NULL, NULL),
        KL_ETIMEOUT);
    kl_sim_freeze(f->sim, false);
    rig_play(f, "ADDED a\n");
    assert_int_equal(kl__stream_response(late, &response,
                                         fault_in(SIM_CLIENT_PATIENCE_MS), NULL,
                                         NULL),
                     KL_OK);
    kl__stream_close(late);
}

RIG_CASE(a_freeze_can_end_in_a_cut)
{
    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    kl_sim_freeze(f->sim, true);
    kl_sim_cut(f->sim);
    expect_broken_watch(f);
}

RIG_CASE(a_failure_applies_to_its_verb_and_count)
{
    fail_next(f, (kl_sim_failure){"list", 2, 429, 7, NULL});
    rig_play(f, "SEND configmaps/a -> 404\n"
                "SEND configmaps?watch=1 -> 200\n"
                "GET configmaps @ over -> 429 retry-after=7000\n"
                "SEND configmaps -> 429\n"
                "SEND configmaps -> 200\n");
    fail_next(f, (kl_sim_failure){NULL, 1, 503, 0, NULL});
    rig_play(f, "GET configmaps -> 200\n" /* beside the faults */
                "DELETE configmaps/a @ over -> 503 retry-after=-1\n");
}

RIG_CASE(a_failure_is_a_status_or_any_text)
{
    fail_next(f, (kl_sim_failure){"watch", 1, 503, 0, NULL});
    rig_play(f, "WATCH configmaps?resourceVersion=3 -> 503\n");
    sim_watch_next(&f->watch);
    fail_next(f, (kl_sim_failure){"watch", 1, 502, 0, "<html>\n"});
    rig_play(f, "WATCH configmaps?resourceVersion=3 -> 502\n");
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
    rig_play(f, "WATCH configmaps?resourceVersion=3\n"
                "SILENCE, SILENCE\n"
                "ADD a\n"
                "ADDED a\n");
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
    kl__thread thread;
    reader r;
    int64_t began;

    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    kl__cancel_init(&cancel);
    r = (reader){f->watch.stream, &cancel, KL_OK};
    assert_int_equal(
        kl__thread_start(&thread, "reader", read_in_thread, &r, NULL), KL_OK);
    began = fault_in(0);
    kl__cancel_fire(&cancel);
    kl__thread_join(&thread);
    assert_int_equal(r.code, KL_ECANCELED);
    assert_true(fault_in(0) - began < 1000);
    kl__cancel_deinit(&cancel);
}

RIG_CASE(a_closed_transport_ends_its_streams_and_opens_none)
{
    const kl__request request = {
        .method = "GET", .base_url = "", .target = CONFIGMAPS};
    kl__thread thread;
    kl_error err;
    reader r;

    rig_play(f, "WATCH configmaps?resourceVersion=3\n");
    r = (reader){f->watch.stream, NULL, KL_OK};
    assert_int_equal(
        kl__thread_start(&thread, "reader", read_in_thread, &r, NULL), KL_OK);
    kl__transport_close(f->transport);
    kl__thread_join(&thread);
    assert_int_equal(r.code, KL_ECLOSED);
    assert_null(kl__transport_open(f->transport, &request, &err));
    assert_int_equal(err.code, KL_ECLOSED);
}

RIG_CASE(a_request_without_the_token_is_401)
{
    const kl_sim_options options = {.token = "secret"};

    kl_transport_unref(f->transport);
    kl_sim_unref(f->sim);
    f->sim = kl_sim_new(&options, NULL);
    f->transport = kl_sim_transport(f->sim, NULL);
    rig_play(f, "SEND configmaps -> 401\n"
                "SEND /healthz -> 200\n"
                "GET configmaps @ token secre -> 401\n"
                "GET configmaps @ token secret -> 200 type=application/json\n"
                "GET configmaps -> 200\n");
}

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

RIG_CASE(requests_are_recorded)
{
    char *asked;

    rig_play(f, "SEND configmaps?limit=5 -> 200\n"
                "DELETE configmaps/\"a\" @ over -> 404\n"
                "GET configmaps -> 200\n");
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
    rig_play(f, "BREW /healthz @ over -> 200\n");
    for (int i = 0; i < 1000; i++) {
        fault_outcome(f, "/healthz", NULL);
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
