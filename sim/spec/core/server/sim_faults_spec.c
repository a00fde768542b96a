/*
 * sim_faults_spec.c - rules of faults through the in-process transport:
 * deadlines, cancelling and closing, the record of requests; the paths below
 * /kubelua.
 */
#include "spec_case.h"

#include "fault_rig.h"
#include "sim_socket.h"

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

/* ---- Rules of faults through the in-process transport: which requests they
 * apply to, and what is answered instead. */

static void expect_misuse(sim_rig *f, const char *rule, const char *message)
{
    kl_error err;

    rule = sim_json(rule);
    assert_int_equal(kl_sim_fault(f->sim, rule, strlen(rule), NULL, &err),
                     KL_EINVAL);
    assert_string_equal(err.message, message);
}

RIG_CASE(a_fault_that_needs_a_socket_is_an_error_in_process)
{
    kl__stream *stream;
    kl__response response;
    kl_error err;

    fault_order(f, "{action: wire, how: gzip}");
    stream = fault_send(f, FAULT_OBJECTS, NULL);
    assert_int_equal(
        kl__stream_response(stream, &response, fault_in(1000), NULL, &err),
        KL_ECONFIG);
    assert_non_null(strstr(err.message, "needs a socket"));
    kl__stream_close(stream);
}

RIG_CASE(rules_are_listed_with_their_hits)
{
    char *told;

    fault_order(f, "{action: fail, status: 500, count: 0}");
    fault_order(f, "{action: cut, verb: watch}");
    fault_outcome(f, FAULT_OBJECTS, NULL);
    told = kl_sim_faults(f->sim, NULL);
    assert_string_equal(
        told, "[{\"id\":1,\"hits\":1,\"action\":\"fail\",\"status\":500,"
              "\"count\":0},{\"id\":2,\"hits\":0,\"action\":\"cut\",\"verb\":"
              "\"watch\"}]");
    kl_free(told);
    assert_true(kl_sim_heal(f->sim, 0));
    told = kl_sim_faults(f->sim, NULL);
    assert_string_equal(told, "[]");
    kl_free(told);
}

RIG_CASE(an_invalid_rule_is_explained)
{
    kl_error err;

    assert_int_equal(kl_sim_fault(f->sim, "{", 1, NULL, &err), KL_EPARSE);
    expect_misuse(
        f, "{action: explode}",
        "fault: \"action\" is one of fail, expire, cut, freeze, delay, event, "
        "bookmarks, wire, refuse, certificate, tls, not explode");
    expect_misuse(
        f, "{action: tls, how: stall}",
        "simulator: it does not listen with TLS, so it has no handshakes");
    expect_misuse(
        f, "7",
        "fault: \"action\" is one of fail, expire, cut, freeze, delay, event, "
        "bookmarks, wire, refuse, certificate, tls, not something else");
    expect_misuse(f, "{action: cut, how: gzip}",
                  "fault: \"how\" is one of close, reset, end, not gzip");
    expect_misuse(f, "{action: cut, verb: lisst}",
                  "fault: \"verb\" is one of get, list, watch, create, update, "
                  "patch, delete, deletecollection, not lisst");
    expect_misuse(f, "{action: cut, after_bytes: -1}",
                  "fault: \"after_bytes\" is an integer from 0");
    expect_misuse(
        f, "{action: refuse, verb: list}",
        "fault: \"refuse\" has no field \"verb\"; there are: action, seconds");
    expect_misuse(f, "{action: fail}",
                  "fault: \"fail\" needs a \"status\" of 200 to 599");
    expect_misuse(
        f, "{action: delay}",
        "fault: \"delay\" needs \"before\", \"byte\", \"event\" or \"bytes\"");
    expect_misuse(f, "{action: event, at: 0}", "fault: \"at\" counts from 1");
}

/* ---- The simulator's own paths below /kubelua, which work over HTTP while
 * faults are in force. */

static void expect_said(sim_rig *f, const char *method, const char *target,
                        const char *body, const char *said)
{
    sim_reply reply = sim_ask(f->sim, method, target, body);

    assert_string_equal(reply.raw.body, said);
    sim_reply_clear(&reply);
}

RIG_CASE(faults_are_ordered_listed_and_removed)
{
    expect_said(f, "POST", "/kubelua/faults",
                "{\"action\":\"fail\",\"status\":503,\"count\":0}",
                "{\"id\":1}\n");
    assert_int_equal(fault_outcome(f, FAULT_OBJECTS, NULL), 503);
    expect_said(f, "GET", "/kubelua/faults", NULL,
                "[{\"id\":1,\"hits\":1,\"action\":\"fail\",\"status\":503,"
                "\"count\":0}]\n");
    rig_play(f, "DELETE /kubelua/faults/7 -> 404\n"
                "DELETE /kubelua/faults/1 -> 200\n"
                "SEND configmaps -> 200\n"
                "POST /kubelua/faults {action: cut} -> 201\n"
                "DELETE /kubelua/faults -> 200\n");
    expect_said(f, "GET", "/kubelua/faults", NULL, "[]\n");
}

RIG_CASE(faults_do_not_touch_the_control_paths)
{
    fault_order(f, "{action: fail, status: 500, count: 0}");
    fault_order(f, "{action: cut, count: 0}");
    kl_sim_freeze(f->sim, true);
    assert_int_equal(fault_outcome(f, "/kubelua/faults", NULL), 200);
    kl_sim_refuse(f->sim, true);
    assert_int_equal(fault_outcome(f, "/kubelua/requests", NULL), 200);
    kl_sim_refuse(f->sim, false);
    kl_sim_freeze(f->sim, false);
    expect_said(f, "GET", "/kubelua/requests", NULL, "[]\n");
}

RIG_CASE(snapshots_time_and_the_record_have_paths)
{
    char restore[64];
    sim_reply reply;

    reply = sim_ask(f->sim, "POST", "/kubelua/snapshot", NULL);
    snprintf(restore, sizeof(restore), "%s", reply.raw.body);
    sim_reply_clear(&reply);
    sim_add(f->sim, "a");
    sim_expect(f->sim, "POST", "/kubelua/restore", restore, 200);
    rig_play(f, "GET configmaps/a -> 404\n"
                "GET /kubelua/clock -> 200\n"
                "POST /kubelua/clock {advance: 60} -> 200\n"
                "POST /kubelua/compact -> 200\n"
                "POST /kubelua/cut -> 200\n"
                "SEND /healthz -> 200\n"
                "DELETE /kubelua/requests -> 200\n");
    expect_said(f, "GET", "/kubelua/requests", NULL, "[]\n");
    sim_expect(f->sim, "GET", "/kubelua", NULL, 200);
}

/* Makes the cluster anew, with a token for all other requests. */
static void ask_for_a_token(sim_rig *f)
{
    kl_transport_unref(f->transport);
    kl_sim_unref(f->sim);
    f->sim = kl_sim_new(&(kl_sim_options){.token = "secret"}, NULL);
}

/* The status of a control request with this Authorization. */
static int control_status(sim_rig *f, const char *authorization)
{
    const kl__header header = {"Authorization", authorization};
    const kl__request request = {.method = "GET",
                                 .base_url = kl_sim_url(f->sim),
                                 .target = "/kubelua/faults",
                                 .headers = &header,
                                 .header_count = 1};
    kl__stream *stream = kl__transport_open(f->transport, &request, NULL);
    kl__response response;

    assert_int_equal(kl__stream_response(stream, &response,
                                         fault_in(SIM_CLIENT_PATIENCE_MS), NULL,
                                         NULL),
                     KL_OK);
    kl__stream_close(stream);
    return response.status;
}

RIG_CASE(control_paths_over_a_port_need_the_control_token)
{
    char control[64];

    ask_for_a_token(f);
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    f->transport = kl__curl_transport_new(false, NULL);
    snprintf(control, sizeof(control), "Bearer %s",
             kl_sim_control_token(f->sim));
    assert_int_equal(control_status(f, "Bearer "), 401);
    assert_int_equal(control_status(f, "Bearer secret"), 401);
    assert_int_equal(control_status(f, control), 200);
}

/* A port of "::" takes IPv4 too: the peer is ::ffff:127.0.0.1 then. */
RIG_CASE(an_ipv4_mapped_loopback_address_is_local)
{
    const kl_sim_listen_options both = {.address = "::"};
    kl_error err;
    char bytes[200];
    char *answer;

    ask_for_a_token(f);
    f->transport = NULL;
    if (kl_sim_listen(f->sim, &both, &err) != KL_OK) {
        assert_int_equal(err.code, KL_EIO);
        skip(); /* a machine without IPv6 */
    }
    snprintf(bytes, sizeof(bytes),
             "GET /kubelua/faults HTTP/1.0\r\nAuthorization: Bearer %s\r\n\r\n",
             kl_sim_control_token(f->sim));
    answer = sim_talk(f->sim, bytes);
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    kl_free(answer);
}
