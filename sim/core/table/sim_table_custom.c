/*
 * sim_table_custom.c - cells of custom resources: the value at the JSON path of
 * each column; null if the value does not fit the type of the column.
 */
#include "sim/core/table/sim_table_row.h"

#include "config/timestamp.h"
#include "kubelua/error.h"
#include "kubelua/memory.h"
#include "sim/core/kinds/sim_jsonpath.h"

#include <math.h>
#include <string.h>

static bool is_number(kl_type type)
{
    return type == KL_INTEGER || type == KL_UNSIGNED || type == KL_REAL;
}

/* Any value as text; objects and arrays as JSON. */
static void write_any_text(const kl__sim_row *row, const kl_value *value)
{
    const char *text = kl_value_string(value, NULL);
    char *json;

    if (text != NULL) {
        kl__sim_cell_text(row, text);
        return;
    }
    json = kl_value_json(value, NULL, NULL);
    if (json == NULL) {
        row->out->failed = true;
        return;
    }
    kl__sim_cell_text(row, json);
    kl_free(json);
}

static void write_number(const kl__sim_row *row, const kl_value *value)
{
    char *json = kl_value_json(value, NULL, NULL);

    if (json == NULL) {
        row->out->failed = true;
        return;
    }
    kl__sim_cell_raw(row, json);
    kl_free(json);
}

static void write_date(const kl__sim_row *row, const kl_value *value)
{
    const char *text = kl_value_string(value, NULL);
    char age[KL__SIM_AGE_SIZE];
    int64_t ms;

    if (text == NULL) {
        kl__sim_cell_null(row);
    } else {
        kl__sim_cell_text(row, kl__timestamp_parse(text, &ms)
                                   ? kl__sim_age(row, text, age)
                                   : "<invalid>");
    }
}

static void write_typed(const kl__sim_row *row, const char *type,
                        const kl_value *value)
{
    kl_type found = kl_value_type(value);

    if (found == KL_NULL) {
        kl__sim_cell_null(row);
    } else if (strcmp(type, "string") == 0) {
        write_any_text(row, value);
    } else if (strcmp(type, "date") == 0) {
        write_date(row, value);
    } else if (strcmp(type, "boolean") == 0 && found == KL_BOOL) {
        kl__sim_cell_bool(row, kl_value_bool(value));
    } else if (strcmp(type, "integer") == 0 && is_number(found)) {
        kl__sim_cell_integer(row, found == KL_REAL
                                      ? (int64_t)trunc(kl_value_real(value))
                                      : kl_value_integer(value));
    } else if (strcmp(type, "number") == 0 && is_number(found)) {
        write_number(row, value);
    } else {
        kl__sim_cell_null(row);
    }
}

void kl__sim_cells_custom(const kl__sim_row *row,
                          const kl__sim_version *version)
{
    for (size_t i = 0; i < version->column_count; i++) {
        const kl__sim_column *column = &version->columns[i];

        write_typed(row, column->type,
                    kl__sim_jsonpath_first(column->path, row->root));
    }
}
