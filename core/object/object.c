/*
 * object.c - immutable, reference-counted objects. Each is one block of memory:
 * the struct, the strings of the identity, the JSON text or its packed form
 * (pack.h). object_open.c counts references and makes the parsed tree.
 */
#include "object/object.h"

#include "base/mem.h"
#include "json/distinct.h"
#include "json/doc.h"
#include "json/text.h"
#include "object/block.h"
#include "object/identity.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes of a text; bytes of the strings of an identity, as offsets have 16
 * bits. An API server accepts names of 253 bytes. */
enum { MAX_TEXT = INT32_MAX, MAX_STRINGS = UINT16_MAX };

/* Copies the text and a NUL to offset *used; returns that offset. */
static uint16_t store_text(kl_object *object, size_t *used,
                           const kl__slice *text)
{
    uint16_t at = (uint16_t)*used;

    if (text->length > 0) {
        memcpy(object->bytes + at, text->bytes, text->length);
    }
    object->bytes[at + text->length] = '\0';
    *used += text->length + 1;
    return at;
}

static void store_key(kl_object *object, size_t *used,
                      const kl__identity *identity)
{
    const kl__slice *name_space = &identity->name_space;

    if (name_space->length > 0) {
        store_text(object, used, name_space);
        object->bytes[*used - 1] = '/';
    }
    store_text(object, used, &identity->name);
}

/* The bytes that the strings of an identity take in an object. */
static size_t measure_strings(const kl__identity *identity)
{
    return 2 * (identity->name_space.length + 1) + identity->name.length + 1 +
           identity->uid.length + 1 + identity->version.length + 1 +
           identity->kind.length + 1 + identity->api_version.length + 1;
}

/* Makes the object in one block; `text` describes its JSON. */
static kl_object *allocate_object(const kl__identity *identity,
                                  const kl__object_text *text)
{
    size_t used = 0;
    kl_object *object;

    object = kl__object_new(measure_strings(identity) + text->length + 1);
    if (object == NULL) {
        return NULL;
    }
    store_key(object, &used, identity);
    object->name_space = store_text(object, &used, &identity->name_space);
    object->uid = store_text(object, &used, &identity->uid);
    object->version = store_text(object, &used, &identity->version);
    object->kind = store_text(object, &used, &identity->kind);
    object->api_version = store_text(object, &used, &identity->api_version);
    object->is_pruned = 0;
    object->json = (uint16_t)used;
    object->json_length = (uint32_t)text->length;
    object->is_metadata_only = text->is_closed ? 1 : 0;
    kl__object_text_write(text, object->bytes + used);
    object->bytes[used + text->length] = '\0';
    return object;
}

static void refuse_size(const char *what, size_t length, kl_error *err)
{
    kl_error_set(err, KL_ETOO_LARGE, "%s of %zu bytes", what, length);
}

static kl_object *build_object(const kl__identity *identity,
                               const kl__object_source *source, bool is_compact,
                               kl_error *err)
{
    kl__object_text text = {.is_compact = is_compact};
    size_t strings = measure_strings(identity);
    kl_object *object = NULL;

    if (strings > MAX_STRINGS) {
        refuse_size("an identity", strings, err);
        return NULL;
    }
    if (kl__object_text_init(&text, identity, source->json, source->length) &&
        text.length <= MAX_TEXT) {
        object = allocate_object(identity, &text);
    }
    kl__object_text_deinit(&text);
    if (text.length > MAX_TEXT) {
        refuse_size("an object", text.length, err);
    } else if (object == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
    } else {
        object->is_pruned = source->options->is_pruned ? 1 : 0;
    }
    return object;
}

/* Makes the object of a copy of the text that has only the members that count.
 */
static kl_object *parse_distinct(const kl__object_source *source, kl_error *err)
{
    char *compact = kl__malloc(source->length + 1), *copy = NULL;
    kl_object *object = NULL;
    size_t length;

    if (compact == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    length = kl__text_compact(compact, source->json, source->length);
    compact[length] = '\0';
    if (kl_cursor_distinct(compact, compact + length, &copy, &length, err) ==
        KL_OK) {
        object = kl_object_parse(copy, length, source->options, err);
    }
    kl__free(compact);
    kl__free(copy);
    return object;
}

/* Finds out if a name is twice among the outermost members, or in the metadata.
 */
static kl_code check_head(const kl_value *root, bool *is_repeated,
                          kl_error *err)
{
    const kl_value *metadata = kl_value_get(root, "metadata");
    kl__replaced top, inner = {0};
    bool is_known = kl__replaced_in_tree(&top, root) &&
                    kl__replaced_in_tree(&inner, metadata);

    *is_repeated = top.count + inner.count > 0;
    kl__replaced_deinit(&top);
    kl__replaced_deinit(&inner);
    return is_known ? KL_OK
                    : kl_error_set(err, KL_ENOMEM, "out of memory for names");
}

/* Parses the text. Needed if the outline was not sure, and for error
 * messages. */
static kl_object *parse_tree(const kl__object_source *source,
                             const kl__text_shape *shape, kl_error *err)
{
    kl_doc *doc =
        kl__doc_parse_measured(source->json, source->length, shape, err);
    kl__identity identity;
    kl_object *object = NULL;
    bool is_repeated;

    if (doc == NULL) {
        return NULL;
    }
    if (check_head(kl_doc_root(doc), &is_repeated, err) != KL_OK) {
        kl_doc_unref(doc);
        return NULL;
    }
    if (is_repeated) {
        kl_doc_unref(doc);
        return parse_distinct(source, err);
    }
    if (kl__identity_read(&identity, source, doc, err) == KL_OK) {
        object = build_object(&identity, source, shape->spaces == 0, err);
    }
    kl_doc_unref(doc);
    return object;
}

kl_object *kl__object_parse_measured(const char *json, size_t length,
                                     const kl__text_shape *shape,
                                     const kl_object_options *options,
                                     kl_error *err)
{
    static const kl_object_options defaults = {0};
    kl__object_source source = {json, length,
                                options != NULL ? options : &defaults};
    kl__identity identity;

    if (length > MAX_TEXT) {
        refuse_size("an object", length, err);
        return NULL;
    }
    if (shape->outline != NULL && shape->outline->is_sure &&
        kl__identity_scan(&identity, &source, shape->outline)) {
        return build_object(&identity, &source, true, err);
    }
    return parse_tree(&source, shape, err);
}

kl_object *kl_object_parse(const char *json, size_t length,
                           const kl_object_options *options, kl_error *err)
{
    kl__text_shape shape = kl__text_measure(json, length);

    return kl__object_parse_measured(json, length, &shape, options, err);
}

const char *kl_object_key(const kl_object *object)
{
    return object->bytes;
}

kl__key kl__object_key(const kl_object *object)
{
    /* The namespace is behind the key and its NUL. */
    return kl__key_of_n(object->bytes, object->name_space - 1);
}

const char *kl__object_key_text(const void *context, const void *object)
{
    (void)context;
    return kl_object_key(object);
}

const char *kl_object_name(const kl_object *object)
{
    /* Behind "namespace/" in the key. The namespace stands before the UID. */
    size_t length = (size_t)object->uid - object->name_space - 1;

    return object->bytes + (length > 0 ? length + 1 : 0);
}

const char *kl_object_namespace(const kl_object *object)
{
    return object->bytes + object->name_space;
}

const char *kl_object_uid(const kl_object *object)
{
    return object->bytes + object->uid;
}

const char *kl_object_resource_version(const kl_object *object)
{
    return object->bytes + object->version;
}

const char *kl_object_kind(const kl_object *object)
{
    return object->has_usual_kind ? kl__dictionary_kind(object->dictionary)
                                  : object->bytes + object->kind;
}

const char *kl_object_api_version(const kl_object *object)
{
    return object->has_usual_kind
               ? kl__dictionary_api_version(object->dictionary)
               : object->bytes + object->api_version;
}

bool kl_object_is_pruned(const kl_object *object)
{
    return object->is_pruned != 0;
}

bool kl_object_is_metadata_only(const kl_object *object)
{
    return object->is_metadata_only != 0;
}

size_t kl_object_json_length(const kl_object *object)
{
    return object->json_length;
}

/* True if an object has the kind of most objects of this dictionary. */
static bool has_usual_kind(const kl_object *object,
                           const kl__dictionary *dictionary)
{
    return strcmp(kl_object_kind(object), kl__dictionary_kind(dictionary)) ==
               0 &&
           strcmp(kl_object_api_version(object),
                  kl__dictionary_api_version(dictionary)) == 0;
}

/* Makes an object that has the first `strings` bytes of the strings of
 * `object`. Behind them, it has `length` more bytes, which the caller fills.
 * NULL: out of memory. */
static kl_object *copy_head(const kl_object *object, uint16_t strings,
                            size_t length)
{
    kl_object *copy = kl__object_new(strings + length);

    if (copy == NULL) {
        return NULL;
    }
    copy->name_space = object->name_space;
    copy->uid = object->uid;
    copy->version = object->version;
    copy->kind = object->kind;
    copy->api_version = object->api_version;
    copy->json = strings;
    copy->json_length = object->json_length;
    copy->is_metadata_only = object->is_metadata_only;
    copy->is_pruned = object->is_pruned;
    memcpy(copy->bytes, object->bytes, strings);
    return copy;
}

kl_object *kl__object_copy_packed(const kl_object *object,
                                  const kl__packed *packed)
{
    bool is_usual = has_usual_kind(object, packed->dictionary);
    /* The kind and the apiVersion are the last of the strings. */
    uint16_t strings = is_usual ? object->kind : object->json;
    kl_object *copy = copy_head(object, strings, packed->frame_length);

    if (copy == NULL) {
        return NULL;
    }
    copy->dictionary = kl__dictionary_ref(packed->dictionary);
    copy->frame_length = (uint32_t)packed->frame_length;
    copy->has_usual_kind = is_usual;
    memcpy(copy->bytes + strings, packed->frame, packed->frame_length);
    return copy;
}

kl_object *kl__object_copy_young(const kl_object *object, kl__text_slab *slab)
{
    static const char *const no_frame = NULL;
    kl__youth *youth = kl__calloc(1, sizeof(*youth));
    kl_object *copy = copy_head(object, object->json, sizeof(no_frame));
    const char *text = kl_object_json(object, NULL, NULL);

    if (youth != NULL && copy != NULL) {
        youth->opened.text = kl__text_slab_add(slab, text, object->json_length);
    }
    kl_object_close_json(object);
    if (youth == NULL || youth->opened.text == NULL) {
        kl_object_unref(copy);
        kl__free(youth);
        return NULL;
    }
    youth->opened.slab = slab;
    youth->opened.is_young = true;
    youth->object = copy;
    kl__list_init(&youth->node);
    copy->is_apart = 1;
    copy->opened = &youth->opened;
    memcpy(copy->bytes + copy->json, &no_frame, sizeof(no_frame));
    return copy;
}

/* The offset of "metadata", which is behind kind and apiVersion; 0: not
 * found. */
static size_t find_metadata(const char *json, size_t length)
{
    static const char name[] = "\"metadata\"";
    const char *at = memmem(json, length, name, sizeof(name) - 1);

    return at != NULL ? (size_t)(at - json) : 0;
}

static bool is_same_text(const char *a, const char *b, size_t length)
{
    size_t head = find_metadata(a, length);

    return head == find_metadata(b, length) &&
           memcmp(a + head, b + head, length - head) == 0;
}

bool kl__object_is_copy(const kl_object *a, const kl_object *b)
{
    const char *a_text, *b_text;
    bool is_copy;

    if (a->json_length != b->json_length ||
        strcmp(kl_object_kind(a), kl_object_kind(b)) != 0 ||
        strcmp(kl_object_api_version(a), kl_object_api_version(b)) != 0) {
        return false;
    }
    a_text = kl_object_json(a, NULL, NULL);
    b_text = kl_object_json(b, NULL, NULL);
    is_copy = a_text != NULL && b_text != NULL &&
              is_same_text(a_text, b_text, a->json_length);
    if (a_text != NULL) {
        kl_object_close_json(a);
    }
    if (b_text != NULL) {
        kl_object_close_json(b);
    }
    return is_copy;
}
