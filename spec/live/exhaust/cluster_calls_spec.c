/*
 * cluster_calls_spec.c - every public call on configurations, clients and the
 * simulated cluster, with each of its allocations failing; and faults that are
 * ordered of a port that is in use: after each failure a request is served as
 * before, or as ordered.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "kubeconfigs.h"
#include "sim_client.h"
#include "temp_files.h"

#include "kubelua/kubelua.h"
#include "kubelua/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"

/* It has an unknown field, of which the server warns. */
#define YAML                                                           \
    "apiVersion: v1\nkind: ConfigMap\n"                                \
    "metadata: {name: c, namespace: web}\ndata: {k: v}\nno: 1\n---\n"  \
    "apiVersion: apiextensions.k8s.io/v1\n"                            \
    "kind: CustomResourceDefinition\n"                                 \
    "metadata: {name: foos.example.com}\nspec:\n"                      \
    "  group: example.com\n  scope: Cluster\n"                         \
    "  names: {plural: foos, kind: Foo}\n"                             \
    "  versions:\n  - name: v1\n    served: true\n    storage: true\n" \
    "    schema:\n      openAPIV3Schema:\n        type: object\n"      \
    "        x-kubernetes-preserve-unknown-fields: true\n"

/* A cluster with an in-process client, and a kubeconfig for clients over the
 * network. */
typedef struct cluster {
    kl_sim *sim;
    kl_sim *spare; /* a cluster for one run, which may change it */
    kl_client *client;
    kl_config *config;
    const char *kubeconfig;
    kl_reply reply;
} cluster;

static kl_code load_config(void *world, kl_error *err)
{
    const cluster *self = world;
    const kl_config_options options = {.kubeconfig = self->kubeconfig};

    kl_config_unref(kl_config_load(&options, err));
    return err->code;
}

static kl_code load_by_hand(void *world, kl_error *err)
{
    const kl_config_options options = {.server = "https://s:6443/prefix",
                                       .token = "t",
                                       .ca_data = "PEM",
                                       .name_space = "n",
                                       .proxy_url = "http://p:1",
                                       .tls_server_name = "s"};

    (void)world;
    kl_config_unref(kl_config_load(&options, err));
    return err->code;
}

static kl_code look_at_config(void *world, kl_error *err)
{
    cluster *self = world;

    (void)err;
    kl_config_unref(kl_config_ref(self->config));
    return kl_config_server(self->config)[0] != '\0' &&
                   kl_config_namespace(self->config)[0] != '\0' &&
                   kl_config_source(self->config)[0] != '\0'
               ? KL_OK
               : KL_EINVAL;
}

static kl_client *connect(kl_sim *sim, kl_error *err)
{
    kl_transport *transport = kl_sim_transport(sim, err);
    kl_client *client = NULL;

    if (transport != NULL) {
        client =
            kl_client_new(&(kl_client_options){.transport = transport}, err);
        kl_transport_unref(transport);
    }
    return client;
}

static kl_code connect_inside(void *world, kl_error *err)
{
    cluster *self = world;
    kl_client_unref(connect(self->sim, err));
    return err->code;
}

static kl_code connect_by_curl(void *world, kl_error *err)
{
    cluster *self = world;

    kl_client_unref(
        kl_client_new(&(kl_client_options){.config = self->config}, err));
    return err->code;
}

static kl_code reauthenticate(void *world, kl_error *err)
{
    cluster *self = world;
    const kl_config_options options = {.kubeconfig = self->kubeconfig};
    kl_client *client = kl_client_new(
        &(kl_client_options){.config = self->config, .name = "eu"}, err);

    if (client != NULL) {
        (void)kl_client_reauthenticate(client, &options, err);
        kl_client_unref(client);
    }
    return err->code;
}

static kl_code look_at_client(void *world, kl_error *err)
{
    cluster *self = world;

    (void)err;
    kl_client_unref(kl_client_ref(self->client));
    return kl_client_namespace(self->client)[0] != '\0' ? KL_OK : KL_EINVAL;
}

static kl_code close_client(void *world, kl_error *err)
{
    cluster *self = world;

    (void)err;
    kl_client_close(self->client);
    return KL_OK;
}

static kl_code fill_reply(void *world, kl_error *err)
{
    cluster *self = world;
    const kl_call call = {.method = "GET", .target = CONFIGMAPS};

    return kl_sim_call(self->sim, &call, &self->reply, err);
}

static kl_code clear_reply(void *world, kl_error *err)
{
    cluster *self = world;

    (void)err;
    kl_reply_clear(&self->reply);
    return KL_OK;
}

static kl_code make_cluster(void *world, kl_error *err)
{
    (void)world;
    kl_sim_unref(kl_sim_new(&(kl_sim_options){.token = "t"}, err));
    return err->code;
}

static kl_code make_spare(void *world, kl_error *err)
{
    cluster *self = world;

    self->spare = kl_sim_new(NULL, err);
    sim_add(self->spare, "z");
    return KL_OK;
}

static kl_code load_manifests(void *world, kl_error *err)
{
    cluster *self = world;

    (void)kl_sim_load(self->spare, YAML, strlen(YAML), err);
    kl_sim_unref(self->spare);
    return err->code;
}

static kl_code make_transport(void *world, kl_error *err)
{
    cluster *self = world;

    kl_transport_unref(kl_sim_transport(self->sim, err));
    return err->code;
}

static kl_code make_users_transport(void *world, kl_error *err)
{
    cluster *self = world;

    kl_transport_unref(kl_sim_transport_as(self->sim, "token", err));
    return err->code;
}

static kl_code call_cluster(void *world, kl_error *err)
{
    cluster *self = world;
    const kl_call call = {.method = "GET",
                          .target = CONFIGMAPS "?labelSelector=!x&limit=1"};
    kl_reply reply;
    kl_code code = kl_sim_call(self->sim, &call, &reply, err);

    assert_true(code == KL_OK || reply.body == NULL);
    kl_reply_clear(&reply);
    return code;
}

/* Makes a write. If it fails, it has changed nothing, so it succeeds when it is
 * made again. */
static kl_code write_once(cluster *self, const char *method, const char *target,
                          const char *body, kl_error *err)
{
    const kl_call call = {.method = method,
                          .target = target,
                          .body = body,
                          .body_length = strlen(body),
                          .content_type = strcmp(method, "PATCH") == 0
                                              ? "application/merge-patch+json"
                                              : NULL};
    kl_reply reply;
    kl_code code = kl_sim_call(self->spare, &call, &reply, err);

    failing_plan_pause();
    if (code != KL_OK) {
        assert_int_equal(kl_sim_call(self->spare, &call, &reply, NULL), KL_OK);
    }
    assert_in_range(reply.status, 200, 201);
    kl_reply_clear(&reply);
    kl_sim_unref(self->spare);
    return code;
}

static kl_code create(void *world, kl_error *err)
{
    return write_once(world, "POST", CONFIGMAPS,
                      "{\"metadata\":{\"name\":\"y\"}}", err);
}

static kl_code define(void *world, kl_error *err)
{
    return write_once(
        world, "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "{\"metadata\":{\"name\":\"foos.example.com\"},\"spec\":{\"group\":"
        "\"example.com\",\"scope\":\"Cluster\",\"names\":{\"plural\":"
        "\"foos\",\"kind\":\"Foo\"},\"versions\":[{\"name\":\"v1\","
        "\"served\":true,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
        err);
}

static kl_code replace(void *world, kl_error *err)
{
    return write_once(world, "PUT", CONFIGMAPS "/z",
                      "{\"metadata\":{\"name\":\"z\"},\"data\":{\"k\":\"v\"}}",
                      err);
}

static kl_code patch(void *world, kl_error *err)
{
    return write_once(world, "PATCH", CONFIGMAPS "/z",
                      "{\"data\":{\"k\":\"w\"}}", err);
}

static kl_code delete_one(void *world, kl_error *err)
{
    return write_once(world, "DELETE", CONFIGMAPS "/z", "", err);
}

static kl_code listen_by_tls(void *world, kl_error *err)
{
    cluster *self = world;

    (void)kl_sim_listen(self->sim, &(kl_sim_listen_options){.tls = true}, err);
    kl_sim_unlisten(self->sim);
    return err->code;
}

static kl_code listening(void *world, kl_error *err)
{
    cluster *self = world;

    return kl_sim_listen(self->sim, NULL, err);
}

static kl_code ask_for_kubeconfig(void *world, kl_error *err)
{
    cluster *self = world;

    kl_free(kl_sim_kubeconfig(self->sim, err));
    kl_sim_unlisten(self->sim);
    return err->code;
}

static kl_code listening_by_tls(void *world, kl_error *err)
{
    cluster *self = world;

    return kl_sim_listen(self->sim, &(kl_sim_listen_options){.tls = true}, err);
}

static kl_code ask_for_users_kubeconfig(void *world, kl_error *err)
{
    const kl_sim_user user = {"jane", NULL, "dev,ops"};
    cluster *self = world;

    kl_free(kl_sim_kubeconfig_of(self->sim, &user, err));
    kl_sim_unlisten(self->sim);
    return err->code;
}

static kl_code disturb_cluster(void *world, kl_error *err)
{
    cluster *self = world;

    kl_sim_unref(kl_sim_ref(self->sim));
    kl_sim_cut(self->sim);
    kl_sim_refuse(self->sim, true);
    kl_sim_refuse(self->sim, false);
    kl_sim_freeze(self->sim, true);
    kl_sim_freeze(self->sim, false);
    kl_sim_compact(self->sim);
    (void)kl_sim_heal(self->sim, 0);
    kl_sim_requests_clear(self->sim);
    kl_sim_bookmark(self->sim);
    return kl_sim_now(self->sim) > 0 && kl_sim_version(self->sim) > 0
               ? kl_sim_advance(self->sim, 1, err)
               : KL_EINVAL;
}

static kl_code replay(void *world, kl_error *err)
{
    static const char object[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":"
        "\"r\",\"namespace\":\"default\",\"resourceVersion\":\"900\"}}";
    cluster *self = world;

    (void)kl_sim_replay(self->spare, KL_SIM_PUT, object, strlen(object), err);
    kl_sim_unref(self->spare);
    return err->code;
}

static kl_code stop_listening(void *world, kl_error *err)
{
    cluster *self = world;
    bool listened = kl_sim_url(self->sim) != NULL &&
                    kl_sim_control_token(self->sim) != NULL;

    (void)err;
    kl_sim_unlisten(self->sim);
    return listened ? KL_OK : KL_EINVAL;
}

static kl_code order_failure(void *world, kl_error *err)
{
    const kl_sim_failure failure = {"get", 1, 500, 0, "body"};
    cluster *self = world;

    (void)kl_sim_fail(self->spare, &failure, err);
    kl_sim_unref(self->spare);
    return err->code;
}

#define FAULT "{\"action\":\"cut\",\"verb\":\"watch\",\"count\":0}"

static kl_code order_fault(void *world, kl_error *err)
{
    cluster *self = world;

    if (kl_sim_fault(self->spare, FAULT, strlen(FAULT), NULL, err) == KL_OK) {
        kl_free(kl_sim_faults(self->spare, err));
    }
    kl_sim_unref(self->spare);
    return err->code;
}

static kl_code set_back(void *world, kl_error *err)
{
    cluster *self = world;
    int64_t version;

    if (kl_sim_snapshot(self->spare, &version, err) == KL_OK) {
        (void)kl_sim_restore(self->spare, version - 1, err);
    }
    kl_sim_unref(self->spare);
    return err->code;
}

static kl_code tell_requests(void *world, kl_error *err)
{
    cluster *self = world;

    kl_free(kl_sim_requests(self->sim, err));
    return err->code;
}

static const every_call calls[] = {
    REFUSES(kl_config_load, load_config),
    REFUSES(kl_config_load, load_by_hand),
    NEVER_ALLOCATES(kl_config_ref, look_at_config),
    NEVER_ALLOCATES(kl_config_unref, look_at_config),
    NEVER_ALLOCATES(kl_config_server, look_at_config),
    NEVER_ALLOCATES(kl_config_namespace, look_at_config),
    NEVER_ALLOCATES(kl_config_source, look_at_config),
    REFUSES(kl_client_new, connect_inside),
    REFUSES(kl_client_new, connect_by_curl),
    REFUSES(kl_client_reauthenticate, reauthenticate),
    NEVER_ALLOCATES(kl_client_ref, look_at_client),
    NEVER_ALLOCATES(kl_client_unref, look_at_client),
    NEVER_ALLOCATES(kl_client_namespace, look_at_client),
    NEVER_ALLOCATES_AFTER(kl_reply_clear, clear_reply, fill_reply),
    REFUSES(kl_sim_new, make_cluster),
    REFUSES_AFTER(kl_sim_load, load_manifests, make_spare),
    REFUSES(kl_sim_transport, make_transport),
    REFUSES(kl_sim_transport_as, make_users_transport),
    REFUSES(kl_transport_unref, make_transport),
    REFUSES(kl_sim_call, call_cluster),
    REFUSES_AFTER(kl_sim_call, create, make_spare),
    REFUSES_AFTER(kl_sim_call, define, make_spare),
    REFUSES_AFTER(kl_sim_call, replace, make_spare),
    REFUSES_AFTER(kl_sim_call, patch, make_spare),
    REFUSES_AFTER(kl_sim_call, delete_one, make_spare),
    REFUSES(kl_sim_listen, listen_by_tls),
    REFUSES_AFTER(kl_sim_kubeconfig, ask_for_kubeconfig, listening),
    REFUSES_AFTER(kl_sim_kubeconfig_of, ask_for_users_kubeconfig,
                  listening_by_tls),
    NEVER_ALLOCATES(kl_sim_ref, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_unref, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_cut, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_refuse, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_freeze, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_compact, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_advance, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_now, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_bookmark, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_version, disturb_cluster),
    NEVER_ALLOCATES(kl_sim_requests_clear, disturb_cluster),
    NEVER_ALLOCATES_AFTER(kl_sim_url, stop_listening, listening),
    NEVER_ALLOCATES_AFTER(kl_sim_control_token, stop_listening, listening),
    NEVER_ALLOCATES_AFTER(kl_sim_unlisten, stop_listening, listening),
    REFUSES_AFTER(kl_sim_replay, replay, make_spare),
    REFUSES_AFTER(kl_sim_fail, order_failure, make_spare),
    REFUSES_AFTER(kl_sim_fault, order_fault, make_spare),
    REFUSES_AFTER(kl_sim_faults, order_fault, make_spare),
    NEVER_ALLOCATES(kl_sim_heal, disturb_cluster),
    REFUSES_AFTER(kl_sim_snapshot, set_back, make_spare),
    REFUSES_AFTER(kl_sim_restore, set_back, make_spare),
    REFUSES(kl_sim_requests, tell_requests),
    NEVER_ALLOCATES(kl_client_close, close_client),
};

/* Asserts that the cluster and a client of it still answer. */
static void assert_usable(void *world)
{
    cluster *self = world;
    const kl_call call = {.method = "GET", .target = CONFIGMAPS};
    /* so that its threads end here */
    kl_client *client = connect(self->sim, NULL);
    kl_reply reply;

    sim_expect(self->sim, "GET", CONFIGMAPS, NULL, 200);
    assert_int_equal(kl_client_call(client, &call, &reply, NULL), KL_OK);
    assert_int_equal(reply.status, 200);
    kl_reply_clear(&reply);
    kl_client_unref(client);
    kl_sim_requests_clear(self->sim);
}

static void each_call_on_clusters_survives_each_failed_allocation(void **state)
{
    cluster world = {0};
    size_t count = sizeof(calls) / sizeof(calls[0]);

    (void)state;
    failing_alloc_install();
    world.kubeconfig = kubeconfig_write(
        "{server: \"https://s:6443\", insecure-skip-tls-verify: true}",
        "{token: t}");
    world.config =
        config_load(&(kl_config_options){.kubeconfig = world.kubeconfig});
    world.sim = kl_sim_new(NULL, NULL);
    sim_add(world.sim, "a");
    sim_add(world.sim, "b");
    world.client = connect(world.sim, NULL);
    assert_non_null(world.client);
    every_call_try(
        calls, count - 1,
        &(every_call_stage){.world = &world, .assert_whole = assert_usable});
    /* The last one closes the client. */
    every_call_try(&calls[count - 1], 1, &(every_call_stage){.world = &world});
    kl_client_unref(world.client);
    kl_sim_unref(world.sim);
    kl_config_unref(world.config);
    sim_expect_nothing_lives();
    failing_alloc_uninstall();
}

/* A cluster on a port, and a spare one, whose port is opened in a run. */
typedef struct port {
    kl_sim *sim;
    kl_sim *spare;
} port;

static kl_code order(kl_sim *sim, const char *rule, kl_error *err)
{
    return kl_sim_fault(sim, rule, strlen(rule), NULL, err);
}

static kl_code order_certificate(void *world, kl_error *err)
{
    const port *self = world;

    return order(self->sim, "{\"action\":\"certificate\",\"seconds\":60}", err);
}

static kl_code order_refusal(void *world, kl_error *err)
{
    const port *self = world;
    kl_code code =
        order(self->sim, "{\"action\":\"refuse\",\"seconds\":3600}", err);

    kl_sim_refuse(self->sim, false);
    return code;
}

static kl_code order_slow_handshakes(void *world, kl_error *err)
{
    const port *self = world;
    kl_code code = order(self->sim, "{\"action\":\"tls\"}", err);

    (void)kl_sim_heal(self->sim, 0);
    return code;
}

static kl_code order_by_request(void *world, kl_error *err)
{
    static const char rule[] =
        "{\"action\":\"wire\",\"how\":\"no_http\",\"verb\":\"patch\"}";
    const port *self = world;
    const kl_call call = {.method = "POST",
                          .target = "/kubelua/faults",
                          .body = rule,
                          .body_length = sizeof(rule) - 1};
    kl_reply reply;
    kl_code code = kl_sim_call(self->sim, &call, &reply, err);

    if (code == KL_OK) {
        assert_int_equal(reply.status, 201);
        kl_reply_clear(&reply);
    }
    (void)kl_sim_heal(self->sim, 0);
    return code;
}

static kl_code move_certificate(void *world, kl_error *err)
{
    const port *self = world;
    const kl_sim_listen_options options = {.tls = true};

    kl_sim_unlisten(self->spare);
    return kl_sim_listen(self->spare, &options, err);
}

static const every_call port_calls[] = {
    REFUSES(kl_sim_fault, order_certificate),
    REFUSES(kl_sim_fault, order_refusal),
    REFUSES(kl_sim_fault, order_slow_handshakes),
    REFUSES(kl_sim_call, order_by_request),
    REFUSES(kl_sim_listen, move_certificate),
};

static void assert_served(void *world)
{
    const port *self = world;

    assert_non_null(kl_sim_url(self->sim));
    sim_expect(self->sim, "GET", CONFIGMAPS, NULL, 200);
}

static void faults_of_a_port_survive_each_failed_allocation(void **state)
{
    port world;

    (void)state;
    failing_alloc_install();
    world.sim = kl_sim_new(NULL, NULL);
    world.spare = kl_sim_new(NULL, NULL);
    assert_int_equal(
        kl_sim_listen(world.sim, &(kl_sim_listen_options){.tls = true}, NULL),
        KL_OK);
    every_call_try(port_calls, sizeof(port_calls) / sizeof(port_calls[0]),
                   &(every_call_stage){.world = &world,
                                       .assert_whole = assert_served,
                                       .is_busy = true});
    kl_sim_unref(world.spare);
    kl_sim_unref(world.sim);
    sim_expect_nothing_lives();
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(each_call_on_clusters_survives_each_failed_allocation),
        cmocka_unit_test(faults_of_a_port_survive_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
