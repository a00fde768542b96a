/*
 * sim_state.c - see sim_state.h.
 */
#include "sim/sim_state.h"

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
    kl__free(state->text);
    kl__free(state->uid);
    kl__free(state->key);
    kl__free(state);
}

static const char *text_of(const kl_value *value, const char *otherwise)
{
    const char *text = kl_value_string(value, NULL);

    return text != NULL ? text : otherwise;
}

/* A field's value as a selector compares it; NULL when out of memory. */
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
    const char *name_space = text_of(kl_value_get(metadata, "namespace"), "");
    const char *name = text_of(kl_value_get(metadata, "name"), "");
    bool has_namespace = *name_space != '\0';

    state->key = has_namespace ? kl__strprintf("%s/%s", name_space, name)
                               : kl__strdup(name);
    state->uid = kl__strdup(text_of(kl_value_get(metadata, "uid"), ""));
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

static bool take(kl__sim_state *state, const kl__sim_kind *kind,
                 const kl_doc *doc)
{
    const kl_value *root = kl_doc_root(doc);
    const kl_value *metadata = kl_value_get(root, "metadata");
    const kl_value *version = kl_value_get(metadata, "resourceVersion");
    const kl_value *name = NULL;
    kl_value_iter iter = {0};

    while (kl_value_next(root, &iter, &name) != metadata) {
        /* kind and apiVersion come before it */
    }
    state->head = kl__doc_offset(doc, name) - 1;
    state->version_at = kl__doc_offset(doc, version);
    state->version =
        strtoll(kl_value_string(version, &state->version_length), NULL, 10);
    for (size_t i = 0; i < kind->field_count; i++) {
        state->fields[i] = field_value(&kind->fields[i], root);
        if (state->fields[i] == NULL) {
            return false;
        }
    }
    return take_identity(state, metadata) &&
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
    taken = take(state, kind, doc);
    kl_doc_unref(doc);
    if (!taken) {
        kl__sim_state_unref(state);
        kl_error_set(err, KL_ENOMEM, "out of memory for an object");
        return NULL;
    }
    return state;
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
    if (view->version == 0) {
        kl__buf_append(out, state->text + from, state->length - from);
        return;
    }
    kl__buf_append(out, state->text + from, state->version_at - from);
    kl__buf_printf(out, "%" PRId64, view->version);
    from = state->version_at + state->version_length;
    kl__buf_append(out, state->text + from, state->length - from);
}
