/*
 * sim_control_spec.c - the simulator's own paths below /kubelua, which work
 * over HTTP while faults are in force.
 */
#include "spec_case.h"
#include "fault_rig.h"
#include "sim_socket.h"

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

RIG_CASE(invalid_orders_are_refused_with_the_reason)
{
    rig_play(
        f, "POST /kubelua/faults {action: cut, how: loudly} -> 400 BadRequest: "
           "fault: \"how\" is one of close, reset, end, not loudly\n"
           "GET /kubelua/nothing -> 404 NotFound: GET /kubelua/nothing: GET "
           "/kubelua lists the paths\n"
           "POST /kubelua/clock {} -> 400 BadRequest: clock: {\"advance\": "
           "SECONDS} is needed\n"
           "POST /kubelua/restore {version: 100} -> 400\n"
           "POST /kubelua/restore -> 400\n");
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
    f->transport = kl__curl_transport_new(NULL);
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
