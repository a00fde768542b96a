/*
 * indexer_spec.c - what a batch or a list changes, and what readers then find.
 */
#include "cache/indexer.h"

#include "base/mem.h"
#include "failing_alloc.h"
#include "kubelua/log.h"
#include "pods.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* One delta of an object, whose reference it takes. */
static kl__delta delta(kl__delta_type type, kl_object *object)
{
    return (kl__delta){.type = type, .object = object};
}

static void describe(char *text, size_t size, const kl__change_list *changes)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < changes->count; i++) {
        const kl__change *change = &changes->items[i];
        const char *sign = "+";

        if (change->type == KL__CHANGE_UPDATE) {
            sign = "~";
        } else if (change->type == KL__CHANGE_DELETE) {
            sign = change->unknown ? "?" : "-";
        }
        used += (size_t)snprintf(
            text + used, size - used, "%s%s%s@%s%s%s", i > 0 ? " " : "", sign,
            kl_object_name(change->object),
            change->old != NULL ? kl_object_resource_version(change->old) : "",
            change->old != NULL ? ">" : "",
            kl_object_resource_version(change->object));
    }
}

/* Applies deltas, whose references it takes; says what changed: "+a@1" an add,
 * "~a@1>2" an update, "-a@2>3" a delete, "?a@2>2" one that was missed. */
static const char *apply(kl__indexer *indexer, kl__delta *items, size_t count)
{
    static char text[1024];
    kl__delta_batch batch = {items, count, count};
    kl__change_list changes = {0};

    assert_int_equal(kl__indexer_apply(indexer, &batch, &changes), KL_OK);
    describe(text, sizeof(text), &changes);
    kl__change_list_clear(&changes);
    for (size_t i = 0; i < count; i++) {
        kl__delta_clear(&items[i]);
    }
    return text;
}

static const char *apply_one(kl__indexer *indexer, kl__delta_type type,
                             kl_object *object)
{
    kl__delta one = delta(type, object);

    return apply(indexer, &one, 1);
}

static const char *replace(kl__indexer *indexer, kl_object_list list,
                           const char *version)
{
    static char text[1024];
    kl__change_list changes = {0};

    assert_int_equal(kl__indexer_replace(indexer, &list, version, &changes),
                     KL_OK);
    describe(text, sizeof(text), &changes);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    return text;
}

static const char *version_of(kl__indexer *indexer)
{
    static char version[64];

    kl__indexer_version(indexer, version, sizeof(version));
    return version;
}

static const char *stored(kl__indexer *indexer, const char *key)
{
    static char version[64];
    kl_object *object = kl__indexer_get(indexer, key);

    if (object == NULL) {
        return NULL;
    }
    snprintf(version, sizeof(version), "%s",
             kl_object_resource_version(object));
    kl_object_unref(object);
    return version;
}

static void end(kl__indexer *indexer)
{
    kl__indexer_free(indexer);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}

static void what_is_known_decides_not_the_verb(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u", 1)),
                        "+a@1");
    assert_string_equal(apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 2)),
                        "~a@1>2");
    assert_string_equal(stored(indexer, "web/a"), "2");
    assert_int_equal(kl__indexer_count(indexer), 1);
    end(indexer);
}

static void an_unchanged_version_is_no_change(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl_object *first, *now;

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 1));
    first = kl__indexer_get(indexer, "web/a");
    assert_string_equal(apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u", 1)),
                        "");
    now = kl__indexer_get(indexer, "web/a");
    assert_ptr_equal(first, now);
    kl_object_unref(first);
    kl_object_unref(now);
    end(indexer);
}

static void without_a_version_every_event_is_a_change(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 0));
    assert_string_equal(apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u", 0)),
                        "~a@>");
    end(indexer);
}

static void a_delete_carries_the_final_state(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 1));
    assert_string_equal(apply_one(indexer, KL__DELTA_DELETED, pod("a", "u", 5)),
                        "-a@1>5");
    assert_null(stored(indexer, "web/a"));
    assert_string_equal(version_of(indexer), "5");
    end(indexer);
}

static void a_delete_of_an_unknown_key_is_nothing(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(apply_one(indexer, KL__DELTA_DELETED, pod("a", "u", 5)),
                        "");
    assert_string_equal(version_of(indexer), "5");
    end(indexer);
}

static void another_uid_is_a_missed_delete_and_an_add(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod("a", "u1", 1));
    assert_string_equal(
        apply_one(indexer, KL__DELTA_UPDATED, pod("a", "u2", 9)),
        "?a@1>1 +a@9");
    assert_string_equal(stored(indexer, "web/a"), "9");
    end(indexer);
}

static void a_late_delete_of_a_former_uid_leaves_the_newer_object(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod("a", "u2", 9));
    assert_string_equal(
        apply_one(indexer, KL__DELTA_DELETED, pod("a", "u1", 8)), "");
    assert_string_equal(stored(indexer, "web/a"), "9");
    end(indexer);
}

static void a_delete_of_a_later_uid_says_that_the_known_is_gone(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod("a", "u1", 1));
    assert_string_equal(
        apply_one(indexer, KL__DELTA_DELETED, pod("a", "u2", 9)), "?a@1>1");
    assert_null(stored(indexer, "web/a"));
    end(indexer);
}

static void a_batch_tells_every_change_and_stores_the_last(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta deltas[] = {
        delta(KL__DELTA_ADDED, pod("a", "u", 1)),
        delta(KL__DELTA_UPDATED, pod("a", "u", 2)),
        delta(KL__DELTA_ADDED, pod("b", "v", 3)),
        delta(KL__DELTA_DELETED, pod("a", "u", 4)),
        delta(KL__DELTA_ADDED, pod("a", "w", 5)),
        delta(KL__DELTA_DELETED, pod("b", "v", 6)),
    };

    (void)state;
    assert_string_equal(apply(indexer, deltas, 6),
                        "+a@1 ~a@1>2 +b@3 -a@2>4 +a@5 -b@3>6");
    assert_string_equal(stored(indexer, "web/a"), "5");
    assert_null(stored(indexer, "web/b"));
    assert_int_equal(kl__indexer_count(indexer), 1);
    end(indexer);
}

static void a_list_deletes_what_it_lacks_then_adds_and_updates(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(replace(indexer,
                                pod_list(4, pod("d", "1", 1), pod("c", "2", 1),
                                         pod("b", "3", 1), pod("a", "4", 1)),
                                "7"),
                        "+d@1 +c@1 +b@1 +a@1");
    assert_string_equal(version_of(indexer), "7");
    assert_string_equal(replace(indexer,
                                pod_list(4, pod("e", "5", 8), pod("c", "2", 9),
                                         pod("b", "3", 1), pod("a", "new", 9)),
                                "9"),
                        "?a@1>1 ?d@1>1 +e@8 ~c@1>9 +a@9");
    assert_int_equal(kl__indexer_count(indexer), 4);
    assert_string_equal(stored(indexer, "web/a"), "9");
    end(indexer);
}

static void of_two_objects_with_one_key_in_a_list_the_last_counts(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    assert_string_equal(replace(indexer,
                                pod_list(3, pod("a", "1", 1), pod("b", "2", 1),
                                         pod("a", "1", 2)),
                                "7"),
                        "+b@1 +a@2");
    end(indexer);
}

static void the_version_moves_forward_but_a_list_sets_it(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta bookmark = {.type = KL__DELTA_BOOKMARK};

    (void)state;
    assert_string_equal(version_of(indexer), "");
    replace(indexer, (kl_object_list){0}, "10");
    bookmark.version = kl__malloc(3);
    memcpy(bookmark.version, "12", 3);
    apply(indexer, &bookmark, 1);
    assert_string_equal(version_of(indexer), "12");
    apply_one(indexer, KL__DELTA_ADDED, pod("a", "u", 11));
    assert_string_equal(version_of(indexer), "12");
    replace(indexer, (kl_object_list){0}, "3");
    assert_string_equal(version_of(indexer), "3");
    end(indexer);
}

static kl_object *pod_on(const char *name_space, const char *name,
                         const char *node, int version)
{
    return pod_make(&(pod_text){.name_space = name_space,
                                .name = name,
                                .uid = name,
                                .version = version,
                                .node = node,
                                .label = name});
}

static void add_path(kl__indexer *indexer, const char *name, const char *path)
{
    kl__index_options options = {.name = name,
                                 .path = kl_path_parse(path, NULL)};

    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
}

static const char *names_of(const kl_object_list *list)
{
    static char text[512];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < list->count; i++) {
        used +=
            (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                             i > 0 ? " " : "", kl_object_key(list->items[i]));
    }
    return text;
}

static const char *by(kl__indexer *indexer, const char *index,
                      const char *value)
{
    kl_object_list list;
    const char *names;

    assert_int_equal(kl__indexer_by_index(indexer, index, value, &list, NULL),
                     KL_OK);
    names = names_of(&list);
    kl_object_list_clear(&list);
    return names;
}

static const char *values_of(kl__indexer *indexer, const char *index)
{
    static char text[512];
    kl_string_list list;
    size_t used = 0;

    text[0] = '\0';
    assert_int_equal(kl__indexer_index_values(indexer, index, &list, NULL),
                     KL_OK);
    for (size_t i = 0; i < list.count; i++) {
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s",
                                 i > 0 ? " " : "", list.items[i]);
    }
    kl_string_list_clear(&list);
    return text;
}

static void an_index_follows_its_objects(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    add_path(indexer, "node", "spec.nodeName");
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n1", 1));
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "c", NULL, 1));
    assert_string_equal(by(indexer, "node", "n1"), "web/a web/b");
    apply_one(indexer, KL__DELTA_UPDATED, pod_on("web", "a", "n2", 2));
    apply_one(indexer, KL__DELTA_UPDATED, pod_on("web", "c", "n2", 2));
    assert_string_equal(by(indexer, "node", "n1"), "web/b");
    assert_string_equal(by(indexer, "node", "n2"), "web/a web/c");
    apply_one(indexer, KL__DELTA_DELETED, pod_on("web", "b", "n1", 3));
    assert_string_equal(by(indexer, "node", "n1"), "");
    end(indexer);
}

static void a_value_that_nothing_has_any_more_is_forgotten(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    add_path(indexer, "node", "spec.nodeName");
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n2", 1));
    assert_string_equal(values_of(indexer, "node"), "n1 n2");
    apply_one(indexer, KL__DELTA_UPDATED, pod_on("web", "a", "n3", 2));
    assert_string_equal(values_of(indexer, "node"), "n2 n3");
    replace(indexer, (kl_object_list){0}, "9");
    assert_string_equal(values_of(indexer, "node"), "");
    end(indexer);
}

static void an_object_moves_into_a_value_that_another_leaves(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta deltas[] = {
        delta(KL__DELTA_UPDATED, pod_on("web", "a", "n2", 2)),
        delta(KL__DELTA_UPDATED, pod_on("web", "b", "n1", 3)),
    };

    (void)state;
    add_path(indexer, "node", "spec.nodeName");
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n2", 1));
    apply(indexer, deltas, 2);
    assert_string_equal(by(indexer, "node", "n1"), "web/b");
    assert_string_equal(by(indexer, "node", "n2"), "web/a");
    end(indexer);
}

static void lists_are_by_namespace_and_label_sorted_by_key(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl_selector *labels = kl_selector_parse("app in (a,c)", NULL);
    kl_object_list list;

    (void)state;
    replace(indexer,
            pod_list(4, pod_on("web", "c", NULL, 1),
                     pod_on("web", "b", NULL, 1), pod_on("db", "a", NULL, 1),
                     pod_on(NULL, "node", NULL, 1)),
            "1");
    assert_int_equal(kl__indexer_list(indexer, NULL, NULL, &list, NULL), KL_OK);
    assert_string_equal(names_of(&list), "db/a node web/b web/c");
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_list(indexer, "web", NULL, &list, NULL),
                     KL_OK);
    assert_string_equal(names_of(&list), "web/b web/c");
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_list(indexer, NULL, labels, &list, NULL),
                     KL_OK);
    assert_string_equal(names_of(&list), "db/a web/c");
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_list(indexer, "none", labels, &list, NULL),
                     KL_OK);
    assert_int_equal(list.count, 0);
    kl_object_list_clear(&list);
    kl_selector_free(labels);
    end(indexer);
}

static void an_unknown_index_names_those_that_there_are(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl_object_list list;
    kl_string_list values;
    kl_error err;

    (void)state;
    add_path(indexer, "node", "spec.nodeName");
    add_path(indexer, "uid", "metadata.uid");
    assert_int_equal(kl__indexer_by_index(indexer, "nod", "x", &list, &err),
                     KL_ENOT_FOUND);
    assert_string_equal(err.message, "no index \"nod\": there are node, uid");
    assert_int_equal(kl__indexer_by_index(indexer, "", "web", &list, &err),
                     KL_ENOT_FOUND);
    assert_int_equal(kl__indexer_index_values(indexer, "x", &values, &err),
                     KL_ENOT_FOUND);
    end(indexer);
}

static void an_index_added_late_finds_what_is_stored(void **state)
{
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    add_path(indexer, "node", "spec.nodeName");
    assert_string_equal(by(indexer, "node", "n1"), "web/a");
    end(indexer);
}

static void scalars_of_every_kind_are_values(void **state)
{
    static const char json[] =
        "{\"kind\":\"X\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"a\"},"
        "\"v\":[\"s\",true,-7,18446744073709551615,0.5,"
        "123456789012345678901234567890,null,{},[],\"s\",\"a\\u0000b\"]}";
    kl__indexer *indexer = kl__indexer_new();

    (void)state;
    add_path(indexer, "v", "v[*]");
    apply_one(indexer, KL__DELTA_ADDED,
              kl_object_parse(json, sizeof(json) - 1, NULL, NULL));
    assert_string_equal(values_of(indexer, "v"),
                        "-7 0.5 123456789012345678901234567890 "
                        "18446744073709551615 s true");
    end(indexer);
}

static void the_same_name_is_for_the_same_path_only(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__index_options other = {.name = "node"};
    kl_error err;

    (void)state;
    add_path(indexer, "node", "spec.nodeName");
    add_path(indexer, "node", "spec.nodeName");
    other.path = kl_path_parse("metadata.uid", NULL);
    assert_int_equal(kl__indexer_add_index(indexer, &other, &err),
                     KL_ECONFLICT);
    assert_non_null(strstr(err.message, "spec.nodeName"));
    kl_path_free(other.path);
    other = (kl__index_options){.name = ""};
    assert_int_equal(kl__indexer_add_index(indexer, &other, &err), KL_EINVAL);
    end(indexer);
}

/* An index function that fails for "bad", and counts its calls. */
typedef struct counted {
    int calls;
    int dropped;
} counted;

static kl_code index_name(void *context, const kl_object *object,
                          const kl_value *root, kl_index_sink *sink)
{
    counted *self = context;
    const char *name = kl_object_name(object);

    assert_non_null(root);
    self->calls++;
    kl_index_emit(sink, name, strlen(name));
    kl_index_emit(sink, name, strlen(name));
    return strcmp(name, "bad") == 0 ? KL_EINTERNAL : KL_OK;
}

static void drop_counted(void *context)
{
    ((counted *)context)->dropped++;
}

static kl__index_options by_function(counted *context)
{
    return (kl__index_options){.name = "name",
                               .fn = index_name,
                               .context = context,
                               .drop_context = drop_counted};
}

static int lines;

static void count_line(void *context, kl_log_level level, const char *message)
{
    (void)context;
    (void)level;
    (void)message;
    lines++;
}

static void a_function_that_fails_leaves_out_and_is_logged_once(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    counted calls = {0};
    kl__index_options options = by_function(&calls);

    (void)state;
    lines = 0;
    kl_set_log(count_line, NULL, KL_LOG_DEBUG);
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    apply_one(indexer, KL__DELTA_ADDED, pod("bad", "u", 1));
    apply_one(indexer, KL__DELTA_UPDATED, pod("bad", "u", 2));
    apply_one(indexer, KL__DELTA_ADDED, pod("good", "v", 3));
    kl_set_log(NULL, NULL, KL_LOG_OFF);
    assert_int_equal(lines, 1);
    assert_string_equal(values_of(indexer, "name"), "good");
    assert_string_equal(stored(indexer, "web/bad"), "2");
    assert_int_equal(calls.dropped, 0);
    end(indexer);
    assert_int_equal(calls.dropped, 1);
}

static void a_refused_index_leaves_its_context_to_the_caller(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    counted first = {0}, second = {0};
    kl__index_options options = by_function(&first);

    (void)state;
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    options.context = &second;
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL),
                     KL_ECONFLICT);
    end(indexer);
    assert_int_equal(first.dropped, 1);
    assert_int_equal(second.dropped, 0);
}

/* More objects than are changed in place. */
enum { MANY = 3000 };

static kl_object_list many_pods(int from, int version)
{
    kl_object_list list = {kl__calloc(MANY, sizeof(kl_object *)), MANY};

    for (int i = 0; i < MANY; i++) {
        char name[16], node[16];

        snprintf(name, sizeof(name), "p%05d", from + i);
        snprintf(node, sizeof(node), "n%d", (from + i) % 3);
        list.items[i] = pod_on("web", name, node, version);
    }
    return list;
}

static void a_relist_computes_only_what_changed(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    counted calls = {0};
    kl__index_options options = by_function(&calls);
    kl_object_list list;

    (void)state;
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    add_path(indexer, "node", "spec.nodeName");
    list = many_pods(0, 1);
    for (int round = 0; round < 2; round++) {
        kl__change_list changes = {0};

        assert_int_equal(kl__indexer_replace(indexer, &list, "1", &changes),
                         KL_OK);
        assert_int_equal(changes.count, round == 0 ? MANY : 0);
        kl__change_list_clear(&changes);
    }
    kl_object_list_clear(&list);
    assert_int_equal(calls.calls, MANY);
    end(indexer);
}

/* What index "node" must hold, computed the plain way. */
static void assert_indexed(kl__indexer *indexer)
{
    static const char *const nodes[] = {"n0", "n1", "n2", "n3"};
    kl_object_list all, some;
    size_t total = 0;

    assert_int_equal(kl__indexer_list(indexer, NULL, NULL, &all, NULL), KL_OK);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(
            kl__indexer_by_index(indexer, "node", nodes[i], &some, NULL),
            KL_OK);
        for (size_t k = 0; k < some.count; k++) {
            const kl_value *root = kl_object_open(some.items[k], NULL);
            kl_object *now =
                kl__indexer_get(indexer, kl_object_key(some.items[k]));

            assert_ptr_equal(now, some.items[k]);
            assert_string_equal(
                kl_value_string(
                    kl_value_get(kl_value_get(root, "spec"), "nodeName"), NULL),
                nodes[i]);
            kl_object_unref(now);
            kl_object_close(some.items[k]);
        }
        total += some.count;
        kl_object_list_clear(&some);
    }
    assert_int_equal(total, all.count);
    kl_object_list_clear(&all);
}

static void a_large_relist_swaps_store_and_indexes(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__change_list changes = {0};
    kl_object_list list;

    (void)state;
    add_path(indexer, "node", "spec.nodeName");
    list = many_pods(0, 1);
    assert_int_equal(kl__indexer_replace(indexer, &list, "1", &changes), KL_OK);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    list = many_pods(MANY / 2, 2);
    assert_int_equal(kl__indexer_replace(indexer, &list, "2", &changes), KL_OK);
    assert_int_equal(changes.count, MANY + MANY / 2);
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    assert_int_equal(kl__indexer_count(indexer), MANY);
    assert_indexed(indexer);
    end(indexer);
}

/* While an index is built, its function changes the store, as the writer on
 * another thread would. */
typedef struct meddler {
    kl__indexer *indexer;
    int calls;
} meddler;

static kl_code index_and_meddle(void *context, const kl_object *object,
                                const kl_value *root, kl_index_sink *sink)
{
    meddler *self = context;
    const kl_value *node = kl_value_get(kl_value_get(root, "spec"), "nodeName");
    const char *text = kl_value_string(node, NULL);

    (void)object;
    if (self->calls++ == 1) {
        apply_one(self->indexer, KL__DELTA_UPDATED,
                  pod_on("web", "a", "n3", 5));
        apply_one(self->indexer, KL__DELTA_DELETED,
                  pod_on("web", "b", "n1", 6));
        apply_one(self->indexer, KL__DELTA_ADDED, pod_on("web", "z", "n2", 7));
    }
    return kl_index_emit(sink, text, strlen(text));
}

static void an_index_catches_up_with_what_changed_meanwhile(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    meddler other = {.indexer = indexer};
    kl__index_options options = {
        .name = "node", .fn = index_and_meddle, .context = &other};

    (void)state;
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "b", "n1", 1));
    apply_one(indexer, KL__DELTA_ADDED, pod_on("web", "c", "n1", 1));
    assert_int_equal(kl__indexer_add_index(indexer, &options, NULL), KL_OK);
    assert_string_equal(values_of(indexer, "node"), "n1 n2 n3");
    assert_indexed(indexer);
    end(indexer);
}

static void an_index_that_comes_between_prepare_and_commit_is_kept(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta item = delta(KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    kl__delta_batch batch = {&item, 1, 1};
    kl__transaction *transaction = kl__indexer_prepare(indexer, &batch);

    (void)state;
    assert_non_null(transaction);
    add_path(indexer, "node", "spec.nodeName");
    assert_false(kl__transaction_commit(transaction));
    assert_int_equal(kl__indexer_count(indexer), 0);
    assert_int_equal(kl__transaction_refresh(transaction), KL_OK);
    assert_true(kl__transaction_commit(transaction));
    kl__transaction_free(transaction);
    kl__delta_clear(&item);
    assert_string_equal(by(indexer, "node", "n1"), "web/a");
    end(indexer);
}

static void a_transaction_that_is_dropped_changes_nothing(void **state)
{
    kl__indexer *indexer = kl__indexer_new();
    kl__delta item = delta(KL__DELTA_ADDED, pod_on("web", "a", "n1", 1));
    kl__delta_batch batch = {&item, 1, 1};

    (void)state;
    add_path(indexer, "node", "spec.nodeName");
    kl__transaction_free(kl__indexer_prepare(indexer, &batch));
    kl__delta_clear(&item);
    assert_int_equal(kl__indexer_count(indexer), 0);
    assert_string_equal(values_of(indexer, "node"), "");
    assert_string_equal(version_of(indexer), "");
    end(indexer);
}

/* A life of an indexer, in which each allocation fails once. */
typedef struct life {
    kl_object *objects[3];
    kl_object_list list;
} life;

static kl_code live(void *context)
{
    life *self = context;
    kl__indexer *indexer = kl__indexer_new();
    kl__index_options options = {.name = "node"};
    kl__delta items[3];
    kl__delta_batch batch = {items, 3, 3};
    kl__change_list changes = {0};
    kl_object_list list = {0};
    kl_string_list values = {0};
    size_t before;
    kl_code code = KL_ENOMEM;

    for (size_t i = 0; i < 3; i++) {
        items[i] = delta(KL__DELTA_ADDED, self->objects[i]);
    }
    options.path = kl_path_parse("spec.nodeName", NULL);
    if (indexer == NULL || options.path == NULL) {
        kl_path_free(options.path);
        goto end;
    }
    code = kl__indexer_add_index(indexer, &options, NULL);
    if (code != KL_OK) {
        kl_path_free(options.path);
        goto end;
    }
    code = kl__indexer_apply(indexer, &batch, &changes);
    assert_int_equal(kl__indexer_count(indexer), code == KL_OK ? 3 : 0);
    if (code != KL_OK) {
        goto end;
    }
    kl__change_list_clear(&changes);
    before = kl__indexer_count(indexer);
    code = kl__indexer_replace(indexer, &self->list, "9", &changes);
    assert_int_equal(kl__indexer_count(indexer),
                     code == KL_OK ? self->list.count : before);
    if (code == KL_OK) {
        code = kl__indexer_list(indexer, "web", NULL, &list, NULL);
    }
    if (code == KL_OK) {
        code = kl__indexer_index_values(indexer, "node", &values, NULL);
    }

end:
    kl__change_list_clear(&changes);
    kl_object_list_clear(&list);
    kl_string_list_clear(&values);
    kl__indexer_free(indexer);
    return code;
}

static void out_of_memory_is_all_or_nothing(void **state)
{
    life self = {.objects = {pod_on("web", "a", "n1", 1),
                             pod_on("web", "b", "n1", 2),
                             pod_on("web", "c", "n2", 3)},
                 .list = pod_list(2, pod_on("web", "a", "n2", 5),
                                  pod_on("web", "d", "n3", 6))};

    (void)state;
    failing_alloc_each(live, &self);
    for (size_t i = 0; i < 3; i++) {
        kl_object_unref(self.objects[i]);
    }
    kl_object_list_clear(&self.list);
    assert_int_equal(kl_live_count(KL_LIVE_OBJECT), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_known_decides_not_the_verb),
        cmocka_unit_test(an_unchanged_version_is_no_change),
        cmocka_unit_test(without_a_version_every_event_is_a_change),
        cmocka_unit_test(a_delete_carries_the_final_state),
        cmocka_unit_test(a_delete_of_an_unknown_key_is_nothing),
        cmocka_unit_test(another_uid_is_a_missed_delete_and_an_add),
        cmocka_unit_test(a_late_delete_of_a_former_uid_leaves_the_newer_object),
        cmocka_unit_test(a_delete_of_a_later_uid_says_that_the_known_is_gone),
        cmocka_unit_test(a_batch_tells_every_change_and_stores_the_last),
        cmocka_unit_test(a_list_deletes_what_it_lacks_then_adds_and_updates),
        cmocka_unit_test(of_two_objects_with_one_key_in_a_list_the_last_counts),
        cmocka_unit_test(the_version_moves_forward_but_a_list_sets_it),
        cmocka_unit_test(an_index_follows_its_objects),
        cmocka_unit_test(a_value_that_nothing_has_any_more_is_forgotten),
        cmocka_unit_test(an_object_moves_into_a_value_that_another_leaves),
        cmocka_unit_test(lists_are_by_namespace_and_label_sorted_by_key),
        cmocka_unit_test(an_unknown_index_names_those_that_there_are),
        cmocka_unit_test(an_index_added_late_finds_what_is_stored),
        cmocka_unit_test(scalars_of_every_kind_are_values),
        cmocka_unit_test(the_same_name_is_for_the_same_path_only),
        cmocka_unit_test(a_function_that_fails_leaves_out_and_is_logged_once),
        cmocka_unit_test(a_refused_index_leaves_its_context_to_the_caller),
        cmocka_unit_test(a_relist_computes_only_what_changed),
        cmocka_unit_test(a_large_relist_swaps_store_and_indexes),
        cmocka_unit_test(an_index_catches_up_with_what_changed_meanwhile),
        cmocka_unit_test(
            an_index_that_comes_between_prepare_and_commit_is_kept),
        cmocka_unit_test(a_transaction_that_is_dropped_changes_nothing),
        cmocka_unit_test(out_of_memory_is_all_or_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
