/*
 * sim_origin_spec.c - the port answers no page of another site, and control
 * requests need the control token, and JSON.
 */
#include "spec_case.h"
#include "fault_rig.h"
#include "kubelua/sim.h"
#include "sim_socket.h"

static int status_of(sim_rig *f, const char *bytes)
{
    char *answer = sim_talk(f->sim, bytes);
    int status = strncmp(answer, "HTTP/1.1 ", 9) == 0 ? atoi(answer + 9) : 0;

    kl_free(answer);
    return status;
}

static int get(sim_rig *f, const char *headers)
{
    char bytes[512];

    snprintf(bytes, sizeof(bytes),
             "GET /version HTTP/1.1\r\nConnection: close\r\n%s\r\n", headers);
    return status_of(f, bytes);
}

RIG_CASE(only_its_own_names_are_answered)
{
    static const char *const own[] = {
        "localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:6443",
        "127.9.9.9", "[::1]",       "[::1]:80",  "[::ffff:127.0.0.1]"};
    static const char *const foreign[] = {
        "evil.example",      "evil.example:6443", "127.0.0.1.evil.example",
        "10.0.0.1",          "[fe80::1]",         "localhost.evil.example",
        "[::ffff:10.0.0.1]", "[127.0.0.1",        "[]:80"};
    char header[128];

    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++) {
        snprintf(header, sizeof(header), "Host: %s\r\n", own[i]);
        assert_int_equal(get(f, header), 200);
    }
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        snprintf(header, sizeof(header), "Host: %s\r\n", foreign[i]);
        assert_int_equal(get(f, header), 403);
    }
}

RIG_CASE(a_foreign_origin_is_refused)
{
    static const char *const foreign[] = {
        "http://evil.example", "null", "http://localhost", "https://%s",
        "http://localhost:1",  "",     "http://",          "%s"};
    const char *here;
    char header[200], origin[100];

    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    here = kl_sim_url(f->sim) + strlen("http://");
    snprintf(header, sizeof(header), "Host: localhost\r\nOrigin: http://%s\r\n",
             here);
    assert_int_equal(get(f, header), 200);
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++) {
        const char *at = strstr(foreign[i], "%s");

        snprintf(origin, sizeof(origin), "%.*s%s",
                 at != NULL ? (int)(at - foreign[i]) : 100, foreign[i],
                 at != NULL ? here : "");
        snprintf(header, sizeof(header), "Host: localhost\r\nOrigin: %s\r\n",
                 origin);
        assert_int_equal(get(f, header), 403);
    }
}

/* A cut that is ordered over the port, with these headers. */
static int order_cut(sim_rig *f, const char *authorization,
                     const char *content_type)
{
    char bytes[512];

    snprintf(bytes, sizeof(bytes),
             "POST /kubelua/cut HTTP/1.1\r\nHost: localhost\r\n"
             "Connection: close\r\nContent-Length: 2\r\n"
             "%s\r\n%s\r\n\r\n{}",
             authorization, content_type);
    return status_of(f, bytes);
}

RIG_CASE(a_control_request_needs_token_and_json)
{
    static const char json[] = "Content-Type: application/json; charset=utf-8";
    char token[100];

    assert_null(kl_sim_control_token(f->sim));
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    assert_int_equal(strlen(kl_sim_control_token(f->sim)), 32);
    snprintf(token, sizeof(token), "Authorization: Bearer %s",
             kl_sim_control_token(f->sim));
    assert_int_equal(order_cut(f, token, json), 200);
    assert_int_equal(order_cut(f, token, "Content-Type: text/plain"), 415);
    assert_int_equal(order_cut(f, token, "Content-Type: application/jsonx"),
                     415);
    assert_int_equal(order_cut(f, token, "X: y"), 415);
    assert_int_equal(order_cut(f, "X: y", json), 401);
    token[strlen(token) - 1] ^= 1;
    assert_int_equal(order_cut(f, token, json), 401);
    token[strlen(token) - 1] = '\0';
    assert_int_equal(order_cut(f, token, json), 401);
    assert_int_equal(order_cut(f, "Authorization: Bearer ", json), 401);
    assert_int_equal(status_of(f, "GET /kubelua/faults HTTP/1.1\r\n"
                                  "Host: localhost\r\nConnection: close\r\n"
                                  "\r\n"),
                     401);
}

RIG_CASE(an_open_cluster_serves_this_machine_only)
{
    static const char *const open[] = {"0.0.0.0", "::"};
    const kl_sim_options closed = {.token = "t"};
    kl_sim *sim = kl_sim_new(&closed, NULL);
    kl_error err;

    for (size_t i = 0; i < 2; i++) {
        const kl_sim_listen_options to = {.address = open[i], .tls = true};

        assert_int_equal(kl_sim_listen(f->sim, &to, &err), KL_EINVAL);
        assert_non_null(strstr(err.message, "asks for no credentials"));
    }
    assert_int_equal(
        kl_sim_listen(sim, &(kl_sim_listen_options){.address = "0.0.0.0"},
                      &err),
        KL_OK);
    kl_sim_unref(sim);
}
