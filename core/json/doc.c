/*
 * doc.c - immutable JSON documents, parsed by yyjson. A kl_value pointer is a
 * yyjson_val pointer; only files in core/json and sim/core/json use yyjson. It
 * parses without recursion and allocates with the library's allocator.
 */
#include "json/doc.h"

#include "base/mem.h"
#include "json/text.h"
#include "json/yyjson_memory.h"

#include <stdatomic.h>
#include <string.h>
#include <yyjson.h>

struct kl_doc {
    atomic_uint references;
    yyjson_doc *tree;
    char *text; /* holds the tree's strings; NULL: yyjson has its own copy */
};

static yyjson_val *as_yyjson(const kl_value *value)
{
    return (yyjson_val *)(uintptr_t)value;
}

static const kl_value *as_value(const yyjson_val *value)
{
    return (const kl_value *)value;
}

static void *allocate_block(void *context, size_t size)
{
    (void)context;
    return kl__malloc(size);
}

static void *resize_block(void *context, void *block, size_t old_size,
                          size_t size)
{
    (void)context;
    (void)old_size;
    return kl__realloc(block, size);
}

static void free_block(void *context, void *block)
{
    (void)context;
    kl__free(block);
}

const yyjson_alc kl__yyjson_memory = {allocate_block, resize_block, free_block,
                                      NULL};

static kl_code read_failure(const yyjson_read_err *why, const char *json,
                            size_t length, kl_error *err)
{
    char near[32];

    if (why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION) {
        return kl_error_set(err, KL_ENOMEM, "out of memory parsing JSON");
    }
    if (why->pos >= length) {
        return kl_error_set(err, KL_EPARSE, "not JSON: it ends at byte %zu, %s",
                            length, "before it is complete");
    }
    kl__text_excerpt(near, sizeof(near), json + why->pos, length - why->pos);
    return kl_error_set(err, KL_EPARSE, "not JSON: %s at byte %zu: %s",
                        why->msg, why->pos, near);
}

kl_doc *kl__doc_adopt(yyjson_doc *tree, kl_error *err)
{
    kl_doc *doc = kl__malloc(sizeof(*doc));

    if (doc == NULL) {
        yyjson_doc_free(tree);
        kl_error_set(err, KL_ENOMEM, "out of memory for a document");
        return NULL;
    }
    doc->tree = tree;
    doc->text = NULL;
    atomic_init(&doc->references, 1);
    kl__live_add(KL_LIVE_DOC, 1);
    return doc;
}

static kl_doc *read_tree(char *text, size_t length, yyjson_read_flag flags,
                         kl_error *err)
{
    yyjson_read_err why = {0};
    kl_doc *doc = kl__malloc(sizeof(*doc));

    if (doc == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory parsing JSON");
        return NULL;
    }
    /* Integers beyond 64 bits, and reals beyond a double, stay text: they are
     * not rounded silently. */
    doc->tree =
        yyjson_read_opts(text, length, flags | YYJSON_READ_BIGNUM_AS_RAW,
                         &kl__yyjson_memory, &why);
    if (doc->tree == NULL) {
        kl__free(doc);
        read_failure(&why, text, length, err);
        return NULL;
    }
    doc->text = NULL;
    atomic_init(&doc->references, 1);
    kl__live_add(KL_LIVE_DOC, 1);
    return doc;
}

static bool check_depth(const kl__text_shape *shape, size_t most, kl_error *err)
{
    if (shape->depth > most) {
        kl_error_set(err, KL_EPARSE, "JSON nested deeper than %zu levels",
                     most);
        return false;
    }
    return true;
}

kl_doc *kl__doc_parse_measured(const char *json, size_t length,
                               const kl__text_shape *shape, kl_error *err)
{
    if (length == 0) {
        kl_error_set(err, KL_EPARSE, "not JSON: the text is empty");
        return NULL;
    }
    if (!check_depth(shape, KL_MAX_DEPTH, err)) {
        return NULL;
    }
    /* Without YYJSON_READ_INSITU the text is not written to. */
    return read_tree((char *)(uintptr_t)json, length, 0, err);
}

kl_doc *kl__doc_parse_in_place(char *text, size_t length, kl_error *err)
{
    kl_doc *doc = read_tree(text, length, YYJSON_READ_INSITU, err);

    if (doc != NULL) {
        doc->text = text;
    } else {
        kl__free(text);
    }
    return doc;
}

kl_doc *kl_doc_parse(const char *json, size_t length, kl_error *err)
{
    kl__text_shape shape = kl__text_measure(json, length);

    return kl__doc_parse_measured(json, length, &shape, err);
}

kl_doc *kl__doc_parse_within(const char *json, size_t length, size_t most,
                             kl_error *err)
{
    kl__text_shape shape = kl__text_measure(json, length);

    return check_depth(&shape, most, err)
               ? kl__doc_parse_measured(json, length, &shape, err)
               : NULL;
}

kl_doc *kl_doc_ref(kl_doc *doc)
{
    /* Relaxed: the caller holds a reference already, and no data is handed
     * over. */
    atomic_fetch_add_explicit(&doc->references, 1, memory_order_relaxed);
    return doc;
}

void kl_doc_unref(kl_doc *doc)
{
    /* Release: this thread's reads come before the free. Acquire: so do the
     * reads of all threads that have dropped their reference before. */
    if (doc == NULL || atomic_fetch_sub_explicit(&doc->references, 1,
                                                 memory_order_acq_rel) != 1) {
        return;
    }
    yyjson_doc_free(doc->tree);
    kl__free(doc->text);
    kl__free(doc);
    kl__live_add(KL_LIVE_DOC, -1);
}

const kl_value *kl_doc_root(const kl_doc *doc)
{
    return as_value(yyjson_doc_get_root(doc->tree));
}

size_t kl__doc_offset(const kl_doc *doc, const kl_value *string)
{
    /* yyjson keeps a copy of the text and unescapes its strings in place; so
     * their offsets are those of the text. */
    return (size_t)(yyjson_get_str(as_yyjson(string)) - doc->tree->str_pool);
}

kl_type kl_value_type(const kl_value *value)
{
    switch (yyjson_get_type(as_yyjson(value))) {
    case YYJSON_TYPE_BOOL:
        return KL_BOOL;
    case YYJSON_TYPE_NUM:
        if (yyjson_is_real(as_yyjson(value))) {
            return KL_REAL;
        }
        return yyjson_is_uint(as_yyjson(value)) &&
                       yyjson_get_uint(as_yyjson(value)) > INT64_MAX
                   ? KL_UNSIGNED
                   : KL_INTEGER;
    case YYJSON_TYPE_RAW:
        return KL_NUMBER;
    case YYJSON_TYPE_STR:
        return KL_STRING;
    case YYJSON_TYPE_ARR:
        return KL_ARRAY;
    case YYJSON_TYPE_OBJ:
        return KL_OBJECT;
    default:
        return KL_NULL;
    }
}

bool kl_value_bool(const kl_value *value)
{
    return yyjson_is_true(as_yyjson(value));
}

int64_t kl_value_integer(const kl_value *value)
{
    double real;

    switch (kl_value_type(value)) {
    case KL_INTEGER:
        return yyjson_get_sint(as_yyjson(value));
    case KL_REAL:
        real = yyjson_get_real(as_yyjson(value));
        /* -2^63 is a double, 2^63 is the first one that does not fit. */
        return real >= -0x1p63 && real < 0x1p63 && (double)(int64_t)real == real
                   ? (int64_t)real
                   : 0;
    default:
        return 0;
    }
}

uint64_t kl_value_unsigned(const kl_value *value)
{
    double real;

    switch (kl_value_type(value)) {
    case KL_UNSIGNED:
        return yyjson_get_uint(as_yyjson(value));
    case KL_INTEGER:
        return yyjson_is_uint(as_yyjson(value))
                   ? yyjson_get_uint(as_yyjson(value))
                   : 0;
    case KL_REAL:
        real = yyjson_get_real(as_yyjson(value));
        return real >= 0 && real < 0x1p64 && (double)(uint64_t)real == real
                   ? (uint64_t)real
                   : 0;
    default:
        return 0;
    }
}

double kl_value_real(const kl_value *value)
{
    yyjson_val number = {0};

    if (!yyjson_is_raw(as_yyjson(value))) {
        return yyjson_get_num(as_yyjson(value));
    }
    /* Not strtod: it expects the decimal point of the host's locale. */
    if (yyjson_read_number(yyjson_get_raw(as_yyjson(value)), &number,
                           YYJSON_READ_ALLOW_INF_AND_NAN, &kl__yyjson_memory,
                           NULL) == NULL) {
        return 0;
    }
    return yyjson_get_num(&number);
}

const char *kl_value_string(const kl_value *value, size_t *length)
{
    const char *text = yyjson_is_raw(as_yyjson(value))
                           ? yyjson_get_raw(as_yyjson(value))
                           : yyjson_get_str(as_yyjson(value));

    if (length != NULL) {
        *length = text != NULL ? yyjson_get_len(as_yyjson(value)) : 0;
    }
    return text;
}

size_t kl_value_size(const kl_value *value)
{
    return yyjson_is_ctn(as_yyjson(value)) ? yyjson_get_len(as_yyjson(value))
                                           : 0;
}

const kl_value *kl_value_at(const kl_value *value, size_t index)
{
    return as_value(yyjson_arr_get(as_yyjson(value), index));
}

const kl_value *kl_value_get(const kl_value *value, const char *name)
{
    return name != NULL ? kl_value_get_n(value, name, strlen(name)) : NULL;
}

const kl_value *kl_value_get_n(const kl_value *value, const char *name,
                               size_t length)
{
    yyjson_val *object = as_yyjson(value), *key, *last = NULL;

    if (!yyjson_is_obj(object)) {
        return NULL;
    }
    key = unsafe_yyjson_get_first(object);
    for (size_t left = yyjson_obj_size(object); left > 0; left--) {
        if (unsafe_yyjson_equals_strn(key, name, length)) {
            last = key + 1;
        }
        key = unsafe_yyjson_get_next(key + 1);
    }
    return as_value(last);
}

const kl_value *kl_value_next(const kl_value *value, kl_value_iter *iter,
                              const kl_value **key)
{
    bool named = yyjson_is_obj(as_yyjson(value));
    yyjson_val *element;

    if (key != NULL) {
        *key = NULL;
    }
    if (iter->index >= kl_value_size(value)) {
        return NULL;
    }
    /* In yyjson's memory a member's name comes first and its value comes right
     * behind it. unsafe_yyjson_get_next skips a value with all that it
     * contains. */
    element = iter->next != NULL ? as_yyjson(iter->next)
                                 : unsafe_yyjson_get_first(as_yyjson(value));
    if (named && key != NULL) {
        *key = as_value(element);
    }
    element = named ? element + 1 : element;
    iter->next = unsafe_yyjson_get_next(element);
    iter->index++;
    return as_value(element);
}

char *kl_value_json(const kl_value *value, size_t *length, kl_error *err)
{
    yyjson_write_err why = {0};
    yyjson_val null = {.tag = YYJSON_TYPE_NULL};
    char *text = yyjson_val_write_opts(value != NULL ? as_yyjson(value) : &null,
                                       YYJSON_WRITE_NOFLAG, &kl__yyjson_memory,
                                       length, &why);

    if (text == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory writing JSON");
    }
    return text;
}
