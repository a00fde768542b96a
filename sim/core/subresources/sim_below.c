/*
 * sim_below.c - see sim_below.h: what several subresources use.
 */
#include "sim/core/subresources/sim_below.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/request/sim_said.h"
#include "sim/core/write/sim_pipeline.h"

#include <string.h>

/* The Go package that has the kind in kube-apiserver, for messages. */
static const char *package_of(const char *kind)
{
    static const char *const rows[][2] = {{"Scale", "autoscaling"},
                                          {"Eviction", "policy"}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i][0], kind) == 0) {
            return rows[i][1];
        }
    }
    return "core";
}

kl_code kl__sim_below_body(kl__sim_answer *answer, const char *kind,
                           kl__edit **edit, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *root = ask->doc != NULL ? kl_doc_root(ask->doc) : NULL;
    const char *given = kl__sim_text(root, "kind");
    const char *version = kl__sim_text(root, "apiVersion");
    char text[KL__SIM_SAID_SIZE], shown[KL__SIM_SHOWN_SIZE];
    const char *fault = kl__sim_body_fault(ask, text);

    *edit = NULL;
    if (fault != NULL) {
        return kl__sim_refuse(
            answer, 400, "BadRequest", err,
            "the object provided is unrecognized (must be of type %s): %s (%s)",
            kind, fault, kl__sim_show_body(ask, shown));
    }
    if (given != NULL && *given != '\0' && strcmp(given, kind) != 0) {
        const char *slash = version != NULL ? strchr(version, '/') : NULL;

        version = slash != NULL ? slash + 1 : version;
        return kl__sim_refuse(answer, 400, "BadRequest", err,
                              "%.100s in version \"%.100s\" cannot be handled "
                              "as a %s: converting (%.100s.%.100s) to "
                              "(%s.%s): unknown conversion",
                              given, version != NULL ? version : "v1", kind,
                              version != NULL ? version : "v1", given,
                              package_of(kind), kind);
    }
    *edit = kl_value_type(root) == KL_OBJECT ? kl__edit_of(root, err)
                                             : kl__edit_new(err);
    if (*edit != NULL && kl__edit_root(*edit) == NULL) {
        kl__edit_set_root(*edit, kl__edit_object(*edit));
    }
    return *edit != NULL && kl__edit_root(*edit) != NULL
               ? KL_OK
               : kl__sim_no_memory(err);
}

kl_code kl__sim_below_check(kl__sim_answer *answer, const char *kind,
                            const kl__edit *edit, kl_error *err)
{
    const kl__sim_route *route = &answer->ask.route;
    const kl__node *metadata = kl__node_get(kl__edit_root(edit), "metadata");
    const char *name_space = kl__node_text(metadata, "namespace");

    if (name_space != NULL && *name_space != '\0' &&
        !kl__streq(name_space, route->name_space)) {
        return kl__sim_refuse(answer, 400, "BadRequest", err,
                              "the namespace of the provided object does not "
                              "match the namespace sent on the request");
    }
    return kl__streq(kl__node_text(metadata, "name"), route->name)
               ? KL_OK
               : kl__sim_refuse(answer, 400, "BadRequest", err,
                                "name in URL does not match name in %s object",
                                kind);
}

kl_code kl__sim_answer_tree(kl__sim_answer *answer, int status,
                            const kl__edit *edit, kl_error *err)
{
    size_t length;
    char *json = kl__edit_json(edit, &length, err);

    if (json == NULL) {
        return KL_ENOMEM;
    }
    kl__sim_answer_json(answer, status);
    kl__buf_append(&answer->out, json, length);
    kl__buf_putc(&answer->out, '\n');
    kl__free(json);
    return !answer->out.failed ? KL_OK : kl__sim_no_memory(err);
}

kl_code kl__sim_answer_created(kl__sim_answer *answer, kl_error *err)
{
    kl__sim_answer_json(answer, 201);
    kl__buf_puts(&answer->out,
                 "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"metadata\":{},"
                 "\"status\":\"Success\",\"code\":201}\n");
    return !answer->out.failed ? KL_OK : kl__sim_no_memory(err);
}

bool kl__sim_put_condition(kl__edit *edit, kl__node *status, const char *type,
                           const char *const texts[3], const char *now)
{
    kl__node *list = kl__node_get(status, "conditions"), *entry, *found = NULL;
    kl__node_iter iter = {0};
    const char *before;

    if (!kl__node_is(list, KL_ARRAY)) {
        list = kl__edit_array(edit);
        if (!kl__node_put(edit, status, "conditions", list)) {
            return false;
        }
    }
    while ((entry = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
        const char *given = kl__node_text(entry, "type");

        if (given != NULL && strcmp(given, type) == 0) {
            found = entry;
        }
    }
    if (found == NULL) {
        found = kl__edit_object(edit);
        if (!kl__node_append(list, found) ||
            !kl__sim_put_text(edit, found, "type", type)) {
            return false;
        }
    }
    before = kl__node_text(found, "status");
    if ((before == NULL || strcmp(before, texts[0]) != 0) &&
        !kl__sim_put_text(edit, found, "lastTransitionTime", now)) {
        return false;
    }
    return kl__sim_put_text(edit, found, "status", texts[0]) &&
           kl__sim_put_text(edit, found, "reason", texts[1]) &&
           kl__sim_put_text(edit, found, "message", texts[2]);
}

/* --- Label selectors. ----------------------------------------------------- */

static void put_label(kl__buf *out, const char *key, const char *relation,
                      const kl__node *value)
{
    const char *text = kl__node_string(value, NULL);

    kl__buf_printf(out, "%s%s%s%s", out->length != 0 ? "," : "", key, relation,
                   text != NULL ? text : "");
}

static void put_expression(kl__buf *out, const kl__node *expression)
{
    const char *key = kl__node_text(expression, "key");
    const char *operator= kl__node_text(expression, "operator");
    const kl__node *values = kl__node_get(expression, "values"), *value;
    const char *separator = "";
    kl__node_iter iter = {0};

    if (key == NULL || operator== NULL) {
        return;
    }
    if (strcmp(operator, "Exists") == 0 ||
        strcmp(operator, "DoesNotExist") == 0) {
        kl__buf_printf(out, "%s%s%s", out->length != 0 ? "," : "",
                       *operator== 'D' ? "!" : "", key);
        return;
    }
    put_label(out, key, strcmp(operator, "In") == 0 ? " in (" : " notin (",
              NULL);
    while ((value = kl__node_next(values, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(value, NULL);

        kl__buf_printf(out, "%s%s", separator, text != NULL ? text : "");
        separator = ",";
    }
    kl__buf_putc(out, ')');
}

void kl__sim_selector_text(const kl__node *selector, kl__buf *out)
{
    const kl__node *labels = kl__node_get(selector, "matchLabels");
    const kl__node *expressions = kl__node_get(selector, "matchExpressions");
    const kl__node *value;
    kl__node_iter iter = {0};
    const char *key;

    /* The selector of a ReplicationController is a map of labels. */
    if (labels == NULL && expressions == NULL) {
        labels = selector;
    }
    while ((value = kl__node_next(labels, &iter, &key, NULL)) != NULL) {
        put_label(out, key, "=", value);
    }
    iter = (kl__node_iter){0};
    while ((value = kl__node_next(expressions, &iter, NULL, NULL)) != NULL) {
        put_expression(out, value);
    }
}
