/*
 * verbs.c - see kubelua/verbs.h: finds the resource by discovery, makes the
 * request's target of it, sends it with kl_client_call, and reads the answer.
 */
#include "kubelua/verbs.h"

#include "api/client.h"
#include "api/discovery.h"
#include "base/mem.h"
#include "base/namespace.h"
#include "base/str.h"
#include "http/url.h"
#include "kubelua/memory.h"
#include "kubelua/writer.h"
#include "object/resource.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 500, OBJECTS_MAX = 1000000 };

#define MANAGER "kubelua"
#define APPLY "application/apply-patch+yaml"
#define MERGE "application/merge-patch+json"

/* One call. */
typedef struct verb {
    kl_client *client;
    const kl_target *target;
    const kl_verb_options *options; /* never NULL */
    kl__resource resource;
    kl__buf path; /* and query */
} verb;

static void end_verb(verb *self)
{
    kl__resource_clear(&self->resource);
    kl__buf_deinit(&self->path);
}

/* Refuses what would name another path: the server resolves "." and "..". */
static kl_code check_segment(const char *what, const char *text, kl_error *err)
{
    if (text[0] == '\0' || strcmp(text, ".") == 0 || strcmp(text, "..") == 0 ||
        strchr(text, '/') != NULL) {
        return kl_error_set(err, KL_EINVAL, "\"%s\" is no %s", text, what);
    }
    return KL_OK;
}

static kl_code check_target(kl_client *client, const kl_target *target,
                            kl_error *err)
{
    kl_code code;

    if (client == NULL || target == NULL || target->resource == NULL ||
        target->resource[0] == '\0') {
        return kl_error_set(err, KL_EINVAL,
                            "a verb needs a client and a resource: \"pods\", "
                            "\"deployments.apps\"");
    }
    code = kl_client_check(client, err);
    if (code == KL_OK && target->name != NULL) {
        code = check_segment("name", target->name, err);
    }
    if (code == KL_OK && target->subresource != NULL) {
        code = check_segment("subresource", target->subresource, err);
    }
    return code;
}

/* Chooses the namespace of the path; NULL: none, or all. */
static kl_code choose_namespace(const verb *self, bool may_be_all,
                                const char **name_space, kl_error *err)
{
    const char *wanted = self->target->name_space;

    *name_space = NULL;
    if (!self->resource.namespaced) {
        return wanted == NULL || strcmp(wanted, "*") == 0
                   ? KL_OK
                   : kl__scope_error(self->resource.plural, self->resource.kind,
                                     err);
    }
    if (may_be_all && kl__streq(wanted, "*")) {
        return KL_OK;
    }
    *name_space = wanted != NULL ? wanted : kl_client_namespace(self->client);
    return kl__namespace_check(*name_space, err);
}

static void put_segment(kl__buf *path, const char *segment)
{
    if (segment != NULL) {
        kl__buf_puts(path, "/");
        kl__url_encode(path, segment);
    }
}

/* What a path may leave out. */
typedef enum scope { ONE_OBJECT, A_COLLECTION, ALL_NAMESPACES } scope;

/* Finds the resource, and makes the path. The caller calls end_verb, also
 * after a failure. */
static kl_code begin_verb(verb *self, scope reach, kl_error *err)
{
    const char *name_space;
    kl_code code = check_target(self->client, self->target, err);

    if (code == KL_OK && reach == ONE_OBJECT && self->target->name == NULL) {
        code = kl_error_set(err, KL_EINVAL, "this verb needs a name");
    }
    if (code == KL_OK) {
        code = kl__discovery_resolve(self->client, self->target->resource,
                                     &self->resource,
                                     kl__client_closed(self->client), err);
    }
    if (code == KL_ECANCELED) {
        code = kl_error_set(err, KL_ECLOSED, "the client was closed");
    }
    if (code == KL_OK) {
        code =
            choose_namespace(self, reach == ALL_NAMESPACES, &name_space, err);
    }
    if (code != KL_OK) {
        return code;
    }
    kl__resource_path(&self->resource, name_space, &self->path);
    if (reach != ALL_NAMESPACES) {
        /* a create names an object only for its subresource */
        bool has_name =
            reach == ONE_OBJECT || self->target->subresource != NULL;

        put_segment(&self->path, has_name ? self->target->name : NULL);
        put_segment(&self->path, self->target->subresource);
    }
    return KL_OK;
}

/* Makes an error of an answer that is none of 2xx. */
static kl_code refuse_reply(const kl_reply *reply, kl_error *err)
{
    kl_code code;

    if (reply->status < 400) {
        return kl_error_set(err, KL_EPARSE,
                            "the server answered with HTTP status %d, and no "
                            "object",
                            reply->status);
    }
    code = kl_status_error(reply->status, reply->body, reply->body_length, err);
    if (err->retry_after_ms < 0) {
        err->retry_after_ms = reply->retry_after_ms;
    }
    return code;
}

/* Sends the request; KL_OK: the reply is 2xx, and the caller clears it. */
static kl_code send_verb(verb *self, kl_call *call, kl_reply *reply,
                         kl_error *err)
{
    kl_code code;

    *reply = (kl_reply){0};
    if (self->path.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    }
    call->target = self->path.bytes;
    call->timeout_ms = self->options->timeout_ms;
    code = kl_client_call(self->client, call, reply, err);
    if (code == KL_OK && (reply->status < 200 || reply->status >= 300)) {
        code = refuse_reply(reply, err);
    }
    if (code != KL_OK) {
        kl_reply_clear(reply);
    }
    return code;
}

/* Sends the request and makes an object of the answer. */
static kl_object *ask_for_object(verb *self, kl_call *call, kl_error *err)
{
    kl_object *object = NULL;
    kl_reply reply;

    if (send_verb(self, call, &reply, err) == KL_OK) {
        object = kl_object_parse(reply.body, reply.body_length, NULL, err);
        kl_reply_clear(&reply);
    }
    return object;
}

static const kl_verb_options no_options;

kl_object *kl_get(kl_client *client, const kl_target *target,
                  const kl_verb_options *options, kl_error *err)
{
    verb self = {.client = client,
                 .target = target,
                 .options = options != NULL ? options : &no_options};
    kl_call call = {.method = "GET"};
    kl_object *object = NULL;
    kl_error own;

    err = err != NULL ? err : &own; /* its fields are read */
    if (begin_verb(&self, ONE_OBJECT, err) == KL_OK) {
        object = ask_for_object(&self, &call, err);
    }
    end_verb(&self);
    return object;
}

/* A write with a body. */
typedef struct writing {
    const char *method;
    const char *type; /* content type; NULL: JSON */
    const char *json;
    bool forces;
    scope reach;
} writing;

static kl_object *write_object(verb *self, const writing *what, kl_error *err)
{
    const char *manager = self->options->field_manager;
    kl_call call = {.method = what->method,
                    .body = what->json,
                    .body_length = what->json != NULL ? strlen(what->json) : 0,
                    .content_type = what->type};
    kl_object *object = NULL;
    kl_error own;

    err = err != NULL ? err : &own; /* its fields are read */
    if (what->json == NULL) {
        kl_error_set(err, KL_EINVAL, "a write needs a body");
        return NULL;
    }
    if (begin_verb(self, what->reach, err) == KL_OK) {
        kl__url_query(&self->path, "fieldManager",
                      manager != NULL ? manager : MANAGER);
        kl__url_query(&self->path, "force", what->forces ? "true" : NULL);
        kl__url_query(&self->path, "dryRun",
                      self->options->dry_run ? "All" : NULL);
        object = ask_for_object(self, &call, err);
    }
    end_verb(self);
    return object;
}

kl_object *kl_create(kl_client *client, const kl_target *target,
                     const char *json, const kl_verb_options *options,
                     kl_error *err)
{
    verb self = {.client = client,
                 .target = target,
                 .options = options != NULL ? options : &no_options};

    return write_object(
        &self,
        &(writing){.method = "POST", .json = json, .reach = A_COLLECTION}, err);
}

kl_object *kl_apply(kl_client *client, const kl_target *target,
                    const char *json, const kl_verb_options *options,
                    kl_error *err)
{
    verb self = {.client = client,
                 .target = target,
                 .options = options != NULL ? options : &no_options};

    return write_object(&self,
                        &(writing){.method = "PATCH",
                                   .type = APPLY,
                                   .json = json,
                                   .forces = self.options->force},
                        err);
}

kl_object *kl_patch(kl_client *client, const kl_target *target,
                    const char *json, const kl_verb_options *options,
                    kl_error *err)
{
    verb self = {.client = client,
                 .target = target,
                 .options = options != NULL ? options : &no_options};
    const char *type = self.options->patch_type;

    return write_object(&self,
                        &(writing){.method = "PATCH",
                                   .type = type != NULL ? type : MERGE,
                                   .json = json},
                        err);
}

/* Writes the body of a delete. All options are in it: a server ignores those of
 * the query if there is a body. */
static void write_delete_options(kl_writer *writer,
                                 const kl_verb_options *options)
{
    kl_writer_begin_object(writer);
    if (options->propagation != NULL) {
        kl_writer_name(writer, "propagationPolicy", 17);
        kl_writer_string(writer, options->propagation,
                         strlen(options->propagation));
    }
    if (options->dry_run) {
        kl_writer_name(writer, "dryRun", 6);
        kl_writer_begin_array(writer);
        kl_writer_string(writer, "All", 3);
        kl_writer_end_array(writer);
    }
    if (options->uid != NULL) {
        kl_writer_name(writer, "preconditions", 13);
        kl_writer_begin_object(writer);
        kl_writer_name(writer, "uid", 3);
        kl_writer_string(writer, options->uid, strlen(options->uid));
        kl_writer_end_object(writer);
    }
    kl_writer_end_object(writer);
}

static kl_code delete_with(verb *self, kl_writer *writer, kl_error *err)
{
    kl_call call = {.method = "DELETE"};
    kl_reply reply;
    kl_code code;

    write_delete_options(writer, self->options);
    call.body = kl_writer_finish(writer, &call.body_length, err);
    code = call.body != NULL ? begin_verb(self, ONE_OBJECT, err) : err->code;
    if (code != KL_OK) {
        return code;
    }
    code = send_verb(self, &call, &reply, err);
    if (code == KL_OK) {
        kl_reply_clear(&reply);
    }
    return code;
}

kl_code kl_delete(kl_client *client, const kl_target *target,
                  const kl_verb_options *options, kl_error *err)
{
    verb self = {.client = client,
                 .target = target,
                 .options = options != NULL ? options : &no_options};
    kl_writer *writer = kl_writer_new();
    kl_error own;
    kl_code code;

    err = err != NULL ? err : &own; /* its fields are read */
    code = writer != NULL
               ? delete_with(&self, writer, err)
               : kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    kl_writer_free(writer);
    end_verb(&self);
    return code;
}

/* A list that is being read. */
typedef struct pages {
    verb verb;
    kl_object_list *list;
    size_t capacity;
    char *api_version; /* of the items, which do not have it */
    char *token;       /* of the next page; NULL: none */
} pages;

static kl_code add_item(pages *self, const kl_value *item, kl_error *err)
{
    kl_object_list *list = self->list;
    const kl_object_options options = {.kind = self->verb.resource.kind,
                                       .api_version = self->api_version};
    size_t length;
    char *text;

    if (list->count == self->capacity) {
        size_t capacity = self->capacity * 2 + PAGE;
        kl_object **items = kl__realloc(list->items, capacity * sizeof(*items));

        if (items == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
        }
        list->items = items;
        self->capacity = capacity;
    }
    text = kl_value_json(item, &length, err);
    if (text == NULL) {
        return err->code;
    }
    list->items[list->count] = kl_object_parse(text, length, &options, err);
    kl_free(text);
    if (list->items[list->count] == NULL) {
        return err->code;
    }
    list->count++;
    return KL_OK;
}

/* Takes the token of the next page; a server must not repeat one. */
static kl_code take_token(pages *self, const kl_value *root, kl_error *err)
{
    const kl_value *metadata = kl_value_get(root, "metadata");
    const char *next =
        kl_value_string(kl_value_get(metadata, "continue"), NULL);
    char *former = self->token;
    kl_code code = KL_OK;

    self->token = NULL;
    if (next != NULL && next[0] != '\0') {
        self->token = kl__strdup(next);
        if (self->token == NULL) {
            code = kl_error_set(err, KL_ENOMEM, "out of memory for a list");
        } else if (kl__streq(former, self->token) ||
                   self->list->count >= OBJECTS_MAX) {
            code = kl_error_set(err, KL_ETOO_LARGE,
                                "the list does not end, after %zu objects",
                                self->list->count);
        }
    }
    kl__free(former);
    return code;
}

/* Reads the objects of a page. A list without `items` is empty. */
static kl_code take_page(pages *self, const kl_reply *reply, kl_error *err)
{
    kl_doc *doc = kl_doc_parse(reply->body, reply->body_length, err);
    const kl_value *root, *items, *item;
    kl_value_iter iter = {0};
    kl_code code = KL_OK;

    if (doc == NULL) {
        return err->code;
    }
    root = kl_doc_root(doc);
    items = kl_value_get(root, "items");
    while (code == KL_OK &&
           (item = kl_value_next(items, &iter, NULL)) != NULL) {
        code = add_item(self, item, err);
    }
    if (code == KL_OK) {
        code = take_token(self, root, err);
    }
    kl_doc_unref(doc);
    return code;
}

static kl_code read_page(pages *self, size_t path_length, kl_error *err)
{
    const kl_verb_options *options = self->verb.options;
    kl__buf *path = &self->verb.path;
    kl_call call = {.method = "GET"};
    kl_reply reply;
    char limit[16];
    kl_code code;

    snprintf(limit, sizeof(limit), "%d", PAGE);
    path->length = path_length;
    path->bytes[path_length] = '\0';
    kl__url_query(path, "labelSelector", options->labels);
    kl__url_query(path, "fieldSelector", options->fields);
    kl__url_query(path, "limit", limit);
    kl__url_query(path, "continue", self->token);
    code = send_verb(&self->verb, &call, &reply, err);
    if (code == KL_OK) {
        code = take_page(self, &reply, err);
        kl_reply_clear(&reply);
    }
    return code;
}

/* Forgets the pages so far: the token of the next one has expired. */
static void begin_anew(pages *self)
{
    kl_object_list_clear(self->list);
    self->capacity = 0;
    kl__free(self->token);
    self->token = NULL;
}

static kl_code read_pages(pages *self, kl_error *err)
{
    size_t path_length = self->verb.path.length;
    kl__buf api_version = {0};
    bool may_begin_anew = true;
    kl_code code;

    kl__resource_api_version(&self->verb.resource, &api_version);
    self->api_version = kl__buf_take(&api_version, NULL);
    if (self->api_version == NULL || self->verb.path.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
    }
    do {
        code = read_page(self, path_length, err);
        if (code == KL_EGONE && self->token != NULL && may_begin_anew) {
            may_begin_anew = false;
            begin_anew(self);
            code = read_page(self, path_length, err);
        }
    } while (code == KL_OK && self->token != NULL);
    return code;
}

kl_code kl_list(kl_client *client, const kl_target *target,
                const kl_verb_options *options, kl_object_list *list,
                kl_error *err)
{
    pages self = {.verb = {.client = client,
                           .target = target,
                           .options = options != NULL ? options : &no_options},
                  .list = list};
    kl_error own;
    kl_code code;

    err = err != NULL ? err : &own; /* its fields are read */
    *list = (kl_object_list){0};
    code = begin_verb(&self.verb, ALL_NAMESPACES, err);
    if (code == KL_OK) {
        code = read_pages(&self, err);
    }
    if (code != KL_OK) {
        kl_object_list_clear(list);
    }
    kl__free(self.token);
    kl__free(self.api_version);
    end_verb(&self.verb);
    return code;
}
