/*
 * schema_restore.c - see schema_restore.h. If a number is given for a text, the
 * message is "cannot convert", as Go's reflection could convert these types,
 * although kube-apiserver refuses to. For types that Go cannot convert, it is
 * "unrecognized type".
 */
#include "sim/core/schema/schema_restore.h"

#include "sim/core/schema/schema_leaf.h"

#include <math.h>
#include <string.h>

/* Go's name for the kind of a value in a map[string]interface{}. */
static const char *kind_of(const kl__node *value)
{
    switch (kl__node_type(value)) {
    case KL_BOOL:
        return "bool";
    case KL_STRING:
        return "string";
    case KL_ARRAY:
        return "slice";
    case KL_OBJECT:
        return "map";
    case KL_INTEGER:
        return "int64";
    default:
        return "float64";
    }
}

static bool is_integer(const kl__schema *schema)
{
    return schema->type == KL__SCHEMA_INTEGER;
}

bool kl__restore_fits(const kl__node *value, const kl__schema *schema)
{
    const kl_type type = kl__node_type(value);
    const double number = kl__node_real(value);

    return is_integer(schema) &&
           (type == KL_INTEGER || (type == KL_REAL && number == trunc(number)));
}

/* The kind of a Go type: "v1.RestartPolicy" is a string. */
static const char *kind_named(const kl__schema *schema)
{
    switch (schema->type) {
    case KL__SCHEMA_INTEGER:
        return schema->format == KL__FORMAT_INT64 ? "int64" : "int32";
    case KL__SCHEMA_NUMBER:
        return "float64";
    case KL__SCHEMA_BOOLEAN:
        return "bool";
    default:
        return "string";
    }
}

/* Appends the message for types that have a decoder of their own (IntOrString,
 * times), which Go calls here too. */
static void put_decoded(kl__buf *out, const kl__node *value,
                        const kl__schema *schema)
{
    kl__buf_puts(out, "json: cannot unmarshal ");
    kl__leaf_put_found(out, value, schema);
    kl__buf_printf(out, " into Go value of type %s",
                   schema->type == KL__SCHEMA_INT_OR_STRING ? "int32"
                                                            : "string");
}

void kl__restore_put_fault(kl__buf *out, const kl__node *value,
                           const kl__schema *schema)
{
    const char *kind = kind_of(value);
    const bool is_number = strcmp(kind, "int64") == 0 ||
                           (strcmp(kind, "float64") == 0 && is_integer(schema));
    const bool decodes_itself = schema->type == KL__SCHEMA_INT_OR_STRING ||
                                (schema->type == KL__SCHEMA_STRING &&
                                 schema->format != KL__FORMAT_NONE &&
                                 schema->format != KL__FORMAT_BYTE);

    if (schema->type == KL__SCHEMA_OBJECT) {
        kl__buf_printf(out, "cannot restore struct from: %s", kind);
    } else if (schema->type == KL__SCHEMA_MAP) {
        kl__buf_printf(out, "cannot restore map from %s", kind);
    } else if (schema->type == KL__SCHEMA_ARRAY ||
               schema->format == KL__FORMAT_BYTE) {
        kl__buf_printf(out, "cannot restore slice from %s", kind);
    } else if (decodes_itself) {
        put_decoded(out, value, schema);
    } else if (is_number && schema->type != KL__SCHEMA_BOOLEAN) {
        kl__buf_printf(out, "cannot convert %s to %s", kind,
                       schema->go != NULL ? schema->go : kind_named(schema));
    } else {
        kl__buf_printf(out, "unrecognized type: %s", kind_named(schema));
    }
}
