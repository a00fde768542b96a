/*
 * verbs.c - see kubelua/verbs.h: finds the resource by discovery, makes the
 * request's target of it, sends it with kl_client_call, and reads the answer.
 */
#include "kubelua/verbs.h"

#include "api/client.h"
#include "api/discovery.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/namespace.h"
#include "base/str.h"
#include "http/url.h"
#include "kubelua/list.h"
#include "kubelua/log.h"
#include "kubelua/memory.h"
#include "kubelua/writer.h"
#include "object/resource.h"

#include <stdio.h>
#include <string.h>

enum { PAGE = 500, OBJECTS_MAX = 1000000, TIMEOUT_MS = 30000 };

#define MANAGER "kubelua"
#define APPLY "application/apply-patch+yaml"
#define MERGE "application/merge-patch+json"

/* One call. */
typedef struct verb {
    kl_client *client;
    const kl_target *target;
    const kl_verb_options *options; /* never NULL */
    int64_t deadline_ms;            /* 0: not begun */
    kl__resource resource;
    kl__buf path;         /* and query */
    bool is_unserved;     /* the last answer was a 404 that names no object: the
                             server does not serve the path */
    bool has_asked_again; /* discovery, for that reason */
} verb;

static void end_verb(verb *self)
{
    kl__resource_clear(&self->resource);
    kl__buf_deinit(&self->path);
}

/* What a path may leave out. */
typedef enum scope { ONE_OBJECT, A_COLLECTION, ALL_NAMESPACES } scope;

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

static kl_code check_reach(const verb *self, scope reach, kl_error *err)
{
    const char *subresource = self->target->subresource;

    if (reach == ALL_NAMESPACES || self->target->name != NULL) {
        return KL_OK;
    }
    if (reach == ONE_OBJECT) {
        return kl_error_set(err, KL_EINVAL, "this verb needs a name");
    }
    return subresource == NULL
               ? KL_OK
               : kl_error_set(err, KL_EINVAL,
                              "a create of the subresource \"%s\" needs the "
                              "name of the object that has it",
                              subresource);
}

/* Chooses the namespace of the path; NULL: none, or all. */
static kl_code choose_namespace(const verb *self, bool may_be_all,
                                const char **name_space, kl_error *err)
{
    const char *wanted = self->target->name_space;

    *name_space = NULL;
    if (!self->resource.namespaced) {
        /* "": kl_object_namespace of such an object */
        return wanted == NULL || wanted[0] == '\0' || strcmp(wanted, "*") == 0
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

static kl_code find_resource(verb *self, kl__resource *found, kl_error *err)
{
    const kl__lookup lookup = {.client = self->client,
                               .name = self->target->resource,
                               .deadline_ms = self->deadline_ms,
                               .cancel = kl__client_closed(self->client)};
    kl_code code = kl__discovery_look_up(&lookup, found, err);

    if (code == KL_ENOT_ALLOWED) {
        return kl_error_set(err, code,
                            "%s cannot be listed and watched, which is all "
                            "that these calls know: send the request with "
                            "kl_client_call",
                            self->target->resource);
    }
    return code == KL_ECANCELED
               ? kl_error_set(err, KL_ECLOSED, "the client was closed")
               : code;
}

/* Finds the resource, and makes the path. The caller calls end_verb, also
 * after a failure. */
static kl_code begin_verb(verb *self, scope reach, kl_error *err)
{
    const char *name_space;
    kl_code code = check_target(self->client, self->target, err);

    if (self->deadline_ms == 0) {
        self->deadline_ms =
            kl__clock_now(kl__clock_real()) + (self->options->timeout_ms > 0
                                                   ? self->options->timeout_ms
                                                   : TIMEOUT_MS);
    }
    if (code == KL_OK) {
        code = check_reach(self, reach, err);
    }
    if (code == KL_OK) {
        code = find_resource(self, &self->resource, err);
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

/* True if the server does not serve the path: an object that is missing is
 * named in the details of the Status. */
static bool tells_unserved(const kl_reply *reply)
{
    kl_doc *doc = kl_doc_parse(reply->body, reply->body_length, NULL);
    const kl_value *details =
        doc != NULL ? kl_value_get(kl_doc_root(doc), "details") : NULL;
    bool names_object = kl_value_get(details, "name") != NULL ||
                        kl_value_get(details, "kind") != NULL;

    kl_doc_unref(doc);
    return reply->status == 404 && !names_object;
}

/* Makes an error of an answer that is none of 2xx. */
static kl_code refuse_reply(verb *self, const kl_reply *reply, kl_error *err)
{
    kl_code code;

    self->is_unserved = tells_unserved(reply);
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

/* An answer that does not come from an API server does not show if a write was
 * carried out. */
static kl_code judge_answer(const kl_call *call, kl_code code, kl_error *err)
{
    if (code != KL_EPARSE || strcmp(call->method, "GET") == 0) {
        return code;
    }
    err->code = KL_EUNKNOWN;
    kl_error_prefix(err, "the write may have been carried out");
    return KL_EUNKNOWN;
}

/* Sends the request; KL_OK: the reply is 2xx, and the caller clears it. */
static kl_code send_verb(verb *self, kl_call *call, kl_reply *reply,
                         kl_error *err)
{
    int64_t left_ms = self->deadline_ms - kl__clock_now(kl__clock_real());
    kl_code code;

    *reply = (kl_reply){0};
    self->is_unserved = false;
    if (left_ms <= 0) {
        return kl_error_set(err, KL_ETIMEOUT,
                            "%s: the call was not complete in its time; give "
                            "it more with timeout_ms",
                            self->target->resource);
    }
    if (self->path.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    }
    call->target = self->path.bytes;
    call->timeout_ms = (int)left_ms;
    code = kl_client_call(self->client, call, reply, err);
    if (code == KL_OK && (reply->status < 200 || reply->status >= 300)) {
        code = judge_answer(call, refuse_reply(self, reply, err), err);
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
        if (object == NULL) {
            (void)judge_answer(call, err->code, err);
        }
        kl_reply_clear(&reply);
    }
    return object;
}

static bool is_same_resource(const kl__resource *one, const kl__resource *two)
{
    return strcmp(one->group, two->group) == 0 &&
           strcmp(one->version, two->version) == 0 &&
           strcmp(one->plural, two->plural) == 0 &&
           one->namespaced == two->namespaced;
}

/*
 * After a failure. True: the server serves the resource by another path than
 * the one that was asked, so the caller asks once more. If it does not serve it
 * any more, the error says so: NOT_FOUND would be taken for an object that is
 * gone. A custom resource definition may have been removed, or its version.
 */
static bool has_another_path(verb *self, kl_error *err)
{
    kl__resource found;
    bool is_same;

    if (!self->is_unserved || self->has_asked_again) {
        return false;
    }
    self->has_asked_again = true;
    kl__discovery_expire(self->client);
    if (find_resource(self, &found, err) != KL_OK) {
        return false;
    }
    is_same = is_same_resource(&found, &self->resource);
    if (is_same && self->target->subresource != NULL) {
        kl_error_set(err, KL_ENOT_FOUND, "the server serves no \"%s\" of %s",
                     self->target->subresource, found.plural);
        err->http_status = 404;
    } else if (is_same) {
        kl_error_set(err, KL_EUNKNOWN_KIND,
                     "the server does not serve %s%s%s/%s at the moment",
                     found.plural, found.group[0] != '\0' ? "." : "",
                     found.group, found.version);
    }
    kl__resource_clear(&found);
    end_verb(self);
    return !is_same;
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
    do {
        if (begin_verb(&self, ONE_OBJECT, err) == KL_OK) {
            object = ask_for_object(&self, &call, err);
        }
    } while (object == NULL && has_another_path(&self, err));
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
    do {
        if (begin_verb(self, what->reach, err) == KL_OK) {
            kl__url_query(&self->path, "fieldManager",
                          manager != NULL ? manager : MANAGER);
            kl__url_query(&self->path, "force", what->forces ? "true" : NULL);
            kl__url_query(&self->path, "dryRun",
                          self->options->dry_run ? "All" : NULL);
            object = ask_for_object(self, &call, err);
        }
    } while (object == NULL && has_another_path(self, err));
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
    if (call.body == NULL) {
        return err->code;
    }
    do {
        code = begin_verb(self, ONE_OBJECT, err);
        if (code == KL_OK) {
            code = send_verb(self, &call, &reply, err);
        }
        if (code == KL_OK) {
            kl_reply_clear(&reply);
        }
    } while (code != KL_OK && has_another_path(self, err));
    return code == KL_OK ? KL_OK : err->code;
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
    char *api_version; /* of the items, which do not have it */
    char *token;       /* of the next page; NULL: none */
} pages;

/* Moves `more` elements of `size` bytes behind the `count` elements of an
 * array; returns the array, which may have moved. NULL: out of memory. */
static void *join_arrays(void *array, size_t count, const void *from,
                         size_t more, size_t size)
{
    char *joined = kl__realloc(array, (count + more) * size);

    if (joined != NULL) {
        memcpy(joined + count * size, from, more * size);
    }
    return joined;
}

/* Moves the page's objects to the end of the list. */
static bool take_objects(pages *self, kl_object_list *from)
{
    kl_object_list *list = self->list;
    kl_object **items;

    if (from->count == 0) {
        return true;
    }
    items = join_arrays(list->items, list->count, from->items, from->count,
                        sizeof(*items));
    if (items == NULL) {
        return false;
    }
    list->items = items;
    list->count += from->count;
    from->count = 0;
    return true;
}

/* The same for what cannot be read, which is logged. */
static bool take_unreadable(pages *self, kl_unreadable_list *from)
{
    kl_unreadable_list *list = self->verb.options->unreadable;
    kl_unreadable *items;

    for (size_t i = 0; i < from->count; i++) {
        kl_log(KL_LOG_WARN, "list %s: %s", self->verb.resource.plural,
               from->items[i].why);
    }
    if (list == NULL || from->count == 0) {
        return true;
    }
    items = join_arrays(list->items, list->count, from->items, from->count,
                        sizeof(*items));
    if (items == NULL) {
        return false;
    }
    list->items = items;
    list->count += from->count;
    from->count = 0;
    return true;
}

/* Takes the token of the next page; a server must not repeat one. */
static kl_code take_token(pages *self, kl_list_page *page, kl_error *err)
{
    bool is_last = page->continue_token[0] == '\0';
    bool repeats = kl__streq(self->token, page->continue_token);

    kl__free(self->token);
    self->token = is_last ? NULL : page->continue_token;
    if (!is_last) {
        page->continue_token = NULL;
    }
    if (!is_last && (repeats || self->list->count >= OBJECTS_MAX)) {
        return kl_error_set(err, KL_ETOO_LARGE,
                            "the list does not end, after %zu objects",
                            self->list->count);
    }
    return KL_OK;
}

/* Reads the objects of a page. */
static kl_code take_page(pages *self, const kl_reply *reply, kl_error *err)
{
    const kl_object_options options = {.kind = self->verb.resource.kind,
                                       .api_version = self->api_version};
    kl_list_page page;
    kl_code code =
        kl_list_parse(reply->body, reply->body_length, &options, &page, err);

    if (code != KL_OK) {
        return code;
    }
    if (!take_objects(self, &page.objects) ||
        !take_unreadable(self, &page.unreadable)) {
        code = kl_error_set(err, KL_ENOMEM, "out of memory for a list");
    } else {
        code = take_token(self, &page, err);
    }
    kl_list_clear(&page);
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

/* Forgets the pages so far. */
static void begin_anew(pages *self)
{
    kl_object_list_clear(self->list);
    if (self->verb.options->unreadable != NULL) {
        kl_unreadable_list_clear(self->verb.options->unreadable);
    }
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
    kl__free(self->api_version);
    self->api_version = kl__buf_take(&api_version, NULL);
    if (self->api_version == NULL || self->verb.path.failed) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a list");
    }
    do {
        code = read_page(self, path_length, err);
        if (code == KL_EGONE && self->token != NULL && may_begin_anew) {
            may_begin_anew = false; /* the token has expired */
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
    if (self.verb.options->unreadable != NULL) {
        *self.verb.options->unreadable = (kl_unreadable_list){0};
    }
    do {
        begin_anew(&self);
        code = begin_verb(&self.verb, ALL_NAMESPACES, err);
        if (code == KL_OK) {
            code = read_pages(&self, err);
        }
    } while (code != KL_OK && has_another_path(&self.verb, err));
    if (code != KL_OK) {
        code = err->code;
        begin_anew(&self);
    }
    kl__free(self.token);
    kl__free(self.api_version);
    end_verb(&self.verb);
    return code;
}
