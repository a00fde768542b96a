/*
 * metadata_only_spec.c - an object of which metadata alone is kept: of a
 * PartialObjectMetadata, and of a whole object, is made the same.
 */
#include "kubelua/object.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void metadata_only_keeps_only_the_metadata(void **state)
{
    static const char expected[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\","
                                   "\"metadata\":{\"name\":\"x\",\"a\":{}}}";
    const kl_object_options pods = {
        .kind = "Pod", .api_version = "v1", .metadata_only = true};
    const kl_object_options all = {.kind = "Pod",
                                   .api_version = "v1",
                                   .metadata_only = true,
                                   .keep_managed_fields = true};

    (void)state;
    object_becomes("{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":"
                   "\"meta.k8s.io/v1\",\"metadata\":{\"name\":\"x\",\"a\":{}}}",
                   &pods, expected);
    object_becomes("{\"metadata\":{\"name\":\"x\",\"a\":{}}}", &pods, expected);
    object_becomes(
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"x\",\"a\":{}},\"spec\":{\"a\":1},\"status\":{}}",
        &pods, expected);
    object_becomes(
        " {\"spec\":{\"metadata\":1} , \"metadata\" : {\"name\":\"x\","
        "\"a\": {} } , \"managedFields\":1,\"kind\":\"Pod\" } ",
        &pods, expected);
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[{}],\"a\":{}},"
        "\"spec\":{}}",
        &pods, expected);
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"a\":{} , \"managedFields\" : 1 } "
        "} ",
        &pods, expected);
    object_becomes(
        "{\"metadata\":{\"name\":\"x\",\"managedFields\":[1]},\"a\":1}", &all,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
        "\"x\",\"managedFields\":[1]}}");
    object_becomes("{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\","
                   "\"metadata\":{\"name\":\"x\"}}",
                   &pods,
                   "{\"apiVersion\":\"meta.k8s.io/v1\",\"kind\":\"Table\","
                   "\"metadata\":{\"name\":\"x\"}}");
    object_becomes("{\"kind\":null,\"metadata\":{\"name\":\"x\"},\"spec\":1}",
                   &(kl_object_options){.metadata_only = true},
                   "{\"metadata\":{\"name\":\"x\"}}");
}

static void an_object_knows_that_it_has_metadata_only(void **state)
{
    static const char text[] = "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}";
    kl_object *whole = object_of(text, NULL);
    kl_object *part = object_of(
        text, &(kl_object_options){.kind = "Pod", .metadata_only = true});

    (void)state;
    assert_false(kl_object_is_metadata_only(whole));
    assert_true(kl_object_is_metadata_only(part));
    assert_string_equal(kl_object_kind(part), "Pod");
    assert_string_equal(kl_object_key(part), "x");
    kl_object_unref(whole);
    kl_object_unref(part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_only_keeps_only_the_metadata),
        cmocka_unit_test(an_object_knows_that_it_has_metadata_only),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
