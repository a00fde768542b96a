/*
 * list_watch_spec.c - how a list_watch reads lists and watches: it returns
 * every item as soon as its last byte is there, however the bytes are cut. One
 * that breaks off, or breaks the protocol, is an error with its own code: no
 * object is skipped or invented.
 */
#include "answered.h"
#include "failing_alloc.h"
#include "client_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void a_list_comes_item_by_item_and_ends_with_its_page(void **state)
{
    source_world *self = *state;

    source_world_answer(
        self,
        POD_LIST(POD("a", "5") "," POD("b", "7"),
                 "\"resourceVersion\":\"9\",\"continue\":\"more\""),
        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect(self, KL__ITEM_OBJECT, "web/a", "5");
    source_world_expect(self, KL__ITEM_OBJECT, "web/b", "7");
    source_world_expect(self, KL__ITEM_PAGE, NULL, "9");
    assert_string_equal(self->item.continue_token, "more");
    source_world_expect_failure(self, KL_EINVAL, "no transfer");
    assert_true(source_world_asked(self).is_closed);
}

static void any_chunking_gives_the_same_items(void **state)
{
    source_world *self = *state;

    for (size_t chunk = 1; chunk < 40; chunk++) {
        source_world_answer(
            self, POD_LIST(POD("a", "5"), "\"resourceVersion\":\"9\""), chunk,
            FAKE_CLOSE);
        source_world_answer(self,
                            EVENT("ADDED", POD("b", "10"))
                                EVENT("DELETED", POD("a", "11")),
                            chunk, FAKE_CLOSE);
        assert_int_equal(source_world_list(self), KL_OK);
        source_world_expect(self, KL__ITEM_OBJECT, "web/a", "5");
        source_world_expect(self, KL__ITEM_PAGE, NULL, "9");
        assert_int_equal(source_world_watch(self), KL_OK);
        source_world_expect(self, KL__ITEM_ADDED, "web/b", "10");
        source_world_expect(self, KL__ITEM_DELETED, "web/a", "11");
        source_world_expect(self, KL__ITEM_END, NULL, "");
    }
}

static void an_item_is_out_before_the_next_byte_arrives(void **state)
{
    source_world *self = *state;
    size_t request;

    source_world_answer(self, "{\"items\":[" POD("a", "5"), 0, FAKE_HOLD);
    assert_int_equal(source_world_list(self), KL_OK);
    request = fake_transport_count(self->fake) - 1;
    source_world_expect(self, KL__ITEM_OBJECT, "web/a", "5");
    assert_int_equal(source_world_next_within(self, 0), KL_ETIMEOUT);
    fake_transport_send(self->fake, request, "],\"metadata\":{},");
    assert_int_equal(source_world_next_within(self, 0), KL_ETIMEOUT);
    fake_transport_send(self->fake, request, "\"kind\":\"PodList\"}");
    fake_transport_finish(self->fake, request, FAKE_CLOSE);
    source_world_expect(self, KL__ITEM_PAGE, NULL, "");
    assert_string_equal(self->item.continue_token, "");
}

static void list_items_get_a_kind_and_lose_managed_fields(void **state)
{
    source_world *self = *state;

    source_world_answer(self, POD_LIST(BARE("a"), "\"resourceVersion\":\"9\""),
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    assert_non_null(
        strstr(source_world_asked(self).headers,
               "Accept: application/json;drop=metadata.managedFields,"
               "application/json\n"));
    source_world_expect(self, KL__ITEM_OBJECT, "a", "");
    assert_string_equal(kl_object_kind(self->item.object), "Pod");
    assert_string_equal(kl_object_api_version(self->item.object), "v1");
    assert_null(
        strstr(kl_object_json(self->item.object, NULL, NULL), "managedFields"));
}

static void managed_fields_are_kept_on_demand(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {.resource = "pods",
                                      .keep_managed_fields = true};

    source_world_use(self, &options);
    source_world_answer(self, POD_LIST(BARE("a"), "\"resourceVersion\":\"9\""),
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    assert_non_null(
        strstr(source_world_asked(self).headers, "Accept: application/json\n"));
    source_world_expect(self, KL__ITEM_OBJECT, "a", "");
    assert_non_null(
        strstr(kl_object_json(self->item.object, NULL, NULL), "managedFields"));
}

#define PARTIAL(name, version)                                               \
    "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\"," \
    "\"metadata\":{\"name\":\"" name                                         \
    "\",\"namespace\":\"web\",\"resourceVersion\":\"" version "\"}}"

/* The item's object is the Pod of that name, with its metadata only. */
static void has_metadata_only(source_world *self, const char *name)
{
    kl_object *object = self->item.object;
    const char *json = kl_object_json(object, NULL, NULL);

    assert_string_equal(kl_object_kind(object), "Pod");
    assert_string_equal(kl_object_api_version(object), "v1");
    assert_string_equal(kl_object_name(object), name);
    assert_true(kl_object_is_metadata_only(object));
    assert_null(strstr(json, "spec"));
    assert_null(strstr(json, "Partial"));
}

static void metadata_alone_is_asked_for_and_keeps_the_real_kind(void **state)
{
    static const char whole[] =
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"c\"},"
        "\"spec\":{\"nodeName\":\"n\"}}";
    source_world *self = *state;
    kl__list_watch_options options = {.resource = "pods",
                                      .metadata_only = true};

    source_world_use(self, &options);
    source_world_answer(
        self,
        "{\"kind\":\"PartialObjectMetadataList\","
        "\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":"
        "{\"resourceVersion\":\"9\"},\"items\":[" PARTIAL("a", "5") "]}\n",
        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    assert_non_null(strstr(
        source_world_asked(self).headers,
        "Accept: application/json;as=PartialObjectMetadataList;g=meta.k8s.io;"
        "v=v1;drop=metadata.managedFields,application/json;"
        "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json\n"));
    source_world_expect(self, KL__ITEM_OBJECT, "web/a", "5");
    has_metadata_only(self, "a");
    source_world_expect(self, KL__ITEM_PAGE, NULL, "9");
    source_world_answer(self, EVENT("ADDED", PARTIAL("b", "10")), 0, FAKE_HOLD);
    assert_int_equal(source_world_watch(self), KL_OK);
    assert_non_null(strstr(
        source_world_asked(self).headers,
        "Accept: application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;"
        "drop=metadata.managedFields,application/json;as=PartialObjectMetadata;"
        "g=meta.k8s.io;v=v1,application/json\n"));
    source_world_expect(self, KL__ITEM_ADDED, "web/b", "10");
    has_metadata_only(self, "b");
    fake_transport_send(self->fake, fake_transport_count(self->fake) - 1,
                        "{\"type\":\"MODIFIED\",\"object\":");
    fake_transport_send(self->fake, fake_transport_count(self->fake) - 1,
                        whole); /* of a server that knows no part of it */
    fake_transport_send(self->fake, fake_transport_count(self->fake) - 1,
                        "}\n");
    source_world_expect(self, KL__ITEM_MODIFIED, "c", "");
    has_metadata_only(self, "c");
}

static void metadata_with_managed_fields_is_asked_for_plainly(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {
        .resource = "pods", .keep_managed_fields = true, .metadata_only = true};

    source_world_use(self, &options);
    source_world_answer(self, POD_LIST(BARE("a"), "\"resourceVersion\":\"9\""),
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    assert_non_null(strstr(source_world_asked(self).headers,
                           "Accept: application/json;"
                           "as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
                           "application/json\n"));
    source_world_expect(self, KL__ITEM_OBJECT, "a", "");
    assert_non_null(
        strstr(kl_object_json(self->item.object, NULL, NULL), "managedFields"));
}

static void a_table_is_not_metadata(void **state)
{
    source_world *self = *state;
    kl__list_watch_options options = {.resource = "pods",
                                      .metadata_only = true};

    source_world_use(self, &options);
    source_world_answer(self,
                        EVENT("ADDED", "{\"kind\":\"Table\",\"apiVersion\":"
                                       "\"meta.k8s.io/v1\",\"metadata\":{"
                                       "\"name\":\"a\"}}"),
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect_failure(self, KL_EPARSE, "sent a Table");
}

static void bookmarks_bring_versions_and_the_end_of_the_list(void **state)
{
    source_world *self = *state;

    source_world_answer(
        self,
        EVENT("BOOKMARK", "{\"kind\":\"Pod\",\"metadata\":"
                          "{\"resourceVersion\":\"20\"}}")
            EVENT("BOOKMARK",
                  "{\"kind\":\"Odd\",\"metadata\":{\"resourceVersion\":"
                  "\"21\",\"annotations\":{"
                  "\"k8s.io/initial-events-end\":\"true\"}}}")
                EVENT("BOOKMARK", "{\"metadata\":{\"annotations\":{"
                                  "\"k8s.io/initial-events-end\":\"no\"}}}"),
        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_BOOKMARK, NULL, "20");
    assert_false(self->item.initial_events_end);
    source_world_expect(self, KL__ITEM_BOOKMARK, NULL, "21");
    assert_true(self->item.initial_events_end);
    source_world_expect(self, KL__ITEM_BOOKMARK, NULL, "");
    assert_false(self->item.initial_events_end);
    source_world_expect(self, KL__ITEM_END, NULL, "");
}

static void an_empty_list_may_have_null_for_items(void **state)
{
    source_world *self = *state;

    source_world_answer(
        self,
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":"
        "\"9\"},\"items\":null}",
        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect(self, KL__ITEM_PAGE, NULL, "9");
}

static void silence_counts_from_the_last_byte_of_a_transfer(void **state)
{
    source_world *self = *state;

    assert_int_equal(kl__list_watch_silence_ms(self->source), -1);
    source_world_answer(self, EVENT("ADDED", POD("a", "5")), 0, FAKE_HOLD);
    assert_int_equal(source_world_watch(self), KL_OK);
    assert_in_range(kl__list_watch_silence_ms(self->source), 0, 5000);
    assert_int_equal(source_world_next(self), KL_OK);
    while (kl__list_watch_silence_ms(self->source) < 5) {
        assert_int_equal(source_world_next_within(self, 1), KL_ETIMEOUT);
    }
    kl__list_watch_end(self->source);
    assert_int_equal(kl__list_watch_silence_ms(self->source), -1);
    kl__list_watch_end(self->source);
}

typedef struct onlooker {
    kl__list_watch *source;
    kl__thread thread;
    atomic_bool may_go;
} onlooker;

static void *look_on(void *arg)
{
    onlooker *self = arg;

    while (!atomic_load(&self->may_go)) {
        assert_true(kl__list_watch_silence_ms(self->source) >= -1);
    }
    return NULL;
}

static void the_silence_of_a_watch_is_read_on_any_thread(void **state)
{
    source_world *self = *state;
    onlooker other = {.source = self->source};

    atomic_init(&other.may_go, false);
    assert_int_equal(
        kl__thread_start(&other.thread, "onlooker", look_on, &other, NULL),
        KL_OK);
    for (int i = 0; i < 50; i++) {
        source_world_answer(self, EVENT("ADDED", POD("a", "5")), 1, FAKE_CLOSE);
        assert_int_equal(source_world_watch(self), KL_OK);
        source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
        kl__list_watch_end(self->source);
    }
    atomic_store(&other.may_go, true);
    kl__thread_join(&other.thread);
}

static void a_fired_token_ends_whatever_waits(void **state)
{
    source_world *self = *state;
    kl__watch_params params = {.resource_version = "1"};
    kl__cancel cancel;

    kl__cancel_init(&cancel);
    source_world_answer(self, "", 0, FAKE_HOLD);
    assert_int_equal(source_world_watch(self), KL_OK);
    kl__cancel_fire(&cancel);
    assert_int_equal(
        kl__list_watch_next(self->source, &self->item, -1, &cancel, &self->err),
        KL_ECANCELED);
    assert_int_equal(
        kl__list_watch_watch(self->source, &params, &cancel, &self->err),
        KL_ECANCELED);
    kl__cancel_deinit(&cancel);
}

static kl_code everything_once(void *context)
{
    source_world *self = context;
    kl__list_watch_options options = {.resource = "pods", .labels = "a=b"};
    kl__list_watch *source =
        kl__list_watch_new(self->client, &options, &self->err);
    kl__item item = {0};
    kl_code code;

    if (source == NULL) {
        return self->err.code;
    }
    code = answered(kl__list_watch_resolve(source, NULL, &self->err), source,
                    NULL, &self->err);
    if (code == KL_OK) {
        code =
            answered(kl__list_watch_list(source, &(kl__list_params){.limit = 5},
                                         NULL, &self->err),
                     source, NULL, &self->err);
    }
    while (code == KL_OK && item.type != KL__ITEM_PAGE) {
        kl__item_clear(&item);
        code = kl__list_watch_next(source, &item, -1, NULL, &self->err);
    }
    kl__item_clear(&item);
    if (code == KL_OK) {
        code = answered(kl__list_watch_watch(
                            source,
                            &(kl__watch_params){.send_initial_events = true},
                            NULL, &self->err),
                        source, NULL, &self->err);
    }
    while (code == KL_OK && item.type != KL__ITEM_END) {
        kl__item_clear(&item);
        code = kl__list_watch_next(source, &item, -1, NULL, &self->err);
    }
    kl__item_clear(&item);
    kl__list_watch_free(source);
    return code;
}

static void running_out_of_memory_is_an_error_and_leaks_nothing(void **state)
{
    source_world *self = *state;

    fake_transport_answer(
        self->fake, &(fake_answer){.target = "/api/v1/pods?labelSelector="
                                             "a%3Db&watch",
                                   .body = EVENT("ADDED", POD("b", "10"))
                                       EVENT("BOOKMARK", "{\"metadata\":{}}"),
                                   .times = FAKE_FOREVER});
    fake_transport_answer(
        self->fake,
        &(fake_answer){.target = "/api/v1/pods",
                       .body = POD_LIST(BARE("a"), "\"resourceVersion\":\"9\""),
                       .times = FAKE_FOREVER});
    assert_true(failing_alloc_each(everything_once, self) > 20);
}

static void an_error_event_is_the_code_of_its_status(void **state)
{
    source_world *self = *state;

    source_world_answer(
        self,
        EVENT("ADDED", POD("a", "5"))
            EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410,\"reason\":"
                           "\"Expired\",\"message\":\"too old\"}"),
        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect_failure(self, KL_EGONE, "too old");
    assert_true(source_world_asked(self).is_closed);
}

static void a_list_that_breaks_off_is_unavailable(void **state)
{
    static const char *const cut[] = {
        "", "{", "{\"items\":[" POD("a", "1"),
        "{\"kind\":\"PodList\",\"items\":[" POD("a", "1") "]"};
    source_world *self = *state;

    for (size_t i = 0; i < 4; i++) {
        for (fake_end end = FAKE_CLOSE; end <= FAKE_BREAK; end++) {
            source_world_answer(self, cut[i], 0, end);
            assert_int_equal(source_world_list(self), KL_OK);
            while (source_world_next(self) == KL_OK) {
                assert_int_equal(self->item.type, KL__ITEM_OBJECT);
            }
            assert_int_equal(self->err.code, KL_EUNAVAILABLE);
        }
    }
}

static void a_watch_ends_cleanly_only_between_events(void **state)
{
    source_world *self = *state;

    source_world_answer(self, EVENT("ADDED", POD("a", "5")) "\n \n", 0,
                        FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect(self, KL__ITEM_END, NULL, "");
    assert_true(source_world_asked(self).is_closed);
    source_world_answer(self, EVENT("ADDED", POD("a", "5")) "{\"type\":\"ADD",
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect_failure(self, KL_EUNAVAILABLE,
                                "broke off inside an event");
    source_world_answer(self, EVENT("ADDED", POD("a", "5")), 0, FAKE_BREAK);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect(self, KL__ITEM_ADDED, "web/a", "5");
    source_world_expect_failure(self, KL_EUNAVAILABLE, "reset");
}

static void an_answer_that_is_no_list_is_not_an_empty_list(void **state)
{
    static const char *const others[] = {
        "{}",
        "{\"kind\":\"Status\",\"status\":\"Failure\"}",
        "{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"}}",
        "{\"kind\":\"Table\",\"metadata\":{},\"rows\":[]}",
        "{\"kind\":\"Table\",\"items\":[]}",
        "{\"items\":[],\"metadata\":{\"resourceVersion\":\"9\"}}"};
    source_world *self = *state;

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        source_world_answer(self, others[i], 0, FAKE_CLOSE);
        assert_int_equal(source_world_list(self), KL_OK);
        source_world_expect_failure(self, KL_EPARSE,
                                    "where a list of pods was asked for");
    }
}

static void rubbish_behind_a_list_is_a_parse_error(void **state)
{
    source_world *self = *state;

    source_world_answer(self,
                        POD_LIST("", "\"resourceVersion\":\"9\"") "<html>", 0,
                        FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect_failure(self, KL_EPARSE, "nothing after the list");
}

static void a_complete_list_whose_body_breaks_off_is_complete(void **state)
{
    source_world *self = *state;

    source_world_answer(self, POD_LIST("", "\"resourceVersion\":\"9\""), 0,
                        FAKE_BREAK);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect(self, KL__ITEM_PAGE, NULL, "9");
}

static void objects_of_another_kind_are_refused_by_name(void **state)
{
    source_world *self = *state;

    source_world_answer(self,
                        EVENT("ADDED", "{\"kind\":\"Table\",\"metadata\":"
                                       "{\"name\":\"t\"}}"),
                        0, FAKE_CLOSE);
    assert_int_equal(source_world_watch(self), KL_OK);
    source_world_expect_failure(self, KL_EPARSE, "Table");
    source_world_answer(
        self, POD_LIST("{\"kind\":\"Node\",\"metadata\":{\"name\":\"n\"}}", ""),
        0, FAKE_CLOSE);
    assert_int_equal(source_world_list(self), KL_OK);
    source_world_expect_failure(self, KL_EPARSE,
                                "a Node (n) where a Pod was asked for");
}

static void nothing_in_a_watch_is_skipped_silently(void **state)
{
    static const char *const rubbish[] = {
        EVENT("RENAMED", POD("a", "1")),
        EVENT("ADDED", "{\"kind\":\"Pod\",\"metadata\":{}}"),
        EVENT("ADDED", "{\"kind\":\"Pod\",,}"),
        EVENT("ADDED", "{\"kind\":\"Node\",,\"metadata\":{\"name\":\"a\"}}"),
        EVENT("BOOKMARK", "{,}"),
        EVENT("ERROR", "{,}"),
        "{\"type\":\"ADDED\"}\n",
        "[]\n",
        EVENT("BOOKMARK",
              "{\"metadata\":{\"resourceVersion\":\"1234567890123456789012345"
              "678901234567890123456789012345678901234567890\"}}")};
    source_world *self = *state;

    for (size_t i = 0; i < sizeof(rubbish) / sizeof(rubbish[0]); i++) {
        source_world_answer(self, rubbish[i], 0, FAKE_HOLD);
        assert_int_equal(source_world_watch(self), KL_OK);
        source_world_expect_failure(self, KL_EPARSE, "");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOURCE_SPEC(a_list_comes_item_by_item_and_ends_with_its_page),
        SOURCE_SPEC(any_chunking_gives_the_same_items),
        SOURCE_SPEC(an_item_is_out_before_the_next_byte_arrives),
        SOURCE_SPEC(list_items_get_a_kind_and_lose_managed_fields),
        SOURCE_SPEC(managed_fields_are_kept_on_demand),
        SOURCE_SPEC(metadata_alone_is_asked_for_and_keeps_the_real_kind),
        SOURCE_SPEC(metadata_with_managed_fields_is_asked_for_plainly),
        SOURCE_SPEC(a_table_is_not_metadata),
        SOURCE_SPEC(bookmarks_bring_versions_and_the_end_of_the_list),
        SOURCE_SPEC(an_empty_list_may_have_null_for_items),
        SOURCE_SPEC(silence_counts_from_the_last_byte_of_a_transfer),
        SOURCE_SPEC(the_silence_of_a_watch_is_read_on_any_thread),
        SOURCE_SPEC(a_fired_token_ends_whatever_waits),
        SOURCE_SPEC(running_out_of_memory_is_an_error_and_leaks_nothing),
        SOURCE_SPEC(an_error_event_is_the_code_of_its_status),
        SOURCE_SPEC(a_list_that_breaks_off_is_unavailable),
        SOURCE_SPEC(a_watch_ends_cleanly_only_between_events),
        SOURCE_SPEC(an_answer_that_is_no_list_is_not_an_empty_list),
        SOURCE_SPEC(rubbish_behind_a_list_is_a_parse_error),
        SOURCE_SPEC(a_complete_list_whose_body_breaks_off_is_complete),
        SOURCE_SPEC(objects_of_another_kind_are_refused_by_name),
        SOURCE_SPEC(nothing_in_a_watch_is_skipped_silently),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
