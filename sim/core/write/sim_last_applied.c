/*
 * sim_last_applied.c - see sim_last_applied.h: writes the annotation's JSON
 * byte for byte as Go does.
 */
#include "sim/core/write/sim_last_applied.h"

#include "base/mem.h"
#include "json/quote.h"

#include <stdlib.h>
#include <string.h>

static const char annotation[] =
    "kubectl.kubernetes.io/last-applied-configuration";

static kl__node *annotations_of(const kl__node *object)
{
    return kl__node_get(kl__node_get(object, "metadata"), "annotations");
}

typedef struct sorted_member {
    const char *name;
    size_t length;
    const kl__node *value;
} sorted_member;

static int compare_applied_names(const void *a, const void *b)
{
    const sorted_member *left = a, *right = b;
    size_t shorter =
        left->length < right->length ? left->length : right->length;
    int order = memcmp(left->name, right->name, shorter);

    return order != 0 ? order
                      : (left->length > right->length) -
                            (left->length < right->length);
}

static void write_node(kl__buf *out, const kl__node *node);

/* Writes an object with members sorted by name, as Go writes maps. */
static void write_object(kl__buf *out, const kl__node *node)
{
    size_t size = kl__node_size(node), count = 0;
    sorted_member *members = kl__calloc(size + 1, sizeof(*members));
    kl__node_iter iter = {0};
    sorted_member one;

    if (members == NULL) {
        out->failed = true;
        return;
    }
    while (count < size && (one.value = kl__node_next(node, &iter, &one.name,
                                                      &one.length)) != NULL) {
        members[count++] = one;
    }
    qsort(members, count, sizeof(*members), compare_applied_names);
    kl__buf_putc(out, '{');
    for (size_t i = 0; i < count; i++) {
        kl__buf_puts(out, i != 0 ? "," : "");
        kl__quote(out, members[i].name, members[i].length);
        kl__buf_putc(out, ':');
        write_node(out, members[i].value);
    }
    kl__buf_putc(out, '}');
    kl__free(members);
}

static void write_array(kl__buf *out, const kl__node *node)
{
    kl__node_iter iter = {0};
    const kl__node *element;
    const char *comma = "[";

    kl__buf_puts(out, kl__node_size(node) == 0 ? comma : "");
    while ((element = kl__node_next(node, &iter, NULL, NULL)) != NULL) {
        kl__buf_puts(out, comma);
        write_node(out, element);
        comma = ",";
    }
    kl__buf_putc(out, ']');
}

/* Writes a node. Recursion is limited, as the depth of a request is. */
static void write_node(kl__buf *out, const kl__node *node)
{
    size_t length;
    char *json;

    if (kl__node_is(node, KL_OBJECT)) {
        write_object(out, node);
    } else if (kl__node_is(node, KL_ARRAY)) {
        write_array(out, node);
    } else {
        json = kl__node_json(node, &length, NULL);
        if (json != NULL) {
            kl__buf_append(out, json, length);
        }
        out->failed = out->failed || json == NULL;
        kl__free(json);
    }
}

/* Escapes characters that are special in HTML, as Go does. In JSON such
 * characters occur only inside strings. */
static void escape_html(const kl__buf *json, kl__buf *out)
{
    for (size_t i = 0; i < json->length; i++) {
        const char byte = json->bytes[i];

        if (byte == '<' || byte == '>' || byte == '&') {
            kl__buf_printf(out, "\\u%04x", (unsigned)byte);
        } else {
            kl__buf_putc(out, byte);
        }
    }
    out->failed = out->failed || json->failed;
}

kl_code kl__sim_last_applied(const kl__node *old, kl__edit *edit,
                             const kl__node *config, char **text, kl_error *err)
{
    const char *kept = kl__node_text(annotations_of(old), annotation);
    kl__buf json = {0}, escaped = {0};
    kl__node *copy;

    *text = NULL;
    if (kept == NULL || *kept == '\0') {
        return KL_OK;
    }
    copy = kl__edit_copy(edit, config);
    kl__node_remove(annotations_of(copy), annotation);
    if (copy != NULL) {
        write_node(&json, copy);
        escape_html(&json, &escaped);
        kl__buf_putc(&escaped, '\n');
        *text = kl__buf_take(&escaped, NULL);
    }
    kl__buf_deinit(&json);
    kl__buf_deinit(&escaped);
    return *text != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a request");
}

bool kl__sim_put_last_applied(kl__edit *edit, kl__node *object,
                              const char *text)
{
    kl__node *metadata = kl__node_ensure(edit, object, "metadata");
    kl__node *annotations = metadata != NULL
                                ? kl__node_ensure(edit, metadata, "annotations")
                                : NULL;

    return annotations != NULL && kl__node_put(edit, annotations, annotation,
                                               kl__edit_text(edit, text));
}
