/*
 * value_calls_spec.c - every public call on JSON, objects, fields, selectors,
 * manifests and the process itself, with each of its allocations failing.
 */
#include "every_call.h"
#include "failing_alloc.h"
#include "pods.h"

#include "kubelua/fields.h"
#include "kubelua/kubelua.h"
#include "kubelua/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define POD                                                               \
    "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"     \
    "\"shop-1\",\"namespace\":\"web\",\"uid\":\"u\",\"resourceVersion\":" \
    "\"7\",\"labels\":{\"app\":\"shop\"},\"managedFields\":[{\"a\":1}]}," \
    "\"spec\":{\"n\":1.5e3,\"big\":123456789012345678901234567890,"       \
    "\"containers\":[{\"image\":\"a\"},{\"image\":\"b\"}]}}"

/* What is read, and made out of reach of the failures. */
typedef struct readable {
    kl_doc *doc;
    const kl_value *root;
    kl_path *path;
    kl_object *object;
    kl_selector *selector;
    kl_watchdog *watchdog;
} readable;

static kl_code no_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "it said NULL");
}

static kl_code parse_document(void *world, kl_error *err)
{
    kl_doc *doc = kl_doc_parse(POD, strlen(POD), err);

    (void)world;
    kl_doc_unref(doc);
    return err->code;
}

static kl_code share_document(void *world, kl_error *err)
{
    readable *self = world;

    (void)err;
    kl_doc_unref(kl_doc_ref(self->doc));
    return kl_doc_root(self->doc) == self->root ? KL_OK : KL_EINVAL;
}

static kl_code read_values(void *world, kl_error *err)
{
    const readable *self = world;
    const kl_value *spec = kl_value_get(self->root, "spec");
    const kl_value *list = kl_value_get_n(spec, "containers", 10);
    const kl_value *number = kl_value_get(spec, "n");
    kl_value_iter iter = {0};
    size_t length;
    size_t seen = 0;

    (void)err;
    while (kl_value_next(spec, &iter, NULL) != NULL) {
        seen++;
    }
    (void)kl_value_bool(number);
    (void)kl_value_integer(number);
    (void)kl_value_unsigned(number);
    (void)kl_value_string(kl_value_get(spec, "big"), &length);
    return seen == kl_value_size(spec) && kl_value_at(list, 1) != NULL &&
                   kl_value_type(list) == KL_ARRAY &&
                   kl_value_real(number) > 1499
               ? KL_OK
               : KL_EINVAL;
}

static kl_code print_value(void *world, kl_error *err)
{
    const readable *self = world;
    char *text = kl_value_json(self->root, NULL, err);

    kl_free(text);
    return err->code;
}

static kl_code parse_path(void *world, kl_error *err)
{
    (void)world;
    kl_path_free(kl_path_parse("spec.containers[*].image", err));
    return err->code;
}

static kl_code watch_thread(void *world, kl_error *err)
{
    (void)world;
    kl_watchdog_stop(
        kl_watchdog_start(&(kl_watchdog_options){.limit_ms = 5000}, err));
    return err->code;
}

static kl_code start_watchdog(void *world, kl_error *err)
{
    readable *self = world;

    self->watchdog =
        kl_watchdog_start(&(kl_watchdog_options){.limit_ms = 5000}, err);
    return err->code;
}

static kl_code do_watched(void *world, kl_error *err)
{
    static const kl_activity activity = {"a turn", NULL};
    readable *self = world;
    char name[16];

    (void)err;
    kl_watchdog_enter(self->watchdog, &activity);
    kl_watchdog_tell(self->watchdog, "here");
    kl_watchdog_hurry(self->watchdog, 0);
    kl_watchdog_current(self->watchdog, name, sizeof(name));
    assert_string_equal(name, "a turn");
    kl_watchdog_leave(self->watchdog);
    kl_watchdog_stop(self->watchdog);
    return KL_OK;
}

static kl_code count_value(void *context, const kl_value *value)
{
    int *count = context;

    *count += kl_value_type(value) == KL_STRING;
    return KL_OK;
}

static kl_code follow_path(void *world, kl_error *err)
{
    const readable *self = world;
    int count = 0;

    (void)err;
    (void)kl_path_text(self->path);
    (void)kl_path_each(self->path, self->root, count_value, &count);
    return count == 2 && kl_path_first(self->path, self->root) != NULL &&
                   !kl_path_begins_with(self->path, "metadata")
               ? KL_OK
               : KL_EINVAL;
}

static kl_code write_all(void *world, kl_error *err)
{
    readable *self = world;
    kl_writer *writer = kl_writer_new();

    if (writer == NULL) {
        return no_memory(err);
    }
    kl_writer_begin_object(writer);
    kl_writer_name(writer, "list", 4);
    kl_writer_begin_array(writer);
    kl_writer_null(writer);
    kl_writer_bool(writer, true);
    kl_writer_integer(writer, INT64_MIN);
    kl_writer_real(writer, 1e300);
    kl_writer_string(writer, "text \"quoted\"", 13);
    kl_writer_raw(writer, "[1, 2]", 6);
    kl_writer_value(writer, self->root);
    kl_writer_end_array(writer);
    kl_writer_end_object(writer);
    (void)kl_writer_finish(writer, NULL, err);
    kl_writer_free(writer);
    return err->code;
}

static kl_code parse_object(void *world, kl_error *err)
{
    const kl_object_options options = {.kind = "Pod", .api_version = "v1"};

    (void)world;
    kl_object_unref(kl_object_parse(POD, strlen(POD), &options, err));
    return err->code;
}

static kl_code copy_distinct(void *world, kl_error *err)
{
    static const char text[] =
        "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"x\":1,\"x\":2}}";
    kl_object *object = kl_object_parse(text, strlen(text), NULL, err);
    const char *json = NULL;
    size_t length;
    char *copy = NULL;

    (void)world;
    if (object != NULL) {
        json = kl_object_json(object, NULL, err);
    }
    if (json != NULL &&
        kl_object_json_distinct(object, json, &copy, &length, err) == KL_OK) {
        assert_non_null(strstr(copy, "{\"x\":2}"));
    }
    kl_free(copy);
    kl_object_unref(object);
    return err->code;
}

static kl_code open_object(void *world, kl_error *err)
{
    readable *self = world;

    if (kl_object_open(self->object, err) != NULL) {
        kl_object_close(self->object);
    }
    return err->code;
}

static kl_code look_up_kind(void *world, kl_error *err)
{
    (void)world;
    (void)err;
    return kl_kind_builtin("deploy") != NULL ? KL_OK : KL_EINVAL;
}

static kl_code identify_object(void *world, kl_error *err)
{
    const kl_object *object = ((readable *)world)->object;

    kl_object_unref(kl_object_ref(object));
    assert_ptr_not_equal(kl_object_name(object), kl_object_namespace(object));
    assert_ptr_not_equal(kl_object_key(object), kl_object_uid(object));
    (void)kl_object_kind(object);
    (void)kl_object_api_version(object);
    kl_object_close_json(object);
    return kl_object_json(object, NULL, err) != NULL &&
                   kl_object_bytes(object) > kl_object_json_length(object) &&
                   !kl_object_is_metadata_only(object) &&
                   !kl_object_is_pruned(object) &&
                   kl_version_compare(kl_object_resource_version(object),
                                      "12") < 0
               ? KL_OK
               : KL_EINVAL;
}

static kl_code open_object_again(void *world, kl_error *err)
{
    readable *self = world;
    kl_code code = KL_EINVAL;

    if (kl_object_open(self->object, err) != NULL) {
        kl_object_close(self->object);
        code = KL_OK;
    }
    kl_object_close(self->object);
    return code;
}

static kl_code hold_open(void *world, kl_error *err)
{
    readable *self = world;

    return kl_object_open(self->object, err) != NULL ? KL_OK : err->code;
}

static kl_code parse_selector(void *world, kl_error *err)
{
    (void)world;
    kl_selector_free(
        kl_selector_parse("app=shop,tier!=db,env in (a,b),!gone", err));
    return err->code;
}

static kl_code select_object(void *world, kl_error *err)
{
    const readable *self = world;
    const kl_value *metadata = kl_value_get(self->root, "metadata");

    (void)err;
    return !kl_selector_is_empty(self->selector) &&
                   kl_selector_matches(self->selector,
                                       kl_value_get(metadata, "labels"))
               ? KL_OK
               : KL_EINVAL;
}

/* Called back: only with whole documents, and not after a failure. */
static kl_code take_manifest(void *context, const char *json, size_t length,
                             kl_error *err)
{
    int *documents = context;

    (void)err;
    assert_int_equal(json[0], '{');
    assert_int_equal(json[length - 1], '}');
    (*documents)++;
    return KL_OK;
}

static kl_code read_manifest(void *world, kl_error *err)
{
    static const char text[] = "a: &x [1, 2, 'three']\nb: *x\n---\n"
                               "c: |\n  text\n  more\nd: {e: 1.5, f: ~}\n";
    int documents = 0;
    kl_code code = kl_manifest_each(text, sizeof(text) - 1, take_manifest,
                                    &documents, err);

    (void)world;
    assert_true(code != KL_OK || documents == 2);
    return code;
}

static kl_code read_json_manifest(void *world, kl_error *err)
{
    static const char text[] = "{\"a\":1} {\"b\":[true,null]}";
    int documents = 0;

    (void)world;
    return kl_manifest_each(text, sizeof(text) - 1, take_manifest, &documents,
                            err);
}

static void swallow(void *context, kl_log_level level, const char *message)
{
    (void)level;
    *(size_t *)context += strlen(message);
}

static kl_code say(void *world, kl_error *err)
{
    kl_error told = {0};
    size_t said = 0;
    char escaped[8];

    (void)world;
    (void)err;
    kl_set_log(swallow, &said, KL_LOG_INFO);
    kl_log(KL_LOG_WARN, "%s %d", kl_code_name(KL_EGONE), 7);
    kl_memory_trim();
    kl_text_escape(escaped, sizeof(escaped), "a\033", 2, KL_ONE_LINE);
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    kl_error_set(&told, KL_EGONE, "%s", kl_version());
    kl_error_prefix(&told, "%s", kl_live_name(KL_LIVE_DOC));
    return said > 0 && kl_live_count(KL_LIVE_DOC) > 0 && told.code == KL_EGONE
               ? KL_OK
               : KL_EINVAL;
}

/* Blocks may cross over: all come from malloc. */
static kl_code change_allocator(void *world, kl_error *err)
{
    (void)world;
    (void)err;
    kl_set_allocator(&(kl_allocator){malloc, realloc, free});
    kl_free(NULL);
    failing_alloc_resume();
    return KL_OK;
}

static kl_code hash_value(void *world, kl_error *err)
{
    const readable *self = world;
    char text[KL_HASH_SIZE];

    return kl_value_hash(self->root, text, err);
}

static kl_code encode_base64(void *world, kl_error *err)
{
    char *text = kl_base64_encode(POD, strlen(POD), NULL, err);

    (void)world;
    kl_free(text);
    return err->code;
}

static kl_code decode_base64(void *world, kl_error *err)
{
    size_t length;
    char *bytes = kl_base64_decode("c2hvcA==", 8, &length, err);

    (void)world;
    kl_free(bytes);
    return err->code;
}

/* Without memory for the body's tree, the status alone decides. */
static kl_code read_refusal(void *world, kl_error *err)
{
    static const char body[] =
        "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\"}";

    (void)world;
    return kl_status_error(409, body, strlen(body), err) == KL_EALREADY_EXISTS
               ? KL_OK
               : no_memory(err);
}

static kl_code read_and_write_time(void *world, kl_error *err)
{
    char text[KL_TIME_SIZE];
    kl_time time;

    (void)world;
    return kl_time_parse("2026-11-22T10:00:00.5Z", &time, err) == KL_OK
               ? kl_time_format(time, 6, text, err)
               : err->code;
}

static kl_code read_list(void *world, kl_error *err)
{
    static const char text[] =
        "{\"kind\":\"PodList\",\"items\":[{\"metadata\":{\"name\":\"a\"}},"
        "{\"metadata\":{\"name\":\"b\"},\"spec\":tru}]}";
    const kl_object_options options = {.kind = "Pod", .api_version = "v1"};
    kl_list_page list;
    kl_code code = kl_list_parse(text, strlen(text), &options, &list, err);

    (void)world;
    assert_int_equal(list.objects.count, code == KL_OK ? 1 : 0);
    assert_int_equal(list.unreadable.count, code == KL_OK ? 1 : 0);
    kl_list_clear(&list);
    return code;
}

static kl_code clear_list(void *world, kl_error *err)
{
    kl_list_page list = {0};

    (void)world;
    (void)err;
    kl_list_clear(&list);
    kl_unreadable_list_clear(&list.unreadable);
    return KL_OK;
}

static const every_call calls[] = {
    REFUSES(kl_list_parse, read_list),
    NEVER_ALLOCATES(kl_list_clear, clear_list),
    NEVER_ALLOCATES(kl_unreadable_list_clear, clear_list),
    REFUSES(kl_doc_parse, parse_document),
    NEVER_ALLOCATES(kl_doc_ref, share_document),
    NEVER_ALLOCATES(kl_doc_unref, share_document),
    NEVER_ALLOCATES(kl_doc_root, share_document),
    NEVER_ALLOCATES(kl_value_type, read_values),
    NEVER_ALLOCATES(kl_value_bool, read_values),
    NEVER_ALLOCATES(kl_value_integer, read_values),
    NEVER_ALLOCATES(kl_value_unsigned, read_values),
    NEVER_ALLOCATES(kl_value_real, read_values),
    NEVER_ALLOCATES(kl_value_string, read_values),
    NEVER_ALLOCATES(kl_value_size, read_values),
    NEVER_ALLOCATES(kl_value_at, read_values),
    NEVER_ALLOCATES(kl_value_get, read_values),
    NEVER_ALLOCATES(kl_value_get_n, read_values),
    NEVER_ALLOCATES(kl_value_next, read_values),
    REFUSES(kl_value_json, print_value),
    REFUSES(kl_value_hash, hash_value),
    REFUSES(kl_base64_encode, encode_base64),
    REFUSES(kl_base64_decode, decode_base64),
    REFUSES(kl_status_error, read_refusal),
    NEVER_ALLOCATES(kl_time_parse, read_and_write_time),
    NEVER_ALLOCATES(kl_time_format, read_and_write_time),
    REFUSES(kl_path_parse, parse_path),
    REFUSES(kl_path_free, parse_path),
    NEVER_ALLOCATES(kl_path_text, follow_path),
    NEVER_ALLOCATES(kl_path_first, follow_path),
    NEVER_ALLOCATES(kl_path_each, follow_path),
    NEVER_ALLOCATES(kl_path_begins_with, follow_path),
    NEVER_ALLOCATES(kl_kind_builtin, look_up_kind),
    REFUSES(kl_writer_new, write_all),
    REFUSES(kl_writer_free, write_all),
    REFUSES(kl_writer_begin_object, write_all),
    REFUSES(kl_writer_end_object, write_all),
    REFUSES(kl_writer_begin_array, write_all),
    REFUSES(kl_writer_end_array, write_all),
    REFUSES(kl_writer_name, write_all),
    REFUSES(kl_writer_null, write_all),
    REFUSES(kl_writer_bool, write_all),
    REFUSES(kl_writer_integer, write_all),
    REFUSES(kl_writer_real, write_all),
    REFUSES(kl_writer_string, write_all),
    REFUSES(kl_writer_raw, write_all),
    REFUSES(kl_writer_value, write_all),
    REFUSES(kl_writer_finish, write_all),
    REFUSES(kl_object_parse, parse_object),
    REFUSES(kl_object_json_distinct, copy_distinct),
    NEVER_ALLOCATES(kl_object_ref, identify_object),
    NEVER_ALLOCATES(kl_object_unref, identify_object),
    NEVER_ALLOCATES(kl_object_key, identify_object),
    NEVER_ALLOCATES(kl_object_name, identify_object),
    NEVER_ALLOCATES(kl_object_namespace, identify_object),
    NEVER_ALLOCATES(kl_object_uid, identify_object),
    NEVER_ALLOCATES(kl_object_resource_version, identify_object),
    NEVER_ALLOCATES(kl_object_kind, identify_object),
    NEVER_ALLOCATES(kl_object_api_version, identify_object),
    NEVER_ALLOCATES(kl_object_json, identify_object),
    NEVER_ALLOCATES(kl_object_close_json, identify_object),
    NEVER_ALLOCATES(kl_object_json_length, identify_object),
    NEVER_ALLOCATES(kl_object_bytes, identify_object),
    NEVER_ALLOCATES(kl_object_is_metadata_only, identify_object),
    NEVER_ALLOCATES(kl_object_is_pruned, identify_object),
    NEVER_ALLOCATES(kl_version_compare, identify_object),
    REFUSES(kl_object_open, open_object),
    NEVER_ALLOCATES_AFTER(kl_object_close, open_object_again, hold_open),
    REFUSES(kl_selector_parse, parse_selector),
    REFUSES(kl_selector_free, parse_selector),
    NEVER_ALLOCATES(kl_selector_is_empty, select_object),
    NEVER_ALLOCATES(kl_selector_matches, select_object),
    REFUSES(kl_manifest_each, read_manifest),
    REFUSES(kl_manifest_each, read_json_manifest),
    NEVER_ALLOCATES(kl_set_log, say),
    NEVER_ALLOCATES(kl_log, say),
    NEVER_ALLOCATES(kl_text_escape, say),
    NEVER_ALLOCATES(kl_code_name, say),
    NEVER_ALLOCATES(kl_error_set, say),
    NEVER_ALLOCATES(kl_error_prefix, say),
    NEVER_ALLOCATES(kl_version, say),
    NEVER_ALLOCATES(kl_memory_trim, say),
    NEVER_ALLOCATES(kl_live_count, say),
    NEVER_ALLOCATES(kl_live_name, say),
    NEVER_ALLOCATES(kl_set_allocator, change_allocator),
    NEVER_ALLOCATES(kl_free, change_allocator),
    REFUSES(kl_watchdog_start, watch_thread),
    NEVER_ALLOCATES_AFTER(kl_watchdog_enter, do_watched, start_watchdog),
    NEVER_ALLOCATES_AFTER(kl_watchdog_leave, do_watched, start_watchdog),
    NEVER_ALLOCATES_AFTER(kl_watchdog_tell, do_watched, start_watchdog),
    NEVER_ALLOCATES_AFTER(kl_watchdog_hurry, do_watched, start_watchdog),
    NEVER_ALLOCATES_AFTER(kl_watchdog_current, do_watched, start_watchdog),
    NEVER_ALLOCATES_AFTER(kl_watchdog_stop, do_watched, start_watchdog),
};

static void each_call_on_values_survives_each_failed_allocation(void **state)
{
    readable world;

    (void)state;
    failing_alloc_install();
    world.doc = kl_doc_parse(POD, strlen(POD), NULL);
    world.root = kl_doc_root(world.doc);
    world.path = kl_path_parse("spec.containers[*].image", NULL);
    world.object = kl_object_parse(POD, strlen(POD), NULL, NULL);
    world.selector = kl_selector_parse("app in (shop)", NULL);
    every_call_try(calls, sizeof(calls) / sizeof(calls[0]),
                   &(every_call_stage){.world = &world});
    kl_selector_free(world.selector);
    kl_object_unref(world.object);
    kl_path_free(world.path);
    kl_doc_unref(world.doc);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

static kl_code read_fields(void *world, kl_error *err)
{
    static const char *const paths[] = {"metadata.name", "spec.containers"};
    kl_fields *fields = kl_fields_new(paths, 2, err);

    if (fields != NULL && kl_fields_read(fields, world, err) == KL_OK &&
        kl_fields_value(fields, 1) == NULL) {
        kl_error_set(err, KL_EINVAL, "a field is missing");
    }
    kl_fields_free(fields);
    return err->code;
}

static const every_call field_calls[] = {
    REFUSES(kl_fields_new, read_fields),
    REFUSES(kl_fields_read, read_fields),
    REFUSES(kl_fields_value, read_fields),
    REFUSES(kl_fields_free, read_fields),
};

static void each_call_on_fields_survives_each_failed_allocation(void **state)
{
    kl_object *pod;

    (void)state;
    failing_alloc_install();
    pod = object_of("{\"metadata\":{\"name\":\"web\"},"
                    "\"spec\":{\"containers\":[{\"image\":\"x\"}]}}",
                    NULL);
    every_call_try(field_calls, sizeof(field_calls) / sizeof(field_calls[0]),
                   &(every_call_stage){.world = pod});
    kl_object_unref(pod);
    assert_int_equal(failing_alloc_live(), 0);
    failing_alloc_uninstall();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_on_values_survives_each_failed_allocation),
        cmocka_unit_test(each_call_on_fields_survives_each_failed_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
