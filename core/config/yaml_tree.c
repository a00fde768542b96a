/*
 * yaml_tree.c - see yaml_tree.h. Builds the nodes from libyaml's events. Open
 * containers are on an explicit stack of fixed size, so deep nesting cannot
 * overflow the C stack.
 */
#include "config/yaml_tree.h"

#include "base/map.h"
#include "base/mem.h"
#include "kubelua/value.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <yaml.h>

/* libyaml compares each %TAG directive with all earlier ones, so thousands of
 * them would take very long. */
enum { MOST_TAG_DIRECTIVES = 100 };

struct kl__yaml {
    yaml_parser_t parser;
    const char *text;
    size_t length;
    kl__yaml_node *nodes; /* of the current document, newest first */
    kl__yaml_node *root;  /* of the current document */
    kl__map anchors;      /* of the current document: name to node */
    kl__yaml_node *open[KL__YAML_DEPTH];
    size_t depth;
    size_t crowded_line; /* line of the first %TAG above the limit, or 0 */
};

/* The line of the first directive above the limit, or 0. */
static size_t find_crowded_line(const char *text, size_t length)
{
    size_t count = 0, number = 1;

    for (size_t at = 0; at + 4 < length; number++) {
        const char *end = memchr(text + at, '\n', length - at);

        count += memcmp(text + at, "%TAG", 4) == 0;
        if (count > MOST_TAG_DIRECTIVES) {
            return number;
        }
        if (end == NULL) {
            break;
        }
        at = (size_t)(end - text) + 1;
    }
    return 0;
}

kl__yaml *kl__yaml_new(const char *text, size_t length)
{
    kl__yaml *yaml = kl__calloc(1, sizeof(*yaml));

    if (yaml == NULL) {
        return NULL;
    }
    if (!yaml_parser_initialize(&yaml->parser)) {
        kl__free(yaml);
        return NULL;
    }
    yaml->text = text;
    yaml->length = length;
    yaml->crowded_line = find_crowded_line(text, length);
    yaml_parser_set_input_string(&yaml->parser, (const unsigned char *)text,
                                 length);
    return yaml;
}

static void drop_document(kl__yaml *yaml)
{
    while (yaml->nodes != NULL) {
        kl__yaml_node *node = yaml->nodes;

        yaml->nodes = node->older;
        kl__free(node);
    }
    kl__map_deinit(&yaml->anchors);
    yaml->root = NULL;
    yaml->depth = 0;
}

void kl__yaml_free(kl__yaml *yaml)
{
    if (yaml == NULL) {
        return;
    }
    drop_document(yaml);
    yaml_parser_delete(&yaml->parser);
    kl__free(yaml);
}

kl_code kl__yaml_error(kl_error *err, kl_code code, const kl__yaml_node *at,
                       const char *format, ...)
{
    char message[KL_ERROR_MESSAGE_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    return kl_error_set(err, code, "line %zu, column %zu: %s", at->line,
                        at->column, message);
}

/* The line, from 1, of the byte at `offset`: libyaml's reader errors have only
 * an offset. */
static size_t line_of(const kl__yaml *yaml, size_t offset)
{
    size_t line = 1;

    for (size_t i = 0; i < offset && i < yaml->length; i++) {
        line += yaml->text[i] == '\n';
    }
    return line;
}

static kl_code fail_parse(kl__yaml *yaml, kl_error *err)
{
    const yaml_parser_t *parser = &yaml->parser;
    const char *problem = parser->problem != NULL ? parser->problem : "unknown";

    if (parser->error == YAML_MEMORY_ERROR) {
        return kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
    }
    if (parser->error == YAML_READER_ERROR) {
        return kl_error_set(err, KL_EPARSE, "line %zu: %s (byte %zu)",
                            line_of(yaml, parser->problem_offset), problem,
                            parser->problem_offset);
    }
    return kl_error_set(err, KL_EPARSE, "line %zu, column %zu: %s%s%s",
                        parser->problem_mark.line + 1,
                        parser->problem_mark.column + 1,
                        parser->context != NULL ? parser->context : "",
                        parser->context != NULL ? ": " : "", problem);
}

/* Allocates a node, with its text and tag behind it. */
static kl__yaml_node *new_node(kl__yaml *yaml, kl__yaml_kind kind,
                               const yaml_event_t *event, size_t length,
                               const yaml_char_t *tag)
{
    size_t tag_size = tag != NULL ? strlen((const char *)tag) + 1 : 0;
    kl__yaml_node *node = kl__malloc(sizeof(*node) + length + 1 + tag_size);

    if (node == NULL) {
        return NULL;
    }
    *node = (kl__yaml_node){.kind = kind,
                            .line = event->start_mark.line + 1,
                            .column = event->start_mark.column + 1,
                            .length = length,
                            .older = yaml->nodes};
    node->text = (char *)(node + 1);
    if (tag != NULL) {
        char *copy = (char *)(node + 1) + length + 1;

        memcpy(copy, tag, tag_size);
        node->tag = copy;
    }
    yaml->nodes = node;
    return node;
}

static void set_text(kl__yaml_node *node, const void *text)
{
    char *copy = (char *)(node + 1);

    if (node->length != 0) {
        memcpy(copy, text, node->length);
    }
    copy[node->length] = '\0';
}

/* Adds an anchor; it replaces an earlier one with the same name. A separate
 * node, which is in no container, stores the name. */
static kl_code note_anchor(kl__yaml *yaml, const yaml_event_t *event,
                           const yaml_char_t *anchor, kl__yaml_node *node,
                           kl_error *err)
{
    kl__yaml_node *name;

    if (anchor == NULL) {
        return KL_OK;
    }
    name = new_node(yaml, KL__YAML_ALIAS, event, strlen((const char *)anchor),
                    NULL);
    if (name != NULL) {
        set_text(name, anchor);
    }
    if (name == NULL || !kl__map_put(&yaml->anchors, name->text, node, NULL)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
    }
    return KL_OK;
}

/* Appends a node to the innermost open container. */
static void attach_node(kl__yaml *yaml, kl__yaml_node *node)
{
    kl__yaml_node *parent;

    if (yaml->depth == 0) {
        yaml->root = node;
        return;
    }
    parent = yaml->open[yaml->depth - 1];
    if (parent->last != NULL) {
        parent->last->next = node;
    } else {
        parent->first = node;
    }
    parent->last = node;
}

static kl_code add_scalar(kl__yaml *yaml, const yaml_event_t *event,
                          kl_error *err)
{
    kl__yaml_node *node =
        new_node(yaml, KL__YAML_SCALAR, event, event->data.scalar.length,
                 event->data.scalar.tag);

    if (node == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
    }
    set_text(node, event->data.scalar.value);
    node->plain = event->data.scalar.plain_implicit != 0;
    attach_node(yaml, node);
    return note_anchor(yaml, event, event->data.scalar.anchor, node, err);
}

static kl_code add_alias(kl__yaml *yaml, const yaml_event_t *event,
                         kl_error *err)
{
    const char *name = (const char *)event->data.alias.anchor;
    kl__yaml_node *node =
        new_node(yaml, KL__YAML_ALIAS, event, strlen(name), NULL);

    if (node == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
    }
    set_text(node, name);
    node->target = kl__map_get(&yaml->anchors, name);
    if (node->target == NULL) {
        return kl__yaml_error(err, KL_EPARSE, node,
                              "an alias names no anchor before it; if it is a "
                              "text that begins with *, quote it");
    }
    attach_node(yaml, node);
    return KL_OK;
}

static kl_code open_container(kl__yaml *yaml, const yaml_event_t *event,
                              kl_error *err)
{
    bool is_map = event->type == YAML_MAPPING_START_EVENT;
    const yaml_char_t *anchor = is_map ? event->data.mapping_start.anchor
                                       : event->data.sequence_start.anchor;
    kl__yaml_node *node = new_node(
        yaml, is_map ? KL__YAML_MAPPING : KL__YAML_SEQUENCE, event, 0, NULL);

    if (node == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory reading YAML");
    }
    set_text(node, "");
    if (yaml->depth == KL__YAML_DEPTH) {
        return kl__yaml_error(err, KL_ETOO_LARGE, node,
                              "nested deeper than %d levels", KL__YAML_DEPTH);
    }
    attach_node(yaml, node);
    yaml->open[yaml->depth++] = node;
    return note_anchor(yaml, event, anchor, node, err);
}

static kl_code add_event(kl__yaml *yaml, const yaml_event_t *event,
                         kl_error *err)
{
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        return add_scalar(yaml, event, err);
    case YAML_ALIAS_EVENT:
        return add_alias(yaml, event, err);
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        return open_container(yaml, event, err);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        yaml->depth--;
        return KL_OK;
    default:
        return KL_OK;
    }
}

kl_code kl__yaml_next(kl__yaml *yaml, kl__yaml_node **root, kl_error *err)
{
    bool at_end = false;

    *root = NULL;
    drop_document(yaml);
    if (yaml->crowded_line != 0) {
        return kl_error_set(err, KL_ETOO_LARGE,
                            "line %zu: more than %d %%TAG directives",
                            yaml->crowded_line, MOST_TAG_DIRECTIVES);
    }
    while (!at_end) {
        yaml_event_t event;
        kl_code code;

        if (!yaml_parser_parse(&yaml->parser, &event)) {
            return fail_parse(yaml, err);
        }
        at_end = event.type == YAML_DOCUMENT_END_EVENT ||
                 event.type == YAML_STREAM_END_EVENT ||
                 event.type == YAML_NO_EVENT;
        code = add_event(yaml, &event, err);
        yaml_event_delete(&event);
        if (code != KL_OK) {
            return code;
        }
    }
    *root = yaml->root;
    return KL_OK;
}
