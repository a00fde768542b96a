/*
 * yaml_body.c - see yaml_body.h. Clients often send JSON and call it YAML. Such
 * a body is parsed as JSON, which is faster. If it has a repeated name or a
 * fault, it is parsed as YAML after all: the message has to name a line.
 */
#include "sim/core/body/yaml_body.h"

#include "base/map.h"
#include "config/yaml_json.h"
#include "config/yaml_tree.h"
#include "json/doc.h"
#include "kubelua/writer.h"
#include "sim/core/json/edit.h"

#include <string.h>

enum { FEW_MEMBERS = 16 };

/* True if no two members of an object have the same name. If memory runs out:
 * false. */
static bool has_unique_names(const kl_value *object)
{
    const bool is_small = kl_value_size(object) <= FEW_MEMBERS;
    kl_value_iter iter = {0};
    kl__map seen = {0};
    const kl_value *value, *key;
    bool unique = true;

    while (unique && (value = kl_value_next(object, &iter, &key)) != NULL) {
        void *before = NULL;
        size_t length = 0;
        const char *name = kl_value_string(key, &length);

        unique = is_small
                     ? kl_value_get_n(object, name, length) == value
                     : kl__map_put_n(&seen, name, length, &seen, &before) &&
                           before == NULL;
    }
    kl__map_deinit(&seen);
    return unique;
}

static bool is_unique(const kl_value *value)
{
    kl_value_iter iter = {0};
    const kl_value *child;

    if (kl_value_type(value) == KL_OBJECT && !has_unique_names(value)) {
        return false;
    }
    if (kl_value_type(value) != KL_OBJECT && kl_value_type(value) != KL_ARRAY) {
        return true;
    }
    while ((child = kl_value_next(value, &iter, NULL)) != NULL) {
        if (!is_unique(child)) {
            return false;
        }
    }
    return true;
}

/* The text parsed as JSON; NULL: the caller has to parse it as YAML. */
static kl_doc *read_json(const char *text, size_t length)
{
    kl_doc *doc = length > 0 && (*text == '{' || *text == '[')
                      ? kl__doc_parse_within(text, length, KL__NODE_DEPTH, NULL)
                      : NULL;

    if (doc != NULL && !is_unique(kl_doc_root(doc))) {
        kl_doc_unref(doc);
        doc = NULL;
    }
    return doc;
}

static kl_doc *read_document(kl__yaml_node *root, kl__buf *twice, kl_error *err)
{
    kl_writer *writer = kl_writer_new();
    const char *json = NULL;
    kl_doc *doc = NULL;
    size_t length = 0;

    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
        return NULL;
    }
    if (kl__yaml_write_last(writer, root, twice, err) == KL_OK) {
        json = kl_writer_finish(writer, &length, err);
        doc = json != NULL
                  ? kl__doc_parse_within(json, length, KL__NODE_DEPTH, err)
                  : NULL;
    }
    kl_writer_free(writer);
    return doc;
}

kl_doc *kl__yaml_body(const char *text, size_t length, kl__buf *twice,
                      kl_error *err)
{
    kl_doc *doc = read_json(text, length);
    kl__yaml_node *root = NULL;
    kl__yaml *yaml;
    char fault[KL_ERROR_MESSAGE_SIZE];
    kl_code code;

    if (doc != NULL) {
        return doc;
    }
    yaml = kl__yaml_new(text, length);
    if (yaml == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
        return NULL;
    }
    code = kl__yaml_next(yaml, &root, err);
    if (code == KL_OK) {
        doc = root != NULL ? read_document(root, twice, err)
                           : kl_doc_parse("null", 4, err);
    } else if (code == KL_EPARSE) {
        kl__yaml_fault(yaml, fault, sizeof(fault));
        kl_error_set(err, KL_EPARSE, "%s", fault);
    }
    kl__yaml_free(yaml);
    return doc;
}
