/*
 * schema.c - see schema.h: finds fields in schemas, and schemas by the names of
 * kinds.
 */
#include "sim/core/schema/schema.h"

#include "base/str.h"
#include "sim/core/schema/schema_table.h"

#include <string.h>

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
