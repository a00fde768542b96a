/*
 * sim_said.c - see sim_said.h. The same checks for a parsed body (kl_value) and
 * for a tree (kl__node).
 */
#include "sim/core/request/sim_said.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "couldn't get version/kind; json parse error: "

/* The types of the body, kind and apiVersion, and the text of apiVersion (NULL:
 * it is no string). */
typedef struct said {
    kl_type root;
    kl_type api_version;
    kl_type kind;
    const char *version_text;
} said;

static const char *word_of(kl_type type)
{
    return type == KL_ARRAY    ? "array"
           : type == KL_OBJECT ? "object"
           : type == KL_STRING ? "string"
           : type == KL_BOOL   ? "bool"
                               : "number";
}

static bool is_text(kl_type type)
{
    return type == KL_STRING || type == KL_NULL;
}

static const char *fault_of(const said *it, char *out)
{
    const char *slash;

    if (it->root != KL_OBJECT && it->root != KL_NULL) {
        snprintf(out, KL__SIM_SAID_SIZE,
                 PREFIX "json: cannot unmarshal %s into Go value of type "
                        "struct { APIVersion string "
                        "\"json:\\\"apiVersion,omitempty\\\"\"; Kind string "
                        "\"json:\\\"kind,omitempty\\\"\" }",
                 word_of(it->root));
        return out;
    }
    if (!is_text(it->api_version) || !is_text(it->kind)) {
        const bool is_kind = is_text(it->api_version);

        snprintf(out, KL__SIM_SAID_SIZE,
                 PREFIX "json: cannot unmarshal %s into Go struct field .%s "
                        "of type string",
                 word_of(is_kind ? it->kind : it->api_version),
                 is_kind ? "kind" : "apiVersion");
        return out;
    }
    slash = it->version_text != NULL ? strchr(it->version_text, '/') : NULL;
    if (slash != NULL && strchr(slash + 1, '/') != NULL) {
        snprintf(out, KL__SIM_SAID_SIZE,
                 "unexpected GroupVersion string: %.200s", it->version_text);
        return out;
    }
    return NULL;
}

const char *kl__sim_body_fault(const kl__sim_ask *ask, char *out)
{
    const kl_value *root = ask->doc != NULL ? kl_doc_root(ask->doc) : NULL;
    const kl_value *version = kl_value_get(root, "apiVersion");
    const said it = {kl_value_type(root), kl_value_type(version),
                     kl_value_type(kl_value_get(root, "kind")),
                     kl_value_string(version, NULL)};

    if (ask->doc == NULL) {
        snprintf(out, KL__SIM_SAID_SIZE, "%s%.250s", ask->is_yaml ? "" : PREFIX,
                 ask->parse.message);
        return out;
    }
    return fault_of(&it, out);
}

const char *kl__sim_node_fault(const kl__node *root, char *out)
{
    const kl__node *version = kl__node_get(root, "apiVersion");
    const said it = {kl__node_type(root), kl__node_type(version),
                     kl__node_type(kl__node_get(root, "kind")),
                     kl__node_text(root, "apiVersion")};

    return fault_of(&it, out);
}
