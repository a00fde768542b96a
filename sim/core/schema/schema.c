/*
 * schema.c - see schema.h: reads the schemas of built-in kinds from the table,
 * each at its first use, and keeps them until the last kl__schema_release;
 * finds fields in schemas, and schemas by the names of kinds. schema_table.h
 * explains the notation of the table.
 */
#include "sim/core/schema/schema.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "kubelua/object.h"
#include "sim/core/schema/schema_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Blocks of memory, freed together. */
typedef struct kl__schema_block {
    struct kl__schema_block *next;
    size_t used;
    size_t size;
} kl__schema_block;

typedef struct kl__schema_cache {
    kl__schema **types; /* by row of the table; NULL: not read */
    kl__schema_block *blocks;
    kl_doc *initials; /* the defaults: an array */
    size_t *begun;    /* the rows that the current call has begun to read */
    size_t begun_count;
} kl__schema_cache;

/* Guards `cache` and `holders`. Rank SCHEMA: no lock is taken under it. */
static kl__mutex lock = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_SCHEMA};
static kl__schema_cache cache;
static long holders;

static kl__schema *schema_read(kl__schema_cache *from, size_t row);

/* Zeroed memory that lives as long as the cache. NULL: out of memory. */
static void *schema_alloc(kl__schema_cache *from, size_t size)
{
    enum { BLOCK = 16 * 1024 };
    kl__schema_block *block = from->blocks;
    size_t head = (sizeof(*block) + 15) & ~(size_t)15;
    size_t room = (size + 15) & ~(size_t)15;
    char *bytes;

    if (block == NULL || block->size - block->used < room) {
        size_t whole = head + (room > BLOCK ? room : (size_t)BLOCK);

        block = kl__malloc(whole);
        if (block == NULL) {
            return NULL;
        }
        block->next = from->blocks;
        block->used = head;
        block->size = whole;
        from->blocks = block;
    }
    bytes = (char *)block + block->used;
    block->used += room;
    memset(bytes, 0, room);
    return bytes;
}

static void free_blocks(kl__schema_block **first, const kl__schema_block *until)
{
    while (*first != until) {
        kl__schema_block *next = (*first)->next;

        kl__free(*first);
        *first = next;
    }
}

/* The document lives as long as the cache, so it is not counted as alive: the
 * count was lowered when it was made, and is raised again here. */
static void drop_initials(void)
{
    if (cache.initials != NULL) {
        kl__live_add(KL_LIVE_DOC, 1);
        kl_doc_unref(cache.initials);
        cache.initials = NULL;
    }
}

static void forget_cache(void)
{
    free_blocks(&cache.blocks, NULL);
    drop_initials();
    kl__free(cache.types);
    kl__free(cache.begun);
    memset(&cache, 0, sizeof(cache));
}

static bool prepare_cache(void)
{
    if (cache.types == NULL) {
        cache.types = kl__calloc(kl__schema_row_count, sizeof(*cache.types));
    }
    if (cache.begun == NULL) {
        cache.begun = kl__calloc(kl__schema_row_count, sizeof(*cache.begun));
    }
    if (cache.initials == NULL) {
        cache.initials = kl_doc_parse(kl__schema_initials,
                                      strlen(kl__schema_initials), NULL);
        kl__live_add(KL_LIVE_DOC, cache.initials != NULL ? -1 : 0);
    }
    return cache.types != NULL && cache.begun != NULL && cache.initials != NULL;
}

/* Reads a type and all types to which it refers. If memory runs out, none of
 * them stays in the cache: as types can refer to each other in circles, a type
 * that was complete could refer to one that is not. */
static const kl__schema *read_locked(size_t row)
{
    kl__schema_block *before;
    size_t used;
    kl__schema *type;

    if (!prepare_cache()) {
        return NULL;
    }
    before = cache.blocks;
    used = before != NULL ? before->used : 0;
    cache.begun_count = 0;
    type = schema_read(&cache, row);
    if (type == NULL) {
        for (size_t i = 0; i < cache.begun_count; i++) {
            cache.types[cache.begun[i]] = NULL;
        }
        free_blocks(&cache.blocks, before);
        if (before != NULL) {
            before->used = used;
        }
    }
    return type;
}

static bool find_row(const char *name, size_t *row)
{
    size_t low = 0;
    size_t high = kl__schema_row_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, kl__schema_rows[middle].name);

        if (order == 0) {
            *row = middle;
            return true;
        }
        if (order > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

const kl__schema *kl__schema_type_named(const char *name, kl_error *err)
{
    const kl__schema *type;
    size_t row = 0;

    if (!find_row(name, &row)) {
        kl_error_set(err, KL_EUNKNOWN_KIND, "no built-in type is a %s", name);
        return NULL;
    }
    kl__mutex_lock(&lock);
    type = cache.types != NULL ? cache.types[row] : NULL;
    if (type == NULL) {
        type = read_locked(row);
    }
    kl__mutex_unlock(&lock);
    if (type == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
    }
    return type;
}

void kl__schema_hold(void)
{
    kl__mutex_lock(&lock);
    holders++;
    kl__mutex_unlock(&lock);
}

void kl__schema_release(void)
{
    kl__mutex_lock(&lock);
    holders--;
    if (holders <= 0) {
        holders = 0;
        forget_cache();
    }
    kl__mutex_unlock(&lock);
}

/* ---- a row of the table ---- */

typedef struct kl__schema_text {
    kl__schema_cache *cache;
    const char *at;
} text;

/* The meaning of a letter of the notation. `name` is NULL if the type has no
 * name in OpenAPI; `go` is NULL for lists and maps. */
typedef struct letter {
    char letter;
    kl__schema_type type;
    kl__schema_format format;
    const char *go;
    const char *name;
} letter;

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."
#define PKG "io.k8s.apimachinery.pkg."

static const letter letters[] = {
    {'s', KL__SCHEMA_STRING, KL__FORMAT_NONE, "string", NULL},
    {'i', KL__SCHEMA_INTEGER, KL__FORMAT_INT32, "int32", NULL},
    {'l', KL__SCHEMA_INTEGER, KL__FORMAT_INT64, "int64", NULL},
    {'f', KL__SCHEMA_NUMBER, KL__FORMAT_NONE, "float64", NULL},
    {'b', KL__SCHEMA_BOOLEAN, KL__FORMAT_NONE, "bool", NULL},
    {'y', KL__SCHEMA_STRING, KL__FORMAT_BYTE, "[]uint8", NULL},
    {'t', KL__SCHEMA_STRING, KL__FORMAT_TIME, "v1.Time", META "Time"},
    {'u', KL__SCHEMA_STRING, KL__FORMAT_MICROTIME, "v1.MicroTime",
     META "MicroTime"},
    {'d', KL__SCHEMA_STRING, KL__FORMAT_DURATION, "v1.Duration",
     META "Duration"},
    {'q', KL__SCHEMA_STRING, KL__FORMAT_QUANTITY, "resource.Quantity",
     PKG "api.resource.Quantity"},
    {'o', KL__SCHEMA_INT_OR_STRING, KL__FORMAT_NONE, "intstr.IntOrString",
     PKG "util.intstr.IntOrString"},
    {'a', KL__SCHEMA_ANY, KL__FORMAT_NONE, "runtime.RawExtension",
     PKG "runtime.RawExtension"},
    {'[', KL__SCHEMA_ARRAY, KL__FORMAT_NONE, NULL, NULL},
    {'(', KL__SCHEMA_ARRAY, KL__FORMAT_NONE, NULL, NULL},
    {'{', KL__SCHEMA_MAP, KL__FORMAT_NONE, NULL, NULL},
};

/* Copies the text up to the byte `end`, and moves on behind that byte. NULL:
 * out of memory. */
static char *cut_text(text *from, char end)
{
    const char *stop = strchr(from->at, end);
    size_t length = (size_t)(stop - from->at);
    char *copy = schema_alloc(from->cache, length + 1);

    assert(stop != NULL);
    if (copy != NULL) {
        memcpy(copy, from->at, length);
    }
    from->at = stop + 1;
    return copy;
}

static long take_number(text *from)
{
    char *end = NULL;
    long number = strtol(from->at, &end, 10);

    from->at = end;
    return number;
}

/* Splits "a,b" into a list of names that ends with NULL. */
static const char *const *split_names(kl__schema_cache *from, char *names)
{
    size_t count = 2;
    char **list;

    for (const char *at = names; *at != '\0'; at++) {
        count += *at == ',';
    }
    list = schema_alloc(from, count * sizeof(*list));
    if (list == NULL) {
        return NULL;
    }
    for (size_t i = 0; i + 1 < count; i++) {
        char *comma = strchr(names, ',');

        list[i] = names;
        if (comma != NULL) {
            *comma = '\0';
            names = comma + 1;
        }
    }
    return (const char *const *)list;
}

static bool read_keys(text *from, kl__schema *schema)
{
    char *names;

    from->at++; /* ( */
    names = cut_text(from, ')');
    schema->list = KL__LIST_MAP;
    schema->map_keys = names != NULL ? split_names(from->cache, names) : NULL;
    return schema->map_keys != NULL;
}

static bool read_merge_key(text *from, kl__schema *schema)
{
    schema->flags |= KL__SCHEMA_MERGE;
    from->at++; /* ( */
    if (*from->at == ')') {
        from->at++;
        return true;
    }
    schema->merge_key = cut_text(from, ')');
    return schema->merge_key != NULL;
}

/* Reads one mark; false: out of memory. */
static bool read_mark(text *from, char mark, kl__schema_field *field,
                      kl__schema *schema)
{
    switch (mark) {
    case '!':
        field->required = true;
        return true;
    case '?':
        schema->flags |= KL__SCHEMA_OMIT_EMPTY;
        return true;
    case '0':
        schema->flags |= KL__SCHEMA_OMIT_ZERO;
        return true;
    case '^':
        schema->flags |= KL__SCHEMA_POINTER;
        return true;
    case 'A':
        schema->list = KL__LIST_ATOMIC;
        return true;
    case 'S':
        schema->list = KL__LIST_SET;
        return true;
    case 'R':
        schema->flags |= KL__SCHEMA_RETAIN_KEYS;
        return true;
    case 'L':
        return read_keys(from, schema);
    case 'M':
        return read_merge_key(from, schema);
    case '<':
        field->within = cut_text(from, '>');
        return field->within != NULL;
    default:
        assert(mark == '=');
        schema->initial = kl_value_at(kl_doc_root(from->cache->initials),
                                      (size_t)take_number(from));
        return true;
    }
}

static bool read_type(text *from, kl__schema *schema);

/* Reads the schema of elements: that of a struct in the table, or a new one.
 * NULL: out of memory. */
static const kl__schema *read_items(text *from)
{
    kl__schema *items;

    if (*from->at == '@') {
        from->at++;
        return schema_read(from->cache, (size_t)take_number(from));
    }
    items = schema_alloc(from->cache, sizeof(*items));
    return items != NULL && read_type(from, items) ? items : NULL;
}

/* Types with the same letter can differ: sets the OpenAPI name and the flags
 * that belong to the Go name. */
static void tell_apart(kl__schema *schema)
{
    static const struct {
        const char *go, *name;
        unsigned flags;
    } named[] = {
        {"v1.FieldsV1", META "FieldsV1", 0},
#define EXTENSIONS "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
        {"v1.JSON", EXTENSIONS "JSON", 0},
        {"v1.JSONSchemaPropsOrArray", EXTENSIONS "JSONSchemaPropsOrArray",
         KL__SCHEMA_OR_ARRAY},
        {"v1.JSONSchemaPropsOrBool", EXTENSIONS "JSONSchemaPropsOrBool",
         KL__SCHEMA_OR_BOOL},
        {"v1.JSONSchemaPropsOrStringArray",
         EXTENSIONS "JSONSchemaPropsOrStringArray", KL__SCHEMA_OR_NAMES},
    };

    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (strcmp(schema->go, named[i].go) == 0) {
            schema->name = named[i].name;
            schema->flags |= named[i].flags;
        }
    }
}

/* Reads a type that is not a struct. False: out of memory. */
static bool read_type(text *from, kl__schema *schema)
{
    const letter *found = letters;

    while (found->letter != *from->at) {
        found++;
        assert(found < letters + sizeof(letters) / sizeof(letters[0]));
    }
    from->at++;
    schema->type = found->type;
    schema->format = found->format;
    schema->go = found->go;
    schema->name = found->name;
    if (*from->at == '\'') {
        from->at++;
        schema->go = cut_text(from, '\'');
        if (schema->go == NULL) {
            return false;
        }
        tell_apart(schema);
    }
    schema->flags |= found->letter == '(' ? KL__SCHEMA_WRAPPED : 0;
    if (strchr("[({", found->letter) != NULL) {
        schema->items = read_items(from);
        return schema->items != NULL;
    }
    return true;
}

/* Reads a reference to a struct, and copies to the field's schema what the
 * struct has. False: out of memory. */
static bool refer_to_type(text *from, kl__schema *schema)
{
    const kl__schema *type;

    from->at++; /* @ */
    type = schema_read(from->cache, (size_t)take_number(from));
    if (type == NULL) {
        return false;
    }
    schema->name = type->name;
    schema->go = type->go;
    schema->type = type->type;
    schema->fields = type->fields;
    schema->field_count = type->field_count;
    if (schema->list == KL__LIST_NONE) {
        schema->list = type->list;
    }
    return true;
}

static bool read_field(text *from, kl__schema_field *field)
{
    kl__schema *schema = schema_alloc(from->cache, sizeof(*schema));

    field->schema = schema;
    field->name = cut_text(from, ',');
    if (schema == NULL || field->name == NULL) {
        return false;
    }
    if (*from->at != ',') {
        field->number = (int)take_number(from);
    }
    from->at++; /* , */
    while (strchr("<!?0^ASLMR=", *from->at) != NULL) {
        if (!read_mark(from, *from->at++, field, schema)) {
            return false;
        }
    }
    return *from->at == '@' ? refer_to_type(from, schema)
                            : read_type(from, schema);
}

/* The name without the package's path: "v1.PodSpec". */
static const char *short_name(const char *name)
{
    const char *last = strrchr(name, '.');

    while (last > name && last[-1] != '.') {
        last--;
    }
    return last;
}

static size_t count_fields(const char *fields)
{
    size_t count = *fields != '\0';

    for (; *fields != '\0'; fields++) {
        count += *fields == ';';
    }
    return count;
}

/* Reads the type of a row, and all types to which it refers. NULL: out of
 * memory; then the caller removes the rows in `begun` from the cache. */
static kl__schema *schema_read(kl__schema_cache *to, size_t row)
{
    text from = {to, kl__schema_rows[row].fields};
    kl__schema *type = to->types[row];
    kl__schema_field *fields;

    if (type != NULL) {
        /* It may not be complete yet: a type can contain itself, and a caller
         * of this call is reading it. */
        return type;
    }
    type = schema_alloc(to, sizeof(*type));
    if (type == NULL) {
        return NULL;
    }
    to->types[row] = type;
    to->begun[to->begun_count++] = row;
    type->name = kl__schema_rows[row].name;
    type->go = short_name(type->name);
    type->type = KL__SCHEMA_OBJECT;
    if (*from.at == '%') {
        type->list = KL__LIST_ATOMIC;
        from.at++;
    }
    /* A reference to a type that is being read copies all of this, so it is set
     * before the fields are read. */
    type->field_count = count_fields(from.at);
    fields = schema_alloc(to, type->field_count * sizeof(*fields));
    if (fields == NULL) {
        return NULL;
    }
    type->fields = fields;
    for (size_t i = 0; i < type->field_count; i++) {
        if (!read_field(&from, &fields[i])) {
            return NULL;
        }
        from.at += *from.at == ';';
    }
    return type;
}

/* ---- lookups ---- */

const kl__schema_field *kl__schema_get(const kl__schema *schema,
                                       const char *name, size_t length)
{
    size_t low = 0;
    size_t high = schema != NULL ? schema->field_count : 0;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const kl__schema_field *field = &schema->fields[middle];
        int order = strncmp(name, field->name, length);

        if (order == 0 && strlen(field->name) == length) {
            return field;
        }
        if (order > 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

static const char meta[] = "io.k8s.apimachinery.pkg.apis.meta.v1.";

static const kl__schema *in_package(const char *prefix, const char *kind,
                                    kl_error *err)
{
    const char *const parts[] = {prefix, kind, ""};
    char name[256];

    if (!kl__strjoin(name, sizeof(name), parts)) {
        kl_error_set(err, KL_EUNKNOWN_KIND, "no kind has so long a name");
        return NULL;
    }
    return kl__schema_type_named(name, err);
}

const kl__schema *kl__schema_builtin(const char *group, const char *version,
                                     const char *kind, kl_error *err)
{
    const kl__schema_package *package = kl__schema_packages;
    const kl__schema *schema = NULL;
    kl_error own = {0};
    bool failed = false;

    err = err != NULL ? err : &own;
    while (package->group != NULL && (strcmp(package->group, group) != 0 ||
                                      strcmp(package->version, version) != 0)) {
        package++;
    }
    if (package->group != NULL) {
        schema = in_package(package->prefix, kind, err);
        failed = schema == NULL && err->code == KL_ENOMEM;
    }
    /* It may be a type that every group and version has: DeleteOptions. */
    if (schema == NULL && !failed) {
        schema = in_package(meta, kind, err);
    }
    return schema;
}

const kl__schema *kl__schema_metadata(kl_error *err)
{
    return in_package(meta, "ObjectMeta", err);
}

const char *kl__schema_name_at(size_t index)
{
    return index < kl__schema_row_count ? kl__schema_rows[index].name : NULL;
}
