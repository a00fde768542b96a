/*
 * sim_columns.c - see sim_columns.h: reads additionalPrinterColumns, the
 * columns of `kubectl get` that a CustomResourceDefinition asks for.
 */
#include "sim/core/kinds/sim_columns.h"

#include "base/mem.h"
#include "base/str.h"

/* Makes the column of a definition that names none: Age. */
static bool make_default(kl__sim_version *version)
{
    kl__sim_column *column = kl__calloc(1, sizeof(*column));

    if (column == NULL) {
        return false;
    }
    version->columns = column;
    version->column_count = 1;
    column->name = kl__strdup("Age");
    column->type = kl__strdup("date");
    column->format = kl__strdup("");
    column->description = kl__strdup("");
    column->path = kl__strdup(".metadata.creationTimestamp");
    return column->name != NULL && column->type != NULL &&
           column->format != NULL && column->description != NULL &&
           column->path != NULL;
}

static char *copy_member(const kl_value *definition, const char *name)
{
    const char *text = kl_value_string(kl_value_get(definition, name), NULL);

    return kl__strdup(text != NULL ? text : "");
}

static bool read_column(kl__sim_column *column, const kl_value *definition)
{
    column->priority =
        (int)kl_value_integer(kl_value_get(definition, "priority"));
    column->name = copy_member(definition, "name");
    column->type = copy_member(definition, "type");
    column->format = copy_member(definition, "format");
    column->path = copy_member(definition, "jsonPath");
    column->description = copy_member(definition, "description");
    if (column->description != NULL && *column->description == '\0' &&
        column->path != NULL) {
        kl__free(column->description);
        column->description = kl__strprintf(
            "Custom resource definition column (in JSONPath format): %s",
            column->path);
    }
    return column->name != NULL && column->type != NULL &&
           column->format != NULL && column->path != NULL &&
           column->description != NULL;
}

bool kl__sim_columns_read(kl__sim_version *version, const kl_value *definition)
{
    const kl_value *columns =
        kl_value_get(definition, "additionalPrinterColumns");
    kl_value_iter iter = {0};
    const kl_value *column;

    if (kl_value_size(columns) == 0) {
        return make_default(version);
    }
    version->columns =
        kl__calloc(kl_value_size(columns), sizeof(*version->columns));
    if (version->columns == NULL) {
        return false;
    }
    while ((column = kl_value_next(columns, &iter, NULL)) != NULL) {
        if (!read_column(&version->columns[version->column_count++], column)) {
            return false;
        }
    }
    return true;
}

void kl__sim_columns_free(kl__sim_version *version)
{
    for (size_t i = 0; i < version->column_count; i++) {
        kl__free(version->columns[i].name);
        kl__free(version->columns[i].type);
        kl__free(version->columns[i].format);
        kl__free(version->columns[i].description);
        kl__free(version->columns[i].path);
    }
    kl__free(version->columns);
    version->columns = NULL;
    version->column_count = 0;
}
