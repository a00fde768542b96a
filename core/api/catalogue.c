/*
 * catalogue.c - holds the resources of a server in one block of texts and one
 * of entries. See catalogue.h; names are matched in catalogue_find.c.
 */
#include "api/catalogue.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

/* More entries are refused as an error of the server; clusters have some
 * thousands. */
enum { MAX_ENTRIES = 200000, FIRST_ENTRIES = 128 };

kl__catalogue *kl__catalogue_new(void)
{
    kl__catalogue *catalogue = kl__calloc(1, sizeof(*catalogue));

    if (catalogue != NULL) {
        atomic_init(&catalogue->refs, 1);
    }
    return catalogue;
}

kl__catalogue *kl__catalogue_ref(kl__catalogue *catalogue)
{
    atomic_fetch_add_explicit(&catalogue->refs, 1, memory_order_relaxed);
    return catalogue;
}

void kl__catalogue_unref(kl__catalogue *catalogue)
{
    if (catalogue != NULL &&
        atomic_fetch_sub_explicit(&catalogue->refs, 1, memory_order_acq_rel) ==
            1) {
        kl__buf_deinit(&catalogue->texts);
        kl__buf_deinit(&catalogue->unreachable);
        kl__buf_deinit(&catalogue->asked);
        kl__free(catalogue->entries);
        kl__free(catalogue->hung);
        kl__free(catalogue);
    }
}

const char *kl__catalogue_text(const kl__catalogue *catalogue, kl__text_at at)
{
    return catalogue->texts.bytes + at;
}

/* Appends a text. A failure is kept in `texts.failed`. */
static kl__text_at put_text(kl__catalogue *catalogue, const char *text)
{
    size_t at = catalogue->texts.length;

    text = text != NULL ? text : "";
    kl__buf_append(&catalogue->texts, text, strlen(text) + 1);
    if (catalogue->texts.length > UINT32_MAX) {
        catalogue->texts.failed = true;
    }
    return (kl__text_at)at;
}

static kl_code set_no_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for discovery");
}

static kl_code reserve_entry(kl__catalogue *catalogue, kl_error *err)
{
    size_t capacity =
        catalogue->capacity != 0 ? catalogue->capacity * 2 : FIRST_ENTRIES;
    kl__catalogue_entry *entries;

    if (catalogue->count < catalogue->capacity) {
        return KL_OK;
    }
    if (catalogue->count >= MAX_ENTRIES) {
        return kl_error_set(err, KL_ETOO_LARGE,
                            "the server claims to serve more than %d "
                            "resources",
                            MAX_ENTRIES);
    }
    entries = kl__realloc(catalogue->entries, capacity * sizeof(*entries));
    if (entries == NULL) {
        return set_no_memory(err);
    }
    catalogue->entries = entries;
    catalogue->capacity = capacity;
    return KL_OK;
}

kl_code kl__catalogue_add(kl__catalogue *catalogue, const kl__listing *listing,
                          kl_error *err)
{
    kl_code code = reserve_entry(catalogue, err);
    kl__catalogue_entry *entry;

    if (code != KL_OK) {
        return code;
    }
    entry = &catalogue->entries[catalogue->count];
    *entry = (kl__catalogue_entry){
        .group = put_text(catalogue, listing->group),
        .version = put_text(catalogue, listing->version),
        .plural = put_text(catalogue, listing->plural),
        .singular = put_text(catalogue, listing->singular),
        .kind = put_text(catalogue, listing->kind),
        .namespaced = listing->namespaced,
        .watchable = listing->watchable,
        .stale = listing->stale};
    entry->short_names = (kl__text_at)catalogue->texts.length;
    if (catalogue->texts.failed) {
        return set_no_memory(err);
    }
    catalogue->count++;
    return KL_OK;
}

kl_code kl__catalogue_add_short(kl__catalogue *catalogue, const char *name,
                                kl_error *err)
{
    put_text(catalogue, name);
    if (catalogue->texts.failed) {
        return set_no_memory(err);
    }
    catalogue->entries[catalogue->count - 1].short_count++;
    return KL_OK;
}

kl_code kl__catalogue_add_unreachable(kl__catalogue *catalogue,
                                      const char *group, const char *version,
                                      kl_error *err)
{
    kl__buf_printf(&catalogue->unreachable, "%s%s%s%s",
                   catalogue->unreachable.length != 0 ? ", " : "", group,
                   group[0] != '\0' ? "/" : "", version);
    return catalogue->unreachable.failed ? set_no_memory(err) : KL_OK;
}

kl_code kl__catalogue_note_asked(kl__catalogue *catalogue, const char *group,
                                 kl_error *err)
{
    kl__buf_append(&catalogue->asked, group, strlen(group) + 1);
    return catalogue->asked.failed ? set_no_memory(err) : KL_OK;
}

bool kl__catalogue_was_asked(const kl__catalogue *catalogue, const char *group,
                             size_t length)
{
    const kl__buf *asked = &catalogue->asked;
    size_t at = 0;

    while (at < asked->length) {
        size_t size = strlen(asked->bytes + at);

        if (size == length && memcmp(asked->bytes + at, group, length) == 0) {
            return true;
        }
        at += size + 1;
    }
    return false;
}

kl_code kl__catalogue_add_hung(kl__catalogue *catalogue, const char *group,
                               const char *version, int64_t since_ms,
                               kl_error *err)
{
    kl__hung *hung = kl__realloc(catalogue->hung, (catalogue->hung_count + 1) *
                                                      sizeof(*catalogue->hung));

    if (hung == NULL) {
        return set_no_memory(err);
    }
    catalogue->hung = hung;
    hung[catalogue->hung_count++] =
        (kl__hung){.group = put_text(catalogue, group),
                   .version = put_text(catalogue, version),
                   .since_ms = since_ms};
    return catalogue->texts.failed ? set_no_memory(err) : KL_OK;
}

int64_t kl__catalogue_hung_ms(const kl__catalogue *catalogue, const char *group,
                              const char *version)
{
    size_t count = catalogue != NULL ? catalogue->hung_count : 0;

    for (size_t i = 0; i < count; i++) {
        const kl__hung *hung = &catalogue->hung[i];

        if (strcmp(kl__catalogue_text(catalogue, hung->group), group) == 0 &&
            strcmp(kl__catalogue_text(catalogue, hung->version), version) ==
                0) {
            return hung->since_ms;
        }
    }
    return -1;
}

/* Adds an entry of another catalogue. */
static kl_code copy_entry(kl__catalogue *catalogue, const kl__catalogue *from,
                          const kl__catalogue_entry *entry, kl_error *err)
{
    const char *name = kl__catalogue_text(from, entry->short_names);
    kl_code code = kl__catalogue_add(
        catalogue,
        &(kl__listing){.group = kl__catalogue_text(from, entry->group),
                       .version = kl__catalogue_text(from, entry->version),
                       .plural = kl__catalogue_text(from, entry->plural),
                       .singular = kl__catalogue_text(from, entry->singular),
                       .kind = kl__catalogue_text(from, entry->kind),
                       .namespaced = entry->namespaced,
                       .watchable = entry->watchable,
                       .stale = entry->stale},
        err);

    for (uint32_t i = 0; code == KL_OK && i < entry->short_count; i++) {
        code = kl__catalogue_add_short(catalogue, name, err);
        name += strlen(name) + 1;
    }
    return code;
}

kl_code kl__catalogue_keep(kl__catalogue *catalogue,
                           const kl__catalogue *former, const char *group,
                           const char *version, kl_error *err)
{
    size_t count = former != NULL ? former->count : 0;
    kl_code code = KL_OK;

    for (size_t i = 0; code == KL_OK && i < count; i++) {
        const kl__catalogue_entry *entry = &former->entries[i];

        if (strcmp(kl__catalogue_text(former, entry->group), group) == 0 &&
            strcmp(kl__catalogue_text(former, entry->version), version) == 0) {
            code = copy_entry(catalogue, former, entry, err);
        }
    }
    return code;
}

bool kl__catalogue_resource(const kl__catalogue *catalogue,
                            const kl__catalogue_entry *entry,
                            kl__resource *resource)
{
    *resource = (kl__resource){
        .group = kl__strdup(kl__catalogue_text(catalogue, entry->group)),
        .version = kl__strdup(kl__catalogue_text(catalogue, entry->version)),
        .plural = kl__strdup(kl__catalogue_text(catalogue, entry->plural)),
        .kind = kl__strdup(kl__catalogue_text(catalogue, entry->kind)),
        .namespaced = entry->namespaced};
    if (resource->group == NULL || resource->version == NULL ||
        resource->plural == NULL || resource->kind == NULL) {
        kl__resource_clear(resource);
        return false;
    }
    return true;
}
