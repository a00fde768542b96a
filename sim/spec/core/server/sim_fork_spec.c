/*
 * sim_fork_spec.c - a cluster in a child of fork(), where its threads do not
 * exist and its locks may be held for ever: no call waits for these.
 */
#include "spec_case.h"
#include "gate.h"
#include "http/transport.h"
#include "sim/core/store/sim_core.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static gate held;
static gate leave;

/* What any thread of the server does at some moment: it holds both locks. */
static void *hold_locks(void *arg)
{
    kl_sim *sim = arg;

    kl__mutex_lock(&sim->listening);
    kl__mutex_lock(&sim->mutex);
    gate_pass(&held);
    while (!gate_await(&leave, 1)) {
    }
    kl__mutex_unlock(&sim->mutex);
    kl__mutex_unlock(&sim->listening);
    return NULL;
}

/* How many of the calls that can say so do not say that this is a child. */
static int ask_in_child(kl_sim *sim, const char *rule)
{
    const kl_call call = {.method = "GET", .target = "/version"};
    const kl_sim_user user = {.name = "a", .token = "t"};
    const kl_sim_failure failure = {.count = 1, .status = 500};
    static const char object[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
        "\"a\",\"namespace\":\"default\"}}";
    int64_t number;
    kl_reply reply;
    kl_error err;
    int wrong = 0;

    wrong += kl_sim_call(sim, &call, &reply, NULL) != KL_EFORKED;
    wrong += kl_sim_load(sim, object, sizeof(object) - 1, NULL) != KL_EFORKED;
    wrong += kl_sim_replay(sim, KL_SIM_PUT, object, sizeof(object) - 1, NULL) !=
             KL_EFORKED;
    wrong += kl_sim_advance(sim, 1, NULL) != KL_EFORKED;
    wrong += kl_sim_listen(sim, NULL, NULL) != KL_EFORKED;
    wrong += kl_sim_snapshot(sim, &number, NULL) != KL_EFORKED;
    wrong += kl_sim_restore(sim, 1, NULL) != KL_EFORKED;
    wrong += kl_sim_fault(sim, rule, strlen(rule), NULL, NULL) != KL_EFORKED;
    wrong += kl_sim_fail(sim, &failure, NULL) != KL_EFORKED;
    wrong += kl_sim_faults(sim, &err) != NULL || err.code != KL_EFORKED;
    wrong += kl_sim_requests(sim, &err) != NULL || err.code != KL_EFORKED;
    wrong += kl_sim_kubeconfig(sim, &err) != NULL || err.code != KL_EFORKED;
    wrong += kl_sim_kubeconfig_of(sim, &user, &err) != NULL ||
             err.code != KL_EFORKED;
    wrong += kl_sim_transport(sim, &err) != NULL || err.code != KL_EFORKED;
    wrong += kl_sim_url(sim) != NULL;
    wrong += kl_sim_heal(sim, 0);
    return wrong;
}

/* Those that say nothing, and the way everything goes in the end. */
static void end_in_child(kl_sim *sim, kl_transport *transport,
                         kl__stream *stream)
{
    kl_sim_cut(sim);
    kl_sim_freeze(sim, true);
    kl_sim_compact(sim);
    kl_sim_refuse(sim, true);
    kl_sim_requests_clear(sim);
    kl_sim_unlisten(sim);
    kl__stream_close(stream);
    kl__transport_close(transport);
    kl_transport_unref(transport);
    kl_sim_unref(sim);
}

static int read_in_child(kl_transport *transport, kl__stream *stream)
{
    const kl__request request = {
        .method = "GET", .base_url = "", .target = "/version"};
    kl__response response;
    char room[16];
    size_t length;
    kl_error err;
    int wrong = 0;

    wrong +=
        kl__stream_response(stream, &response, -1, NULL, NULL) != KL_EFORKED;
    wrong += kl__stream_read(stream, room, sizeof(room), &length, -1, NULL,
                             NULL) != KL_EFORKED;
    wrong += kl__transport_open(transport, &request, &err) != NULL ||
             err.code != KL_EFORKED;
    return wrong;
}

PLAIN_CASE(a_child_of_fork_waits_for_no_thread)
{
    const kl__request watch = {
        .method = "GET", .base_url = "", .target = "/api/v1/pods?watch=true"};
    const char later[] =
        "{\"action\":\"refuse\",\"seconds\":3600}"; /* starts the keeper */
    kl_sim *sim = kl_sim_new(NULL, NULL);
    kl_transport *transport = kl_sim_transport(sim, NULL);
    kl__stream *stream = kl__transport_open(transport, &watch, NULL);
    pthread_t holder;
    int status = -1;
    pid_t child;

    gate_init(&held);
    gate_init(&leave);
    assert_int_equal(kl_sim_listen(sim, NULL, NULL), KL_OK);
    assert_int_equal(kl_sim_fault(sim, later, sizeof(later) - 1, NULL, NULL),
                     KL_OK);
    assert_int_equal(pthread_create(&holder, NULL, hold_locks, sim), 0);
    assert_true(gate_await(&held, 1));
    child = fork();
    if (child == 0) {
        alarm(20); /* a call that waits for ever ends the child */
        status = ask_in_child(sim, later) + read_in_child(transport, stream);
        end_in_child(sim, transport, stream);
        _exit(status);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    gate_pass(&leave);
    assert_int_equal(pthread_join(holder, NULL), 0);
    kl__stream_close(stream);
    kl__transport_close(transport);
    kl_transport_unref(transport);
    kl_sim_unref(sim);
    gate_deinit(&held);
    gate_deinit(&leave);
    sim_expect_nothing_lives();
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}
