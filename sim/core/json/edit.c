/*
 * edit.c - see edit.h. A kl__node is a yyjson_mut_val under another name.
 */
#include "sim/core/json/edit.h"

#include "base/mem.h"
#include "json/doc.h"
#include "json/yyjson_memory.h"

#include <stdlib.h>
#include <string.h>

struct kl__edit {
    yyjson_mut_doc *tree;
};

static yyjson_mut_val *of(const kl__node *node)
{
    return (yyjson_mut_val *)(uintptr_t)node;
}

static kl__node *from(yyjson_mut_val *value)
{
    return (kl__node *)value;
}

kl__edit *kl__edit_new(kl_error *err)
{
    kl__edit *edit = kl__malloc(sizeof(*edit));

    if (edit != NULL) {
        edit->tree = yyjson_mut_doc_new(&kl__yyjson_memory);
        if (edit->tree != NULL) {
            return edit;
        }
        kl__free(edit);
    }
    kl_error_set(err, KL_ENOMEM, "out of memory for a document");
    return NULL;
}

kl__edit *kl__edit_of(const kl_value *value, kl_error *err)
{
    kl__edit *edit = kl__edit_new(err);
    kl__node *root = edit != NULL ? kl__edit_value(edit, value) : NULL;

    if (root == NULL) {
        kl__edit_free(edit);
        kl_error_set(err, KL_ENOMEM, "out of memory for a document");
        return NULL;
    }
    kl__edit_set_root(edit, root);
    return edit;
}

void kl__edit_free(kl__edit *edit)
{
    if (edit != NULL) {
        yyjson_mut_doc_free(edit->tree);
        kl__free(edit);
    }
}

kl__node *kl__edit_root(const kl__edit *edit)
{
    return from(yyjson_mut_doc_get_root(edit->tree));
}

void kl__edit_set_root(kl__edit *edit, kl__node *root)
{
    yyjson_mut_doc_set_root(edit->tree, of(root));
}

static bool is_too_deep(const kl__node *node, kl_error *err)
{
    if (kl__node_depth(node) <= KL__NODE_DEPTH) {
        return false;
    }
    kl_error_set(err, KL_EPARSE, "JSON nested deeper than %d levels",
                 KL__NODE_DEPTH);
    return true;
}

kl_doc *kl__edit_doc(const kl__edit *edit, kl_error *err)
{
    yyjson_doc *tree;

    if (is_too_deep(kl__edit_root(edit), err)) {
        return NULL;
    }
    tree = yyjson_mut_doc_imut_copy(edit->tree, &kl__yyjson_memory);
    if (tree == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a document");
        return NULL;
    }
    return kl__doc_adopt(tree, err);
}

char *kl__node_json(const kl__node *node, size_t *length, kl_error *err)
{
    char *json, *tight;
    size_t own;

    if (is_too_deep(node, err)) {
        return NULL;
    }
    json = yyjson_mut_val_write_opts(of(node), YYJSON_WRITE_NOFLAG,
                                     &kl__yyjson_memory, &own, NULL);
    if (json == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory writing JSON");
        return NULL;
    }
    /* yyjson reserves the most that the values may take, several times what
     * they need. Texts are kept for long, so the rest is given back. */
    tight = kl__realloc(json, own + 1);
    if (tight == NULL) {
        kl__free(json);
        kl_error_set(err, KL_ENOMEM, "out of memory writing JSON");
        return NULL;
    }
    if (length != NULL) {
        *length = own;
    }
    return tight;
}

char *kl__edit_json(const kl__edit *edit, size_t *length, kl_error *err)
{
    return kl__node_json(kl__edit_root(edit), length, err);
}

/* --- Making nodes. -------------------------------------------------------- */

kl__node *kl__edit_null(kl__edit *edit)
{
    return from(yyjson_mut_null(edit->tree));
}

kl__node *kl__edit_bool(kl__edit *edit, bool value)
{
    return from(yyjson_mut_bool(edit->tree, value));
}

kl__node *kl__edit_integer(kl__edit *edit, int64_t value)
{
    /* As a parser would make it: a number that is not negative is unsigned. */
    return from(value < 0 ? yyjson_mut_sint(edit->tree, value)
                          : yyjson_mut_uint(edit->tree, (uint64_t)value));
}

kl__node *kl__edit_real(kl__edit *edit, double value)
{
    return from(yyjson_mut_real(edit->tree, value));
}

kl__node *kl__edit_text(kl__edit *edit, const char *text)
{
    return from(yyjson_mut_strcpy(edit->tree, text));
}

kl__node *kl__edit_text_n(kl__edit *edit, const char *text, size_t length)
{
    return from(yyjson_mut_strncpy(edit->tree, text, length));
}

kl__node *kl__edit_take(kl__edit *edit, kl__buf *text)
{
    kl__node *node = NULL;

    if (!text->failed) {
        node = kl__edit_text_n(edit, text->bytes != NULL ? text->bytes : "",
                               text->length);
    }
    kl__buf_deinit(text);
    return node;
}

kl__node *kl__edit_array(kl__edit *edit)
{
    return from(yyjson_mut_arr(edit->tree));
}

kl__node *kl__edit_object(kl__edit *edit)
{
    return from(yyjson_mut_obj(edit->tree));
}

kl__node *kl__edit_value(kl__edit *edit, const kl_value *value)
{
    yyjson_val *read = (yyjson_val *)(uintptr_t)value;

    return read != NULL ? from(yyjson_val_mut_copy(edit->tree, read))
                        : kl__edit_null(edit);
}

kl__node *kl__edit_copy(kl__edit *edit, const kl__node *node)
{
    return node != NULL ? from(yyjson_mut_val_mut_copy(edit->tree, of(node)))
                        : kl__edit_null(edit);
}

kl__node *kl__edit_parse(kl__edit *edit, const char *json, size_t length,
                         kl_error *err)
{
    kl_doc *doc = kl__doc_parse_within(json, length, KL__NODE_DEPTH, err);
    kl__node *node;

    if (doc == NULL) {
        return NULL;
    }
    node = kl__edit_value(edit, kl_doc_root(doc));
    kl_doc_unref(doc);
    if (node == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a document");
    }
    return node;
}

/* --- Changing nodes. ------------------------------------------------------ */

bool kl__node_put_n(kl__edit *edit, kl__node *object, const char *name,
                    size_t length, kl__node *value)
{
    kl__node_iter iter = {0};
    const char *found;
    size_t found_length;

    if (value == NULL) {
        return false;
    }
    while (kl__node_next(object, &iter, &found, &found_length) != NULL) {
        if (found_length == length && memcmp(found, name, length) == 0) {
            yyjson_mut_val *key = iter.current, *after = key->next;

            /* An object is a ring, in which each value follows its key. */
            of(value)->next = after->next;
            key->next = of(value);
            return true;
        }
    }
    return kl__node_add_n(edit, object, name, length, value);
}

bool kl__node_put(kl__edit *edit, kl__node *object, const char *name,
                  kl__node *value)
{
    return kl__node_put_n(edit, object, name, strlen(name), value);
}

bool kl__node_add_n(kl__edit *edit, kl__node *object, const char *name,
                    size_t length, kl__node *value)
{
    yyjson_mut_val *key;

    if (value == NULL) {
        return false;
    }
    key = yyjson_mut_strncpy(edit->tree, name, length);
    return key != NULL && yyjson_mut_obj_add(of(object), key, of(value));
}

kl__node *kl__node_ensure(kl__edit *edit, kl__node *object, const char *name)
{
    kl__node *found = kl__node_get(object, name);

    if (kl__node_is(found, KL_OBJECT)) {
        return found;
    }
    found = kl__edit_object(edit);
    return kl__node_put(edit, object, name, found) ? found : NULL;
}

kl__node *kl__node_remove_n(kl__node *object, const char *name, size_t length)
{
    kl__node_iter iter = {0};
    const char *found;
    size_t found_length;
    kl__node *value;

    while ((value = kl__node_next(object, &iter, &found, &found_length)) !=
           NULL) {
        if (found_length == length && memcmp(found, name, length) == 0) {
            kl__node_drop(&iter);
            return value;
        }
    }
    return NULL;
}

kl__node *kl__node_remove(kl__node *object, const char *name)
{
    return kl__node_remove_n(object, name, strlen(name));
}

bool kl__node_append(kl__node *array, kl__node *value)
{
    return value != NULL && yyjson_mut_arr_append(of(array), of(value));
}

bool kl__node_insert(kl__node *array, size_t index, kl__node *value)
{
    return value != NULL && yyjson_mut_arr_insert(of(array), of(value), index);
}

kl__node *kl__node_remove_at(kl__node *array, size_t index)
{
    return from(yyjson_mut_arr_remove(of(array), index));
}

void kl__node_clear(kl__node *node)
{
    if (kl__node_is(node, KL_OBJECT)) {
        yyjson_mut_obj_clear(of(node));
    } else {
        yyjson_mut_arr_clear(of(node));
    }
}

void kl__node_become(kl__node *node, kl__node *other)
{
    /* A container points at its children; they do not point back. */
    of(node)->tag = of(other)->tag;
    of(node)->uni = of(other)->uni;
}

/* ---- the members of an object by name, as Go writes a map ---- */

typedef struct named {
    const char *name;
    size_t length;
    kl__node *value;
    kl__name_order order; /* the same in all elements */
} named;

static int compare_sorted_members(const void *a, const void *b)
{
    const named *left = a, *right = b;

    return left->order(left->name, left->length, right->name, right->length);
}

int kl__name_compare(const char *a, size_t a_length, const char *b,
                     size_t b_length)
{
    const int order = memcmp(a, b, a_length < b_length ? a_length : b_length);

    return order != 0 ? order : (a_length > b_length) - (a_length < b_length);
}

static bool is_sorted(const kl__node *object, kl__name_order order)
{
    kl__node_iter iter = {0};
    const char *before = NULL, *name;
    size_t before_length = 0, length;

    while (kl__node_next(object, &iter, &name, &length) != NULL) {
        if (before != NULL && order(before, before_length, name, length) > 0) {
            return false;
        }
        before = name;
        before_length = length;
    }
    return true;
}

bool kl__node_sort(kl__edit *edit, kl__node *object, kl__name_order order)
{
    kl__node_iter iter = {0};
    named *all, one = {.order = order};
    size_t count = 0;
    bool done = true;

    if (is_sorted(object, order)) {
        return true;
    }
    all = kl__calloc(kl__node_size(object), sizeof(*all));
    if (all == NULL) {
        return false;
    }
    while ((one.value = kl__node_next(object, &iter, &one.name, &one.length)) !=
           NULL) {
        all[count++] = one;
    }
    qsort(all, count, sizeof(*all), compare_sorted_members);
    kl__node_clear(object);
    for (size_t i = 0; i < count && done; i++) {
        done = kl__node_add_n(edit, object, all[i].name, all[i].length,
                              all[i].value);
    }
    kl__free(all);
    return done;
}
