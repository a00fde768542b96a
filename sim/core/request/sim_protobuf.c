/*
 * sim_protobuf.c - see sim_protobuf.h. The envelope (runtime.Unknown) has the
 * kind and the apiVersion; the schema of that kind decodes its content.
 */
#include "sim/core/request/sim_protobuf.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/schema_protobuf.h"
#include "sim/core/kinds/sim_kinds.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

bool kl__sim_is_protobuf(const char *content_type)
{
    static const char type[] = "application/vnd.kubernetes.protobuf";

    return strcspn(content_type, "; ") == sizeof(type) - 1 &&
           strncasecmp(content_type, type, sizeof(type) - 1) == 0;
}

/* The kind of the resource in the path, for a body without a kind; or "". */
static const char *kind_of_path(const kl__sim_ask *ask)
{
    const kl__sim_route *route = &ask->route;

    if (route->plural == NULL || route->group == NULL ||
        route->subresource != NULL) {
        return "";
    }
    for (const kl__sim_builtin *row = kl__sim_builtins; row->kind != NULL;
         row++) {
        if (strcmp(row->group, route->group) == 0 &&
            strcmp(row->plural, route->plural) == 0) {
            return row->kind;
        }
    }
    return "";
}

/* Takes kind and version from the envelope, or else from the path. */
static bool take_type(kl__sim_ask *ask, const kl__protobuf *open)
{
    const kl__sim_route *route = &ask->route;

    if (open->kind_length != 0) {
        ask->sent_kind = kl__strndup(open->kind, open->kind_length);
    } else {
        ask->sent_kind = kl__strdup(kind_of_path(ask));
    }
    if (open->api_version_length != 0) {
        ask->sent_version =
            kl__strndup(open->api_version, open->api_version_length);
    } else if (route->group != NULL && route->version != NULL) {
        ask->sent_version =
            kl__strprintf("%s%s%s", route->group,
                          *route->group != '\0' ? "/" : "", route->version);
    } else {
        ask->sent_version = kl__strdup("");
    }
    if (ask->sent_kind == NULL || ask->sent_version == NULL) {
        return false;
    }
    kl__sim_make_utf8(ask->sent_kind);
    kl__sim_make_utf8(ask->sent_version);
    return true;
}

static const kl__schema *find_schema(const char *api_version, const char *kind,
                                     kl_error *err)
{
    const char *slash = strchr(api_version, '/');
    const char *version = slash != NULL ? slash + 1 : api_version;
    char group[256] = "";

    if (slash != NULL) {
        snprintf(group, sizeof(group), "%.*s", (int)(slash - api_version),
                 api_version);
    }
    return kl__schema_builtin(group, version, kind, err);
}

/* Decodes the object in the envelope. */
static kl_code read_object(kl__sim_ask *ask, const kl__protobuf *open,
                           kl__edit *edit, kl_error *err)
{
    const kl__schema *schema =
        find_schema(ask->sent_version, ask->sent_kind, &ask->parse);
    kl__node *root;

    if (schema == NULL && ask->parse.code == KL_ENOMEM) {
        return kl_error_set(err, KL_ENOMEM, "%s", ask->parse.message);
    }
    ask->parse = (kl_error){0};
    root = schema != NULL ? kl__protobuf_decode(edit, schema, open->raw,
                                                open->raw_length, &ask->parse)
                          : kl__edit_object(edit);
    if (root == NULL && ask->parse.code == KL_EPARSE) {
        return KL_OK;
    }
    if (root == NULL ||
        !kl__node_put(edit, root, "kind",
                      kl__edit_text(edit, ask->sent_kind)) ||
        !kl__node_put(edit, root, "apiVersion",
                      kl__edit_text(edit, ask->sent_version))) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    }
    kl__edit_set_root(edit, root);
    ask->doc = kl__edit_doc(edit, &ask->parse);
    return ask->doc == NULL && ask->parse.code == KL_ENOMEM
               ? kl_error_set(err, KL_ENOMEM, "%s", ask->parse.message)
               : KL_OK;
}

kl_code kl__sim_protobuf_read(kl__sim_ask *ask, kl_error *err)
{
    kl__protobuf open;
    kl__edit *edit;
    kl_code code;

    ask->is_protobuf = true;
    if (kl__protobuf_open(ask->body, ask->body_length, &open, &ask->parse) !=
        KL_OK) {
        return KL_OK;
    }
    if (!take_type(ask, &open)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a request");
    }
    edit = kl__edit_new(err);
    if (edit == NULL) {
        return KL_ENOMEM;
    }
    code = read_object(ask, &open, edit, err);
    kl__edit_free(edit);
    return code;
}
