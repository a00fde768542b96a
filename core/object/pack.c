/*
 * pack.c - reads packed texts: dictionaries, and the contexts of zstd. See
 * pack.h.
 */
#include "object/pack.h"

#include "base/checksum.h"
#include "base/mem.h"
#include "object/pack_context.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* Bytes behind the end of the text that its parser may read. */
enum { PADDING = 8 };

struct kl__dictionary {
    atomic_uint references;
    ZSTD_DDict *reads;
    size_t api_version; /* offset into bytes */
    char bytes[];       /* the kind and the apiVersion, with a NUL each */
};

kl__dictionary *kl__dictionary_new(const void *bytes, size_t length,
                                   const char *kind, const char *api_version)
{
    size_t kind_size = strlen(kind) + 1;
    size_t version_size = strlen(api_version) + 1;
    kl__dictionary *dictionary =
        kl__malloc(sizeof(*dictionary) + kind_size + version_size);

    if (dictionary == NULL) {
        return NULL;
    }
    atomic_init(&dictionary->references, 1);
    dictionary->reads = ZSTD_createDDict(bytes, length);
    if (dictionary->reads == NULL) {
        kl__free(dictionary);
        return NULL;
    }
    memcpy(dictionary->bytes, kind, kind_size);
    memcpy(dictionary->bytes + kind_size, api_version, version_size);
    dictionary->api_version = kind_size;
    return dictionary;
}

const char *kl__dictionary_kind(const kl__dictionary *dictionary)
{
    return dictionary->bytes;
}

const char *kl__dictionary_api_version(const kl__dictionary *dictionary)
{
    return dictionary->bytes + dictionary->api_version;
}

kl__dictionary *kl__dictionary_ref(kl__dictionary *dictionary)
{
    /* Relaxed: the caller holds a reference already, and no data is handed
     * over. */
    atomic_fetch_add_explicit(&dictionary->references, 1, memory_order_relaxed);
    return dictionary;
}

void kl__dictionary_unref(kl__dictionary *dictionary)
{
    /* Release: this thread's reads come before the free. Acquire: so do the
     * reads of all threads that have dropped their reference before. */
    if (dictionary == NULL ||
        atomic_fetch_sub_explicit(&dictionary->references, 1,
                                  memory_order_acq_rel) != 1) {
        return;
    }
    ZSTD_freeDDict(dictionary->reads);
    kl__free(dictionary);
}

/*
 * Contexts of some 100 KB each that are not in use. A thread takes one out by
 * exchanging a place with NULL, so that a context has one user at a time and
 * there is no lock that a fork could leave held.
 */
static _Atomic(void *) idle_readers[4];
static _Atomic(void *) idle_writers[2];

static void *take_idle(_Atomic(void *) *places, size_t count)
{
    void *context = NULL;

    /* Acquire: this thread sees all that the last user of the context has
     * done. */
    for (size_t i = 0; context == NULL && i < count; i++) {
        context =
            atomic_exchange_explicit(&places[i], NULL, memory_order_acquire);
    }
    return context;
}

/* True: the context is kept for the next use. */
static bool keep_idle(_Atomic(void *) *places, size_t count, void *context)
{
    for (size_t i = 0; i < count; i++) {
        void *none = NULL;

        if (atomic_compare_exchange_strong_explicit(&places[i], &none, context,
                                                    memory_order_release,
                                                    memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

ZSTD_CCtx *kl__pack_context_take(void)
{
    ZSTD_CCtx *context = take_idle(idle_writers, 2);

    return context != NULL ? context : ZSTD_createCCtx();
}

void kl__pack_context_give(ZSTD_CCtx *context)
{
    /* The context must forget its frame and its dictionary. A frame that did
     * not fit its buffer is unfinished, and then zstd refuses a new dictionary.
     * The old dictionary may be freed before the next use. */
    size_t status = ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters);

    if (ZSTD_isError(status) || !keep_idle(idle_writers, 2, context)) {
        ZSTD_freeCCtx(context);
    }
}

static _Noreturn void die_of_damage(const char *why, char *text)
{
    /* There is no error to return: the callers were promised the text. */
    kl__free(text); /* spec/fuzz goes on after the abort */
    fprintf(stderr,
            "kubelua: a compressed object, or its dictionary, was damaged in "
            "memory (%s)\n",
            why);
    abort();
}

/* Compares the text with the checksum behind the frame. */
static void check_text(const kl__packed *packed, char *text, size_t length)
{
    uint32_t expected;

    if (length != packed->text_length) {
        die_of_damage("its length is another", text);
    }
    memcpy(&expected, packed->frame + packed->frame_length - sizeof(expected),
           sizeof(expected));
    if (kl__checksum(text, length) != expected) {
        die_of_damage("its checksum is another", text);
    }
}

char *kl__unpack(const kl__packed *packed)
{
    ZSTD_DCtx *context;
    size_t length;
    char *text;

    if (packed->frame_length < sizeof(uint32_t)) {
        die_of_damage("its checksum is missing", NULL);
    }
    text = kl__malloc(packed->text_length + PADDING);
    context = take_idle(idle_readers, 4);
    if (context == NULL) {
        context = ZSTD_createDCtx();
    }
    if (text == NULL || context == NULL) {
        kl__free(text);
        ZSTD_freeDCtx(context);
        return NULL;
    }
    length = ZSTD_decompress_usingDDict(
        context, text, packed->text_length, packed->frame,
        packed->frame_length - sizeof(uint32_t), packed->dictionary->reads);
    if (!keep_idle(idle_readers, 4, context)) {
        ZSTD_freeDCtx(context);
    }
    if (ZSTD_getErrorCode(length) == ZSTD_error_memory_allocation) {
        kl__free(text);
        return NULL;
    }
    if (ZSTD_isError(length)) {
        die_of_damage(ZSTD_getErrorName(length), text);
    }
    check_text(packed, text, length);
    memset(text + length, 0, PADDING);
    return text;
}
