/*
 * go_text.c - see go_text.h.
 */
#include "sim/core/patch/go_text.h"

#include "base/buf.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct named {
    const char *name;
    const kl__node *value;
} named;

static int compare_go_members(const void *a, const void *b)
{
    const named *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static void print_node(kl__buf *out, const kl__node *node);

static void print_object(kl__buf *out, const kl__node *object)
{
    size_t count = 0, size = kl__node_size(object);
    named *members = kl__calloc(size + 1, sizeof(*members));
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;

    if (members == NULL) {
        out->failed = true;
        return;
    }
    while ((value = kl__node_next(object, &iter, &name, NULL)) != NULL) {
        members[count++] = (named){name, value};
    }
    qsort(members, count, sizeof(*members), compare_go_members);
    kl__buf_puts(out, "map[");
    for (size_t i = 0; i < count; i++) {
        kl__buf_printf(out, "%s%s:", i > 0 ? " " : "", members[i].name);
        print_node(out, members[i].value);
    }
    kl__buf_putc(out, ']');
    kl__free(members);
}

static void print_array(kl__buf *out, const kl__node *array)
{
    kl__node_iter iter = {0};
    const kl__node *element;
    const char *before = "";

    kl__buf_putc(out, '[');
    while ((element = kl__node_next(array, &iter, NULL, NULL)) != NULL) {
        kl__buf_puts(out, before);
        print_node(out, element);
        before = " ";
    }
    kl__buf_putc(out, ']');
}

static void print_node(kl__buf *out, const kl__node *node)
{
    const char *text;
    size_t length;

    switch (kl__node_type(node)) {
    case KL_NULL:
        kl__buf_puts(out, "<nil>");
        break;
    case KL_BOOL:
        kl__buf_puts(out, kl__node_bool(node) ? "true" : "false");
        break;
    case KL_INTEGER:
        kl__buf_printf(out, "%" PRId64, kl__node_integer(node));
        break;
    case KL_UNSIGNED:
        kl__buf_printf(out, "%" PRIu64, kl__node_unsigned(node));
        break;
    case KL_REAL:
        kl__buf_printf(out, "%.15g", kl__node_real(node));
        break;
    case KL_NUMBER:
    case KL_STRING:
        text = kl__node_string(node, &length);
        kl__buf_append(out, text, length);
        break;
    case KL_ARRAY:
        print_array(out, node);
        break;
    case KL_OBJECT:
        print_object(out, node);
        break;
    }
}

char *kl__go_text(const kl__node *node)
{
    kl__buf out = {0};
    char *text;

    print_node(&out, node);
    text = kl__buf_take(&out, NULL);
    if (text == NULL) {
        kl__buf_deinit(&out);
    }
    return text;
}

const char *kl__go_type(const kl__node *node)
{
    static const char *const types[] = {
        "<nil>",   "bool",           "int64",
        "float64", "float64",        "float64",
        "string",  "[]interface {}", "map[string]interface {}"};

    return types[kl__node_type(node)];
}
