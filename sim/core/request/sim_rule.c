/*
 * sim_rule.c - see sim_rule.h. A table says which fields each action has.
 */
#include "sim/core/request/sim_rule.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/str.h"
#include "json/doc.h"
#include "sim/core/json/edit.h"

#include <math.h>
#include <string.h>

static const char *const actions[KL__SIM_ACTIONS] = {
    "fail",      "expire", "cut",    "freeze",      "delay", "event",
    "bookmarks", "wire",   "refuse", "certificate", "tls"};

static const char *const hows[KL__SIM_HOWS] = {
    NULL,           "close",       "reset",        "end",        "duplicate",
    "swap",         "drop",        "unknown_type", "broken",     "unclosed",
    "truncated",    "no_metadata", "no_object",    "other_kind", "error",
    "huge",         "raw",         "token",        "no_token",   "status",
    "short_length", "long_length", "chunks",       "gzip",       "no_http",
    "expired",      "wrong_host",  "good",         "all",        "stall",
    "slow"};

/* The values of "how" that each action allows, the default first. An action
 * without values has no field "how". */
static const kl__sim_how choices[KL__SIM_ACTIONS][16] = {
    [KL__SIM_EXPIRE] = {KL__SIM_TOKEN, KL__SIM_NO_TOKEN, KL__SIM_AS_STATUS},
    [KL__SIM_CUT] = {KL__SIM_CLOSE, KL__SIM_RESET, KL__SIM_END},
    [KL__SIM_EVENT] = {KL__SIM_DUPLICATE, KL__SIM_SWAP, KL__SIM_DROP,
                       KL__SIM_UNKNOWN_TYPE, KL__SIM_BROKEN, KL__SIM_UNCLOSED,
                       KL__SIM_TRUNCATED, KL__SIM_NO_METADATA,
                       KL__SIM_NO_OBJECT, KL__SIM_OTHER_KIND, KL__SIM_ERROR,
                       KL__SIM_HUGE, KL__SIM_RAW},
    [KL__SIM_BOOKMARKS] = {KL__SIM_ALL, KL__SIM_END},
    [KL__SIM_WIRE] = {KL__SIM_SHORT_LENGTH, KL__SIM_LONG_LENGTH, KL__SIM_CHUNKS,
                      KL__SIM_GZIP, KL__SIM_NO_HTTP},
    [KL__SIM_CERTIFICATE] = {KL__SIM_EXPIRED, KL__SIM_WRONG_HOST, KL__SIM_GOOD},
    [KL__SIM_TLS] = {KL__SIM_STALL, KL__SIM_SLOW}};

typedef enum field_type { TEXT, COUNT, SECONDS, FLAG } field_type;

typedef struct rule_field {
    const char *name;
    field_type type;
    unsigned of; /* the actions that have the field, as bits */
    size_t offset;
} rule_field;

#define OF(action) (1U << KL__SIM_##action)
#define FIELD(name, type, of, member)                  \
    {                                                  \
        name, type, of, offsetof(kl__sim_rule, member) \
    }

enum {
    BODIES = OF(FAIL) | OF(EVENT),
    POINTS = OF(CUT) | OF(FREEZE), /* faults at some point of a body */
    STREAMS = POINTS | OF(DELAY) | OF(EVENT) | OF(BOOKMARKS),
    REQUESTS = STREAMS | OF(FAIL) | OF(EXPIRE) | OF(WIRE)
};

static const rule_field fields[] = {
    FIELD("verb", TEXT, REQUESTS, verb),
    FIELD("resource", TEXT, REQUESTS, resource),
    FIELD("namespace", TEXT, REQUESTS, name_space),
    FIELD("name", TEXT, REQUESTS, name),
    FIELD("path", TEXT, REQUESTS, path),
    FIELD("client", TEXT, REQUESTS, client),
    FIELD("page", COUNT, REQUESTS, page),
    FIELD("skip", COUNT, REQUESTS | OF(TLS), skip),
    FIELD("count", COUNT, REQUESTS | OF(TLS), count),
    FIELD("open", FLAG, STREAMS | OF(EXPIRE), is_open),
    FIELD("after_bytes", COUNT, POINTS, after_bytes),
    FIELD("after_events", COUNT, POINTS, after_events),
    FIELD("seconds", SECONDS,
          OF(FREEZE) | OF(REFUSE) | OF(CERTIFICATE) | OF(TLS), seconds_ms),
    FIELD("before", SECONDS, OF(DELAY), before_ms),
    FIELD("byte", SECONDS, OF(DELAY), byte_ms),
    FIELD("event", SECONDS, OF(DELAY), event_ms),
    FIELD("bytes", COUNT, OF(DELAY) | OF(EVENT), bytes),
    FIELD("at", COUNT, OF(EVENT), at),
    FIELD("events", COUNT, OF(EVENT), events),
    FIELD("status", COUNT, BODIES, status),
    FIELD("retry_after", SECONDS, OF(FAIL), retry_after_ms),
    FIELD("body", TEXT, BODIES, body),
    FIELD("content_type", TEXT, OF(FAIL), content_type),
    FIELD("reason", TEXT, BODIES, reason),
    FIELD("message", TEXT, BODIES, message),
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

const char *kl__sim_rule_name(const kl__sim_rule *rule)
{
    return actions[rule->action];
}

static kl_code refuse_field(const kl__sim_rule *rule, const char *name,
                            kl_error *err)
{
    kl__buf known = {0};
    kl_code code;

    if (choices[rule->action][0] != KL__SIM_HOW_NONE) {
        kl__buf_puts(&known, ", how");
    }
    for (size_t i = 0; i < FIELDS; i++) {
        if ((fields[i].of >> rule->action & 1U) != 0) {
            kl__buf_printf(&known, ", %s", fields[i].name);
        }
    }
    code = kl_error_set(err, KL_EINVAL,
                        "fault: \"%s\" has no field \"%s\"; there are: "
                        "action%s",
                        actions[rule->action], name,
                        known.bytes != NULL ? known.bytes : "");
    kl__buf_deinit(&known);
    return code;
}

/* Sets a field; false: the value has the wrong type. */
static bool set_field(kl__sim_rule *rule, const rule_field *field,
                      const kl_value *value)
{
    char *at = (char *)rule + field->offset;
    const kl_type type = kl_value_type(value);
    const bool is_number =
        type == KL_INTEGER || type == KL_UNSIGNED || type == KL_REAL;
    const double number = is_number ? kl_value_real(value) : -1;
    const double most = field->type == SECONDS ? 1e9 : 1e12;
    const char *text = kl_value_string(value, NULL);
    int64_t whole;

    if (field->type == TEXT) {
        memcpy(at, &text, sizeof(text));
        return type == KL_STRING;
    }
    if (field->type == FLAG) {
        bool flag = kl_value_bool(value);

        memcpy(at, &flag, sizeof(flag));
        return type == KL_BOOL;
    }
    if (!(number >= 0 && number <= most) ||
        (field->type == COUNT && floor(number) != number)) {
        return false;
    }
    whole = (int64_t)(field->type == SECONDS ? ceil(number * 1000) : number);
    memcpy(at, &whole, sizeof(whole));
    return true;
}

static kl_code take_field(kl__sim_rule *rule, const char *name,
                          const kl_value *value, kl_error *err)
{
    static const char *const wanted[] = {"a text", "an integer from 0",
                                         "a number of seconds from 0",
                                         "true or false"};

    for (size_t i = 0; i < FIELDS; i++) {
        const rule_field *field = &fields[i];

        if (strcmp(field->name, name) == 0 &&
            (field->of >> rule->action & 1U) != 0) {
            return set_field(rule, field, value)
                       ? KL_OK
                       : kl_error_set(err, KL_EINVAL, "fault: \"%s\" is %s",
                                      name, wanted[field->type]);
        }
    }
    return refuse_field(rule, name, err);
}

static kl_code refuse_choice(const char *what, const char *given,
                             const char *known, kl_error *err)
{
    return kl_error_set(err, KL_EINVAL, "fault: \"%s\" is one of %s, not %s",
                        what, known, given != NULL ? given : "something else");
}

static kl_code take_action(kl__sim_rule *rule, const kl_value *root,
                           kl_error *err)
{
    const char *name = kl_value_string(kl_value_get(root, "action"), NULL);
    kl__buf known = {0};
    kl_code code;

    for (int i = 0; i < KL__SIM_ACTIONS; i++) {
        if (name != NULL && strcmp(actions[i], name) == 0) {
            rule->action = (kl__sim_action)i;
            rule->how = choices[i][0];
            kl__buf_deinit(&known);
            return KL_OK;
        }
        kl__buf_printf(&known, "%s%s", i != 0 ? ", " : "", actions[i]);
    }
    code = refuse_choice("action", name, known.bytes != NULL ? known.bytes : "",
                         err);
    kl__buf_deinit(&known);
    return code;
}

static kl_code take_how(kl__sim_rule *rule, const kl_value *value,
                        kl_error *err)
{
    const char *name = kl_value_string(value, NULL);
    const kl__sim_how *choice = choices[rule->action];
    kl__buf known = {0};
    kl_code code;

    if (*choice == KL__SIM_HOW_NONE) {
        return refuse_field(rule, "how", err);
    }
    for (; *choice != KL__SIM_HOW_NONE; choice++) {
        if (name != NULL && strcmp(hows[*choice], name) == 0) {
            rule->how = *choice;
            kl__buf_deinit(&known);
            return KL_OK;
        }
        kl__buf_printf(&known, "%s%s", known.length != 0 ? ", " : "",
                       hows[*choice]);
    }
    code =
        refuse_choice("how", name, known.bytes != NULL ? known.bytes : "", err);
    kl__buf_deinit(&known);
    return code;
}

/* Refuses a verb that no request has: its rule would never apply. */
static kl_code check_verb(const char *verb, kl_error *err)
{
    static const char *const verbs[] = {
        "get",    "list",  "watch",  "create",
        "update", "patch", "delete", "deletecollection"};

    for (size_t i = 0; verb != NULL && i < sizeof(verbs) / sizeof(*verbs);
         i++) {
        if (strcmp(verb, verbs[i]) == 0) {
            return KL_OK;
        }
    }
    return verb == NULL
               ? KL_OK
               : kl_error_set(err, KL_EINVAL,
                              "fault: \"verb\" is one of get, list, watch, "
                              "create, update, patch, delete, "
                              "deletecollection, not %.64s",
                              verb);
}

/* Refuses fields that do not fit together. */
static kl_code check_rule_fields(const kl__sim_rule *rule, kl_error *err)
{
    if (rule->action == KL__SIM_FAIL &&
        (rule->status < 200 || rule->status > 599)) {
        return kl_error_set(err, KL_EINVAL,
                            "fault: \"fail\" needs a \"status\" of 200 to 599");
    }
    if (rule->action == KL__SIM_DELAY && rule->before_ms == 0 &&
        rule->byte_ms == 0 && rule->event_ms == 0 && rule->bytes == 0) {
        return kl_error_set(err, KL_EINVAL,
                            "fault: \"delay\" needs \"before\", \"byte\", "
                            "\"event\" or \"bytes\"");
    }
    if (rule->how == KL__SIM_RAW && rule->body == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "fault: \"event\" of \"raw\" needs a \"body\"");
    }
    if (rule->action == KL__SIM_EVENT && rule->at == 0) {
        return kl_error_set(err, KL_EINVAL, "fault: \"at\" counts from 1");
    }
    return check_verb(rule->verb, err);
}

static kl_code take_all(kl__sim_rule *rule, const kl_value *root, kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *key, *value;
    kl_code code = take_action(rule, root, err);

    while (code == KL_OK &&
           (value = kl_value_next(root, &iter, &key)) != NULL) {
        const char *name = kl_value_string(key, NULL);

        if (strcmp(name, "how") == 0) {
            code = take_how(rule, value, err);
        } else if (strcmp(name, "action") != 0) {
            code = take_field(rule, name, value, err);
        }
    }
    return code == KL_OK ? check_rule_fields(rule, err) : code;
}

kl__sim_rule *kl__sim_rule_parse(const char *json, size_t length, kl_error *err)
{
    kl_doc *doc = kl__doc_parse_within(json, length, KL__NODE_DEPTH, err);
    kl__sim_rule *rule = doc != NULL ? kl__calloc(1, sizeof(*rule)) : NULL;

    if (rule == NULL) {
        if (doc != NULL) {
            kl_error_set(err, KL_ENOMEM, "out of memory for a fault");
        }
        kl_doc_unref(doc);
        return NULL;
    }
    kl__list_init(&rule->node);
    rule->refs = 1;
    rule->doc = doc;
    rule->count = rule->at = rule->events = 1;
    rule->is_open = true;
    rule->after_bytes = rule->after_events = rule->seconds_ms =
        rule->retry_after_ms = -1;
    if (take_all(rule, kl_doc_root(doc), err) != KL_OK) {
        kl__sim_rule_unref(rule);
        return NULL;
    }
    return rule;
}

void kl__sim_rule_unref(kl__sim_rule *rule)
{
    if (--rule->refs == 0) {
        kl__list_remove(&rule->node);
        kl_doc_unref(rule->doc);
        kl__free(rule);
    }
}

/* True if the rule cannot apply to any more requests. */
static bool is_spent(const kl__sim_rule *rule)
{
    return rule->count != 0 && rule->hits >= rule->count;
}

void kl__sim_rule_finish(kl__sim_rule *rule)
{
    const bool is_done = rule->refs == 2 && !rule->is_cleared && is_spent(rule);

    kl__sim_rule_unref(rule);
    if (is_done) {
        kl__sim_rule_unref(rule); /* the reference of the cluster's list */
    }
}

/* True if `wanted` names the route's resource: as "pods", "pods." (the core
 * group), "deployments.apps" or "pods/status". */
static bool is_resource(const char *wanted, const kl__sim_route *route)
{
    size_t length = route->plural != NULL ? strlen(route->plural) : 0;
    const char *rest = wanted + length;
    const char *slash = strchr(wanted, '/');

    if (length == 0 || strncmp(wanted, route->plural, length) != 0) {
        return false;
    }
    if (slash != NULL && (route->subresource == NULL ||
                          strcmp(slash + 1, route->subresource) != 0)) {
        return false;
    }
    if (*rest == '.') {
        size_t group =
            slash != NULL ? (size_t)(slash - rest) - 1 : strlen(rest + 1);

        return strlen(route->group) == group &&
               strncmp(rest + 1, route->group, group) == 0;
    }
    return *rest == '\0' || *rest == '/';
}

static bool is_or_any(const char *wanted, const char *given)
{
    return wanted == NULL || (given != NULL && strcmp(wanted, given) == 0);
}

static bool matches_request(const kl__sim_rule *rule, const kl__sim_ask *ask)
{
    const kl__sim_route *route = &ask->route;

    return is_or_any(rule->verb, kl__sim_verb(ask)) &&
           (rule->resource == NULL || is_resource(rule->resource, route)) &&
           is_or_any(rule->name_space, route->name_space) &&
           is_or_any(rule->name, route->name) &&
           (rule->path == NULL ||
            strncmp(rule->path, ask->target, strlen(rule->path)) == 0) &&
           (rule->client == NULL ||
            strstr(ask->user_agent, rule->client) != NULL);
}

static uint64_t hash_text(const char *text)
{
    uint64_t sum = 14695981039346656037U; /* FNV-1a */

    for (; *text != '\0'; text++) {
        sum = (sum ^ (unsigned char)*text) * 1099511628211U;
    }
    return sum;
}

/* True if a request asks for the page of a list that the rule is for, or if the
 * rule is for no page. The same continue token asks for the same page. */
static bool is_page(kl__sim_rule *rule, const kl__sim_ask *ask)
{
    const char *token = kl__sim_parameter_get(ask, "continue");

    if (rule->page == 0) {
        return true;
    }
    if (strcmp(kl__sim_verb(ask), "list") != 0) {
        return false;
    }
    if (token == NULL || *token == '\0') {
        rule->page_now = 1;
        rule->token = 0;
    } else if (rule->token != hash_text(token)) {
        rule->page_now++;
        rule->token = hash_text(token);
    }
    return rule->page_now == rule->page;
}

/* True if the request can get a 410: it asks for a later page of a list, or for
 * a list or watch from a version. */
static bool is_of_past(const kl__sim_ask *ask)
{
    const char *token = kl__sim_parameter_get(ask, "continue");
    const char *version = kl__sim_parameter_get(ask, "resourceVersion");

    return (token != NULL && *token != '\0') ||
           (version != NULL && *version != '\0' && strcmp(version, "0") != 0);
}

static bool count_request(kl__sim_rule *rule)
{
    if (rule->passed < rule->skip) {
        rule->passed++;
        return false;
    }
    rule->hits++;
    return true;
}

bool kl__sim_rule_takes(kl__sim_rule *rule, const kl__sim_ask *ask)
{
    return rule->action != KL__SIM_TLS && !is_spent(rule) &&
           matches_request(rule, ask) && is_page(rule, ask) &&
           (rule->action != KL__SIM_EXPIRE || is_of_past(ask)) &&
           count_request(rule);
}

bool kl__sim_rule_takes_handshake(kl__sim_rule *rule)
{
    return rule->action == KL__SIM_TLS && !is_spent(rule) &&
           count_request(rule);
}

bool kl__sim_rule_takes_open(kl__sim_rule *rule, const kl__sim_ask *ask)
{
    bool may = rule->action == KL__SIM_CUT || rule->action == KL__SIM_FREEZE ||
               rule->action == KL__SIM_DELAY || rule->action == KL__SIM_EVENT ||
               rule->action == KL__SIM_EXPIRE ||
               rule->action == KL__SIM_BOOKMARKS;

    return may && rule->is_open && !is_spent(rule) &&
           matches_request(rule, ask) && count_request(rule);
}
