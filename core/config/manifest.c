/*
 * manifest.c - see kubelua/manifest.h. A text that begins like JSON is first
 * parsed as a sequence of JSON values: that keeps numbers exact, and is fast at
 * any size. If it is not JSON, it is parsed as YAML (flow style YAML begins
 * like JSON).
 */
#include "kubelua/manifest.h"

#include "config/yaml_json.h"
#include "config/yaml_tree.h"
#include "kubelua/value.h"
#include "kubelua/writer.h"

#include <stdbool.h>
#include <string.h>

typedef struct sink {
    kl_manifest_fn fn;
    void *context;
    kl_error *err;
} sink;

static size_t skip_space(const char *text, size_t length, size_t at)
{
    while (at < length && strchr(" \t\r\n", text[at]) != NULL &&
           text[at] != '\0') {
        at++;
    }
    return at;
}

/* The end of the object or array that begins at `at`; 0 if it has no end. */
static size_t skip_value(const char *text, size_t length, size_t at)
{
    size_t depth = 0;
    bool in_string = false;

    for (; at < length; at++) {
        if (in_string) {
            if (text[at] == '\\') {
                at++;
            } else if (text[at] == '"') {
                in_string = false;
            }
        } else if (text[at] == '"') {
            in_string = true;
        } else if (text[at] == '{' || text[at] == '[') {
            depth++;
        } else if ((text[at] == '}' || text[at] == ']') && --depth == 0) {
            return at + 1;
        }
    }
    return 0;
}

/* Finds the next object or array from `*at` on. False: there is none, or
 * another text is there. */
static bool next_value(const char *text, size_t length, size_t *at,
                       size_t *value_length)
{
    size_t begin = skip_space(text, length, *at);
    size_t end = 0;

    if (begin < length && (text[begin] == '{' || text[begin] == '[')) {
        end = skip_value(text, length, begin);
    }
    *at = begin;
    *value_length = end != 0 ? end - begin : 0;
    return end != 0;
}

/* Sets `*yes` if the whole text is one or more JSON objects or arrays.
 * KL_ENOMEM. */
static kl_code is_json(const char *text, size_t length, bool *yes,
                       kl_error *err)
{
    size_t at = 0, value_length;
    kl_error why;

    *yes = false;
    while (next_value(text, length, &at, &value_length)) {
        kl_doc *doc = kl_doc_parse(text + at, value_length, &why);

        if (doc == NULL) {
            return why.code == KL_ENOMEM
                       ? kl_error_set(err, KL_ENOMEM, "out of memory")
                       : KL_OK;
        }
        kl_doc_unref(doc);
        at += value_length;
    }
    *yes = at != 0 && at == length;
    return KL_OK;
}

static kl_code read_json(const char *text, size_t length, sink *out)
{
    size_t at = 0, value_length;

    while (next_value(text, length, &at, &value_length)) {
        kl_code code = out->fn(out->context, text + at, value_length, out->err);

        if (code != KL_OK) {
            return code;
        }
        at += value_length;
    }
    return KL_OK;
}

/* Writes one document as JSON and passes it to the caller's function, unless it
 * is empty. */
static kl_code give_document(kl__yaml_node *root, sink *out)
{
    kl_writer *writer = kl_writer_new();
    const char *json;
    size_t length;
    kl_code code;

    if (writer == NULL) {
        return kl_error_set(out->err, KL_ENOMEM, "out of memory");
    }
    code = kl__yaml_write(writer, root, out->err);
    if (code == KL_OK) {
        kl_error why;

        json = kl_writer_finish(writer, &length, &why);
        if (json == NULL) {
            code = kl__yaml_error(out->err, why.code, root, "%s", why.message);
        } else if (strcmp(json, "null") != 0) {
            code = out->fn(out->context, json, length, out->err);
        }
    }
    kl_writer_free(writer);
    return code;
}

static kl_code read_yaml(const char *text, size_t length, sink *out)
{
    kl__yaml *yaml = kl__yaml_new(text, length);
    kl__yaml_node *root;
    kl_code code;

    if (yaml == NULL) {
        return kl_error_set(out->err, KL_ENOMEM, "out of memory");
    }
    for (;;) {
        code = kl__yaml_next(yaml, &root, out->err);
        if (code != KL_OK || root == NULL) {
            break;
        }
        code = give_document(root, out);
        if (code != KL_OK) {
            break;
        }
    }
    kl__yaml_free(yaml);
    return code;
}

kl_code kl_manifest_each(const char *text, size_t length, kl_manifest_fn fn,
                         void *context, kl_error *err)
{
    sink out = {.fn = fn, .context = context, .err = err};
    bool json;
    kl_code code;

    text = text != NULL ? text : ""; /* libyaml does not accept NULL */
    code = is_json(text, length, &json, err);
    if (code != KL_OK) {
        return code;
    }
    return json ? read_json(text, length, &out) : read_yaml(text, length, &out);
}
