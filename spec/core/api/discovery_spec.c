/*
 * discovery_spec.c - discovery is asked in both forms, also if part of it does
 * not answer, and no more often than necessary.
 */
#include "api/discovery.h"

#include "failing_alloc.h"
#include "fake_transport.h"
#include "kubelua/client.h"
#include "client_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RESOURCES(list)                                                        \
    "{\"kind\":\"APIResourceList\",\"apiVersion\":\"v1\",\"resources\":[" list \
    "]}"
#define RESOURCE(plural, kind)                                            \
    "{\"name\":\"" plural "\",\"singularName\":\"\",\"namespaced\":true," \
    "\"kind\":\"" kind "\",\"verbs\":[\"list\",\"watch\"],"               \
    "\"shortNames\":[\"s" plural "\"]}"

typedef struct world {
    fake_transport *fake;
    kl_client *client;
    kl__clock *clock; /* fake: stands still until it is advanced */
    kl_error err;
} world;

static int set_up(void **state)
{
    static world shared;

    shared = (world){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    shared.clock = kl__clock_fake(1000000);
    kl__discovery_set_clock(kl__client_discovery(shared.client), shared.clock);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    kl__clock_fake_free(self->clock);
    assert_nothing_lives();
    return 0;
}

/* True if the server said what it is; `resource` is then the caller's. */
static bool is_cached(world *self, const char *name, kl__resource *resource)
{
    bool cached;
    kl_code code = kl__discovery_guess(self->client, name, resource, &cached);

    return code == KL_OK && cached;
}

static kl_code resolve(world *self, const char *name)
{
    kl__resource resource;
    kl_code code =
        kl__discovery_resolve(self->client, name, &resource, NULL, &self->err);

    kl__resource_clear(&resource);
    return code;
}

static void resolves(world *self, const char *name)
{
    if (resolve(self, name) != KL_OK) {
        fail_msg("%s: %s", name, self->err.message);
    }
}

static void answer(world *self, const char *target, int status,
                   const char *body)
{
    fake_transport_answer(self->fake, &(fake_answer){.target = target,
                                                     .status = status,
                                                     .body = body,
                                                     .times = FAKE_FOREVER});
}

/* A server of the old form. */
static void serve_old_form(world *self)
{
    answer(self, "/api$", 200,
           "{\"kind\":\"APIVersions\",\"versions\":"
           "[\"v1\"]}");
    answer(self, "/apis$", 200,
           "{\"kind\":\"APIGroupList\",\"groups\":["
           "{\"name\":\"apps\",\"versions\":[{\"version\":\"v1beta1\"},"
           "{\"version\":\"v1\"}],\"preferredVersion\":{\"version\":\"v1\"}},"
           "{\"name\":\"metrics.k8s.io\",\"versions\":[{\"version\":"
           "\"v1beta1\"}]},"
           "{\"name\":\"late\",\"versions\":[{\"version\":\"v9\"}]}]}");
    answer(self, "/api/v1$", 200,
           RESOURCES(RESOURCE("pods", "Pod") "," RESOURCE("pods/log", "Pod")));
    answer(self, "/apis/apps/v1$", 200,
           RESOURCES(RESOURCE("deployments", "Deployment")));
    answer(self, "/apis/apps/v1beta1$", 200,
           RESOURCES(RESOURCE("deployments",
                              "Deployment") "," RESOURCE("scales", "Scale")));
    answer(self, "/apis/metrics.k8s.io/v1beta1$", 503, "service unavailable");
    answer(self, "/apis/late/v9$", 200, RESOURCES(RESOURCE("owls", "Owl")));
}

static void the_aggregated_form_needs_two_requests(void **state)
{
    world *self = *state;

    serve_discovery(self->fake, 1);
    resolves(self, "pods");
    resolves(self, "apps/v1/Deployment");
    resolves(self, "sc");
    assert_int_equal(fake_transport_count(self->fake), 2);
    assert_non_null(
        strstr(fake_transport_request(self->fake, 0).headers,
               "Accept: application/json;g=apidiscovery.k8s.io;v=v2;"
               "as=APIGroupDiscoveryList,application/json;"
               "g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,"
               "application/json\n"));
}

static void a_server_of_the_old_form_is_asked_group_by_group(void **state)
{
    world *self = *state;
    kl__resource resource;

    serve_old_form(self);
    resolves(self, "Pod");
    resolves(self, "sdeployments");
    resolves(self, "owls.late");
    assert_int_equal(resolve(self, "pods/log"), KL_EUNKNOWN_KIND);
    assert_true(is_cached(self, "deployment", &resource));
    assert_string_equal(resource.version, "v1");
    kl__resource_clear(&resource);
    assert_true(is_cached(self, "scales", &resource));
    assert_string_equal(resource.version, "v1beta1");
    kl__resource_clear(&resource);
    assert_int_equal(fake_transport_count(self->fake), 7);
}

static void a_group_that_is_down_does_not_hide_the_others(void **state)
{
    world *self = *state;

    serve_old_form(self);
    assert_int_equal(resolve(self, "nodemetrics"), KL_EUNKNOWN_KIND);
    assert_non_null(
        strstr(self->err.message, "does not know metrics.k8s.io/v1beta1"));
}

static void
a_failed_connection_is_not_taken_for_a_group_that_is_down(void **state)
{
    world *self = *state;

    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = "/apis/late/v9$", .failure = KL_EUNAVAILABLE});
    serve_old_form(self);
    assert_int_equal(resolve(self, "pods"), KL_EUNAVAILABLE);
    resolves(self, "pods");
}

static void resources_of_a_stale_group_come_last(void **state)
{
    world *self = *state;
    kl__resource resource;

    answer(self, "/api$", 404, NULL);
    answer(self, "/apis$", 200,
           "{\"kind\":\"APIGroupDiscoveryList\",\"items\":["
           "{\"metadata\":{\"name\":\"a\"},\"versions\":[{\"version\":\"v1\","
           "\"freshness\":\"Stale\",\"resources\":[{\"resource\":\"owls\","
           "\"responseKind\":{\"kind\":\"Owl\"},\"scope\":\"Namespaced\","
           "\"verbs\":[\"list\",\"watch\"]},{\"resource\":\"emus\","
           "\"responseKind\":{\"kind\":\"Emu\"},\"scope\":\"Namespaced\","
           "\"verbs\":[\"list\",\"watch\"]}]}]},"
           "{\"metadata\":{\"name\":\"b\"},\"versions\":[{\"version\":\"v1\","
           "\"freshness\":\"Current\",\"resources\":[{\"resource\":\"owls\","
           "\"responseKind\":{\"kind\":\"Owl\"},\"scope\":\"Namespaced\","
           "\"verbs\":[\"list\",\"watch\"]}]}]}]}");
    resolves(self, "emus");
    assert_true(is_cached(self, "owls", &resource));
    assert_string_equal(resource.group, "b");
    kl__resource_clear(&resource);
}

static void a_406_to_discovery_asks_for_plain_json(void **state)
{
    world *self = *state;

    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/api$", .status = 406});
    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/apis$", .status = 406});
    serve_old_form(self);
    resolves(self, "pods");
    assert_non_null(strstr(fake_transport_request(self->fake, 1).headers,
                           "Accept: application/json\n"));
}

static void one_of_the_two_roots_is_enough(void **state)
{
    static const int refusals[] = {403, 404};
    world *self = *state;

    for (size_t i = 0; i < 2; i++) {
        fake_transport_answer(
            self->fake,
            &(fake_answer){.target = "/api$", .status = refusals[i]});
        fake_transport_answer(self->fake, &(fake_answer){.target = "/apis$",
                                                         .body = served_apis});
        resolves(self, "deployments");
        assert_int_equal(resolve(self, "pods"), KL_EUNKNOWN_KIND);
        kl__clock_advance(self->clock, 1000);
        kl__discovery_expire(self->client);
    }
    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/api$", .status = 403});
    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/apis$", .status = 403});
    assert_int_equal(resolve(self, "deployments"), KL_EFORBIDDEN);
}

static void a_server_without_the_api_is_an_error(void **state)
{
    world *self = *state;

    fake_transport_answer(
        self->fake,
        &(fake_answer){.type = "text/html", .body = "<html>Sign in</html>"});
    assert_int_equal(resolve(self, "pods"), KL_EPARSE);
    assert_non_null(strstr(self->err.message, "<html>Sign in"));
    fake_transport_answer(self->fake, &(fake_answer){.body = "[1]"});
    assert_int_equal(resolve(self, "pods"), KL_EPARSE);
    fake_transport_answer(self->fake, &(fake_answer){.body = ""});
    assert_int_equal(resolve(self, "pods"), KL_EPARSE);
    fake_transport_answer(self->fake, &(fake_answer){.body = "{\"a\":1}"});
    assert_int_equal(resolve(self, "pods"), KL_EPARSE);
    assert_non_null(strstr(self->err.message, "a Kubernetes API server?"));
    fake_transport_answer(self->fake, &(fake_answer){.status = 302});
    assert_int_equal(resolve(self, "pods"), KL_EPARSE);
    assert_non_null(strstr(self->err.message, "302"));
}

static void a_401_or_429_to_discovery_keeps_its_code(void **state)
{
    world *self = *state;

    fake_transport_answer(self->fake, &(fake_answer){.status = 401});
    assert_int_equal(resolve(self, "pods"), KL_EUNAUTHORIZED);
    fake_transport_answer(
        self->fake, &(fake_answer){.status = 429, .retry_after_ms = 3000});
    assert_int_equal(resolve(self, "pods"), KL_ETOO_MANY_REQUESTS);
    assert_int_equal(self->err.retry_after_ms, 3000);
}

static void an_unknown_name_is_asked_for_again_but_not_at_once(void **state)
{
    world *self = *state;

    serve_discovery(self->fake, FAKE_FOREVER);
    assert_int_equal(resolve(self, "owls"), KL_EUNKNOWN_KIND);
    kl__clock_advance(self->clock, 999);
    assert_int_equal(resolve(self, "owls"), KL_EUNKNOWN_KIND);
    assert_int_equal(fake_transport_count(self->fake), 2);
    kl__clock_advance(self->clock, 1);
    assert_int_equal(resolve(self, "owls"), KL_EUNKNOWN_KIND);
    assert_int_equal(fake_transport_count(self->fake), 4);
}

static void a_known_name_is_never_asked_for_again_unless_doubted(void **state)
{
    world *self = *state;

    serve_discovery(self->fake, FAKE_FOREVER);
    resolves(self, "pods");
    kl__clock_advance(self->clock, 3600 * 1000);
    resolves(self, "po");
    assert_int_equal(fake_transport_count(self->fake), 2);
    kl__discovery_expire(self->client);
    resolves(self, "po");
    resolves(self, "po");
    assert_int_equal(fake_transport_count(self->fake), 4);
    kl__discovery_expire(self->client);
    resolves(self, "po");
    assert_int_equal(fake_transport_count(self->fake), 4);
    kl__clock_advance(self->clock, 1000);
    resolves(self, "po");
    assert_int_equal(fake_transport_count(self->fake), 6);
}

static void a_new_resource_is_found_when_it_is_asked_for_again(void **state)
{
    world *self = *state;

    serve_discovery(self->fake, 1);
    assert_int_equal(resolve(self, "owls.late"), KL_EUNKNOWN_KIND);
    kl__clock_advance(self->clock, 1000);
    serve_old_form(self);
    resolves(self, "owls.late");
}

/* ---- groups by name ---- */

#define GROUP(name)                                                       \
    "{\"kind\":\"APIGroup\",\"name\":\"" name                             \
    "\",\"versions\":[{\"groupVersion\":\"" name                          \
    "/v1\",\"version\":\"v1\"}],\"preferredVersion\":{\"version\":\"v1\"" \
    "}}"

/* The server serves owls.zoo.example.com, but its list of groups does not have
 * zoo.example.com. */
static void leave_out_owls(world *self)
{
    serve_discovery(self->fake, FAKE_FOREVER);
    answer(self, "/apis/zoo.example.com$", 200, GROUP("zoo.example.com"));
    answer(self, "/apis/zoo.example.com/v1$", 200,
           RESOURCES(RESOURCE("owls", "Owl")));
}

static void a_group_that_the_list_leaves_out_is_asked_by_name(void **state)
{
    world *self = *state;
    kl__resource resource;

    leave_out_owls(self);
    resolves(self, "owls.zoo.example.com");
    resolves(self, "zoo.example.com/v1/Owl");
    assert_int_equal(fake_transport_count(self->fake), 4);
    assert_true(is_cached(self, "owls.v1.zoo.example.com", &resource));
    assert_string_equal(resource.group, "zoo.example.com");
    kl__resource_clear(&resource);
}

static void a_group_that_was_found_by_name_stays_known(void **state)
{
    world *self = *state;
    kl__resource resource;

    leave_out_owls(self);
    resolves(self, "owls.zoo.example.com");
    kl__clock_advance(self->clock, 1000);
    assert_int_equal(resolve(self, "newts"), KL_EUNKNOWN_KIND);
    assert_true(is_cached(self, "owls.zoo.example.com", &resource));
    kl__resource_clear(&resource);
}

static void each_missing_group_is_asked_for_once_in_its_time(void **state)
{
    world *self = *state;

    leave_out_owls(self);
    answer(self, "/apis/pond.example.com$", 404, NULL);
    assert_int_equal(resolve(self, "newts.pond.example.com"), KL_EUNKNOWN_KIND);
    resolves(self, "owls.zoo.example.com");
    assert_int_equal(fake_transport_count(self->fake), 3 + 4);
    resolves(self, "owls.zoo.example.com");
    assert_int_equal(fake_transport_count(self->fake), 3 + 4);
    assert_int_equal(
        fake_transport_asked(self->fake, "/apis/pond.example.com$"), 1);
}

static void a_server_that_has_just_started_says_nothing_of_a_kind(void **state)
{
    world *self = *state;

    serve_discovery(self->fake, FAKE_FOREVER);
    fake_transport_answer(
        self->fake, &(fake_answer){.target = "/apis/zoo.example.com$",
                                   .status = 503,
                                   .body = "not all paths are installed"});
    assert_int_equal(resolve(self, "owls.zoo.example.com"), KL_EUNAVAILABLE);
    leave_out_owls(self);
    resolves(self, "owls.zoo.example.com");
}

static void what_is_no_group_gets_into_no_path(void **state)
{
    static const char *const names[] = {
        "owls.zoo example.com", "owls.zoo.com\r\nHost: evil.example",
        "zoo.com?x=/v1/Owl",    "owls.zoo.com#x",
        "owls.%2e%2e.com",      "owls.z\xc3\xb6.com"};
    world *self = *state;

    serve_discovery(self->fake, FAKE_FOREVER);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        assert_int_equal(resolve(self, names[i]), KL_EUNKNOWN_KIND);
    }
    assert_int_equal(fake_transport_count(self->fake), 2);
}

static void a_group_that_may_not_be_seen_is_unknown(void **state)
{
    static const int refusals[] = {403, 404};
    world *self = *state;

    serve_discovery(self->fake, FAKE_FOREVER);
    for (size_t i = 0; i < 2; i++) {
        fake_transport_answer(self->fake,
                              &(fake_answer){.target = "/apis/zoo.example.com$",
                                             .status = refusals[i]});
        assert_int_equal(resolve(self, "owls.zoo.example.com"),
                         KL_EUNKNOWN_KIND);
        kl__clock_advance(self->clock, 1000);
    }
    fake_transport_answer(self->fake,
                          &(fake_answer){.target = "/apis/zoo.example.com$",
                                         .body = "{\"kind\":\"Welcome\"}"});
    assert_int_equal(resolve(self, "owls.zoo.example.com"), KL_EUNKNOWN_KIND);
}

static void a_cached_name_needs_no_request(void **state)
{
    world *self = *state;
    kl__resource resource;

    assert_false(is_cached(self, "owls", &resource));
    assert_null(resource.plural);
    serve_discovery(self->fake, 1);
    resolves(self, "nodes");
    assert_true(is_cached(self, "pods", &resource));
    kl__resource_clear(&resource);
    assert_false(is_cached(self, "owls", &resource));
    assert_false(is_cached(self, "bindings", &resource));
    assert_int_equal(fake_transport_count(self->fake), 2);
}

static void a_failed_refresh_leaves_the_cache_as_it_was(void **state)
{
    world *self = *state;
    kl__resource resource;

    serve_discovery(self->fake, 1);
    resolves(self, "pods");
    kl__clock_advance(self->clock, 1000);
    fake_transport_answer(self->fake,
                          &(fake_answer){.failure = KL_EUNAVAILABLE});
    assert_int_equal(resolve(self, "owls"), KL_EUNAVAILABLE);
    assert_true(is_cached(self, "pods", &resource));
    kl__resource_clear(&resource);
    resolves(self, "pods");
}

static kl_code resolve_anew(void *context)
{
    world *self = context;
    kl_client *client = NULL;
    kl_client_options options = {.transport = fake_transport_of(self->fake)};
    kl__resource resource;

    client = kl_client_new(&options, &self->err);
    if (client == NULL) {
        return self->err.code;
    }
    self->err.code =
        kl__discovery_resolve(client, "pods", &resource, NULL, &self->err);
    kl__resource_clear(&resource);
    if (self->err.code == KL_OK) {
        self->err.code =
            kl__discovery_resolve(client, "pds", &resource, NULL, &self->err);
        self->err.code =
            self->err.code == KL_EUNKNOWN_KIND ? KL_OK : self->err.code;
    }
    kl_client_unref(client);
    return self->err.code;
}

static void no_memory_for_the_new_form_is_an_error(void **state)
{
    world *self = *state;

    serve_discovery(self->fake, FAKE_FOREVER);
    assert_true(failing_alloc_each(resolve_anew, self) > 20);
}

static void no_memory_for_the_old_form_is_an_error(void **state)
{
    world *self = *state;

    serve_old_form(self);
    assert_true(failing_alloc_each(resolve_anew, self) > 20);
}

static kl_code resolve_owls_anew(void *context)
{
    world *self = context;
    kl_client_options options = {.transport = fake_transport_of(self->fake)};
    kl_client *client = kl_client_new(&options, &self->err);
    kl__resource resource;

    if (client == NULL) {
        return self->err.code;
    }
    self->err.code = kl__discovery_resolve(client, "owls.zoo.example.com",
                                           &resource, NULL, &self->err);
    kl__resource_clear(&resource);
    kl_client_unref(client);
    return self->err.code;
}

static void no_memory_for_a_group_by_name_is_an_error(void **state)
{
    world *self = *state;

    leave_out_owls(self);
    assert_true(failing_alloc_each(resolve_owls_anew, self) > 20);
}

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(the_aggregated_form_needs_two_requests),
        SPEC(a_server_of_the_old_form_is_asked_group_by_group),
        SPEC(a_group_that_is_down_does_not_hide_the_others),
        SPEC(a_failed_connection_is_not_taken_for_a_group_that_is_down),
        SPEC(resources_of_a_stale_group_come_last),
        SPEC(a_406_to_discovery_asks_for_plain_json),
        SPEC(one_of_the_two_roots_is_enough),
        SPEC(a_server_without_the_api_is_an_error),
        SPEC(a_401_or_429_to_discovery_keeps_its_code),
        SPEC(an_unknown_name_is_asked_for_again_but_not_at_once),
        SPEC(a_known_name_is_never_asked_for_again_unless_doubted),
        SPEC(a_new_resource_is_found_when_it_is_asked_for_again),
        SPEC(a_group_that_the_list_leaves_out_is_asked_by_name),
        SPEC(a_group_that_was_found_by_name_stays_known),
        SPEC(each_missing_group_is_asked_for_once_in_its_time),
        SPEC(a_server_that_has_just_started_says_nothing_of_a_kind),
        SPEC(what_is_no_group_gets_into_no_path),
        SPEC(a_group_that_may_not_be_seen_is_unknown),
        SPEC(a_cached_name_needs_no_request),
        SPEC(a_failed_refresh_leaves_the_cache_as_it_was),
        SPEC(no_memory_for_the_new_form_is_an_error),
        SPEC(no_memory_for_the_old_form_is_an_error),
        SPEC(no_memory_for_a_group_by_name_is_an_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
