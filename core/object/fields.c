/*
 * fields.c - see kubelua/fields.h. A read takes three steps: (1) search the
 * text for the places of all values; (2) make room for a copy of the scalars,
 * as values outlive the text; (3) make the values: scalars of their copies,
 * arrays and objects by parsing them.
 */
#include "kubelua/fields.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/cursor.h"
#include "json/doc.h"
#include "json/search.h"

#include <string.h>

typedef struct field {
    const char *at; /* in the text, during a read; NULL: not found */
    kl_scalar scalar;
    kl_doc *tree; /* of an array or object */
    const kl_value *value;
} field;

struct kl_fields {
    kl__buf copies; /* the scalars, each with a NUL behind it */
    size_t count;
    kl_path *paths[KL__SEARCH_MOST];
    field items[];
};

kl_fields *kl_fields_new(const char *const *paths, size_t count, kl_error *err)
{
    kl_fields *fields;

    if (count == 0 || count > KL__SEARCH_MOST) {
        kl_error_set(err, KL_EINVAL, "%zu paths; 1 to %d are read at once",
                     count, KL__SEARCH_MOST);
        return NULL;
    }
    fields = kl__calloc(1, sizeof(*fields) + count * sizeof(field));
    if (fields == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for fields");
        return NULL;
    }
    for (; fields->count < count; fields->count++) {
        kl_path *path = kl_path_parse(paths[fields->count], err);

        if (path == NULL) {
            kl_fields_free(fields);
            return NULL;
        }
        fields->paths[fields->count] = path;
    }
    return fields;
}

static void clear_values(kl_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        kl_doc_unref(fields->items[i].tree);
        fields->items[i] = (field){0};
    }
    kl__buf_reset(&fields->copies);
}

void kl_fields_free(kl_fields *fields)
{
    if (fields == NULL) {
        return;
    }
    clear_values(fields);
    for (size_t i = 0; i < fields->count; i++) {
        kl_path_free(fields->paths[i]);
    }
    kl__buf_deinit(&fields->copies);
    kl__free(fields);
}

static bool take_first(void *context, size_t i, const char *value)
{
    kl_fields *fields = context;

    fields->items[i].at = value;
    return false;
}

static void forget_places(void *context)
{
    kl_fields *fields = context;

    for (size_t i = 0; i < fields->count; i++) {
        fields->items[i].at = NULL;
    }
}

static bool is_container(const char *value)
{
    return *value == '{' || *value == '[';
}

/* Parses an array or object. */
static kl_code read_tree(field *to, const char *end, kl_error *err)
{
    static const kl__text_shape measured = {0};
    size_t length = (size_t)(kl_cursor_skip(to->at, end) - to->at);

    to->tree = kl__doc_parse_measured(to->at, length, &measured, err);
    if (to->tree == NULL) {
        return KL_ENOMEM;
    }
    to->value = kl_doc_root(to->tree);
    return KL_OK;
}

/* Makes the value of a scalar of a copy at `out`; returns the end of the copy.
 * A copy takes no more room than the scalar in the text, and a NUL. */
static char *read_scalar(field *to, const char *end, char *out)
{
    size_t length;

    if (*to->at == '"') {
        length = kl_cursor_decode(to->at, end, out);
        to->value = kl__cursor_string(out, length, &to->scalar);
    } else {
        length = (size_t)(kl_cursor_skip(to->at, end) - to->at);
        memcpy(out, to->at, length);
    }
    out[length] = '\0';
    if (*to->at != '"') {
        to->value = kl_cursor_scalar(out, out + length, &to->scalar);
    }
    return out + length + 1;
}

/* Room for the copies of all scalars. NULL: no memory. */
static char *reserve_copies(kl_fields *fields, const char *end)
{
    size_t room = 0;

    for (size_t i = 0; i < fields->count; i++) {
        const char *at = fields->items[i].at;

        if (at != NULL && !is_container(at)) {
            room += (size_t)(kl_cursor_skip(at, end) - at) + 1;
        }
    }
    return kl__buf_reserve(&fields->copies, room);
}

static kl_code read_values(kl_fields *fields, const char *end, kl_error *err)
{
    char *out = reserve_copies(fields, end);
    kl_code code = KL_OK;

    if (out == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory to read fields");
    }
    for (size_t i = 0; code == KL_OK && i < fields->count; i++) {
        field *to = &fields->items[i];

        if (to->at == NULL) {
            continue;
        }
        if (is_container(to->at)) {
            code = read_tree(to, end, err);
        } else {
            out = read_scalar(to, end, out);
        }
    }
    return code;
}

kl_code kl_fields_read(kl_fields *fields, const kl_object *object,
                       kl_error *err)
{
    kl__search search = {.paths = (const kl_path *const *)fields->paths,
                         .count = fields->count,
                         .take = take_first,
                         .forget = forget_places,
                         .context = fields,
                         .is_object = true};
    size_t length;
    const char *text;
    kl_code code;

    clear_values(fields);
    text = kl_object_json(object, &length, err);
    if (text == NULL) {
        return KL_ENOMEM;
    }
    code = kl__search_run(&search, text, text + length)
               ? read_values(fields, text + length, err)
               : kl_error_set(err, KL_ENOMEM, "out of memory to read fields");
    kl_object_close_json(object);
    if (code != KL_OK) {
        clear_values(fields);
    }
    return code;
}

const kl_value *kl_fields_value(const kl_fields *fields, size_t i)
{
    return i < fields->count ? fields->items[i].value : NULL;
}
