/*
 * yaml_json.c - see yaml_json.h. Each alias is replaced by a copy of its
 * target. The size of these copies is limited: ten lines of YAML with nested
 * aliases can expand to gigabytes.
 */
#include "config/yaml_json.h"

#include "base/buf.h"
#include "base/map.h"
#include "base/mem.h"
#include "config/yaml_scalar.h"
#include "kubelua/value.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How much aliases may add to a document. go-yaml has about the same limit for
 * nodes. */
enum { MAX_ALIAS_NODES = 400000, MAX_ALIAS_BYTES = 16 * 1024 * 1024 };

typedef struct emitter {
    kl_writer *writer;
    kl_error *err;
    size_t depth;
    size_t alias_depth; /* number of aliases around the current node */
    size_t alias_nodes;
    size_t alias_bytes;
} emitter;

static kl_code write_node(emitter *self, kl__yaml_node *node);

static kl_code no_memory_for_yaml(emitter *self)
{
    return kl_error_set(self->err, KL_ENOMEM, "out of memory reading YAML");
}

static kl_code fail_loop(emitter *self, const kl__yaml_node *node)
{
    return kl__yaml_error(self->err, KL_EPARSE, node, "*%.80s contains itself",
                          node->text);
}

static kl_code count_node(emitter *self, const kl__yaml_node *node)
{
    if (self->alias_depth == 0) {
        return KL_OK;
    }
    self->alias_nodes++;
    self->alias_bytes += node->length;
    if (self->alias_nodes > MAX_ALIAS_NODES ||
        self->alias_bytes > MAX_ALIAS_BYTES) {
        return kl__yaml_error(self->err, KL_ETOO_LARGE, node,
                              "aliases multiply this document beyond bounds");
    }
    return KL_OK;
}

/* Writes a number that fits uint64_t only, which kl_writer_integer cannot
 * take. */
static void write_unsigned(emitter *self, uint64_t value)
{
    char digits[24];
    int length =
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)value);

    kl_writer_raw(self->writer, digits, (size_t)length);
}

/* As kubectl does, writes 1.0 and 1e3 as the integers 1 and 1000. */
static void write_real(emitter *self, double value)
{
    bool is_whole = value == floor(value) && fabs(value) <= 9007199254740992.0;

    if (is_whole && !(value == 0 && signbit(value))) {
        kl_writer_integer(self->writer, (int64_t)value);
    } else {
        kl_writer_real(self->writer, value);
    }
}

static kl_code write_scalar(emitter *self, const kl__yaml_node *node)
{
    kl__scalar scalar;
    kl_code code = kl__scalar_resolve(node, &scalar, self->err);
    char text[64];

    if (code != KL_OK) {
        kl__scalar_deinit(&scalar);
        return code;
    }
    switch (scalar.type) {
    case KL__SCALAR_NULL:
        kl_writer_null(self->writer);
        break;
    case KL__SCALAR_BOOL:
        kl_writer_bool(self->writer, scalar.boolean);
        break;
    case KL__SCALAR_INTEGER:
        kl_writer_integer(self->writer, scalar.integer);
        break;
    case KL__SCALAR_UNSIGNED:
        write_unsigned(self, scalar.magnitude);
        break;
    case KL__SCALAR_DIGITS:
        kl_writer_raw(self->writer, scalar.text, scalar.length);
        break;
    case KL__SCALAR_REAL:
        write_real(self, scalar.real);
        break;
    case KL__SCALAR_INFINITE:
        snprintf(text, sizeof(text), "JSON has no %.8s; quote it if it is text",
                 node->text);
        code = kl__yaml_error(self->err, KL_EPARSE, node, "%s", text);
        break;
    case KL__SCALAR_STRING:
        kl_writer_string(self->writer, scalar.text, scalar.length);
        break;
    }
    kl__scalar_deinit(&scalar);
    return code;
}

/* A member of the object that is being collected. */
typedef struct member {
    struct member *next;
    kl__yaml_node *value;
    bool is_merged; /* came from a merge key "<<"; counts as an alias */
    size_t length;
    char name[];
} member;

typedef struct members {
    kl__map by_name;
    member *first;
    member *last;
} members;

static void free_members(members *all)
{
    while (all->first != NULL) {
        member *next = all->first->next;

        kl__free(all->first);
        all->first = next;
    }
    kl__map_deinit(&all->by_name);
}

static kl_code add_member(emitter *self, members *all, const kl__buf *name,
                          kl__yaml_node *value, bool is_merged)
{
    member *added = kl__malloc(sizeof(*added) + name->length + 1);

    if (added == NULL) {
        return no_memory_for_yaml(self);
    }
    *added = (member){
        .value = value, .is_merged = is_merged, .length = name->length};
    memcpy(added->name, name->bytes, name->length + 1);
    if (!kl__map_put_n(&all->by_name, added->name, added->length, added,
                       NULL)) {
        kl__free(added);
        return no_memory_for_yaml(self);
    }
    if (all->last != NULL) {
        all->last->next = added;
    } else {
        all->first = added;
    }
    all->last = added;
    return KL_OK;
}

/* Reads the key of a member and appends it to `name`, as text. */
static kl_code read_name(emitter *self, const kl__yaml_node *key, kl__buf *name)
{
    kl__scalar scalar;
    kl_code code;

    if (key->kind == KL__YAML_ALIAS) {
        key = key->target;
    }
    if (key->kind != KL__YAML_SCALAR) {
        return kl__yaml_error(self->err, KL_EPARSE, key,
                              "a key is a list or map; JSON has text only");
    }
    code = kl__scalar_resolve(key, &scalar, self->err);
    if (code == KL_OK) {
        kl__buf_append(name, "", 0);
        code = kl__scalar_name(key, &scalar, name, self->err);
    }
    kl__scalar_deinit(&scalar);
    return code;
}

/* Sets a member. If the name exists already, kubectl's rule is: a merged member
 * overwrites members before it and is overwritten by members after it. Two
 * members with the same name, both not merged, are an error. */
static kl_code set_member(emitter *self, members *all, const kl__yaml_node *key,
                          bool is_merged)
{
    kl__buf name = {0};
    member *known;
    kl_code code = read_name(self, key, &name);

    if (code != KL_OK) {
        kl__buf_deinit(&name);
        return code;
    }
    known = kl__map_get_n(&all->by_name, name.bytes, name.length);
    if (known == NULL) {
        code = add_member(self, all, &name, key->next, is_merged);
    } else if (is_merged || known->is_merged) {
        known->value = key->next;
        known->is_merged = is_merged;
    } else {
        code = kl__yaml_error(self->err, KL_EPARSE, key,
                              "key \"%.60s\" is there twice", name.bytes);
    }
    kl__buf_deinit(&name);
    return code;
}

static bool is_merge(const kl__yaml_node *key)
{
    return key->kind == KL__YAML_SCALAR && strcmp(key->text, "<<") == 0 &&
           (key->plain || (key->tag != NULL &&
                           strcmp(key->tag, "tag:yaml.org,2002:merge") == 0));
}

static kl_code collect_members(emitter *self, members *all, kl__yaml_node *map,
                               bool is_merged);

/* Adds the members of the map, or alias of a map, behind "<<". */
static kl_code merge_map(emitter *self, members *all, kl__yaml_node *node)
{
    bool is_alias = node->kind == KL__YAML_ALIAS;
    kl__yaml_node *map = is_alias ? node->target : node;
    kl_code code;

    if (map->kind != KL__YAML_MAPPING) {
        return kl__yaml_error(self->err, KL_EPARSE, node,
                              "\"<<\" wants a map or a list of maps");
    }
    if (map->open) {
        return fail_loop(self, node);
    }
    self->alias_depth += is_alias;
    /* The map itself is counted, too: an empty map may be merged many times. */
    code = count_node(self, node);
    if (code == KL_OK) {
        code = collect_members(self, all, map, true);
    }
    self->alias_depth -= is_alias;
    return code;
}

/* Merges a list of maps in reverse order: the earlier maps take precedence. */
static kl_code merge_list(emitter *self, members *all, kl__yaml_node *item)
{
    kl__yaml_node *reversed[KL__YAML_DEPTH];
    size_t count = 0;

    for (; item != NULL; item = item->next) {
        if (count == KL__YAML_DEPTH) {
            return kl__yaml_error(self->err, KL_ETOO_LARGE, item,
                                  "\"<<\" with more than %d maps",
                                  KL__YAML_DEPTH);
        }
        reversed[count++] = item;
    }
    while (count > 0) {
        kl_code code = merge_map(self, all, reversed[--count]);

        if (code != KL_OK) {
            return code;
        }
    }
    return KL_OK;
}

/* Adds the members of `map` to `all`, in order. */
static kl_code collect_members(emitter *self, members *all, kl__yaml_node *map,
                               bool is_merged)
{
    kl_code code = KL_OK;

    map->open = true;
    for (kl__yaml_node *key = map->first; key != NULL && code == KL_OK;
         key = key->next->next) {
        kl__yaml_node *value = key->next;

        code = count_node(self, key);
        if (code != KL_OK) {
            break;
        }
        if (!is_merge(key)) {
            code = set_member(self, all, key, is_merged);
        } else if (value->kind == KL__YAML_SEQUENCE) {
            code = merge_list(self, all, value->first);
        } else {
            code = merge_map(self, all, value);
        }
    }
    map->open = false;
    return code;
}

static kl_code write_mapping(emitter *self, kl__yaml_node *node)
{
    members all = {0};
    kl_code code = collect_members(self, &all, node, false);

    node->open = true;
    kl_writer_begin_object(self->writer);
    for (member *each = all.first; each != NULL && code == KL_OK;
         each = each->next) {
        kl_writer_name(self->writer, each->name, each->length);
        self->alias_depth += each->is_merged;
        code = write_node(self, each->value);
        self->alias_depth -= each->is_merged;
    }
    kl_writer_end_object(self->writer);
    node->open = false;
    free_members(&all);
    return code;
}

static kl_code write_sequence(emitter *self, kl__yaml_node *node)
{
    kl_code code = KL_OK;

    node->open = true;
    kl_writer_begin_array(self->writer);
    for (kl__yaml_node *item = node->first; item != NULL && code == KL_OK;
         item = item->next) {
        code = write_node(self, item);
    }
    kl_writer_end_array(self->writer);
    node->open = false;
    return code;
}

static kl_code write_alias(emitter *self, kl__yaml_node *node)
{
    kl_code code;

    if (node->target->open) {
        return fail_loop(self, node);
    }
    self->alias_depth++;
    code = write_node(self, node->target);
    self->alias_depth--;
    return code;
}

static kl_code write_node(emitter *self, kl__yaml_node *node)
{
    kl_code code = count_node(self, node);

    if (code != KL_OK) {
        return code;
    }
    if (node->kind == KL__YAML_SCALAR) {
        return write_scalar(self, node);
    }
    if (node->kind == KL__YAML_ALIAS) {
        return write_alias(self, node);
    }
    if (self->depth == KL__YAML_DEPTH) {
        return kl__yaml_error(self->err, KL_ETOO_LARGE, node,
                              "nested deeper than %d levels", KL__YAML_DEPTH);
    }
    self->depth++;
    code = node->kind == KL__YAML_MAPPING ? write_mapping(self, node)
                                          : write_sequence(self, node);
    self->depth--;
    return code;
}

kl_code kl__yaml_write(kl_writer *writer, kl__yaml_node *root, kl_error *err)
{
    emitter self = {.writer = writer, .err = err};

    return write_node(&self, root);
}

/* The value of a name, or the item at an index; NULL if there is none. */
static const kl__yaml_node *child_of(const kl__yaml_node *node,
                                     const char *name)
{
    const kl__yaml_node *child = node->first;

    if (node->kind == KL__YAML_SEQUENCE) {
        for (long index = atol(name); index > 0 && child != NULL; index--) {
            child = child->next;
        }
        return child;
    }
    while (child != NULL && strcmp(child->text, name) != 0) {
        child = child->next->next;
    }
    return child != NULL ? child->next : NULL;
}

size_t kl__yaml_line(const char *text, size_t length, const char *const *path)
{
    kl__yaml *yaml = kl__yaml_new(text, length);
    kl__yaml_node *root = NULL;
    const kl__yaml_node *node;
    size_t line = 0;

    if (yaml == NULL || kl__yaml_next(yaml, &root, NULL) != KL_OK) {
        kl__yaml_free(yaml);
        return 0;
    }
    node = root;
    while (node != NULL) {
        node = node->kind == KL__YAML_ALIAS ? node->target : node;
        line = node->line;
        if (*path == NULL || node->kind == KL__YAML_SCALAR) {
            break;
        }
        node = child_of(node, *path++);
    }
    kl__yaml_free(yaml);
    return line;
}
