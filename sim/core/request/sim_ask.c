/*
 * sim_ask.c - see sim_ask.h. Splits path and query, finds the route, and parses
 * the body.
 */
#include "sim/core/request/sim_ask.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/body/repeated.h"
#include "sim/core/body/yaml_body.h"
#include "http/url.h"
#include "json/doc.h"
#include "sim/core/json/edit.h"
#include "sim/core/request/sim_protobuf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void kl__sim_make_utf8(char *text)
{
    for (unsigned char *at = (unsigned char *)text; *at != '\0';) {
        size_t follow = *at < 0x80   ? 0
                        : *at < 0xc2 ? 9
                        : *at < 0xe0 ? 1
                        : *at < 0xf0 ? 2
                        : *at < 0xf5 ? 3
                                     : 9;
        bool sound = follow < 9;

        for (size_t i = 1; sound && i <= follow; i++) {
            sound = (at[i] & 0xc0) == 0x80;
        }
        if (sound &&
            ((*at == 0xe0 && at[1] < 0xa0) || (*at == 0xed && at[1] > 0x9f) ||
             (*at == 0xf0 && at[1] < 0x90) || (*at == 0xf4 && at[1] > 0x8f))) {
            sound = false;
        }
        if (!sound) {
            *at = '?';
            follow = 0;
        }
        at += follow + 1;
    }
}

const char *kl__sim_show_body(const kl__sim_ask *ask, char *shown)
{
    enum { SHOWN_BYTES = 30 };
    size_t length = ask->body_length;
    size_t count = length < SHOWN_BYTES ? length : SHOWN_BYTES;
    const char *more = length > SHOWN_BYTES ? " ..." : "";
    size_t used = 0;

    if (length == 0) {
        return "<empty>";
    }
    if (ask->body[0] == '{') {
        snprintf(shown, KL__SIM_SHOWN_SIZE, "%.*s%s", (int)count, ask->body,
                 more);
        kl__sim_make_utf8(shown);
        return shown;
    }
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(shown + used, KL__SIM_SHOWN_SIZE - used,
                                 "%02x", (unsigned char)ask->body[i]);
    }
    snprintf(shown + used, KL__SIM_SHOWN_SIZE - used, "%s", more);
    return shown;
}

/* Decodes %XX in place. A NUL would end the text; it becomes U+0001, which like
 * NUL is in no valid name. */
static void decode_escapes(char *text)
{
    for (char *nul = text; (nul = strstr(nul, "%00")) != NULL; nul += 3) {
        nul[2] = '1';
    }
    kl__url_decode(text);
    kl__sim_make_utf8(text);
}

/* Decodes the path and splits it at its slashes, in place. */
static void cut_path(kl__sim_ask *ask)
{
    char *at = ask->path;

    decode_escapes(at); /* as in Go: %2F separates too */
    while (*at == '/') {
        char *end = at + 1 + strcspn(at + 1, "/");
        bool is_last = *end == '\0';

        *at = '\0';
        if (is_last && end == at + 1) {
            return; /* ignore a slash at the end */
        }
        *end = '\0';
        if (ask->segment_count < KL__SIM_MAX_SEGMENTS) {
            ask->segments[ask->segment_count] = at + 1;
        }
        ask->segment_count++;
        if (is_last) {
            return;
        }
        *end = '/';
        at = end;
    }
}

/* Decodes one name or value of a query in place; there '+' is a blank. */
static void decode_query(char *text)
{
    for (char *at = text; *at != '\0'; at++) {
        if (*at == '+') {
            *at = ' ';
        }
    }
    decode_escapes(text);
}

/* True if Go accepts a pair of a query: it drops pairs with a semicolon or a
 * malformed escape. */
static bool is_pair(const char *pair)
{
    for (const char *at = pair; *at != '\0'; at++) {
        if (*at == ';' || (*at == '%' && (!isxdigit((unsigned char)at[1]) ||
                                          !isxdigit((unsigned char)at[2])))) {
            return false;
        }
    }
    return true;
}

static void cut_query(kl__sim_ask *ask)
{
    char *save = NULL;

    for (char *pair = strtok_r(ask->query, "&", &save);
         pair != NULL && ask->parameter_count < KL__SIM_MAX_PARAMETERS;
         pair = strtok_r(NULL, "&", &save)) {
        kl__sim_parameter *parameter = &ask->parameters[ask->parameter_count];
        char *equals = strchr(pair, '=');

        if (!is_pair(pair)) {
            continue;
        }
        ask->parameter_count++;
        parameter->name = pair;
        parameter->value = "";
        if (equals != NULL) {
            *equals = '\0';
            decode_query(equals + 1);
            parameter->value = equals + 1;
        }
        decode_query(pair);
    }
}

/* Fills the route from the segments after group and version. */
static bool route_object(kl__sim_route *route, const char *const *segments,
                         size_t count)
{
    if (count > 1 && strcmp(segments[0], "watch") == 0) {
        route->watches = true;
        segments++;
        count--;
    }
    if (count > 2 && strcmp(segments[0], "namespaces") == 0 &&
        strcmp(segments[2], "status") != 0 &&
        strcmp(segments[2], "finalize") != 0) {
        route->name_space = segments[1];
        segments += 2;
        count -= 2;
    }
    route->plural = count > 0 ? segments[0] : NULL;
    route->name = count > 1 ? segments[1] : NULL;
    route->subresource = count > 2 ? segments[2] : NULL;
    return count <= 3;
}

/* Finds the route; true if the path is below /api or /apis. */
static bool find_route(kl__sim_ask *ask)
{
    const char *const *segments = ask->segments;
    size_t count = ask->segment_count, skip;

    if (count == 0 || count > KL__SIM_MAX_SEGMENTS) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (*segments[i] == '\0') {
            return false;
        }
    }
    if (strcmp(segments[0], "api") == 0) {
        ask->route.group = "";
        skip = 1;
    } else if (strcmp(segments[0], "apis") == 0) {
        ask->route.group = count > 1 ? segments[1] : NULL;
        skip = 2;
    } else {
        return false;
    }
    if (count <= skip) {
        return true;
    }
    ask->route.version = segments[skip];
    return route_object(&ask->route, segments + skip + 1, count - skip - 1);
}

static bool is_yaml(const char *content_type)
{
    return strncasecmp(content_type, "application/yaml", 16) == 0 ||
           strncasecmp(content_type, "application/apply-patch+yaml", 28) == 0;
}

/* Parses the body. KL_ENOMEM; other errors stay in ask->parse. */
static kl_code parse_body(kl__sim_ask *ask, kl_error *err)
{
    if (kl__sim_is_protobuf(ask->content_type)) {
        return kl__sim_protobuf_read(ask, err);
    }
    ask->is_yaml = is_yaml(ask->content_type);
    ask->doc = ask->is_yaml
                   ? kl__yaml_body(ask->body, ask->body_length, &ask->parse)
                   : kl__doc_parse_within(ask->body, ask->body_length,
                                          KL__NODE_DEPTH, &ask->parse);
    if (ask->doc != NULL &&
        kl__check_repeated(kl_doc_root(ask->doc), &ask->parse) != KL_OK) {
        kl_doc_unref(ask->doc);
        ask->doc = NULL;
    }
    if (ask->doc == NULL && ask->parse.code == KL_ENOMEM) {
        return kl_error_set(err, KL_ENOMEM, "%s", ask->parse.message);
    }
    return KL_OK;
}

static bool takes_body(const char *method)
{
    return strcmp(method, "POST") == 0 || strcmp(method, "PUT") == 0 ||
           strcmp(method, "PATCH") == 0 || strcmp(method, "DELETE") == 0;
}

static char *copy_or_empty(const char *text)
{
    return kl__strdup(text != NULL ? text : "");
}

kl_code kl__sim_ask_init(kl__sim_ask *ask, const kl__sim_request *request,
                         kl_error *err)
{
    size_t path_length = strcspn(request->target, "?#");
    const char *query = request->target + path_length;
    size_t body_length = request->body != NULL ? request->body_length : 0;

    memset(ask, 0, sizeof(*ask));
    ask->method = copy_or_empty(request->method);
    ask->target = copy_or_empty(request->target);
    ask->accept = copy_or_empty(request->accept);
    ask->content_type = copy_or_empty(request->content_type);
    ask->authorization = copy_or_empty(request->authorization);
    ask->is_local = request->is_local;
    ask->impersonated = copy_or_empty(request->impersonated);
    ask->impersonated_groups = copy_or_empty(request->impersonated_groups);
    ask->certified = copy_or_empty(request->certified);
    ask->user_agent = copy_or_empty(request->user_agent);
    ask->run = request->run != NULL ? strtoll(request->run, NULL, 10) : 0;
    ask->accept_encoding = copy_or_empty(request->accept_encoding);
    ask->path = kl__strndup(request->target, path_length);
    ask->query = copy_or_empty(*query == '?' ? query + 1 : "");
    ask->body =
        kl__strndup(request->body != NULL ? request->body : "", body_length);
    if (ask->method == NULL || ask->target == NULL || ask->accept == NULL ||
        ask->content_type == NULL || ask->authorization == NULL ||
        ask->impersonated == NULL || ask->impersonated_groups == NULL ||
        ask->certified == NULL || ask->user_agent == NULL ||
        ask->accept_encoding == NULL || ask->path == NULL ||
        ask->query == NULL || ask->body == NULL) {
        kl__sim_ask_deinit(ask);
        return kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    }
    ask->body_length = body_length;
    kl__sim_make_utf8(ask->method);
    kl__sim_make_utf8(ask->target);
    kl__sim_make_utf8(ask->user_agent);
    kl__sim_make_utf8(ask->content_type);
    cut_path(ask);
    cut_query(ask);
    ask->sound = find_route(ask);
    if (takes_body(ask->method) && parse_body(ask, err) != KL_OK) {
        kl__sim_ask_deinit(ask);
        return KL_ENOMEM;
    }
    return KL_OK;
}

void kl__sim_ask_deinit(kl__sim_ask *ask)
{
    kl_doc_unref(ask->doc);
    kl__free(ask->method);
    kl__free(ask->target);
    kl__free(ask->accept);
    kl__free(ask->content_type);
    kl__free(ask->authorization);
    kl__free(ask->impersonated);
    kl__free(ask->impersonated_groups);
    kl__free(ask->certified);
    kl__free(ask->user_agent);
    kl__free(ask->accept_encoding);
    kl__free(ask->sent_kind);
    kl__free(ask->sent_version);
    kl__free(ask->path);
    kl__free(ask->query);
    kl__free(ask->body);
    memset(ask, 0, sizeof(*ask));
}

const char *kl__sim_parameter_get(const kl__sim_ask *ask, const char *name)
{
    for (size_t i = 0; i < ask->parameter_count; i++) {
        if (strcmp(ask->parameters[i].name, name) == 0) {
            return ask->parameters[i].value;
        }
    }
    return NULL;
}

bool kl__sim_parameter_is(const kl__sim_ask *ask, const char *name)
{
    const char *value = kl__sim_parameter_get(ask, name);

    return value != NULL && strcasecmp(value, "false") != 0 &&
           strcmp(value, "0") != 0;
}

const char *kl__sim_verb(const kl__sim_ask *ask)
{
    static const struct {
        const char *method;
        const char *one;
        const char *collection;
    } verbs[] = {{"POST", "create", "create"},
                 {"PUT", "update", "update"},
                 {"PATCH", "patch", "patch"},
                 {"DELETE", "delete", "deletecollection"}};
    const kl__sim_route *route = &ask->route;
    bool is_collection = route->plural != NULL && route->name == NULL;

    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        if (strcmp(ask->method, verbs[i].method) == 0) {
            return is_collection ? verbs[i].collection : verbs[i].one;
        }
    }
    if (strcmp(ask->method, "GET") != 0) {
        return ask->method;
    }
    if (route->watches ||
        (is_collection && kl__sim_parameter_is(ask, "watch"))) {
        return "watch";
    }
    return is_collection ? "list" : "get";
}
