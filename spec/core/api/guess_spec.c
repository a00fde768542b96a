/*
 * guess_spec.c - built-in names need no discovery before the first request; a
 * 404 then asks the server what it has.
 */
#include "api/builtin_names.h"
#include "api/discovery.h"
#include "fake_transport.h"
#include "client_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NO_RESOURCE                                             \
    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":" \
    "\"the server could not find the requested resource\",\"code\":404}"
#define NO_RIGHT                                                 \
    "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":" \
    "\"User \\\"x\\\" cannot get path \\\"/apis\\\"\",\"code\":403}"

/* A source of `resource` for which no request was sent. */
static int set_up(void **state)
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
    assert_int_equal(kl__list_watch_resolve(self->source, NULL, &self->err),
                     KL_OK);
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

int main(void)
{
#define GUESS_SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up, source_world_tear_down)
    const struct CMUnitTest tests[] = {
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
