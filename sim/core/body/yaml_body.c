/*
 * yaml_body.c - see yaml_body.h. Clients often send JSON and call it YAML. Such
 * a body is parsed as JSON, which is faster. If it has a fault, it is parsed as
 * YAML after all: the message has to name a line.
 */
#include "sim/core/body/yaml_body.h"

#include "config/yaml_json.h"
#include "config/yaml_tree.h"
#include "json/doc.h"
#include "kubelua/writer.h"
#include "sim/core/json/edit.h"

#include <string.h>

/* The text parsed as JSON; NULL: the caller has to parse it as YAML. */
static kl_doc *read_json(const char *text, size_t length)
{
    return length > 0 && (*text == '{' || *text == '[')
               ? kl__doc_parse_within(text, length, KL__NODE_DEPTH, NULL)
               : NULL;
}

static kl_doc *read_document(kl__yaml_node *root, kl_error *err)
{
    kl_writer *writer = kl_writer_new();
    const char *json = NULL;
    kl_doc *doc = NULL;
    size_t length = 0;

    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
        return NULL;
    }
    if (kl__yaml_write(writer, root, err) == KL_OK) {
        json = kl_writer_finish(writer, &length, err);
        doc = json != NULL
                  ? kl__doc_parse_within(json, length, KL__NODE_DEPTH, err)
                  : NULL;
    }
    kl_writer_free(writer);
    return doc;
}

kl_doc *kl__yaml_body(const char *text, size_t length, kl_error *err)
{
    kl_doc *doc = read_json(text, length);
    kl__yaml_node *root = NULL;
    kl__yaml *yaml;
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
        doc = root != NULL ? read_document(root, err)
                           : kl_doc_parse("null", 4, err);
    }
    kl__yaml_free(yaml);
    return doc;
}
