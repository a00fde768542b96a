/*
 * sim_delete_options.c - see sim_deletion.h: reads DeleteOptions from a body or
 * from the query.
 */
#include "sim/core/write/sim_deletion.h"

#include "sim/core/answer/sim_status.h"
#include "sim/core/request/sim_said.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_write.h"

#include <stdlib.h>
#include <string.h>

static bool refuse_delete(kl__sim_answer *answer, const char *message,
                          kl_code *code, kl_error *err)
{
    *code = kl__sim_refuse(answer, 400, "BadRequest", err, "%s", message);
    return false;
}

static bool check_media(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const char *type = answer->ask.content_type;
    size_t length = strcspn(type, "; ");

    if (length == 0 ||
        (length == 16 && (!strncmp(type, "application/json", 16) ||
                          !strncmp(type, "application/yaml", 16))) ||
        (length == 35 &&
         !strncmp(type, "application/vnd.kubernetes.protobuf", 35))) {
        return true;
    }
    *code = kl__sim_refuse_media(answer, err);
    return false;
}

/* Refuses a body that is no object, or of another kind than DeleteOptions. */
static bool check_body(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *root = ask->doc != NULL ? kl_doc_root(ask->doc) : NULL;
    const char *fault, *kind, *version;
    char text[KL__SIM_SAID_SIZE];

    if (!check_media(answer, code, err)) {
        return false;
    }
    fault = kl__sim_body_fault(ask, text);
    if (fault != NULL) {
        *code = kl__sim_refuse(answer, 400, "BadRequest", err, "%s", fault);
        return false;
    }
    kind = kl__sim_text(root, "kind");
    version = kl__sim_text(root, "apiVersion");
    if (kind == NULL || *kind == '\0' || strcmp(kind, "DeleteOptions") == 0) {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "no kind \"%.100s\" is registered for version "
                           "\"%.100s\" in scheme \"pkg/runtime/scheme.go:111\"",
                           kind, version != NULL ? version : "v1");
    return false;
}

static const char *policy_name(const kl__sim_ask *ask, const kl_value *root)
{
    return root != NULL ? kl__sim_text(root, "propagationPolicy")
                        : kl__sim_parameter_get(ask, "propagationPolicy");
}

static bool read_policy(kl__sim_deletion *deletion, const char *name,
                        kl__sim_status *invalid)
{
    static const struct {
        const char *name;
        kl__sim_policy policy;
    } policies[] = {{"Background", KL__SIM_BACKGROUND},
                    {"Foreground", KL__SIM_FOREGROUND},
                    {"Orphan", KL__SIM_ORPHAN}};

    if (name == NULL) {
        return true;
    }
    if (deletion->has_orphan) {
        kl__sim_cause_add(invalid, "FieldValueInvalid", "propagationPolicy",
                          "Invalid value: \"%.100s\": orphanDependents and "
                          "deletionPropagation cannot be both set",
                          name);
        return false;
    }
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
        if (strcmp(name, policies[i].name) == 0) {
            deletion->policy = policies[i].policy;
            return true;
        }
    }
    kl__sim_cause_add(invalid, "FieldValueNotSupported", "propagationPolicy",
                      "Unsupported value: \"%.100s\": supported values: "
                      "\"Foreground\", \"Background\", \"Orphan\", \"nil\"",
                      name);
    return false;
}

static void read_dry(kl__sim_deletion *deletion, const kl_value *root,
                     kl__sim_status *invalid)
{
    const kl_value *list = kl_value_get(root, "dryRun"), *value;
    kl_value_iter iter = {0};

    while ((value = kl_value_next(list, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(value, NULL);

        if (text != NULL && strcmp(text, "All") == 0) {
            deletion->dry = true;
        } else {
            kl__sim_cause_add(invalid, "FieldValueNotSupported", "dryRun",
                              "Unsupported value: [\"%.100s\"]: supported "
                              "values: \"All\"",
                              text != NULL ? text : "");
        }
    }
}

/* Reads the options in a body, except for dryRun and the policy. Returns why
 * the body is refused, or NULL. */
static const char *read_body(kl__sim_deletion *deletion, const kl_value *root)
{
    const kl_value *grace = kl_value_get(root, "gracePeriodSeconds");
    const kl_value *orphan = kl_value_get(root, "orphanDependents");
    const kl_value *wanted = kl_value_get(root, "preconditions");
    bool is_text = kl_value_type(grace) == KL_STRING;

    if (kl_value_type(grace) != KL_INTEGER && kl_value_type(grace) != KL_NULL) {
        return is_text ? "json: cannot unmarshal string into Go struct field "
                         "DeleteOptions.gracePeriodSeconds of type int64"
                       : "json: cannot unmarshal number into Go struct field "
                         "DeleteOptions.gracePeriodSeconds of type int64";
    }
    deletion->has_grace = kl_value_type(grace) == KL_INTEGER;
    deletion->grace_seconds = kl_value_integer(grace);
    deletion->has_orphan = kl_value_type(orphan) == KL_BOOL;
    deletion->orphan = kl_value_bool(orphan);
    deletion->uid = kl__sim_text(wanted, "uid");
    deletion->version = kl__sim_text(wanted, "resourceVersion");
    return NULL;
}

static bool read_query(kl__sim_deletion *deletion, kl__sim_answer *answer,
                       kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const char *grace = kl__sim_parameter_get(ask, "gracePeriodSeconds");
    char *end = NULL;

    deletion->has_orphan =
        kl__sim_parameter_get(ask, "orphanDependents") != NULL;
    deletion->orphan = kl__sim_parameter_is(ask, "orphanDependents");
    if (grace == NULL || *grace == '\0') {
        return true;
    }
    deletion->has_grace = true;
    deletion->grace_seconds = strtoll(grace, &end, 10);
    if (*end == '\0') {
        return true;
    }
    *code = kl__sim_refuse(answer, 400, "BadRequest", err,
                           "strconv.ParseInt: parsing \"%.100s\": invalid "
                           "syntax",
                           grace);
    return false;
}

bool kl__sim_deletion_read(kl__sim_deletion *deletion, kl__sim_answer *answer,
                           kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    const kl_value *root = NULL;
    kl__sim_status invalid = {.group = "meta.k8s.io", .kind = "DeleteOptions"};
    const char *fault;

    memset(deletion, 0, sizeof(*deletion));
    if (ask->body_length != 0) {
        if (!check_body(answer, code, err)) {
            return false;
        }
        root = kl_doc_root(ask->doc);
        fault = read_body(deletion, root);
        if (fault != NULL) {
            return refuse_delete(answer, fault, code, err);
        }
        read_dry(deletion, root, &invalid);
    } else {
        if (!kl__sim_check_dry(answer, code, err) ||
            !read_query(deletion, answer, code, err)) {
            return false;
        }
        deletion->dry = kl__sim_is_dry(answer);
    }
    read_policy(deletion, policy_name(ask, root), &invalid);
    if (invalid.cause_count == 0) {
        return true;
    }
    *code = kl__sim_refuse_invalid(answer, &invalid,
                                   "DeleteOptions.meta.k8s.io", err);
    return false;
}
