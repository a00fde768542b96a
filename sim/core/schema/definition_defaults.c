/*
 * definition_defaults.c - see definition_parts.h: the defaults in a schema must
 * be valid by that schema.
 */
#include "sim/core/schema/definition_parts.h"

#include "sim/core/schema/custom.h"

#include <string.h>

/* Adds an error if pruning would change the default. */
static void check_pruned(kl__definition *self, const kl__schema *known,
                         const kl_value *initial)
{
    kl__edit *edit = kl__edit_of(initial, NULL);
    kl__buf unknown = {0};

    if (edit == NULL ||
        kl__custom_prune(known, kl__edit_root(edit), &unknown, NULL) != KL_OK) {
        self->errors->failed = true;
    } else if (unknown.length != 0) {
        kl__definition_refuse_value(self, ".default", initial,
                                    "must not have unknown fields");
    }
    kl__buf_deinit(&unknown);
    kl__edit_free(edit);
}

static void check_default(kl__definition *self, const kl_value *schema,
                          const kl__schema *known)
{
    const kl_value *initial = kl_value_get(schema, "default");
    kl__edit *edit;
    size_t before, count = self->errors->count;

    if (kl_value_type(initial) == KL_NULL) {
        return;
    }
    check_pruned(self, known, initial);
    edit = kl__edit_of(initial, NULL);
    before = kl__definition_enter(self, ".default");
    if (edit == NULL || self->path.failed) {
        self->errors->failed = true;
    } else if (self->errors->count == count) {
        kl__custom_validate(schema, kl__edit_root(edit), NULL, self->path.bytes,
                            self->errors);
    }
    kl__definition_leave(self, before);
    kl__edit_free(edit);
}

static void check_defaults(kl__definition *self, const kl_value *schema,
                           const kl__schema *known)
{
    const kl_value *properties = kl__definition_object(schema, "properties");
    const kl_value *items = kl_value_get(schema, "items"), *property, *name;
    kl_value_iter iter = {0};
    size_t before;

    check_default(self, schema, known);
    if (kl_value_type(items) == KL_OBJECT && known->type == KL__SCHEMA_ARRAY &&
        known->items != NULL) {
        before = kl__definition_enter(self, ".items");
        check_defaults(self, items, known->items);
        kl__definition_leave(self, before);
    }
    while ((property = kl_value_next(properties, &iter, &name)) != NULL) {
        size_t length;
        const char *text = kl_value_string(name, &length);
        const kl__schema *field = kl__custom_field(known, text, length);

        if (field != NULL && (field->flags & KL__SCHEMA_CUSTOM) != 0) {
            before = kl__definition_enter(self, ".properties[%s]", text);
            check_defaults(self, property, field);
            kl__definition_leave(self, before);
        }
    }
}

bool kl__definition_defaults(kl__definition *self, const kl_value *schema)
{
    kl__schema *known = kl__schema_custom(schema, NULL);
    size_t before = self->errors->count;

    if (known == NULL) {
        self->errors->failed = true;
        return false;
    }
    check_defaults(self, schema, known);
    kl__schema_free(known);
    return self->errors->count == before;
}
