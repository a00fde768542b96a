/*
 * index.c - the definition of an index: its name, the path or function that
 * gives the values of an object, and its table. index_plan.c changes the table.
 */
#include "cache/index.h"

#include "base/mem.h"
#include "base/str.h"
#include "json/cursor.h"
#include "json/search.h"
#include "kubelua/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

kl__index *kl__index_new(const kl__index_options *options)
{
    kl__index *index = kl__calloc(1, sizeof(*index));

    if (index == NULL) {
        return NULL;
    }
    index->name = kl__strdup(options->name);
    if (index->name == NULL) {
        kl__free(index);
        return NULL;
    }
    index->table = kl__index_table_for(options->name);
    index->path = options->path;
    index->fn = options->fn;
    index->context = options->context;
    index->drop_context = options->drop_context;
    return index;
}

void kl__index_give_up(kl__index *index)
{
    kl__index_table_deinit(&index->table);
    kl__free(index->name);
    kl__free(index);
}

void kl__index_free(kl__index *index)
{
    if (index == NULL) {
        return;
    }
    kl_path_free(index->path);
    if (index->drop_context != NULL) {
        index->drop_context(index->context);
    }
    kl__index_give_up(index);
}

kl_code kl_index_emit(kl_index_sink *sink, const char *value, size_t length)
{
    if (memchr(value, '\0', length) != NULL) {
        return KL_EINVAL;
    }
    kl__buf_append(&sink->bytes, value, length);
    kl__buf_putc(&sink->bytes, '\0');
    sink->count++;
    return sink->bytes.failed ? KL_ENOMEM : KL_OK;
}

static kl_code emit_real(kl_index_sink *sink, const kl_value *value)
{
    size_t length;
    char *text = kl_value_json(value, &length, NULL);
    kl_code code;

    if (text == NULL) {
        sink->bytes.failed = true;
        return KL_ENOMEM;
    }
    code = kl_index_emit(sink, text, length);
    kl__free(text);
    return code;
}

/* Strings, numbers and booleans are values of the index; null, arrays and
 * objects are not. */
static kl_code emit_value(void *context, const kl_value *value)
{
    kl_index_sink *sink = context;
    char text[32];
    const char *string;
    size_t length;

    switch (kl_value_type(value)) {
    case KL_STRING:
    case KL_NUMBER:
        string = kl_value_string(value, &length);
        if (memchr(string, '\0', length) != NULL) {
            return KL_OK; /* has a NUL: no query can match it */
        }
        return kl_index_emit(sink, string, length);
    case KL_BOOL:
        string = kl_value_bool(value) ? "true" : "false";
        return kl_index_emit(sink, string, strlen(string));
    case KL_INTEGER:
        snprintf(text, sizeof(text), "%" PRId64, kl_value_integer(value));
        return kl_index_emit(sink, text, strlen(text));
    case KL_UNSIGNED:
        snprintf(text, sizeof(text), "%" PRIu64, kl_value_unsigned(value));
        return kl_index_emit(sink, text, strlen(text));
    case KL_REAL:
        return emit_real(sink, value);
    case KL_NULL:
    case KL_ARRAY:
    case KL_OBJECT:
        break;
    }
    return KL_OK;
}

static void reset_sink(kl_index_sink *sink)
{
    kl__buf_reset(&sink->bytes);
    sink->count = 0;
}

/* Emits a string with escapes: it is decoded where the values are. One with a
 * NUL is left out, as above. */
static void emit_decoded(kl_index_sink *sink, const char *string,
                         const char *end)
{
    size_t room = (size_t)(kl_cursor_skip(string, end) - string);
    char *out = kl__buf_reserve(&sink->bytes, room);
    size_t length;

    if (out == NULL) {
        return;
    }
    length = kl_cursor_decode(string, end, out);
    if (memchr(out, '\0', length) == NULL) {
        sink->bytes.length += length;
        kl__buf_putc(&sink->bytes, '\0');
        sink->count++;
    }
}

/* Where a search puts the values that it finds. */
typedef struct emission {
    kl_index_sink *sink;
    const char *end; /* of the text */
} emission;

static bool emit_place(void *context, size_t i, const char *value)
{
    const emission *to = context;
    kl_scalar room;
    const kl_value *read = kl_cursor_scalar(value, to->end, &room);

    (void)i;
    if (read != NULL) {
        emit_value(to->sink, read);
    } else if (*value == '"') {
        emit_decoded(to->sink, value, to->end);
    }
    return !to->sink->bytes.failed;
}

static void forget_places(void *context)
{
    const emission *to = context;

    reset_sink(to->sink);
}

static kl_code emit_path(const kl__index *index, const kl_object *object,
                         kl_index_sink *sink)
{
    const kl_path *path = index->path;
    emission to = {.sink = sink};
    kl__search search = {.paths = &path,
                         .count = 1,
                         .take = emit_place,
                         .forget = forget_places,
                         .context = &to,
                         .is_object = true};
    size_t length;
    const char *text = kl_object_json(object, &length, NULL);

    if (text == NULL) {
        sink->bytes.failed = true;
        return KL_ENOMEM;
    }
    to.end = text + length;
    if (!kl__search_run(&search, text, to.end)) {
        sink->bytes.failed = true;
    }
    kl_object_close_json(object);
    return sink->bytes.failed ? KL_ENOMEM : KL_OK;
}

static kl_code call_function(const kl__index *index, kl_object *object,
                             kl_index_sink *sink)
{
    const kl_value *root;
    kl__role former;
    kl_code code;

    if (index->table.by_namespace) { /* needs no tree */
        return index->fn(index->context, object, NULL, sink);
    }
    root = kl_object_open(object, NULL);
    if (root == NULL) {
        sink->bytes.failed = true;
        return KL_ENOMEM;
    }
    former = kl__thread_role();
    kl__thread_set_role(KL__ROLE_CALLBACK);
    code = index->fn(index->context, object, root, sink);
    kl__thread_set_role(former);
    kl_object_close(object);
    return code;
}

/* True if the index has a function of the user, and this thread must not run
 * it. */
static bool is_forbidden(const kl__index *index)
{
    return index->path == NULL && !index->table.by_namespace &&
           kl__thread_role() == KL__ROLE_TRANSPORT;
}

kl_code kl__index_compute(kl__index *index, kl_object *object,
                          kl_index_sink *sink)
{
    kl_code code;

    reset_sink(sink);
    if (is_forbidden(index)) {
        return KL_ENOMEM;
    }
    code = index->path != NULL ? emit_path(index, object, sink)
                               : call_function(index, object, sink);
    if (sink->bytes.failed) {
        return KL_ENOMEM;
    }
    if (code == KL_OK) {
        return KL_OK;
    }
    reset_sink(sink);
    if (!index->has_failed) {
        index->has_failed = true;
        kl_log(KL_LOG_WARN,
               "index %s: no values for %s (%s); the index does not contain "
               "this object; later failures of this index are not logged",
               index->name, kl_object_key(object), kl_code_name(code));
    }
    return KL_OK;
}

kl_code kl__index_recall(const kl__index_table *table, const kl_object *object,
                         uint32_t hash, kl_index_sink *sink)
{
    kl__link link = kl__index_link(table, object, hash);

    reset_sink(sink);
    for (size_t i = 0; i < kl__link_count(link); i++) {
        const char *value = kl__link_bucket(link, i)->value;

        if (kl_index_emit(sink, value, strlen(value)) != KL_OK) {
            return KL_ENOMEM;
        }
    }
    return KL_OK;
}
