/*
 * sim_hostile_spec.c - strange and malformed requests as bytes to a port: what
 * is answered, and that the cluster works afterwards.
 */
#include "spec_case.h"
#include "fault_rig.h"
#include "sim_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#define HEAD "Host: localhost\r\nConnection: close\r\n"

static void expect_answer(sim_rig *f, const char *bytes, int status,
                          const char *part)
{
    char *answer = sim_talk(f->sim, bytes);

    if (strncmp(answer, "HTTP/1.1 ", 9) != 0 || atoi(answer + 9) != status ||
        strstr(answer, part) == NULL) {
        fail_msg("%s gives %s", bytes, answer);
    }
    kl_free(answer);
    sim_expect(f->sim, "GET", FAULT_OBJECTS, NULL, 200);
}

/* libmicrohttpd refuses some of them, each version others. */
RIG_CASE(malformed_requests_harm_no_other)
{
    static const char *const heads[] = {
        "GET /version HTTP/1.1\r\nConnection: close\r\n",
        "GET /version HTTP/1.1\r\n" HEAD "Host: y\r\n",
        "GET /version HTTP/1.1\r\nHost: a<b\r\nConnection: close\r\n",
        "GET /version HTTP/3.7\r\n" HEAD,
        "GET /version HTTP/1.1\r\n" HEAD "X-A: a\x01z\r\n",
        "GET /version HTTP/1.1\r\n" HEAD "X A: b\r\n",
        "GET /version HTTP/1.1\r\n" HEAD "Transfer-Encoding: gzip\r\n",
        "GET /version HTTP/1.1\r\n" HEAD
        "Content-Length: 2\r\nContent-Length: 3\r\n",
        "GET /version HTTP/1.1\r\nExpect: tea\r\n" HEAD,
        "GET /version x HTTP/1.1\r\n" HEAD,
        "G(T /version HTTP/1.1\r\n" HEAD,
        "GET version HTTP/1.1\r\n" HEAD,
        "GET /ver\x01sion HTTP/1.1\r\n" HEAD,
        "GET /ver%0zion HTTP/1.1\r\n" HEAD,
        "OPTIONS * HTTP/1.1\r\n" HEAD,
    };

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        char request[256];
        int fd = sim_dial(f->sim);
        char *answer;

        snprintf(request, sizeof(request), "%s\r\n", heads[i]);
        sim_say(fd, request);
        shutdown(fd, SHUT_WR);
        answer = sim_hear(fd);
        if (*answer != '\0' && strncmp(answer, "HTTP/1.", 7) != 0) {
            fail_msg("%s gives %s", request, answer);
        }
        kl_free(answer);
        sim_expect(f->sim, "GET", FAULT_OBJECTS, NULL, 200);
    }
    expect_answer(f, "GET http://x/version HTTP/1.1\r\n" HEAD "\r\n", 200,
                  "\"major\"");
}

RIG_CASE(heads_may_be_long)
{
    enum { LONG = 60 * 1024, TOO_LONG = 2 * LONG };
    char *request = malloc(TOO_LONG + 256);

    assert_non_null(request);
    for (int length = LONG; length <= TOO_LONG; length += LONG) {
        int at = sprintf(request, "GET /version HTTP/1.1\r\n" HEAD "X-A: ");
        char *answer;

        memset(request + at, 'a', (size_t)length);
        strcpy(request + at + length, "\r\n\r\n");
        answer = sim_talk(f->sim, request);
        assert_int_equal(strncmp(answer, "HTTP/1.1 ", 9), 0);
        assert_int_equal(atoi(answer + 9), length == LONG ? 200 : 431);
        kl_free(answer);
    }
    free(request);
}

RIG_CASE(a_body_that_is_not_utf8_is_400)
{
    static const char *const values[] = {"x\xffy", "x\xed\xa0\x80y",
                                         "x\\ud800y", "x\xe2\x82"};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char body[128], request[512];

        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"u\"},\"data\":{\"a\":\"%s\"}}",
                 values[i]);
        snprintf(request, sizeof(request),
                 "POST " FAULT_OBJECTS " HTTP/1.1\r\n" HEAD
                 "Content-Length: %zu\r\n\r\n%s",
                 strlen(body), body);
        expect_answer(f, request, 400, "json parse error: not JSON: ");
    }
    sim_expect(f->sim, "POST", FAULT_OBJECTS,
               "{\"metadata\":{\"name\":\"v\"},\"data\":{\"a\":"
               "\"\\ud83d\\ude00\\\\ud800\"}}",
               201);
}

RIG_CASE(strange_paths_are_404)
{
    expect_answer(f, "GET /api/v1/../../etc/passwd HTTP/1.1\r\n" HEAD "\r\n",
                  404, "\"Status\"");
    expect_answer(
        f, "GET /api/v1/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" HEAD "\r\n", 404,
        "\"Status\"");
    expect_answer(f, "GET //api/v1/pods HTTP/1.1\r\n" HEAD "\r\n", 404,
                  "404 page not found");
    expect_answer(f, "GET " FAULT_OBJECTS "/a%2fb HTTP/1.1\r\n" HEAD "\r\n",
                  404, "the server could not find the requested resource");
    expect_answer(f, "GET " FAULT_OBJECTS "/%ff%fe HTTP/1.1\r\n" HEAD "\r\n",
                  404, "\"Status\"");
}

RIG_CASE(unknown_methods_are_not_allowed)
{
    static const char *const methods[] = {"OPTIONS", "BREW", "TRACE", "HEAD"};

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        char request[256];

        snprintf(request, sizeof(request),
                 "%s " FAULT_OBJECTS " HTTP/1.1\r\n" HEAD "\r\n", methods[i]);
        expect_answer(f, request, 405, "");
    }
}

RIG_CASE(some_paths_take_any_method)
{
    static const char *const all[] = {"/healthz", "/apis", "/openapi/v3", "/"};
    static const char *const gets[] = {"/api", "/version", "/api/v1"};
    kl_sim *sim = ((sim_rig *)f)->sim;

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        sim_expect(sim, "POST", all[i], "{}", 200);
        sim_expect(sim, "HEAD", all[i], NULL, 200);
    }
    for (size_t i = 0; i < sizeof(gets) / sizeof(gets[0]); i++) {
        sim_expect(sim, "POST", gets[i], "{}", 405);
        sim_expect(sim, "HEAD", gets[i], NULL, 405);
    }
    sim_expect(sim, "DELETE", "/nothing", NULL, 404);
    sim_expect(sim, "HEAD", "/api/v9", NULL, 404);
}

RIG_CASE(expect_100_continue_is_answered)
{
    int fd = sim_dial(((sim_rig *)f)->sim);
    char *rest;

    sim_say(fd, "POST " FAULT_OBJECTS " HTTP/1.1\r\n" HEAD
                "Content-Type: application/json\r\n"
                "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    sim_hear_exactly(fd, "HTTP/1.1 100 Continue\r\n\r\n");
    sim_say(fd, "{}");
    rest = sim_hear(fd);
    assert_non_null(strstr(rest, "422 Unprocessable"));
    kl_free(rest);
}

RIG_CASE(requests_may_be_pipelined)
{
    expect_answer(f,
                  "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                  "GET /apis/none HTTP/1.1\r\n" HEAD "\r\n",
                  200, "HTTP/1.1 404");
}

RIG_CASE(a_slow_or_half_open_client_delays_no_other)
{
    enum { CONNECTIONS = 200 };
    int peers[CONNECTIONS];

    for (int i = 0; i < CONNECTIONS; i++) {
        const char *part = i % 2 == 0 ? "GET /version HT"
                                      : "POST " FAULT_OBJECTS
                                        " HTTP/1.1\r\nHost: localhost\r\n"
                                        "Content-Length: 1000\r\n\r\n{";

        peers[i] = sim_dial(f->sim);
        assert_true(send(peers[i], part, strlen(part), MSG_NOSIGNAL) > 0);
        if (i % 3 == 0) {
            shutdown(peers[i], SHUT_WR);
        }
    }
    expect_answer(f, "GET /healthz HTTP/1.1\r\n" HEAD "\r\n", 200, "ok");
    for (int i = 0; i < CONNECTIONS; i++) {
        close(peers[i]);
    }
}
