/*
 * object_open.c - the reference count of objects, and what a reader needs: the
 * parsed tree, and the text of a packed or young object. All readers that have
 * an object open share one tree and one text. A young object is packed where it
 * is (pack.h), while others may read it.
 */
#include "object/block.h"

#include "base/mem.h"
#include "base/thread.h"
#include "json/doc.h"

#include "kubelua/cursor.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRIPES = 16,
    KEPT = 2,                /* packed objects whose tree a stripe keeps */
    KEPT_LENGTH = 16 * 1024, /* the tree of a longer text is not kept */
};

/*
 * The stripes are mutexes that guard `kept` and the trees and texts of objects;
 * the address of an object selects its stripe. Only LOG ranks higher: an object
 * may be opened, and the last reference to it dropped, under any lock. A stripe
 * is never held while unpacking, parsing or freeing.
 */
#define STRIPE                                     \
    {                                              \
        PTHREAD_MUTEX_INITIALIZER, KL__RANK_OBJECT \
    }
static kl__mutex stripes[STRIPES] = {
    STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE,
    STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE, STRIPE};

/* The packed objects of a stripe that were closed last and had been opened
 * before. Their trees are kept, so that an object that is read again and again
 * is not unpacked each time. No references: an object is removed when it is
 * opened or freed. */
static struct {
    kl_object *objects[KEPT];
    size_t next;
} kept[STRIPES];

__attribute__((constructor)) static void keep_stripes_over_fork(void)
{
    kl__mutex_outlive_fork(stripes, STRIPES);
}

static size_t stripe_of(const kl_object *object)
{
#ifdef KL__ONE_STRIPE
    /* The model: what a seed does must not depend on addresses. */
    (void)object;
    return 0;
#else
    uintptr_t address = (uintptr_t)object;

    /* Objects are some hundred bytes apart in memory: use higher bits, too. */
    return ((address >> 4) ^ (address >> 12)) % STRIPES;
#endif
}

/* The mutex that guards `opened` and what an object that is apart may change.
 */
static kl__mutex *find_stripe(const kl_object *object)
{
    return &stripes[stripe_of(object)];
}

/* A const object may change its reference count and its open tree. */
static kl_object *cast_const(const kl_object *object)
{
    return (kl_object *)(uintptr_t)object;
}

kl_object *kl__object_new(size_t length)
{
    kl_object *object = kl__malloc(offsetof(kl_object, bytes) + length);

    if (object == NULL) {
        return NULL;
    }
    object->opened = NULL;
    object->dictionary = NULL;
    object->is_warm = 0;
    object->is_distinct = 0;
    object->frame_length = 0;
    object->has_usual_kind = 0;
    object->is_apart = 0;
    atomic_init(&object->references, 1);
    kl__live_add(KL_LIVE_OBJECT, 1);
    return object;
}

kl_object *kl_object_ref(const kl_object *object)
{
    kl_object *owned = cast_const(object);

    /* Relaxed: the caller holds a reference already, and no data is handed
     * over. */
    atomic_fetch_add_explicit(&owned->references, 1, memory_order_relaxed);
    return owned;
}

bool kl__object_try_ref(kl_object *object)
{
    unsigned count =
        atomic_load_explicit(&object->references, memory_order_relaxed);

    while (count != 0) {
        if (atomic_compare_exchange_weak_explicit(
                &object->references, &count, count + 1, memory_order_relaxed,
                memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

bool kl__object_is_shared(const kl_object *object)
{
    /* Acquire: this thread sees all that other threads have done before they
     * dropped their references. */
    return atomic_load_explicit(&cast_const(object)->references,
                                memory_order_acquire) > 1;
}

/* Removes the object from `kept`. */
static void forget_kept_locked(size_t stripe, const kl_object *object)
{
    for (size_t i = 0; i < KEPT; i++) {
        if (kept[stripe].objects[i] == object) {
            kept[stripe].objects[i] = NULL;
        }
    }
}

/* A text is in a slab, or is allocated by itself. */
static void free_text(char *text, kl__text_slab *slab)
{
    if (slab != NULL) {
        kl__text_slab_unref(slab);
    } else {
        kl__free(text);
    }
}

/* NULL is fine. */
static void free_opened(kl__opened *opened)
{
    if (opened != NULL) {
        kl_doc_unref(opened->tree);
        free_text(opened->text, opened->slab);
        kl__free(opened);
    }
}

const char *kl__object_frame(const kl_object *object)
{
    const char *frame = object->bytes + object->json;

    if (object->is_apart) {
        memcpy(&frame, object->bytes + object->json, sizeof(frame));
    }
    return frame;
}

void kl_object_unref(kl_object *object)
{
    /* Release: this thread's reads come before the free. Acquire: so do the
     * reads of all threads that have dropped their reference before. */
    if (object == NULL || atomic_fetch_sub_explicit(&object->references, 1,
                                                    memory_order_acq_rel) > 1) {
        return;
    }
    if (object->opened != NULL && object->opened->is_young) {
        kl__youth_leave((kl__youth *)object->opened);
    }
    if (object->dictionary != NULL) {
        size_t stripe = stripe_of(object);

        kl__mutex_lock(&stripes[stripe]);
        forget_kept_locked(stripe, object);
        kl__mutex_unlock(&stripes[stripe]);
        kl__dictionary_unref(object->dictionary);
        if (object->is_apart) {
            kl__free((void *)(uintptr_t)kl__object_frame(object));
        }
    }
    free_opened(object->opened);
    kl__free(object);
    kl__live_add(KL_LIVE_OBJECT, -1);
}

static kl__opened *make_opened(kl_error *err)
{
    kl__opened *opened = kl__calloc(1, sizeof(*opened));

    if (opened == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory to open an object");
    }
    return opened;
}

/* Returns what readers of the object share: *made, which is then NULL, unless
 * another thread was faster with its own. */
static kl__opened *install_locked(kl_object *object, kl__opened **made)
{
    if (object->opened == NULL) {
        object->opened = *made;
        *made = NULL;
    }
    return object->opened;
}

/* What no reader needs any more, to free after the unlock. */
typedef struct garbage {
    kl_doc *tree;
    char *text;
    kl__text_slab *slab;
    kl__opened *opened;
} garbage;

/* Call when the tree or the text was taken out. */
static void drop_empty_locked(kl_object *object, garbage *last)
{
    if (object->opened->tree == NULL && object->opened->text == NULL) {
        last->opened = object->opened;
        object->opened = NULL;
    }
}

static void free_garbage(const garbage *last)
{
    kl_doc_unref(last->tree);
    free_text(last->text, last->slab);
    kl__free(last->opened);
}

/* Takes the text out, if it has no user and the object does not rest plain. */
static void drop_text_locked(kl_object *object, garbage *last)
{
    kl__opened *opened = object->opened;

    if (opened->texts == 0 && object->dictionary != NULL) {
        last->text = opened->text;
        last->slab = opened->slab;
        opened->text = NULL;
        opened->slab = NULL;
        drop_empty_locked(object, last);
    }
}

/* True if the text is in the object's block of memory, and always will be. */
static bool is_inline(const kl_object *object)
{
    return !object->is_apart && object->dictionary == NULL;
}

/* A copy of a packed object's text. If the object is apart, the caller has seen
 * under the stripe that it is packed. NULL: KL_ENOMEM. */
static char *unpack_text(const kl_object *object, kl_error *err)
{
    char *text =
        kl__unpack(&(kl__packed){object->dictionary, kl__object_frame(object),
                                 object->frame_length, object->json_length});

    if (text == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory to unpack an object");
    }
    return text;
}

/* The text if it is open already, counted as opened once more; else NULL. */
static const char *reopen_text(kl_object *object)
{
    kl__mutex *stripe = find_stripe(object);
    kl__opened *opened;
    const char *text;

    kl__mutex_lock(stripe);
    opened = object->opened;
    text = opened != NULL ? opened->text : NULL;
    if (text != NULL) {
        opened->texts++;
    }
    kl__mutex_unlock(stripe);
    return text;
}

/* Shares a new text. Takes `text`; returns the text to use, counted as opened
 * once more: another thread may have been faster with its own. NULL:
 * KL_ENOMEM. */
static const char *share_text(kl_object *object, char *text, kl_error *err)
{
    kl__mutex *stripe = find_stripe(object);
    kl__opened *made = make_opened(err);
    kl__opened *opened;
    const char *shared;

    if (made == NULL) {
        kl__free(text);
        return NULL;
    }
    kl__mutex_lock(stripe);
    opened = install_locked(object, &made);
    if (opened->text == NULL) {
        opened->text = text;
        text = NULL;
    }
    shared = opened->text;
    opened->texts++;
    kl__mutex_unlock(stripe);
    kl__free(text);
    kl__free(made);
    return shared;
}

const char *kl_object_json(const kl_object *object, size_t *length,
                           kl_error *err)
{
    const char *shared;
    char *text;

    if (length != NULL) {
        *length = object->json_length;
    }
    if (is_inline(object)) {
        return object->bytes + object->json;
    }
    shared = reopen_text(cast_const(object));
    if (shared != NULL) {
        return shared;
    }
    text = unpack_text(object, err);
    return text != NULL ? share_text(cast_const(object), text, err) : NULL;
}

void kl_object_close_json(const kl_object *object)
{
    kl_object *changed = cast_const(object);
    garbage last = {0};
    kl__mutex *stripe;

    if (is_inline(object)) {
        return;
    }
    stripe = find_stripe(object);
    kl__mutex_lock(stripe);
    if (changed->opened == NULL || changed->opened->texts == 0) {
        abort(); /* close without open: would free a text in use */
    }
    changed->opened->texts--;
    drop_text_locked(changed, &last);
    kl__mutex_unlock(stripe);
    free_garbage(&last);
}

kl_code kl_object_json_distinct(const kl_object *object, const char *json,
                                char **copy, size_t *length, kl_error *err)
{
    kl__mutex *stripe = find_stripe(object);
    kl_code code;
    bool is_known;

    *copy = NULL;
    kl__mutex_lock(stripe);
    is_known = object->is_distinct != 0;
    kl__mutex_unlock(stripe);
    if (is_known) {
        return KL_OK;
    }
    code =
        kl_cursor_distinct(json, json + object->json_length, copy, length, err);
    if (code == KL_OK && *copy == NULL) {
        kl__mutex_lock(stripe);
        cast_const(object)->is_distinct = 1;
        kl__mutex_unlock(stripe);
    }
    return code;
}

/* The tree if it is open or kept, counted as opened once more; else NULL. */
static kl_doc *reopen_tree(kl_object *object)
{
    size_t stripe = stripe_of(object);
    kl__opened *opened;
    kl_doc *tree;

    kl__mutex_lock(&stripes[stripe]);
    opened = object->opened;
    tree = opened != NULL ? opened->tree : NULL;
    if (tree != NULL) {
        if (opened->opens == 0) {
            forget_kept_locked(stripe, object);
        }
        opened->opens++;
    }
    kl__mutex_unlock(&stripes[stripe]);
    return tree;
}

/* Shares a new tree. Takes `tree`; returns the tree to use, counted as opened
 * once more: another thread may have been faster with its own. NULL:
 * KL_ENOMEM. */
static kl_doc *share_tree(kl_object *object, kl_doc *tree, kl_error *err)
{
    size_t stripe = stripe_of(object);
    kl__opened *made = make_opened(err);
    kl__opened *opened;
    kl_doc *late = NULL;

    if (made == NULL) {
        kl_doc_unref(tree);
        return NULL;
    }
    kl__mutex_lock(&stripes[stripe]);
    opened = install_locked(object, &made);
    if (opened->tree == NULL) {
        opened->tree = tree;
    } else {
        late = tree; /* another thread was faster; its tree may be closed */
        tree = opened->tree;
        forget_kept_locked(stripe, object);
    }
    opened->opens++;
    kl__mutex_unlock(&stripes[stripe]);
    kl_doc_unref(late);
    kl__free(made);
    return tree;
}

static kl_doc *parse_text(const kl_object *object, kl_error *err)
{
    static const kl__text_shape measured = {0};
    const char *plain = is_inline(object) ? object->bytes + object->json
                                          : reopen_text(cast_const(object));
    kl_doc *tree;
    char *text;

    if (plain != NULL) {
        tree =
            kl__doc_parse_measured(plain, object->json_length, &measured, err);
        kl_object_close_json(object);
        return tree;
    }
    text = unpack_text(object, err);
    return text != NULL ? kl__doc_parse_in_place(text, object->json_length, err)
                        : NULL;
}

const kl_value *kl_object_open(kl_object *object, kl_error *err)
{
    kl_doc *tree = reopen_tree(object);

    if (tree == NULL) {
        tree = parse_text(object, err);
        if (tree == NULL) {
            return NULL;
        }
        tree = share_tree(object, tree, err);
    }
    return tree != NULL ? kl_doc_root(tree) : NULL;
}

/* The last close of an object: keeps its tree, or takes a tree out. */
static void drop_tree_locked(size_t stripe, kl_object *object, garbage *last)
{
    kl_object **place = &kept[stripe].objects[kept[stripe].next];
    kl_object *dropped = object;

    if (object->is_warm && object->json_length <= KEPT_LENGTH) {
        dropped = *place;
        *place = object;
        kept[stripe].next = (kept[stripe].next + 1) % KEPT;
    }
    object->is_warm = object->dictionary != NULL ? 1 : 0;
    if (dropped != NULL) {
        last->tree = dropped->opened->tree;
        dropped->opened->tree = NULL;
        drop_empty_locked(dropped, last);
    }
}

void kl_object_close(kl_object *object)
{
    size_t stripe = stripe_of(object);
    garbage last = {0};

    kl__mutex_lock(&stripes[stripe]);
    if (object->opened == NULL || object->opened->opens == 0) {
        abort(); /* close without open: would free a tree in use */
    }
    object->opened->opens--;
    if (object->opened->opens == 0) {
        drop_tree_locked(stripe, object, &last);
    }
    kl__mutex_unlock(&stripes[stripe]);
    free_garbage(&last);
}

bool kl__object_pack(kl_object *object, const kl__packed *packed)
{
    char *frame = kl__malloc(packed->frame_length);
    kl__mutex *stripe = find_stripe(object);

    if (frame == NULL) {
        return false;
    }
    memcpy(frame, packed->frame, packed->frame_length);
    kl__dictionary_ref(packed->dictionary);
    kl__mutex_lock(stripe);
    memcpy(object->bytes + object->json, &frame, sizeof(frame));
    object->frame_length = (uint32_t)packed->frame_length;
    object->dictionary = packed->dictionary;
    kl__mutex_unlock(stripe);
    return true;
}

bool kl__object_leave_slab(kl_object *object)
{
    size_t size = (size_t)object->json_length + 1;
    kl__mutex *stripe = find_stripe(object);
    kl__opened *opened = object->opened; /* it stays while the text is open */
    char *text = kl__malloc(size);
    kl__text_slab *slab = NULL;
    bool has_left;

    if (text == NULL) {
        return false;
    }
    memcpy(text, opened->text, size);
    kl__mutex_lock(stripe);
    has_left = opened->texts == 1;
    if (has_left) {
        slab = opened->slab;
        opened->text = text;
        opened->slab = NULL;
    }
    kl__mutex_unlock(stripe);
    kl__text_slab_unref(slab);
    if (!has_left) {
        kl__free(text);
    }
    return has_left;
}

/* The dictionary and the length of the frame, of any object. */
static kl__dictionary *read_dictionary(const kl_object *object,
                                       size_t *frame_length)
{
    kl__mutex *stripe = object->is_apart ? find_stripe(object) : NULL;
    kl__dictionary *dictionary;

    if (stripe != NULL) {
        kl__mutex_lock(stripe);
    }
    dictionary = object->dictionary;
    *frame_length = object->frame_length;
    if (stripe != NULL) {
        kl__mutex_unlock(stripe);
    }
    return dictionary;
}

bool kl__object_is_packed(const kl_object *object)
{
    size_t frame_length;

    return read_dictionary(object, &frame_length) != NULL;
}

size_t kl_object_bytes(const kl_object *object)
{
    size_t head = offsetof(kl_object, bytes) + object->json;
    size_t frame_length;

    head += object->is_apart ? sizeof(char *) : 0;
    return read_dictionary(object, &frame_length) != NULL
               ? head + frame_length
               : head + object->json_length + 1;
}
