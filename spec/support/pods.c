/*
 * pods.c - see pods.h.
 */
#include "pods.h"

#include "base/buf.h"
#include "base/mem.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void put_field(kl__buf *json, const char *name, const char *value)
{
    if (value != NULL) {
        kl__buf_printf(json, ",\"%s\":\"%s\"", name, value);
    }
}

kl_object *pod_make(const pod_text *text)
{
    kl__buf json = {0};
    kl_object *object = NULL;

    kl__buf_printf(&json,
                   "{\"kind\":\"Pod\",\"apiVersion\":\"v1\","
                   "\"metadata\":{\"name\":\"%s\"",
                   text->name);
    put_field(&json, "namespace", text->name_space);
    put_field(&json, "uid", text->uid);
    if (text->version != 0) {
        kl__buf_printf(&json, ",\"resourceVersion\":\"%d\"", text->version);
    }
    if (text->label != NULL) {
        kl__buf_printf(&json, ",\"labels\":{\"app\":\"%s\"}", text->label);
    }
    kl__buf_puts(&json, "},\"spec\":{\"containers\":[]");
    put_field(&json, "nodeName", text->node);
    kl__buf_puts(&json, "}}");
    if (!json.failed) {
        object = kl_object_parse(json.bytes, json.length, NULL, NULL);
    }
    kl__buf_deinit(&json);
    return object;
}

kl_object *pod(const char *name, const char *uid, int version)
{
    return pod_make(&(pod_text){
        .name_space = "web", .name = name, .uid = uid, .version = version});
}

kl_object *pod_on(const char *name_space, const char *name, const char *node,
                  int version)
{
    return pod_make(&(pod_text){.name_space = name_space,
                                .name = name,
                                .uid = name,
                                .version = version,
                                .node = node,
                                .label = name});
}

kl_object_list pod_list(size_t count, ...)
{
    kl_object_list list = {kl__calloc(count, sizeof(kl_object *)), count};
    va_list args;

    assert_non_null(list.items);
    va_start(args, count);
    for (size_t i = 0; i < count; i++) {
        list.items[i] = va_arg(args, kl_object *);
        assert_non_null(list.items[i]);
    }
    va_end(args);
    return list;
}

kl_object *object_of(const char *json, const kl_object_options *options)
{
    kl_error err = {0};
    kl_object *object = kl_object_parse(json, strlen(json), options, &err);

    if (object == NULL) {
        fail_msg("%s: %s", json, err.message);
    }
    return object;
}

void object_becomes(const char *json, const kl_object_options *options,
                    const char *expected)
{
    kl_object *object = object_of(json, options);
    size_t length;

    assert_string_equal(kl_object_json(object, &length, NULL), expected);
    assert_int_equal(length, strlen(expected));
    kl_object_unref(object);
}
