/*
 * resource_names_spec.c - names as people type them lead to the resource that
 * kubectl would take; built-in ones need no discovery before the first request;
 * an unknown name leads to an error with a remedy.
 */
#include "api/discovery.h"

#include "client_rig.h"
#include "fake_transport.h"

#include "api/builtin_names.h"
#include "kubelua/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    fake_transport *fake;
    kl_client *client;
} world;

/* True if the server said what it is; `resource` is then the caller's. */
static bool is_cached(world *self, const char *name, kl__resource *resource)
{
    bool cached;
    kl_code code = kl__discovery_guess(self->client, name, resource, &cached);

    return code == KL_OK && cached;
}

static int set_up(void **state)
{
    static world shared;

    shared = (world){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    serve_discovery(shared.fake, FAKE_FOREVER);
    *state = &shared;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;

    kl_client_unref(self->client);
    kl_transport_unref(fake_transport_of(self->fake));
    assert_nothing_lives();
    return 0;
}

/* A name leads to "group/version/plural". */
static void leads_to(world *self, const char *name, const char *where)
{
    kl__resource resource;
    kl_error err;
    char text[256];

    if (kl__discovery_resolve(self->client, name, &resource, NULL, &err) !=
        KL_OK) {
        fail_msg("%s: %s", name, err.message);
    }
    snprintf(text, sizeof(text), "%s/%s/%s", resource.group, resource.version,
             resource.plural);
    if (strcmp(text, where) != 0) {
        fail_msg("%s leads to %s", name, text);
    }
    kl__resource_clear(&resource);
}

/* A name leads to that error, whose message has each of the texts in it that
 * are not NULL. */
static void leads_nowhere(world *self, const char *name, kl_code code,
                          const char *text, const char *other)
{
    kl__resource resource;
    kl_error err = {0};

    assert_int_equal(
        kl__discovery_resolve(self->client, name, &resource, NULL, &err), code);
    assert_int_equal(err.code, code);
    assert_null(resource.plural);
    if ((text != NULL && strstr(err.message, text) == NULL) ||
        (other != NULL && strstr(err.message, other) == NULL)) {
        fail_msg("\"%s\" lacks \"%s\" or \"%s\"", err.message, text, other);
    }
}

static void a_word_is_a_plural_singular_kind_or_short_name(void **state)
{
    static const char *const words[] = {"pods", "pod", "Pod",
                                        "PODS", "po",  "Po"};

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        leads_to(*state, words[i], "/v1/pods");
    }
    leads_to(*state, "deploy", "apps/v1/deployments");
    leads_to(*state, "sc", "storage.k8s.io/v1/storageclasses");
}

static void a_group_follows_after_a_dot(void **state)
{
    leads_to(*state, "deployments.apps", "apps/v1/deployments");
    leads_to(*state, "Deployment.apps", "apps/v1/deployments");
    leads_to(*state, "deploy.apps", "apps/v1/deployments");
    leads_to(*state, "events.events.k8s.io", "events.k8s.io/v1/events");
}

static void the_beginning_of_a_group_is_enough(void **state)
{
    leads_to(*state, "deployments.app", "apps/v1/deployments");
    leads_to(*state, "storageclass.storage",
             "storage.k8s.io/v1/storageclasses");
    leads_to(*state, "sc.sto", "storage.k8s.io/v1/storageclasses");
    leads_to(*state, "ev.events", "events.k8s.io/v1/events");
    leads_nowhere(*state, "deployments.apps.k8s", KL_EUNKNOWN_KIND,
                  "deployments.apps?", NULL);
}

static void a_version_stands_before_the_group(void **state)
{
    leads_to(*state, "deployments.v1.apps", "apps/v1/deployments");
    leads_to(*state, "pods.v1.", "/v1/pods");
    leads_to(*state, "Deployment.v1beta1.apps", "apps/v1beta1/deployments");
    leads_to(*state, "events.v1.events.k8s.io", "events.k8s.io/v1/events");
    leads_to(*state, "pods.v1.", "/v1/pods");
    leads_to(*state, "pods.", "/v1/pods");
    leads_to(*state, "pods.v1", "/v1/pods");
    leads_nowhere(*state, "deployments.v2.apps", KL_EUNKNOWN_KIND,
                  "deployments.apps?", NULL);
}

static void api_version_and_kind_of_a_manifest_are_understood(void **state)
{
    leads_to(*state, "v1/Pod", "/v1/pods");
    leads_to(*state, "v1/pods", "/v1/pods");
    leads_to(*state, "apps/v1/Deployment", "apps/v1/deployments");
    leads_to(*state, "apps/v1beta1/deployments", "apps/v1beta1/deployments");
    leads_to(*state, "apps/Deployment", "apps/v1/deployments");
    leads_nowhere(*state, "v1/Deployment", KL_EUNKNOWN_KIND, "deployments.apps",
                  NULL);
    leads_nowhere(*state, "app/v1/Deployment", KL_EUNKNOWN_KIND,
                  "deployments.apps", NULL);
}

static void the_server_s_order_decides_between_equals(void **state)
{
    leads_to(*state, "events", "/v1/events");
    leads_to(*state, "ev", "/v1/events");
    leads_to(*state, "deployments", "apps/v1/deployments");
    leads_to(*state, "scales", "apps/v1beta1/scales");
}

static void a_resolved_name_has_its_kind_and_scope(void **state)
{
    world *self = *state;
    kl__resource resource;

    assert_int_equal(
        kl__discovery_resolve(self->client, "no", &resource, NULL, NULL),
        KL_OK);
    assert_string_equal(resource.kind, "Node");
    assert_false(resource.namespaced);
    kl__resource_clear(&resource);
    assert_true(is_cached(self, "po", &resource));
    assert_string_equal(resource.kind, "Pod");
    assert_true(resource.namespaced);
    kl__resource_clear(&resource);
}

static void a_resource_that_cannot_be_watched_is_an_error(void **state)
{
    leads_nowhere(*state, "Binding", KL_ENOT_ALLOWED, "bindings (Binding)",
                  "cannot be watched");
}

static void the_error_for_an_unknown_name_has_the_nearest_ones(void **state)
{
    leads_nowhere(*state, "dpeloyments", KL_EUNKNOWN_KIND, "\"dpeloyments\"",
                  "; did you mean deployments.apps?");
    leads_nowhere(*state, "Evnt", KL_EUNKNOWN_KIND,
                  "did you mean events or events.events.k8s.io?", NULL);
    leads_nowhere(*state, "pdo", KL_EUNKNOWN_KIND, "did you mean pods?", NULL);
    leads_nowhere(*state, "deployments.extensions", KL_EUNKNOWN_KIND,
                  "did you mean deployments.apps", NULL);
}

static void a_right_name_in_a_wrong_group_is_suggested_alone(void **state)
{
    leads_nowhere(*state, "pods.metrics.k8s.io", KL_EUNKNOWN_KIND,
                  "did you mean pods?", NULL);
}

static void the_error_for_an_unknown_name_has_a_remedy(void **state)
{
    leads_nowhere(*state, "widgetry", KL_EUNKNOWN_KIND,
                  "CustomResourceDefinition", "is not installed yet");
}

/* Also if a built-in resource has nearly the same name. */
static void the_error_for_an_unserved_group_asks_for_its_crd(void **state)
{
    static const char *const names[] = {
        "widgets.example.com", "pod.example.com",   "pods.v1.example.com",
        "example.com/v1/Pod",  "nodes.example.com",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        leads_nowhere(*state, names[i], KL_EUNKNOWN_KIND,
                      "nothing of the group example.com: install its CRD",
                      names[i]);
    }
    leads_nowhere(*state, "events.events.k8s.oi", KL_EUNKNOWN_KIND,
                  "did you mean events or events.events.k8s.io?", NULL);
}

static void a_group_that_does_not_answer_is_named(void **state)
{
    leads_nowhere(*state, "widgets", KL_EUNKNOWN_KIND,
                  "does not know metrics.k8s.io/v1beta1",
                  "kubectl get apiservices");
}

static void an_invalid_name_error_shows_valid_forms(void **state)
{
    char long_name[300];

    memset(long_name, 'x', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = '\0';
    leads_nowhere(*state, "", KL_EUNKNOWN_KIND, "apps/v1/Deployment", NULL);
    leads_nowhere(*state, ".apps", KL_EUNKNOWN_KIND, "deployments.apps", NULL);
    leads_nowhere(*state, "apps/", KL_EUNKNOWN_KIND, "deployments.apps", NULL);
    leads_nowhere(*state, "a/b/c/d", KL_EUNKNOWN_KIND,
                  "\"a/b/c/d\" names no resource", NULL);
    leads_nowhere(*state, "nodes/status", KL_EUNKNOWN_KIND, "nodes/status",
                  NULL);
    leads_nowhere(*state, long_name, KL_EUNKNOWN_KIND, "names no resource",
                  NULL);
}

#define NO_RESOURCE                                             \
    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":" \
    "\"the server could not find the requested resource\",\"code\":404}"
#define NO_RIGHT                                                 \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":" \
    "\"User \\\"x\\\" cannot get path \\\"/apis\\\"\",\"code\":403}"

/* A source of `resource` for which no request was sent. */
static int set_up_guess(void **state)
{
    static source_world shared;

    shared = (source_world){.fake = fake_transport_new()};
    shared.client = client_on(shared.fake);
    *state = &shared;
    return 0;
}

static void answer(source_world *self, const char *target, int status,
                   const char *body)
{
    fake_transport_answer(self->fake, &(fake_answer){.target = target,
                                                     .status = status,
                                                     .times = FAKE_FOREVER,
                                                     .body = body});
}

/* An old server: its autoscaling has version 1 only. */
static void serve_old_autoscaling(source_world *self)
{
    answer(self, "/api$", 404, NO_RESOURCE);
    answer(self, "/apis$", 200,
           "{\"kind\":\"APIGroupList\",\"groups\":[{\"name\":\"autoscaling\","
           "\"versions\":[{\"version\":\"v1\"}],"
           "\"preferredVersion\":{\"version\":\"v1\"}}]}");
    answer(self, "/apis/autoscaling/v1$", 200,
           "{\"kind\":\"APIResourceList\",\"resources\":[{\"name\":"
           "\"horizontalpodautoscalers\",\"singularName\":\"\",\"namespaced\":"
           "true,\"kind\":\"HorizontalPodAutoscaler\",\"shortNames\":[\"hpa\"],"
           "\"verbs\":[\"list\",\"watch\"]}]}");
    answer(self, "/apis/autoscaling/v1/horizontalpodautoscalers", 200,
           POD_LIST("", "\"resourceVersion\":\"1\""));
    answer(self, "/apis/autoscaling/v2/", 404, NO_RESOURCE);
}

static void use(source_world *self, const char *resource)
{
    source_world_use(self, &(kl__list_watch_options){.resource = resource});
}

static void a_built_in_name_is_listed_without_discovery(void **state)
{
    source_world *self = *state;

    answer(self, "/apis/apps/v1/deployments", 200,
           POD_LIST("", "\"resourceVersion\":\"1\""));
    use(self, "deploy");
    assert_int_equal(fake_transport_count(self->fake), 0);
    assert_int_equal(source_world_list(self), KL_OK);
    assert_int_equal(fake_transport_count(self->fake), 1);
}

static void a_404_to_a_guess_asks_discovery_and_asks_again(void **state)
{
    source_world *self = *state;

    serve_old_autoscaling(self);
    use(self, "hpa");
    assert_int_equal(source_world_list(self), KL_OK);
    assert_int_equal(fake_transport_asked(self->fake, "/apis/autoscaling/v2/"),
                     1);
    assert_int_equal(source_world_watch(self), KL_OK);
    assert_non_null(strstr(source_world_asked(self).target,
                           "/apis/autoscaling/v1/horizontalpodautoscalers?"));
    assert_int_equal(fake_transport_asked(self->fake, "/apis/autoscaling/v2/"),
                     1);
}

static void a_built_in_kind_that_is_not_served_is_unknown(void **state)
{
    source_world *self = *state;

    serve_old_autoscaling(self);
    use(self, "cronjobs");
    assert_int_equal(source_world_list(self), KL_EUNKNOWN_KIND);
    assert_non_null(strstr(self->err.message, "serves no resource"));
}

static void a_404_to_a_right_guess_stays_a_404(void **state)
{
    source_world *self = *state;

    serve_discovery(self->fake, FAKE_FOREVER);
    answer(self, "/api/v1/pods", 404, NO_RESOURCE);
    use(self, "pods");
    assert_int_equal(source_world_watch(self), KL_ENOT_FOUND);
    assert_int_equal(self->err.http_status, 404);
    assert_int_equal(fake_transport_asked(self->fake, "/api/v1/pods"), 1);
}

static void without_a_right_to_discovery_the_guess_stands(void **state)
{
    source_world *self = *state;

    answer(self, "/api$", 403, NO_RIGHT);
    answer(self, "/apis$", 403, NO_RIGHT);
    use(self, "pods");
    assert_int_equal(source_world_list(self), KL_ENOT_FOUND);
    assert_int_equal(source_world_resolve(self), KL_OK);
    answer(self, "/api/v1/pods", 200,
           POD_LIST("", "\"resourceVersion\":\"1\""));
    assert_int_equal(source_world_list(self), KL_OK);
}

static void a_server_lost_after_a_404_is_unavailable(void **state)
{
    source_world *self = *state;

    answer(self, "/api/v1/pods", 404, NO_RESOURCE);
    fake_transport_answer(self->fake, &(fake_answer){.failure = KL_EUNAVAILABLE,
                                                     .times = FAKE_FOREVER});
    use(self, "pods");
    assert_int_equal(source_world_list(self), KL_EUNAVAILABLE);
}

static void the_table_has_each_name_once(void **state)
{
    const kl_kind *entry;

    (void)state;
    for (size_t i = 0; (entry = kl__builtin_at(i)) != NULL; i++) {
        char name[128];

        snprintf(name, sizeof(name), "%s.%s.%s", entry->plural, entry->version,
                 entry->group);
        assert_ptr_equal(kl_kind_builtin(name), entry);
    }
    assert_ptr_equal(kl_kind_builtin("crds"), kl_kind_builtin("crd"));
    assert_non_null(kl_kind_builtin("crds"));
    assert_false(kl_kind_builtin("no")->namespaced);
    assert_true(kl_kind_builtin("po")->namespaced);
}

#define GUESS_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_guess, source_world_tear_down)

int main(void)
{
#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        SPEC(a_word_is_a_plural_singular_kind_or_short_name),
        SPEC(a_group_follows_after_a_dot),
        SPEC(the_beginning_of_a_group_is_enough),
        SPEC(a_version_stands_before_the_group),
        SPEC(api_version_and_kind_of_a_manifest_are_understood),
        SPEC(the_server_s_order_decides_between_equals),
        SPEC(a_resolved_name_has_its_kind_and_scope),
        SPEC(a_resource_that_cannot_be_watched_is_an_error),
        SPEC(the_error_for_an_unknown_name_has_the_nearest_ones),
        SPEC(a_right_name_in_a_wrong_group_is_suggested_alone),
        SPEC(the_error_for_an_unserved_group_asks_for_its_crd),
        SPEC(the_error_for_an_unknown_name_has_a_remedy),
        SPEC(a_group_that_does_not_answer_is_named),
        SPEC(an_invalid_name_error_shows_valid_forms),
        GUESS_SPEC(a_built_in_name_is_listed_without_discovery),
        GUESS_SPEC(a_404_to_a_guess_asks_discovery_and_asks_again),
        GUESS_SPEC(a_built_in_kind_that_is_not_served_is_unknown),
        GUESS_SPEC(a_404_to_a_right_guess_stays_a_404),
        GUESS_SPEC(without_a_right_to_discovery_the_guess_stands),
        GUESS_SPEC(a_server_lost_after_a_404_is_unavailable),
        cmocka_unit_test(the_table_has_each_name_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
