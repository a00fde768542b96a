/*
 * sim_state.c - see sim_state.h.
 */
#include "sim/core/store/sim_state.h"

#include "base/mem.h"
#include "base/str.h"
#include "json/doc.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

kl__sim_state *kl__sim_state_ref(kl__sim_state *state)
{
    atomic_fetch_add_explicit(&state->refs, 1, memory_order_relaxed);
    return state;
}

void kl__sim_state_unref(kl__sim_state *state)
{
    if (state == NULL ||
        atomic_fetch_sub_explicit(&state->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < state->field_count; i++) {
        kl__free(state->fields[i]);
    }
    kl_doc_unref(state->labels);
    kl_doc_unref(state->doc);
    kl__free(state->owners);
    kl__free(state->text);
    kl__free(state->uid);
    kl__free(state->key);
    kl__free(state);
}

static const char *value_text(const kl_value *value, const char *otherwise)
{
    const char *text = kl_value_string(value, NULL);

    return text != NULL ? text : otherwise;
}

/* The value that a field selector compares with; NULL: out of memory. */
static char *field_value(const kl__sim_field *field, const kl_value *root)
{
    const kl_value *value = kl_path_first(field->path, root);

    switch (kl_value_type(value)) {
    case KL_STRING:
        return kl__strdup(kl_value_string(value, NULL));
    case KL_BOOL:
    case KL_INTEGER:
        return kl_value_json(value, NULL, NULL);
    default:
        return kl__strdup(field->absent);
    }
}

static bool take_identity(kl__sim_state *state, const kl_value *metadata)
{
    const char *name_space =
        value_text(kl_value_get(metadata, "namespace"), "");
    const char *name = value_text(kl_value_get(metadata, "name"), "");
    bool has_namespace = *name_space != '\0';

    state->key = has_namespace ? kl__strprintf("%s/%s", name_space, name)
                               : kl__strdup(name);
    state->uid = kl__strdup(value_text(kl_value_get(metadata, "uid"), ""));
    if (state->key == NULL || state->uid == NULL) {
        return false;
    }
    state->name = state->key + (has_namespace ? strlen(name_space) + 1 : 0);
    return true;
}

static bool take_labels(kl__sim_state *state, const kl_value *labels)
{
    size_t length;
    char *json;

    if (kl_value_size(labels) == 0) {
        return true;
    }
    json = kl_value_json(labels, &length, NULL);
    if (json == NULL) {
        return false;
    }
    state->labels = kl_doc_parse(json, length, NULL);
    kl__free(json);
    return state->labels != NULL;
}

static bool take_owners(kl__sim_state *state, const kl_value *references)
{
    const kl_value *reference;
    kl_value_iter iter = {0};
    kl__buf owners = {0};

    if (kl_value_size(references) == 0) {
        return true;
    }
    while ((reference = kl_value_next(references, &iter, NULL)) != NULL) {
        bool blocks =
            kl_value_bool(kl_value_get(reference, "blockOwnerDeletion"));
        const char *uid = value_text(kl_value_get(reference, "uid"), "");

        kl__buf_putc(&owners, blocks ? 'b' : '-');
        kl__buf_append(&owners, uid, strlen(uid) + 1);
    }
    state->owners = kl__buf_take(&owners, NULL);
    kl__buf_deinit(&owners);
    return state->owners != NULL;
}

/* Sets `deleting` and `awaits` from the metadata. */
static void take_end(kl__sim_state *state, const kl_value *metadata)
{
    const kl_value *finalizers = kl_value_get(metadata, "finalizers");
    const kl_value *finalizer;
    kl_value_iter iter = {0};

    state->deleting =
        kl_value_string(kl_value_get(metadata, "deletionTimestamp"), NULL) !=
        NULL;
    while (state->deleting &&
           (finalizer = kl_value_next(finalizers, &iter, NULL)) != NULL) {
        const char *text = value_text(finalizer, "");

        state->awaits |= strcmp(text, "orphan") == 0 ||
                         strcmp(text, "foregroundDeletion") == 0;
    }
}

static bool is_ready(const kl_value *root)
{
    const kl_value *conditions =
        kl_value_get(kl_value_get(root, "status"), "conditions");
    const kl_value *condition;
    kl_value_iter iter = {0};

    while ((condition = kl_value_next(conditions, &iter, NULL)) != NULL) {
        if (strcmp(value_text(kl_value_get(condition, "type"), ""), "Ready") ==
            0) {
            return strcmp(value_text(kl_value_get(condition, "status"), ""),
                          "True") == 0;
        }
    }
    return false;
}

static bool take_document(kl__sim_state *state, const kl__sim_kind *kind,
                          const kl_doc *doc)
{
    const kl_value *root = kl_doc_root(doc);
    const kl_value *metadata = kl_value_get(root, "metadata");
    const kl_value *version = kl_value_get(metadata, "resourceVersion");
    const kl_value *name = NULL;
    kl_value_iter iter = {0};

    while (kl_value_next(root, &iter, &name) != metadata) {
        /* skip kind and apiVersion, which come before metadata */
    }
    state->head = kl__doc_offset(doc, name) - 1;
    state->rest = kl_value_next(root, &iter, &name) != NULL
                      ? kl__doc_offset(doc, name) - 2
                      : state->length - 1;
    if (version != NULL) { /* the result of a dry run has no version */
        state->version_at = kl__doc_offset(doc, version);
        state->version =
            strtoll(kl_value_string(version, &state->version_length), NULL, 10);
    }
    for (size_t i = 0; i < kind->field_count; i++) {
        state->fields[i] = field_value(&kind->fields[i], root);
        if (state->fields[i] == NULL) {
            return false;
        }
    }
    take_end(state, metadata);
    state->ready = is_ready(root);
    return take_identity(state, metadata) &&
           take_owners(state, kl_value_get(metadata, "ownerReferences")) &&
           take_labels(state, kl_value_get(metadata, "labels"));
}

kl__sim_state *kl__sim_state_new(const kl__sim_kind *kind, char *text,
                                 size_t length, kl_error *err)
{
    kl__sim_state *state = kl__calloc(
        1, sizeof(*state) + kind->field_count * sizeof(state->fields[0]));
    kl_doc *doc = state != NULL ? kl_doc_parse(text, length, err) : NULL;
    bool taken;

    if (doc == NULL) {
        kl__free(state);
        kl__free(text);
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    atomic_init(&state->refs, 1);
    state->text = text;
    state->length = length;
    state->field_count = kind->field_count;
    taken = take_document(state, kind, doc);
    kl_doc_unref(doc);
    if (!taken) {
        kl__sim_state_unref(state);
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    return state;
}

const kl_value *kl__sim_state_root(kl__sim_state *state, kl_error *err)
{
    if (state->doc == NULL) {
        state->doc = kl_doc_parse(state->text, state->length, err);
    }
    return state->doc != NULL ? kl_doc_root(state->doc) : NULL;
}

bool kl__sim_state_says(const kl__sim_state *a, const kl__sim_state *b)
{
    size_t a_tail = a->version_at + a->version_length;
    size_t b_tail = b->version_at + b->version_length;

    return a->version_at == b->version_at &&
           a->length - a_tail == b->length - b_tail &&
           memcmp(a->text, b->text, a->version_at) == 0 &&
           memcmp(a->text + a_tail, b->text + b_tail, a->length - a_tail) == 0;
}

void kl__sim_write_head(const kl__sim_kind *kind, const char *api_version,
                        kl__buf *out)
{
    bool is_core = *kind->group == '\0';
    const char *slash = is_core ? "" : "/";

    if (kl__sim_kind_is(kind, KL__SIM_CUSTOM)) {
        kl__buf_printf(out, "{\"apiVersion\":\"%s%s%s\",\"kind\":\"%s\",",
                       kind->group, slash, api_version, kind->kind);
    } else {
        kl__buf_printf(out, "{\"kind\":\"%s\",\"apiVersion\":\"%s%s%s\",",
                       kind->kind, kind->group, slash, api_version);
    }
}

/* Appends the text from `from` to `to`, with `version` (0: the state's own) as
 * the resourceVersion. */
static void append_with_version(const kl__sim_state *state, size_t from,
                                size_t to, int64_t version, kl__buf *out)
{
    if (version != 0) {
        kl__buf_append(out, state->text + from, state->version_at - from);
        kl__buf_printf(out, "%" PRId64, version);
        from = state->version_at + state->version_length;
    }
    kl__buf_append(out, state->text + from, to - from);
}

void kl__sim_state_write(const kl__sim_state *state, const kl__sim_view *view,
                         kl__buf *out)
{
    size_t from = state->head;

    if (view->bare) {
        kl__buf_putc(out, '{');
    } else if (strcmp(view->api_version, view->kind->storage) == 0) {
        from = 0;
    } else {
        kl__sim_write_head(view->kind, view->api_version, out);
    }
    append_with_version(state, from, state->length, view->version, out);
}

void kl__sim_state_write_metadata(const kl__sim_state *state, int64_t version,
                                  kl__buf *out)
{
    append_with_version(state, state->head + sizeof("\"metadata\":") - 1,
                        state->rest, version, out);
}
