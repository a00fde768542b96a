/*
 * sim_load.c - kl_sim_load: loads manifests into a cluster. Lists are unpacked,
 * definitions and namespaces go first, and each object is created or replaced
 * by a request.
 */
#include "sim/core/store/sim_core.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/url.h"
#include "json/doc.h"
#include "kubelua/log.h"
#include "kubelua/manifest.h"
#include "sim/core/json/edit.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/store/sim_compose.h"

#include <stdio.h>
#include <string.h>

/* The order of loading: definitions, then namespaces, then the rest. */
enum { STAGES = 3 };

typedef struct load_item {
    kl_doc *doc; /* a reference */
    const kl_value *root;
    int stage;
} load_item;

typedef struct manifest_load {
    kl_sim *sim;
    load_item *items;
    size_t count;
    size_t capacity;
} manifest_load;

static kl_code load_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for manifests");
}

static int stage_of(const kl_value *root)
{
    const char *kind = kl__sim_text(root, "kind");

    if (kind != NULL && strcmp(kind, "CustomResourceDefinition") == 0) {
        return 0;
    }
    return kind != NULL && strcmp(kind, "Namespace") == 0 ? 1 : 2;
}

static kl_code add_item(manifest_load *load, kl_doc *doc, const kl_value *root,
                        kl_error *err)
{
    if (load->count == load->capacity) {
        size_t capacity = load->capacity != 0 ? load->capacity * 2 : 64;
        load_item *items = kl__realloc(load->items, capacity * sizeof(*items));

        if (items == NULL) {
            return load_out_of_memory(err);
        }
        load->items = items;
        load->capacity = capacity;
    }
    load->items[load->count++] =
        (load_item){kl_doc_ref(doc), root, stage_of(root)};
    return KL_OK;
}

/* True for a List of any kind: its items are loaded. */
static bool is_list(const kl_value *root)
{
    const char *kind = kl__sim_text(root, "kind");
    size_t length = kind != NULL ? strlen(kind) : 0;

    return length >= 4 && strcmp(kind + length - 4, "List") == 0 &&
           kl_value_type(kl_value_get(root, "items")) == KL_ARRAY;
}

/* Refuses a document that is a text or a number: most often the caller passed a
 * path, or a file that is no manifest. */
static kl_code refuse_document(const kl_value *root, kl_error *err)
{
    const char *text = kl_value_string(root, NULL);

    return text != NULL
               ? kl_error_set(err, KL_EINVAL,
                              "a manifest has objects with apiVersion and "
                              "kind, not the text \"%.64s\"",
                              text)
               : kl_error_set(err, KL_EINVAL,
                              "a manifest has objects with apiVersion and "
                              "kind, not numbers or lists");
}

static kl_code take_document(void *context, const char *json, size_t length,
                             kl_error *err)
{
    manifest_load *load = context;
    kl_doc *doc = kl__doc_parse_within(json, length, KL__NODE_DEPTH, err);
    const kl_value *root, *items, *item;
    kl_value_iter iter = {0};
    kl_code code = KL_OK;

    if (doc == NULL) {
        return err != NULL && err->code != KL_OK ? err->code : KL_EPARSE;
    }
    root = kl_doc_root(doc);
    items = kl_value_get(root, "items");
    if (kl_value_type(root) != KL_OBJECT) {
        code = refuse_document(root, err);
    } else if (!is_list(root)) {
        code = add_item(load, doc, root, err);
    }
    while (code == KL_OK && is_list(root) &&
           (item = kl_value_next(items, &iter, NULL)) != NULL) {
        code = add_item(load, doc, item, err);
    }
    kl_doc_unref(doc);
    return code;
}

/* The API paths of an object. */
typedef struct api_place {
    char *collection;
    char *object; /* NULL: the server makes the name (generateName) */
} api_place;

static void clear_place(api_place *place)
{
    kl__free(place->collection);
    kl__free(place->object);
}

/* KL_EINVAL for a kind that is not served. The message names `served`, a
 * version that has this kind; "": there is none. */
static kl_code refuse_kind(const char *version, const char *kind,
                           const char *served, kl_error *err)
{
    return served[0] != '\0'
               ? kl_error_set(err, KL_EINVAL,
                              "%.128s has no %.128s; it is served as %s",
                              version, kind, served)
               : kl_error_set(err, KL_EINVAL,
                              "no such kind is served in %.128s; load its "
                              "CustomResourceDefinition too",
                              version);
}

/* The version of any group that serves a kind of that name; "" if none does. */
static void find_version(kl_sim *sim, const char *kind, char *out, size_t size)
{
    *out = '\0';
    for (kl__list *node = sim->resources.next;
         *out == '\0' && node != &sim->resources; node = node->next) {
        const kl__sim_kind *other =
            KL__CONTAINER(node, kl__sim_resource, node)->kind;

        if (strcmp(other->kind, kind) == 0) {
            snprintf(out, size, "%s%s%s", other->group,
                     *other->group != '\0' ? "/" : "", other->versions[0].name);
        }
    }
}

/* The path of a kind's collection; KL_EINVAL if it is not served. */
static kl_code find_collection(kl_sim *sim, const kl_value *root, kl__buf *out,
                               kl_error *err)
{
    const kl_value *metadata = kl_value_get(root, "metadata");
    const char *version = kl__sim_text(root, "apiVersion");
    const char *kind = kl__sim_text(root, "kind");
    const char *name_space = kl__sim_text(metadata, "namespace");
    kl__sim_resource *resource = NULL;
    char served[256];

    if (version == NULL || kind == NULL) {
        return kl_error_set(err, KL_EINVAL, "apiVersion and kind are needed");
    }
    kl__mutex_lock(&sim->mutex);
    resource = kl__sim_find_kind(sim, version, kind);
    if (resource != NULL) {
        kl__buf_printf(out, "/%s/%s", strchr(version, '/') ? "apis" : "api",
                       version);
        if (kl__sim_kind_is(resource->kind, KL__SIM_NAMESPACED)) {
            kl__buf_puts(out, "/namespaces/");
            kl__url_encode(out, name_space != NULL && *name_space != '\0'
                                    ? name_space
                                    : "default");
        }
        kl__buf_printf(out, "/%s", resource->kind->plural);
    } else {
        find_version(sim, kind, served, sizeof(served));
    }
    kl__mutex_unlock(&sim->mutex);
    if (resource == NULL) {
        return refuse_kind(version, kind, served, err);
    }
    return out->failed ? load_out_of_memory(err) : KL_OK;
}

static kl_code find_place(kl_sim *sim, const kl_value *root, api_place *place,
                          kl_error *err)
{
    const char *name = kl__sim_text(kl_value_get(root, "metadata"), "name");
    kl__buf path = {0}, object = {0};
    kl_code code = find_collection(sim, root, &path, err);

    if (code != KL_OK) {
        kl__buf_deinit(&path);
        return code;
    }
    if (name != NULL && *name != '\0') {
        kl__buf_printf(&object, "%s/", path.bytes);
        kl__url_encode(&object, name);
        place->object = kl__buf_take(&object, NULL);
    }
    place->collection = kl__buf_take(&path, NULL);
    kl__buf_deinit(&object);
    if (place->collection == NULL ||
        (name != NULL && *name != '\0' && place->object == NULL)) {
        return load_out_of_memory(err);
    }
    return KL_OK;
}

enum { LABEL_SIZE = 640 };

/* Writes "Deployment default/web", to name an object in messages. */
static void label_object(const kl_value *root, char out[LABEL_SIZE])
{
    const kl_value *metadata = kl_value_get(root, "metadata");
    const char *kind = kl__sim_text(root, "kind");
    const char *name = kl__sim_text(metadata, "name");
    const char *name_space = kl__sim_text(metadata, "namespace");

    snprintf(out, LABEL_SIZE, "%.100s %.253s%s%.253s",
             kind != NULL ? kind : "object without kind",
             name_space != NULL ? name_space : "",
             name_space != NULL ? "/" : "",
             name != NULL ? name : "without name");
}

/* Logs the server's warnings, because the caller gets no answer. An unknown
 * field, which the server drops, is mostly a spelling mistake. */
static void log_warnings(const kl_value *root, const char *lines)
{
    char about[LABEL_SIZE];

    label_object(root, about);
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");

        kl_log(KL_LOG_WARN, "%s: %.*s", about, (int)length, lines);
        lines += length + (lines[length] != '\0');
    }
}

/* Sends one request of the load. KL_EINVAL with the server's message if it is
 * refused with any status but `tolerated`. */
static kl_code send_request(kl_sim *sim, const kl_call *call,
                            const kl_value *root, int tolerated, int *status,
                            kl_error *err)
{
    kl_reply reply;
    kl_code code = sim->hooks->request_once(sim, call, true, &reply, err);
    kl_doc *doc;
    const char *message;

    if (code != KL_OK) {
        return code;
    }
    *status = reply.status;
    if (reply.warnings != NULL && reply.status != tolerated) {
        log_warnings(root, reply.warnings);
    }
    if (reply.status >= 400 && reply.status != tolerated) {
        doc = kl_doc_parse(reply.body, reply.body_length, NULL);
        message =
            doc != NULL ? kl__sim_text(kl_doc_root(doc), "message") : NULL;
        code = kl_error_set(err, KL_EINVAL, "%s",
                            message != NULL ? message : reply.body);
        kl_doc_unref(doc);
    }
    kl_reply_clear(&reply);
    return code;
}

/* Sets *other if an object with another UID has this name. */
static kl_code is_other(kl_sim *sim, const api_place *place,
                        const kl_value *root, bool *other, kl_error *err)
{
    const kl_call call = {.method = "GET", .target = place->object};
    const char *uid = kl__sim_text(kl_value_get(root, "metadata"), "uid");
    const char *current;
    kl_reply reply;
    kl_doc *doc;
    kl_code code;

    *other = false;
    if (uid == NULL || *uid == '\0') {
        return KL_OK;
    }
    code = sim->hooks->request_once(sim, &call, true, &reply, err);
    if (code != KL_OK) {
        return code;
    }
    doc = kl_doc_parse(reply.body, reply.body_length, err);
    code = doc != NULL ? KL_OK : KL_ENOMEM;
    if (doc != NULL && reply.status == 200) {
        current =
            kl__sim_text(kl_value_get(kl_doc_root(doc), "metadata"), "uid");
        *other = current != NULL && strcmp(current, uid) != 0;
    }
    kl_doc_unref(doc);
    kl_reply_clear(&reply);
    return code;
}

/* Creates the object, or replaces the object of the same name; if that has
 * another UID, it is deleted first. */
static kl_code load_object(kl_sim *sim, const api_place *place,
                           const kl_value *root, const kl_call *create,
                           kl_error *err)
{
    kl_call replace = *create;
    const kl_call drop = {.method = "DELETE", .target = place->object};
    int status = 0;
    bool other;
    kl_code code = send_request(sim, create, root, 409, &status, err);

    if (code != KL_OK || status != 409) {
        return code;
    }
    code = is_other(sim, place, root, &other, err);
    if (code == KL_OK && other) {
        code = send_request(sim, &drop, root, 404, &status, err);
        return code == KL_OK ? send_request(sim, create, root, 0, &status, err)
                             : code;
    }
    replace.method = "PUT";
    replace.target = place->object;
    return code == KL_OK ? send_request(sim, &replace, root, 0, &status, err)
                         : code;
}

static kl_code load_one(kl_sim *sim, const kl_value *root, kl_error *err)
{
    api_place place = {NULL, NULL};
    kl_call create = {.method = "POST"};
    char *body = NULL;
    kl_code code = find_place(sim, root, &place, err);

    if (code == KL_OK) {
        body = kl_value_json(root, &create.body_length, err);
        create.body = body;
        create.target = place.collection;
        code = body != NULL ? load_object(sim, &place, root, &create, err)
                            : KL_ENOMEM;
    }
    kl__free(body);
    clear_place(&place);
    return code;
}

kl_code kl_sim_load(kl_sim *sim, const char *text, size_t length, kl_error *err)
{
    manifest_load load = {.sim = sim};
    char about[LABEL_SIZE];
    kl_error own;
    kl_code code;

    if (err == NULL) {
        err = &own;
    }
    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    code = kl_manifest_each(text, length, take_document, &load, err);
    for (int stage = 0; stage < STAGES && code == KL_OK; stage++) {
        for (size_t i = 0; i < load.count && code == KL_OK; i++) {
            if (load.items[i].stage == stage) {
                code = load_one(sim, load.items[i].root, err);
                if (code != KL_OK) {
                    label_object(load.items[i].root, about);
                    kl_error_prefix(err, "%s", about);
                }
            }
        }
    }
    for (size_t i = 0; i < load.count; i++) {
        kl_doc_unref(load.items[i].doc);
    }
    kl__free(load.items);
    kl__mutex_lock(&sim->mutex);
    kl__sim_settle(sim, NULL);
    kl__mutex_unlock(&sim->mutex);
    return code;
}
