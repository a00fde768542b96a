/*
 * sim_keeper_spec.c - faults of the port itself: it refuses connections for a
 * time, or shows another certificate, at once or later, by the cluster's clock.
 */
#include "spec_case.h"
#include "base/clock.h"
#include "fault_rig.h"
#include "sim_socket.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define START_MS INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */

static int set_up_standing(void **state)
{
    return sim_rig_set_up_with(
        state, &(kl_sim_options){.clock_stands = true, .now_ms = START_MS});
}

/* True if the port accepts a connection. */
static bool listens(const sim_rig *f)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken;

    address.sin_port =
        htons((uint16_t)atoi(strrchr(kl_sim_url(f->sim), ':') + 1));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    taken = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return taken;
}

/* Until it listens, or no more. */
static void await(const sim_rig *f, bool wanted)
{
    const int64_t deadline = fault_in(SIM_CLIENT_PATIENCE_MS);

    while (listens(f) != wanted) {
        assert_true(fault_in(0) < deadline);
        poll(NULL, 0, 1); /* there is no event when a port opens */
    }
}

/* Nothing happens for a moment. */
static void expect_still(const sim_rig *f, bool wanted)
{
    const int64_t until = fault_in(50);

    while (fault_in(0) < until) {
        assert_true(listens(f) == wanted);
        poll(NULL, 0, 5);
    }
}

static void advance(const sim_rig *f, int64_t ms)
{
    assert_int_equal(kl_sim_advance(f->sim, ms, NULL), KL_OK);
}

/* Orders a fault over HTTP: the status. */
static int post(const sim_rig *f, const char *rule)
{
    kl__buf request = {0};
    char *answer;
    int status;

    kl__buf_printf(&request,
                   "POST /kubelua/faults HTTP/1.1\r\nHost: localhost\r\n"
                   "Connection: close\r\nContent-Length: %zu\r\n"
                   "Content-Type: application/json\r\n"
                   "Authorization: Bearer %s\r\n\r\n%s",
                   strlen(rule), kl_sim_control_token(f->sim), rule);
    answer = sim_talk(f->sim, request.bytes);
    assert_memory_equal(answer, "HTTP/1.1 ", 9);
    status = atoi(answer + 9);
    kl_free(answer);
    kl__buf_deinit(&request);
    return status;
}

#define STANDING_CASE(name) \
    SPEC_CASE(name, sim_rig *f, set_up_standing, sim_rig_tear_down)

STANDING_CASE(a_refusal_ends_by_the_clock_of_the_cluster)
{
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    fault_order(f, "{action: refuse, seconds: 60}");
    assert_false(listens(f));
    advance(f, 59999);
    expect_still(f, false);
    advance(f, 1);
    await(f, true);
}

STANDING_CASE(a_refusal_without_end_is_not_ended_by_one_before_it)
{
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    fault_order(f, "{action: refuse, seconds: 60}");
    fault_order(f, "{action: refuse}");
    advance(f, 60000);
    expect_still(f, false);
    kl_sim_refuse(f->sim, false);
    assert_true(listens(f));
}

STANDING_CASE(kl_sim_refuse_replaces_the_order_that_is_pending)
{
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    fault_order(f, "{action: refuse, seconds: 60}");
    kl_sim_refuse(f->sim, false);
    kl_sim_refuse(f->sim, true);
    advance(f, 60000);
    expect_still(f, false);
    kl_sim_refuse(f->sim, false);
    assert_true(listens(f));
}

/* The answer to the order comes first, on any clock; the end is on its own. */
STANDING_CASE(a_refusal_by_a_request_comes_after_its_answer)
{
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    assert_int_equal(post(f, "{\"action\":\"refuse\",\"seconds\":60}"), 201);
    await(f, false);
    advance(f, 59000);
    expect_still(f, false);
    advance(f, 2000);
    await(f, true);
}

STANDING_CASE(a_refusal_by_a_request_may_have_no_end)
{
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    assert_int_equal(post(f, "{\"action\":\"refuse\"}"), 201);
    await(f, false);
    advance(f, 3600000);
    expect_still(f, false);
}

STANDING_CASE(faults_of_tls_are_refused_without_tls)
{
    const char certificate[] = "{\"action\":\"certificate\"}";
    const char tls[] = "{\"action\":\"tls\"}";
    kl_error err;

    assert_int_equal(
        kl_sim_fault(f->sim, certificate, sizeof(certificate) - 1, NULL, &err),
        KL_EINVAL);
    assert_non_null(strstr(err.message, "it has no certificate"));
    assert_int_equal(kl_sim_fault(f->sim, tls, sizeof(tls) - 1, NULL, &err),
                     KL_EINVAL);
    assert_non_null(strstr(err.message, "it has no handshakes"));
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    assert_int_equal(post(f, certificate), 400);
    assert_int_equal(post(f, tls), 400);
}

/* Not yet carried out, it waits for a clock that does not move. */
STANDING_CASE(a_cluster_can_be_freed_with_an_order_pending)
{
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    fault_order(f, "{action: refuse, seconds: 3600}");
    kl_sim_unlisten(f->sim);
    assert_null(kl_sim_url(f->sim));
    advance(f, 3600000); /* nothing to open */
    assert_int_equal(kl_sim_listen(f->sim, NULL, NULL), KL_OK);
    assert_true(listens(f));
    fault_order(f, "{action: refuse, seconds: 3600}");
}
