/*
 * pods.c - see pods.h.
 */
#include "pods.h"

#include "base/buf.h"
#include "base/mem.h"
#include "kubelua/memory.h"
#include "object/packer.h"

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

static uint64_t random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + 1442695;
    return (unsigned)(random_state >> 33) % below;
}

/* Writes the text of object number `i` of a family, whose objects are alike. */
static void write_text(kl__buf *json, const char *family, unsigned i,
                       size_t length)
{
    random_state = i * 977 + (unsigned char)family[0];
    kl__buf_reset(json);
    kl__buf_printf(json,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{"
                   "\"name\":\"%s-%u\",\"namespace\":\"web\",\"uid\":\"%08x\","
                   "\"resourceVersion\":\"%u\"},\"spec\":{\"nodeName\":"
                   "\"node-%u\",\"items\":[0",
                   family, i, draw(1u << 30), i + 1, i % 10);
    for (unsigned k = 0; json->length < length; k++) {
        uint32_t word = (k + 1) * 2654435761u * (unsigned char)family[0];

        kl__buf_printf(json, ",{\"%08x%08x\":\"%08x %u of \\u00e4\"}", word,
                       word * 40503u, word * 2246822519u, draw(50));
    }
    kl__buf_puts(json, "]}}");
}

kl_object *pack_plain(const char *family, unsigned i, size_t length)
{
    kl__buf json = {0};
    kl_object *object;

    write_text(&json, family, i, length);
    object = object_of(json.bytes, NULL);
    kl__buf_deinit(&json);
    return object;
}

kl_object *pack_one(kl__packer *packer, unsigned i)
{
    return kl__packer_pack(packer, pack_plain("shop", i, PACK_LENGTH),
                           PACK_CROWD);
}

void pack_expect_same(kl_object *object, kl_object *plain)
{
    size_t length, plain_length;
    const char *json = kl_object_json(object, &length, NULL);
    const char *plain_json = kl_object_json(plain, &plain_length, NULL);
    const kl_value *root = kl_object_open(object, NULL);
    const kl_value *plain_root = kl_object_open(plain, NULL);
    char hash[KL_HASH_SIZE], plain_hash[KL_HASH_SIZE];

    assert_int_equal(length, plain_length);
    assert_int_equal(kl_object_json_length(object), length);
    assert_string_equal(json, plain_json);
    assert_int_equal(kl_value_hash(root, hash, NULL), KL_OK);
    assert_int_equal(kl_value_hash(plain_root, plain_hash, NULL), KL_OK);
    assert_string_equal(hash, plain_hash);
    assert_string_equal(kl_object_key(object), kl_object_key(plain));
    assert_string_equal(kl_object_name(object), kl_object_name(plain));
    assert_string_equal(kl_object_namespace(object),
                        kl_object_namespace(plain));
    assert_string_equal(kl_object_uid(object), kl_object_uid(plain));
    assert_string_equal(kl_object_resource_version(object),
                        kl_object_resource_version(plain));
    assert_string_equal(kl_object_kind(object), "Pod");
    assert_string_equal(kl_object_api_version(object), "v1");
    assert_true(kl__object_is_copy(object, plain));
    kl_object_close(plain);
    kl_object_close(object);
    kl_object_close_json(plain);
    kl_object_close_json(object);
}

/* Writes what that object's JSON is. */
static void write_another_kind(kl__buf *json)
{
    static const char usual[] = "{\"apiVersion\":\"v1\",\"kind\":\"Pod\"";
    kl_object *pod = pack_plain("shop", 9, PACK_LENGTH);

    kl__buf_puts(json, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"W\"");
    kl__buf_puts(json, kl_object_json(pod, NULL, NULL) + sizeof(usual) - 1);
    kl_object_unref(pod);
}

kl_object *pack_of_another_kind(void)
{
    kl__buf json = {0};
    kl_object *object;

    write_another_kind(&json);
    object = object_of(json.bytes, NULL);
    kl__buf_deinit(&json);
    return object;
}

void pack_expect_of_another_kind(kl_object *object)
{
    kl__buf json = {0};

    write_another_kind(&json);
    assert_string_equal(kl_object_json(object, NULL, NULL), json.bytes);
    assert_string_equal(kl_object_kind(object), "W");
    assert_string_equal(kl_object_api_version(object), "example.com/v1");
    assert_string_equal(kl_object_key(object), "web/shop-9");
    kl_object_close_json(object);
    kl__buf_deinit(&json);
}

int pack_expect_nothing_lives(void **state)
{
    (void)state;
    return kl_live_count(KL_LIVE_OBJECT) == 0 &&
                   kl_live_count(KL_LIVE_DOC) == 0 && kl__text_slab_total() == 0
               ? 0
               : -1;
}

int pack_choose_usual_limits(void **state)
{
    static const kl__pack_limits usual = KL__PACK_USUAL;

    (void)state;
    kl__pack_limits_chosen = &usual;
    return 0;
}

kl__packer *pack_trained(void)
{
    kl__packer *packer = kl__packer_new();
    bool is_trained = false;

    assert_non_null(packer);
    for (unsigned i = 0; !is_trained && i < 1000; i++) {
        kl_object *object = pack_one(packer, i);

        is_trained = kl__object_is_packed(object);
        kl_object_unref(object);
    }
    assert_true(is_trained);
    return packer;
}

kl_object *pack_random(void)
{
    char text[400] = "{\"metadata\":{\"name\":\"a\"},\"data\":\"";

    random_state = 5;
    for (size_t at = strlen(text); at < 300; at++) {
        text[at] = (char)('#' + draw(57)); /* neither quote nor backslash */
    }
    strcat(text, "\"}");
    return object_of(text, NULL);
}
