/*
 * schema_builtin_spec.c - the table of built-in types agrees with a real API
 * server.
 */
#include "spec_case.h"
#include "sim/core/schema/schema.h"

#include "failing_alloc.h"
#include "kubelua/memory.h"

#include <pthread.h>

static const kl__schema *builtin(const char *group, const char *version,
                                 const char *kind)
{
    kl_error err = {0};
    const kl__schema *schema = kl__schema_builtin(group, version, kind, &err);

    if (schema == NULL) {
        fail_msg("%s/%s %s: %s", group, version, kind, err.message);
    }
    return schema;
}

static const kl__schema_field *member(const kl__schema *schema,
                                      const char *name)
{
    const kl__schema_field *field = kl__schema_get(schema, name, strlen(name));

    if (field == NULL) {
        fail_msg("%s has no %s", schema->name, name);
    }
    return field;
}

/* The schema that names, separated by blanks, lead to; "*" is the items. */
static const kl__schema *at(const kl__schema *schema, const char *path)
{
    while (*path != '\0') {
        size_t length = strcspn(path, " ");

        schema = *path == '*' ? schema->items
                              : kl__schema_get(schema, path, length)->schema;
        path += length + (path[length] == ' ');
    }
    return schema;
}

PLAIN_CASE(a_kind_is_found_by_group_version_and_name)
{
    assert_string_equal(builtin("", "v1", "Pod")->name,
                        "io.k8s.api.core.v1.Pod");
    assert_string_equal(builtin("apps", "v1", "Deployment")->go,
                        "v1.Deployment");
    assert_string_equal(
        builtin("autoscaling", "v2", "HorizontalPodAutoscaler")->name,
        "io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler");
    assert_string_equal(builtin("apps", "v1", "DeleteOptions")->name,
                        "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions");
    assert_string_equal(kl__schema_metadata(NULL)->go, "v1.ObjectMeta");
}

PLAIN_CASE(an_unknown_kind_is_not_found)
{
    kl_error err = {0};

    assert_null(kl__schema_builtin("", "v1", "Nothing", &err));
    assert_int_equal(err.code, KL_EUNKNOWN_KIND);
    assert_null(kl__schema_builtin("no.such", "v1", "Pod", NULL));
}

PLAIN_CASE(a_field_has_its_type_its_number_and_its_claims)
{
    const kl__schema *pod = builtin("", "v1", "Pod");
    const kl__schema *spec = at(pod, "spec");
    const kl__schema_field *containers = member(spec, "containers");

    assert_true(containers->required);
    assert_int_equal(containers->number, 2);
    assert_int_equal(containers->schema->type, KL__SCHEMA_ARRAY);
    assert_int_equal(containers->schema->list, KL__LIST_MAP);
    assert_string_equal(containers->schema->map_keys[0], "name");
    assert_null(containers->schema->map_keys[1]);
    assert_true(containers->schema->flags & KL__SCHEMA_MERGE);
    assert_string_equal(containers->schema->merge_key, "name");
    assert_string_equal(containers->schema->items->go, "v1.Container");
    assert_int_equal(at(pod, "spec containers * ports")->list, KL__LIST_MAP);
    assert_string_equal(at(pod, "spec containers * ports")->map_keys[1],
                        "protocol");
    assert_string_equal(at(pod, "spec restartPolicy")->go, "v1.RestartPolicy");
    assert_int_equal(at(pod, "metadata creationTimestamp")->format,
                     KL__FORMAT_TIME);
    assert_int_equal(at(pod, "spec containers * resources limits *")->format,
                     KL__FORMAT_QUANTITY);
    assert_true(
        at(builtin("apps", "v1", "Deployment"), "spec replicas")->flags &
        KL__SCHEMA_POINTER);
    assert_int_equal(
        at(builtin("apps", "v1", "Deployment"), "spec selector")->list,
        KL__LIST_ATOMIC);
}

PLAIN_CASE(an_inlined_struct_is_a_message_of_its_own)
{
    const kl__schema *volume = at(builtin("", "v1", "Pod"), "spec volumes *");
    const kl__schema_field *path = member(volume, "hostPath");

    assert_int_equal(kl__schema_step(path->number, 0), 2);
    assert_int_equal(kl__schema_step(path->number, 2), path->number);
    assert_int_equal(path->number % KL__SCHEMA_BASE, 1);
    assert_int_equal(kl__schema_step(path->number, 3), 0);
    assert_int_equal(member(volume, "name")->number, 1);
    assert_int_equal(member(builtin("", "v1", "Pod"), "kind")->number, 0);
}

PLAIN_CASE(a_type_may_contain_itself)
{
    const kl__schema *crd =
        builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    const kl__schema *props = at(crd, "spec versions * schema openAPIV3Schema");

    assert_string_equal(props->go, "v1.JSONSchemaProps");
    assert_ptr_equal(at(props, "properties * not")->fields, props->fields);
    assert_string_equal(
        at(props, "items")->name,
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
        "JSONSchemaPropsOrArray");
}

PLAIN_CASE(every_row_of_the_table_reads)
{
    const char *name;
    size_t fields = 0;

    for (size_t i = 0; (name = kl__schema_name_at(i)) != NULL; i++) {
        const kl__schema *type = kl__schema_type_named(name, NULL);

        assert_non_null(type);
        assert_string_equal(type->name, name);
        for (size_t j = 0; j < type->field_count; j++) {
            const kl__schema_field *field = &type->fields[j];
            size_t length = strlen(field->name);

            assert_ptr_equal(kl__schema_get(type, field->name, length), field);
            fields++;
        }
    }
    assert_true(fields > 1500);
}

/* Reads a type, another one upon it, and gives both back. */
static kl_code read_two(void *context)
{
    kl_error err = {0};

    (void)context;
    if (kl__schema_builtin("", "v1", "Secret", &err) != NULL &&
        kl__schema_builtin("", "v1", "Pod", &err) != NULL) {
        err.code = KL_OK;
    }
    kl__schema_release();
    return err.code;
}

PLAIN_CASE(running_out_of_memory_is_an_error)
{
    kl__schema_release();
    assert_true(failing_alloc_each(read_two, NULL) > 5);
}

/* What could not be read is read the next time, and what was stays. */
PLAIN_CASE(a_type_that_could_not_be_read_is_forgotten)
{
    const kl__schema *secret;

    kl__schema_release();
    secret = builtin("", "v1", "Secret");
    failing_alloc_install();
    for (long nth = 1; nth <= 3; nth++) {
        failing_alloc_fail_at(nth, 1);
        assert_null(kl__schema_builtin("", "v1", "Pod", NULL));
    }
    failing_alloc_uninstall();
    assert_string_equal(at(builtin("", "v1", "Pod"), "spec containers *")->go,
                        "v1.Container");
    assert_ptr_equal(builtin("", "v1", "Secret"), secret);
}

static void *ask(void *argument)
{
    return (void *)kl__schema_builtin("", "v1", argument, NULL);
}

PLAIN_CASE(threads_share_what_was_read)
{
    pthread_t threads[4];
    void *found[4];

    kl__schema_release();
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask, "Pod"), 0);
    }
    for (size_t i = 0; i < 4; i++) {
        pthread_join(threads[i], &found[i]);
        assert_ptr_equal(found[i], found[0]);
    }
}

static int nothing_is_left(void **state)
{
    (void)state;
    kl__schema_release();
    return kl_live_count(KL_LIVE_DOC) == 0 ? 0 : -1;
}

SPEC_END(nothing_is_left)
