/*
 * object.c - immutable, reference-counted objects. Each is one block of memory:
 * the struct, the strings of the identity, the JSON text. No parsed tree is
 * stored. kl_object_open parses the text; all users that have the object open
 * share the tree, and the last close frees it.
 */
#include "object/object.h"

#include "base/mem.h"
#include "base/thread.h"
#include "json/doc.h"
#include "object/identity.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = INT32_MAX };

/* Offsets have 32 bits to save memory: a cache may have hundreds of thousands
 * of objects. */
struct kl_object {
    kl_doc *tree;   /* while the object is open; guarded by its stripe */
    uint32_t opens; /* guarded by its stripe */
    atomic_uint references;
    uint32_t name; /* offsets in `bytes`; the key is at 0 */
    uint32_t name_space;
    uint32_t uid;
    uint32_t version;
    uint32_t kind;
    uint32_t api_version;
    uint32_t json;
    uint32_t json_length : 31; /* at most MAX_TEXT */
    uint32_t is_metadata_only : 1;
    char bytes[];
};

/*
 * The stripes are mutexes that guard kl_object.tree and .opens; the address of
 * an object selects its stripe. Rank OBJECT: the caller may hold other locks. A
 * stripe is never held while parsing or freeing.
 */
#define STRIPE                                     \
    {                                              \
        PTHREAD_MUTEX_INITIALIZER, KL__RANK_OBJECT \
    }
static kl__mutex stripes[] = {STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE,
                              STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE,
                              STRIPE, STRIPE, STRIPE, STRIPE};

__attribute__((constructor)) static void keep_stripes_over_fork(void)
{
    kl__mutex_outlive_fork(stripes, sizeof(stripes) / sizeof(stripes[0]));
}

static kl__mutex *stripe_of(const kl_object *object)
{
    uintptr_t address = (uintptr_t)object;
    size_t count = sizeof(stripes) / sizeof(stripes[0]);

    /* Objects are some kilobytes apart in memory: use higher bits, too. */
    return &stripes[((address >> 4) ^ (address >> 12)) % count];
}

/* Copies the text and a NUL to offset *used; returns that offset. */
static uint32_t store_text(kl_object *object, size_t *used,
                           const kl__slice *text)
{
    uint32_t at = (uint32_t)*used;

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
    object->name = store_text(object, used, &identity->name);
}

/* Makes the object in one block; `text` describes its JSON. */
static kl_object *allocate_object(const kl__identity *identity,
                                  const kl__object_text *text)
{
    size_t strings = 2 * (identity->name_space.length + 1) +
                     identity->name.length + 1 + identity->uid.length + 1 +
                     identity->version.length + 1 + identity->kind.length + 1 +
                     identity->api_version.length + 1;
    size_t used = 0;
    kl_object *object;

    object = kl__malloc(sizeof(*object) + strings + text->length + 1);
    if (object == NULL) {
        return NULL;
    }
    object->tree = NULL;
    object->opens = 0;
    atomic_init(&object->references, 1);
    store_key(object, &used, identity);
    object->name_space = store_text(object, &used, &identity->name_space);
    object->uid = store_text(object, &used, &identity->uid);
    object->version = store_text(object, &used, &identity->version);
    object->kind = store_text(object, &used, &identity->kind);
    object->api_version = store_text(object, &used, &identity->api_version);
    object->json = (uint32_t)used;
    object->json_length = (uint32_t)text->length & MAX_TEXT;
    object->is_metadata_only = text->is_closed ? 1 : 0;
    kl__object_text_write(text, object->bytes + used);
    object->bytes[used + text->length] = '\0';
    return object;
}

static void refuse_size(size_t length, kl_error *err)
{
    kl_error_set(err, KL_ETOO_LARGE, "an object of %zu bytes", length);
}

static kl_object *build_object(const kl__identity *identity,
                               const kl__object_source *source, bool is_compact,
                               kl_error *err)
{
    kl__object_text text = {.is_compact = is_compact};
    kl_object *object = NULL;

    if (kl__object_text_init(&text, identity, source->json, source->length) &&
        text.length <= MAX_TEXT) {
        object = allocate_object(identity, &text);
    }
    kl__object_text_deinit(&text);
    if (text.length > MAX_TEXT) {
        refuse_size(text.length, err);
    } else if (object == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
    } else {
        kl__live_add(KL_LIVE_OBJECT, 1);
    }
    return object;
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

    if (doc == NULL) {
        return NULL;
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
        refuse_size(length, err);
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

kl_object *kl_object_ref(const kl_object *object)
{
    kl_object *owned = (kl_object *)(uintptr_t)object;

    /* Relaxed: the caller holds a reference already, and no data is handed
     * over. */
    atomic_fetch_add_explicit(&owned->references, 1, memory_order_relaxed);
    return owned;
}

void kl_object_unref(kl_object *object)
{
    /* Release: this thread's reads come before the free. Acquire: so do the
     * reads of all threads that have dropped their reference before. */
    if (object == NULL || atomic_fetch_sub_explicit(&object->references, 1,
                                                    memory_order_acq_rel) > 1) {
        return;
    }
    kl_doc_unref(object->tree);
    kl__free(object);
    kl__live_add(KL_LIVE_OBJECT, -1);
}

const char *kl_object_key(const kl_object *object)
{
    return object->bytes;
}

const char *kl_object_name(const kl_object *object)
{
    return object->bytes + object->name;
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
    return object->bytes + object->kind;
}

const char *kl_object_api_version(const kl_object *object)
{
    return object->bytes + object->api_version;
}

bool kl_object_is_metadata_only(const kl_object *object)
{
    return object->is_metadata_only != 0;
}

const char *kl_object_json(const kl_object *object, size_t *length,
                           kl_error *err)
{
    (void)err;
    if (length != NULL) {
        *length = object->json_length;
    }
    return object->bytes + object->json;
}

/* The tree if the object is open already, counted as opened once more; else
 * NULL. */
static kl_doc *join_open(kl_object *object)
{
    kl__mutex *stripe = stripe_of(object);
    kl_doc *tree;

    kl__mutex_lock(stripe);
    tree = object->tree;
    object->opens += tree != NULL ? 1 : 0;
    kl__mutex_unlock(stripe);
    return tree;
}

/* Shares a new tree. Takes `tree`; returns the tree to use, counted as opened
 * once more: another thread may have been faster with its own. */
static kl_doc *share_tree(kl_object *object, kl_doc *tree)
{
    kl__mutex *stripe = stripe_of(object);
    kl_doc *late = NULL;

    kl__mutex_lock(stripe);
    if (object->tree == NULL) {
        object->tree = tree;
    } else {
        late = tree; /* another thread has set its tree meanwhile */
        tree = object->tree;
    }
    object->opens++;
    kl__mutex_unlock(stripe);
    kl_doc_unref(late);
    return tree;
}

const kl_value *kl_object_open(kl_object *object, kl_error *err)
{
    static const kl__text_shape measured = {0};
    kl_doc *tree;

    tree = join_open(object);
    if (tree == NULL) {
        tree = kl__doc_parse_measured(object->bytes + object->json,
                                      object->json_length, &measured, err);
        if (tree == NULL) {
            return NULL;
        }
        tree = share_tree(object, tree);
    }
    return kl_doc_root(tree);
}

void kl_object_close(kl_object *object)
{
    kl__mutex *stripe = stripe_of(object);
    kl_doc *last = NULL;

    kl__mutex_lock(stripe);
    if (object->opens == 0) {
        abort(); /* close without open: would free a tree in use */
    }
    object->opens--;
    if (object->opens == 0) {
        last = object->tree;
        object->tree = NULL;
    }
    kl__mutex_unlock(stripe);
    kl_doc_unref(last);
}

size_t kl_object_bytes(const kl_object *object)
{
    return sizeof(*object) + object->json + object->json_length + 1;
}

/* The offset of "metadata", which is behind kind and apiVersion; 0: not
 * found. */
static size_t head_of(const kl_object *object)
{
    static const char name[] = "\"metadata\"";
    const char *json = object->bytes + object->json;
    const char *at = memmem(json, object->json_length, name, sizeof(name) - 1);

    return at != NULL ? (size_t)(at - json) : 0;
}

bool kl__object_is_copy(const kl_object *a, const kl_object *b)
{
    size_t head = head_of(a);

    return a->json_length == b->json_length && head == head_of(b) &&
           strcmp(kl_object_kind(a), kl_object_kind(b)) == 0 &&
           strcmp(kl_object_api_version(a), kl_object_api_version(b)) == 0 &&
           memcmp(a->bytes + a->json + head, b->bytes + b->json + head,
                  a->json_length - head) == 0;
}
