/*
 * verbs_spec.c - kl_get, kl_list, kl_create, kl_apply, kl_patch and kl_delete
 * against a simulated cluster, with built-in kinds and a custom one.
 */
#include "kubelua/memory.h"
#include "kubelua/sim.h"
#include "kubelua/verbs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct world {
    kl_sim *sim;
    kl_client *client;
    kl_error err;
} world;

static void load(world *self, const char *text)
{
    assert_int_equal(kl_sim_load(self->sim, text, strlen(text), &self->err),
                     KL_OK);
}

static int set_up(void **state)
{
    static world self;
    kl_transport *transport;

    self = (world){.sim = kl_sim_new(NULL, NULL)};
    transport = kl_sim_transport(self.sim, NULL);
    self.client =
        kl_client_new(&(kl_client_options){.transport = transport}, NULL);
    kl_transport_unref(transport);
    load(&self, "apiVersion: apiextensions.k8s.io/v1\n"
                "kind: CustomResourceDefinition\n"
                "metadata: {name: foos.example.com}\n"
                "spec:\n"
                "  group: example.com\n"
                "  scope: Namespaced\n"
                "  names: {plural: foos, singular: foo, kind: Foo}\n"
                "  versions:\n  - name: v1\n    served: true\n"
                "    storage: true\n    subresources: {status: {}}\n"
                "    schema:\n      openAPIV3Schema:\n        type: object\n"
                "        x-kubernetes-preserve-unknown-fields: true\n");
    *state = &self;
    return 0;
}

static int tear_down(void **state)
{
    world *self = *state;
    long live = 0;

    kl_client_unref(self->client);
    kl_sim_unref(self->sim);
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        live += kl_live_count((kl_live_kind)kind);
    }
    return live == 0 ? 0 : -1;
}

/* The string at a path of an object that the caller has no more use for. */
static void expect_at(kl_object *object, const char *path, const char *expected)
{
    kl_path *compiled = kl_path_parse(path, NULL);

    assert_non_null(object);
    assert_string_equal(
        kl_value_string(kl_path_first(compiled, kl_object_open(object, NULL)),
                        NULL),
        expected);
    kl_object_close(object);
    kl_path_free(compiled);
    kl_object_unref(object);
}

static const kl_target shop = {.resource = "configmaps", .name = "shop"};

static void an_object_is_created_read_patched_and_deleted(void **state)
{
    world *self = *state;
    const kl_target any = {.resource = "cm"};

    expect_at(kl_create(self->client, &any,
                        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\","
                        "\"metadata\":{\"name\":\"shop\"},"
                        "\"data\":{\"a\":\"1\"}}",
                        NULL, &self->err),
              "metadata.namespace", "default");
    assert_null(kl_create(self->client, &any,
                          "{\"metadata\":{\"name\":\"shop\"}}", NULL,
                          &self->err));
    assert_int_equal(self->err.code, KL_EALREADY_EXISTS);
    expect_at(kl_get(self->client, &shop, NULL, &self->err), "data.a", "1");
    expect_at(kl_patch(self->client, &shop, "{\"data\":{\"a\":\"2\"}}", NULL,
                       &self->err),
              "data.a", "2");
    expect_at(
        kl_patch(
            self->client, &shop,
            "[{\"op\":\"add\",\"path\":\"/data/b\",\"value\":\"3\"}]",
            &(kl_verb_options){.patch_type = "application/json-patch+json"},
            &self->err),
        "data.b", "3");
    assert_int_equal(kl_delete(self->client, &shop,
                               &(kl_verb_options){.uid = "another"},
                               &self->err),
                     KL_ECONFLICT);
    assert_int_equal(kl_delete(self->client, &shop,
                               &(kl_verb_options){.dry_run = true}, &self->err),
                     KL_OK);
    assert_int_equal(kl_delete(self->client, &shop,
                               &(kl_verb_options){.propagation = "Background"},
                               &self->err),
                     KL_OK);
    assert_null(kl_get(self->client, &shop, NULL, &self->err));
    assert_int_equal(self->err.code, KL_ENOT_FOUND);
    assert_int_equal(self->err.http_status, 404);
    assert_int_equal(kl_delete(self->client, &shop, NULL, NULL), KL_ENOT_FOUND);
}

static void a_custom_resource_is_applied_and_its_status_patched(void **state)
{
    world *self = *state;
    const kl_target foo = {.resource = "foos.example.com", .name = "f"};
    const kl_target status = {.resource = "foo",
                              .name = "f",
                              .name_space = "default",
                              .subresource = "status"};
    const char *json = "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\","
                       "\"metadata\":{\"name\":\"f\"},"
                       "\"spec\":{\"size\":\"small\"}}";

    expect_at(kl_apply(self->client, &foo, json, NULL, &self->err), "spec.size",
              "small");
    expect_at(kl_patch(self->client, &status,
                       "{\"status\":{\"phase\":\"Ready\"}}", NULL, &self->err),
              "status.phase", "Ready");
    /* another manager has the field */
    assert_null(kl_apply(self->client, &foo,
                         "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\","
                         "\"metadata\":{\"name\":\"f\"},"
                         "\"spec\":{\"size\":\"large\"}}",
                         &(kl_verb_options){.field_manager = "other"},
                         &self->err));
    assert_int_equal(self->err.code, KL_ECONFLICT);
    expect_at(
        kl_apply(self->client, &foo,
                 "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Foo\","
                 "\"metadata\":{\"name\":\"f\"},"
                 "\"spec\":{\"size\":\"large\"}}",
                 &(kl_verb_options){.field_manager = "other", .force = true},
                 &self->err),
        "spec.size", "large");
}

static void a_list_has_every_page_and_knows_its_kind(void **state)
{
    enum { MANY = 1203 };
    world *self = *state;
    const kl_target everywhere = {.resource = "configmaps", .name_space = "*"};
    const kl_target foos = {.resource = "foos"};
    kl_object_list list;
    char text[200];

    for (int i = 0; i < MANY; i++) {
        snprintf(text, sizeof(text),
                 "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d, "
                 "namespace: web, labels: {odd: \"%d\"}}\n",
                 i, i % 2);
        load(self, text);
    }
    assert_int_equal(kl_list(self->client, &everywhere,
                             &(kl_verb_options){.labels = "odd"}, &list,
                             &self->err),
                     KL_OK);
    assert_int_equal(list.count, MANY);
    kl_object_ref(list.items[0]);
    expect_at(list.items[0], "kind", "ConfigMap");
    kl_object_list_clear(&list);
    assert_int_equal(kl_list(self->client, &everywhere,
                             &(kl_verb_options){.labels = "odd=1",
                                                .fields = "metadata.name=c7"},
                             &list, &self->err),
                     KL_OK);
    assert_int_equal(list.count, 1);
    kl_object_list_clear(&list);
    assert_int_equal(kl_list(self->client, &foos, NULL, &list, &self->err),
                     KL_OK);
    assert_int_equal(list.count, 0);
    kl_object_list_clear(&list);
}

static void answer_lists(world *self, const char *body)
{
    const kl_sim_failure answer = {
        .verb = "list", .count = 1, .status = 200, .body = body};

    assert_int_equal(kl_sim_fail(self->sim, &answer, NULL), KL_OK);
}

/* Tokens that differ from the one before, for ever. */
static void a_list_without_end_ends_in_its_time(void **state)
{
    enum { PAGES = 20000 };
    world *self = *state;
    const kl_target maps = {.resource = "configmaps"};
    kl_object_list list;

    for (int i = 0; i < PAGES; i++) {
        answer_lists(self, i % 2 == 0
                               ? "{\"kind\":\"ConfigMapList\",\"items\":"
                                 "[],\"metadata\":{\"continue\":\"a\"}}"
                               : "{\"kind\":\"ConfigMapList\",\"items\":"
                                 "[],\"metadata\":{\"continue\":\"b\"}}");
    }
    assert_int_equal(kl_list(self->client, &maps,
                             &(kl_verb_options){.timeout_ms = 100}, &list,
                             &self->err),
                     KL_ETIMEOUT);
    assert_null(list.items);
}

static void an_object_that_cannot_be_read_is_left_out_of_a_list(void **state)
{
    world *self = *state;
    const kl_target maps = {.resource = "configmaps"};
    const char *body =
        "{\"kind\":\"ConfigMapList\",\"metadata\":{},\"items\":["
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"a\"}},"
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"b\"},"
        "\"data\":{\"x\":\"\\ud800\"}},"
        "{\"metadata\":{\"namespace\":\"web\",\"name\":\"c\"}}]}";
    kl_unreadable_list unreadable;
    kl_object_list list;

    answer_lists(self, body);
    assert_int_equal(kl_list(self->client, &maps,
                             &(kl_verb_options){.unreadable = &unreadable},
                             &list, &self->err),
                     KL_OK);
    assert_int_equal(list.count, 2);
    assert_string_equal(kl_object_key(list.items[1]), "web/c");
    assert_int_equal(unreadable.count, 1);
    assert_string_equal(unreadable.items[0].key, "web/b");
    kl_unreadable_list_clear(&unreadable);
    kl_object_list_clear(&list);
    answer_lists(self, body);
    assert_int_equal(kl_list(self->client, &maps, NULL, &list, &self->err),
                     KL_OK);
    assert_int_equal(list.count, 2);
    kl_object_list_clear(&list);
}

/* Another version of the kind is served: by another path. */
static void
a_version_that_is_not_served_any_more_is_no_missing_object(void **state)
{
    world *self = *state;
    const kl_target foo = {.resource = "foos.example.com", .name = "f"};
    kl_object *object = NULL;

    assert_null(kl_get(self->client, &foo, NULL, &self->err));
    assert_int_equal(self->err.code, KL_ENOT_FOUND);
    load(self, "apiVersion: apiextensions.k8s.io/v1\n"
               "kind: CustomResourceDefinition\n"
               "metadata: {name: foos.example.com}\n"
               "spec:\n"
               "  group: example.com\n"
               "  scope: Namespaced\n"
               "  names: {plural: foos, singular: foo, kind: Foo}\n"
               "  versions:\n"
               "  - name: v1\n    served: false\n    storage: false\n"
               "    schema:\n      openAPIV3Schema: {type: object}\n"
               "  - name: v2\n    served: true\n    storage: true\n"
               "    schema:\n      openAPIV3Schema: {type: object}\n");
    load(self, "apiVersion: example.com/v2\nkind: Foo\n"
               "metadata: {name: f, namespace: default}\n");
    /* discovery is asked once a second at most */
    self->err.code = KL_EUNKNOWN_KIND;
    while (object == NULL && self->err.code == KL_EUNKNOWN_KIND) {
        object = kl_get(self->client, &foo, NULL, &self->err);
    }
    expect_at(object, "apiVersion", "example.com/v2");
}

/* Adds a fault; the text is JSON. */
static void add_fault(world *self, const char *fault)
{
    assert_int_equal(
        kl_sim_fault(self->sim, fault, strlen(fault), NULL, &self->err), KL_OK);
}

static void a_timeout_counts_discovery_too(void **state)
{
    world *self = *state;
    const kl_target foos = {.resource = "foos"};
    const kl_verb_options options = {.timeout_ms = 300};
    kl_object_list list;

    add_fault(self, "{\"action\":\"freeze\",\"path\":\"/api\",\"count\":0}");
    assert_int_equal(kl_list(self->client, &foos, &options, &list, &self->err),
                     KL_ETIMEOUT);
    assert_non_null(strstr(self->err.message, "discovery was not complete"));
    assert_true(kl_sim_heal(self->sim, 0));
    assert_int_equal(kl_list(self->client, &foos, NULL, &list, &self->err),
                     KL_OK);
    kl_object_list_clear(&list);
}

static void a_group_that_hangs_does_not_delay_verbs_on_another(void **state)
{
    world *self = *state;
    const kl_target foos = {.resource = "foos.example.com"};
    const kl_target hpas = {.resource = "hpa"};
    const kl_verb_options options = {.timeout_ms = 4000};
    kl_object_list list;

    add_fault(self, "{\"action\":\"fail\",\"path\":\"/api\",\"status\":406}");
    add_fault(self, "{\"action\":\"fail\",\"path\":\"/apis\",\"status\":406}");
    add_fault(self, "{\"action\":\"freeze\",\"path\":"
                    "\"/apis/batch/v1\",\"count\":0}");
    assert_int_equal(kl_list(self->client, &foos, &options, &list, &self->err),
                     KL_OK);
    kl_object_list_clear(&list);
    assert_int_equal(kl_list(self->client, &hpas, &options, &list, &self->err),
                     KL_OK);
    kl_object_list_clear(&list);
}

static void a_write_without_an_object_as_answer_may_be_done(void **state)
{
    world *self = *state;
    const kl_target maps = {.resource = "configmaps"};
    const char *bodies[] = {"<html>", "{\"kind\":\"Status\",\"metadata\":{}}"};

    for (size_t i = 0; i < 2; i++) {
        const kl_sim_failure answer = {
            .verb = "create", .count = 1, .status = 201, .body = bodies[i]};

        assert_int_equal(kl_sim_fail(self->sim, &answer, NULL), KL_OK);
        assert_null(kl_create(self->client, &maps,
                              "{\"metadata\":{\"name\":\"shop\"}}", NULL,
                              &self->err));
        assert_int_equal(self->err.code, KL_EUNKNOWN);
    }
}

static void expect_refused(world *self, const kl_target *target, kl_code code)
{
    assert_null(kl_get(self->client, target, NULL, &self->err));
    assert_int_equal(self->err.code, code);
    assert_true(self->err.message[0] != '\0');
}

static void a_wrong_target_is_refused_before_it_is_sent(void **state)
{
    world *self = *state;
    kl_object_list list;

    expect_refused(self, &(kl_target){.name = "a"}, KL_EINVAL);
    expect_refused(self, &(kl_target){.resource = "pods"}, KL_EINVAL);
    expect_refused(self, &(kl_target){.resource = "pods", .name = ".."},
                   KL_EINVAL);
    expect_refused(self, &(kl_target){.resource = "pods", .name = "a/b"},
                   KL_EINVAL);
    expect_refused(
        self,
        &(kl_target){.resource = "pods", .name = "a", .subresource = ".."},
        KL_EINVAL);
    expect_refused(
        self, &(kl_target){.resource = "pods", .name = "a", .name_space = "*"},
        KL_EINVAL);
    expect_refused(
        self,
        &(kl_target){.resource = "nodes", .name = "a", .name_space = "web"},
        KL_EINVAL);
    expect_refused(self, &(kl_target){.resource = "fooos", .name = "a"},
                   KL_EUNKNOWN_KIND);
    expect_refused(
        self, &(kl_target){.resource = "nodes", .name = "a", .name_space = ""},
        KL_ENOT_FOUND);
    expect_refused(
        self,
        &(kl_target){.resource = "pods", .name = "a", .subresource = "nope"},
        KL_ENOT_FOUND);
    assert_non_null(strstr(self->err.message, "no \"nope\" of pods"));
    expect_refused(self, &(kl_target){.resource = "tokenreviews", .name = "a"},
                   KL_ENOT_ALLOWED);
    assert_non_null(strstr(self->err.message, "kl_client_call"));
    assert_null(kl_create(
        self->client,
        &(kl_target){.resource = "serviceaccounts", .subresource = "token"},
        "{}", NULL, &self->err));
    assert_int_equal(self->err.code, KL_EINVAL);
    assert_null(kl_apply(self->client, &shop, NULL, NULL, &self->err));
    assert_int_equal(self->err.code, KL_EINVAL);
    kl_client_close(self->client);
    expect_refused(self, &shop, KL_ECLOSED);
    assert_int_equal(kl_list(self->client, &shop, NULL, &list, NULL),
                     KL_ECLOSED);
    assert_null(list.items);
}

#define SPEC(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(an_object_is_created_read_patched_and_deleted),
        SPEC(a_custom_resource_is_applied_and_its_status_patched),
        SPEC(a_list_has_every_page_and_knows_its_kind),
        SPEC(a_list_without_end_ends_in_its_time),
        SPEC(an_object_that_cannot_be_read_is_left_out_of_a_list),
        SPEC(a_version_that_is_not_served_any_more_is_no_missing_object),
        SPEC(a_timeout_counts_discovery_too),
        SPEC(a_group_that_hangs_does_not_delay_verbs_on_another),
        SPEC(a_write_without_an_object_as_answer_may_be_done),
        SPEC(a_wrong_target_is_refused_before_it_is_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
