/*
 * strict.c - see strict.h. Go decodes a JSON patch into structs.
 */
#include "sim/core/patch/strict.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sim/core/patch/patch.h"

static const char *go_type(const kl__node *node)
{
    static const char *const words[] = {"null",   "bool",   "number",
                                        "number", "number", "number",
                                        "string", "array",  "object"};

    return words[kl__node_type(node)];
}

static const kl__node *check_operation(const kl__node *operation,
                                       const char **field)
{
    static const char *const fields[] = {"op", "path", "from"};

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const kl__node *value = kl__node_get(operation, fields[i]);

        if (kl__node_type(value) != KL_NULL && !kl__node_is(value, KL_STRING)) {
            *field = fields[i];
            return value;
        }
    }
    return NULL;
}

kl_code kl__patch_check_operations(const kl__node *patch, kl_error *err)
{
    static const char what[] = "error decoding patch: json: cannot unmarshal";
    const kl__node *operation, *bad;
    kl__node_iter iter = {0};
    const char *field = "";

    if (kl__node_type(patch) == KL_NULL) {
        return KL_OK;
    }
    if (!kl__node_is(patch, KL_ARRAY)) {
        return kl__patch_refuse(err, 400,
                                "%s %s into Go value of type "
                                "[]handlers.jsonPatchOp",
                                what, go_type(patch));
    }
    while ((operation = kl__node_next(patch, &iter, NULL, NULL)) != NULL) {
        if (kl__node_type(operation) == KL_NULL) {
            continue;
        }
        if (!kl__node_is(operation, KL_OBJECT)) {
            return kl__patch_refuse(err, 400,
                                    "%s %s into Go value of type "
                                    "handlers.jsonPatchOp",
                                    what, go_type(operation));
        }
        bad = check_operation(operation, &field);
        if (bad != NULL) {
            return kl__patch_refuse(err, 400,
                                    "%s %s into Go struct field "
                                    "jsonPatchOp.%s of type string",
                                    what, go_type(bad), field);
        }
    }
    if (kl__node_size(patch) > KL__PATCH_MOST_OPERATIONS) {
        return kl__patch_refuse(err, 413,
                                "Request entity too large: The allowed maximum "
                                "operations in a JSON patch is %d, got %zu",
                                (int)KL__PATCH_MOST_OPERATIONS,
                                kl__node_size(patch));
    }
    return KL_OK;
}

/* Begins each finding with "json patch". */
static kl_code name_patch(kl__findings *found, kl_error *err)
{
    for (size_t i = 0; i < found->field_count; i++) {
        kl__buf text = {0};
        char *named;

        kl__buf_printf(&text, "json patch %s", found->fields[i]);
        named = kl__buf_take(&text, NULL);
        if (named == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a patch");
        }
        kl__free(found->fields[i]);
        found->fields[i] = named;
    }
    return KL_OK;
}

static const kl__schema anything = {.type = KL__SCHEMA_ANY};
static const kl__schema a_text = {.type = KL__SCHEMA_STRING, .go = "string"};
static const kl__schema_field members[] = {
    {.name = "from", .schema = &a_text},
    {.name = "op", .schema = &a_text},
    {.name = "path", .schema = &a_text},
    {.name = "value", .schema = &anything}};
static const kl__schema operation = {.go = "handlers.jsonPatchOp",
                                     .type = KL__SCHEMA_OBJECT,
                                     .fields = members,
                                     .field_count =
                                         sizeof(members) / sizeof(members[0])};
static const kl__schema operations = {.type = KL__SCHEMA_ARRAY,
                                      .items = &operation};

kl_code kl__patch_check(const kl__node *patch, kl__findings *out, kl_error *err)
{
    kl_code code = kl__schema_check(patch, &operations, out, err);

    return code == KL_OK ? name_patch(out, err) : code;
}
