/*
 * schema_check.c - see schema_check.h. Values are visited in the order of the
 * text, as Go's decoder does.
 */
#include "sim/core/schema/schema_check.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sim/core/schema/schema_leaf.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 100 /* the limit of a real server */ };

/* The path of a value, as a chain from the value to the root. */
typedef struct step {
    const struct step *up;
    const char *name; /* of a member; NULL: it is an element */
    size_t length;
    size_t index;
    const kl__schema_field *field; /* of a struct; NULL: it is in a map */
    const char *of;                /* the Go name of that struct */
} step;

typedef struct inspection {
    kl__findings *found;
    bool failed; /* out of memory */
} inspection;

void kl__findings_deinit(kl__findings *findings)
{
    for (size_t i = 0; i < findings->field_count; i++) {
        kl__free(findings->fields[i]);
    }
    kl__free(findings->fields);
    kl__free(findings->error);
    memset(findings, 0, sizeof(*findings));
}

static bool is_over(const inspection *search)
{
    return search->failed || search->found->error != NULL;
}

/* Appends "spec.containers[0].name". */
static void put_place(kl__buf *out, const step *at)
{
    if (at == NULL) {
        return;
    }
    put_place(out, at->up);
    if (at->name == NULL) {
        kl__buf_printf(out, "[%zu]", at->index);
        return;
    }
    if (at->up != NULL) {
        kl__buf_putc(out, '.');
    }
    kl__buf_append(out, at->name, at->length);
}

/* Appends a path of struct fields only, without indexes and map keys, but with
 * the names of inlined structs: "spec.containers.name". True if it appended
 * something. */
static bool put_fields(kl__buf *out, const step *at)
{
    if (at == NULL) {
        return false;
    }
    if (at->field == NULL) {
        return put_fields(out, at->up);
    }
    if (put_fields(out, at->up)) {
        kl__buf_putc(out, '.');
    }
    if (at->field->within != NULL) {
        kl__buf_printf(out, "%s.", at->field->within);
    }
    kl__buf_puts(out, at->field->name);
    return true;
}

static void put_go(kl__buf *out, const kl__schema *schema)
{
    while (schema->go == NULL) {
        kl__buf_puts(out,
                     schema->type == KL__SCHEMA_MAP ? "map[string]" : "[]");
        schema = schema->items;
    }
    kl__buf_puts(out, schema->go);
}

/* Sets the error that ends the search. */
static void end_with(inspection *search, kl__buf *text)
{
    search->found->error = kl__buf_take(text, NULL);
    search->failed = search->found->error == NULL;
}

/* Ends the search with "json: cannot unmarshal string into Go struct field
 * X.spec.y of type int32". `go`: the Go type; NULL: that of the schema. */
static void wrong_type(inspection *search, const kl__node *value,
                       const kl__schema *schema, const step *at, const char *go)
{
    const step *field = at;
    kl__buf text = {0};

    kl__buf_puts(&text, "json: cannot unmarshal ");
    kl__leaf_put_found(&text, value, schema);
    while (field != NULL && field->field == NULL) {
        field = field->up;
    }
    if (field != NULL) {
        kl__buf_printf(&text, " into Go struct field %s.", field->of);
        put_fields(&text, field);
    } else {
        kl__buf_puts(&text, " into Go value");
    }
    kl__buf_puts(&text, " of type ");
    if (go != NULL) {
        kl__buf_puts(&text, go);
    } else {
        put_go(&text, schema);
    }
    end_with(search, &text);
}

static void add_unknown(inspection *search, const step *at)
{
    kl__findings *found = search->found;
    kl__buf text = {0};
    char **grown;
    char *taken;

    if (found->field_count >= MOST_FIELDS) {
        return;
    }
    kl__buf_puts(&text, "unknown field \"");
    put_place(&text, at);
    kl__buf_putc(&text, '"');
    taken = kl__buf_take(&text, NULL);
    grown = taken != NULL
                ? kl__realloc(found->fields,
                              (found->field_count + 1) * sizeof(*grown))
                : NULL;
    if (grown != NULL) {
        found->fields = grown;
    }
    if (grown != NULL) {
        found->fields[found->field_count++] = taken;
    } else {
        search->failed = true;
        kl__free(taken);
    }
}

static void check_value_type(inspection *search, const kl__node *value,
                             const kl__schema *schema, const step *at);

/* "PodSpec" of "v1.PodSpec" */
static const char *bare_name(const char *go)
{
    const char *dot = strchr(go, '.');

    return dot != NULL ? dot + 1 : go;
}

static void check_struct(inspection *search, const kl__node *value,
                         const kl__schema *schema, const step *up)
{
    kl__node_iter iter = {0};
    step at = {.up = up, .of = bare_name(schema->go)};
    const kl__node *member;

    while (!is_over(search) && (member = kl__node_next(value, &iter, &at.name,
                                                       &at.length)) != NULL) {
        at.field = kl__schema_get(schema, at.name, at.length);
        if (at.field == NULL) {
            if ((schema->flags & KL__SCHEMA_PRESERVE) == 0) {
                add_unknown(search, &at);
            }
            continue;
        }
        check_value_type(search, member, at.field->schema, &at);
    }
}

static void check_map(inspection *search, const kl__node *value,
                      const kl__schema *schema, const step *up)
{
    kl__node_iter iter = {0};
    step at = {.up = up};
    const kl__node *member;

    while (!is_over(search) && (member = kl__node_next(value, &iter, &at.name,
                                                       &at.length)) != NULL) {
        check_value_type(search, member, schema->items, &at);
    }
}

static void check_array(inspection *search, const kl__node *value,
                        const kl__schema *schema, const step *up)
{
    kl__node_iter iter = {0};
    step at = {.up = up};
    const kl__node *element;

    while (!is_over(search) &&
           (element = kl__node_next(value, &iter, NULL, NULL)) != NULL) {
        check_value_type(search, element, schema->items, &at);
        at.index++;
    }
}

/* Checks a value that is neither struct, map nor array. */
static void check_leaf(inspection *search, const kl__node *value,
                       const kl__schema *schema, const step *at)
{
    const char *go = NULL;
    kl__buf why = {0};

    switch (kl__leaf_fits(value, schema, &why, &go)) {
    case KL__LEAF_FITS:
        break;
    case KL__LEAF_TYPE:
        wrong_type(search, value, schema, at, go);
        break;
    default:
        end_with(search, &why);
        return;
    }
    kl__buf_deinit(&why);
}

/* The schemas of bytes that are given as an array of numbers. */
static const kl__schema byte = {.type = KL__SCHEMA_INTEGER, .go = "uint8"};
static const kl__schema bytes = {.type = KL__SCHEMA_ARRAY, .items = &byte};

static void check_value_type(inspection *search, const kl__node *value,
                             const kl__schema *schema, const step *at)
{
    bool object = kl__node_is(value, KL_OBJECT);

    if (kl__node_type(value) == KL_NULL) {
        return;
    }
    if (schema->type == KL__SCHEMA_ANY) {
        return; /* any value fits */
    }
    if (schema->format == KL__FORMAT_BYTE && kl__node_is(value, KL_ARRAY)) {
        check_array(search, value, &bytes, at);
    } else if (schema->type == KL__SCHEMA_OBJECT && object) {
        check_struct(search, value, schema, at);
    } else if (schema->type == KL__SCHEMA_MAP && object) {
        check_map(search, value, schema, at);
    } else if (schema->type == KL__SCHEMA_ARRAY &&
               kl__node_is(value, KL_ARRAY)) {
        check_array(search, value, schema, at);
    } else if (schema->type == KL__SCHEMA_OBJECT ||
               schema->type == KL__SCHEMA_MAP ||
               schema->type == KL__SCHEMA_ARRAY) {
        wrong_type(search, value, schema, at, NULL);
    } else {
        check_leaf(search, value, schema, at);
    }
}

kl_code kl__schema_check(const kl__node *object, const kl__schema *schema,
                         kl__findings *out, kl_error *err)
{
    inspection search = {.found = out};

    memset(out, 0, sizeof(*out));
    check_value_type(&search, object, schema, NULL);
    return search.failed ? kl_error_set(err, KL_ENOMEM, "out of memory")
                         : KL_OK;
}
