/*
 * sim_table.c - see sim_table.h. sim_table_row.h describes the table of cells.
 */
#include "sim/core/table/sim_table.h"

#include "json/quote.h"
#include "sim/core/kinds/sim_columns.h"
#include "sim/core/table/sim_table_row.h"

#include <stdio.h>
#include <string.h>

enum { WORD_SIZE = 96 };

/* For kinds without a row in the tables. */
static const char default_columns[] = "Name::name|Created At:date";
static const char default_cells[] = "name|s metadata.creationTimestamp";

static bool is_of(const kl__sim_kind *kind, const char *group,
                  const char *plural)
{
    return strcmp(kind->group, group) == 0 && strcmp(kind->plural, plural) == 0;
}

static const char *columns_of(const kl__sim_kind *kind)
{
    for (size_t i = 0; kl__sim_columns_table[i].plural != NULL; i++) {
        if (is_of(kind, kl__sim_columns_table[i].group,
                  kl__sim_columns_table[i].plural)) {
            return kl__sim_columns_table[i].columns;
        }
    }
    return default_columns;
}

static const char *cells_of(const kl__sim_kind *kind)
{
    for (size_t i = 0; kl__sim_cells_table[i].plural != NULL; i++) {
        if (is_of(kind, kl__sim_cells_table[i].group,
                  kl__sim_cells_table[i].plural)) {
            return kl__sim_cells_table[i].cells;
        }
    }
    return default_cells;
}

bool kl__sim_table_is_plain(const kl__sim_kind *kind)
{
    return kl__sim_kind_is(kind, KL__SIM_CUSTOM) ||
           cells_of(kind) == default_cells;
}

static void write_member(const char *name, const char *text, size_t length,
                         kl__buf *out)
{
    kl__buf_printf(out, ",\"%s\":", name);
    kl__quote(out, text, length);
}

/* Writes one column: "Name[:type[:format]][!priority]". */
static void write_builtin_column(const char *text, size_t length, kl__buf *out)
{
    size_t name = strcspn(text, ":|!");
    const char *type = text + name + (text[name] == ':');
    size_t type_length = text[name] == ':' ? strcspn(type, ":|!") : 0;
    const char *format = type + type_length;
    size_t format_length = 0;

    if (*format == ':') {
        format++;
        format_length = strcspn(format, "|!");
    }
    kl__buf_puts(out, "{\"name\":");
    kl__quote(out, text, name);
    if (type_length == 0) {
        write_member("type", "string", 6, out);
    } else {
        write_member("type", type, type_length, out);
    }
    write_member("format", format, format_length, out);
    kl__buf_printf(out, ",\"description\":\"\",\"priority\":%d}",
                   text[length - 1] == '1' && text[length - 2] == '!');
}

static void write_custom_columns(const kl__sim_version *version, kl__buf *out)
{
    for (size_t i = 0; i < version->column_count; i++) {
        const kl__sim_column *column = &version->columns[i];

        kl__buf_puts(out, ",{\"name\":");
        kl__quote(out, column->name, strlen(column->name));
        write_member("type", column->type, strlen(column->type), out);
        write_member("format", column->format, strlen(column->format), out);
        write_member("description", column->description,
                     strlen(column->description), out);
        kl__buf_printf(out, ",\"priority\":%d}", column->priority);
    }
}

void kl__sim_table_columns(const kl__sim_kind *kind, const char *version,
                           kl__buf *out)
{
    bool is_custom = kl__sim_kind_is(kind, KL__SIM_CUSTOM);
    const char *at = is_custom ? "Name::name" : columns_of(kind);

    kl__buf_putc(out, '[');
    while (*at != '\0') {
        size_t length = strcspn(at, "|");

        write_builtin_column(at, length, out);
        at += length;
        if (*at == '|') {
            kl__buf_putc(out, ',');
            at++;
        }
    }
    if (is_custom) {
        const kl__sim_version *served =
            kl__sim_kind_version(kind, version, strlen(version));

        if (served != NULL) {
            write_custom_columns(served, out);
        }
    }
    kl__buf_putc(out, ']');
}

static void write_containers(const kl__sim_row *row, const char *path,
                             const char *member)
{
    const kl_value *containers =
        kl_value_get(kl__sim_at(row->root, path), "containers");
    kl_value_iter iter = {0};
    const kl_value *container;
    kl__buf text = {0};

    while ((container = kl_value_next(containers, &iter, NULL)) != NULL) {
        kl__sim_join(&text, ",", kl__sim_text_at(container, member, ""));
    }
    kl__sim_cell_take(row, &text);
}

static void write_count(const kl__sim_row *row, char *paths)
{
    size_t count = 0;
    char *save = NULL;

    for (char *path = strtok_r(paths, ",", &save); path != NULL;
         path = strtok_r(NULL, ",", &save)) {
        count += kl_value_size(kl__sim_at(row->root, path));
    }
    kl__sim_cell_integer(row, (int64_t)count);
}

static void write_special(const kl__sim_row *row, const char *name)
{
    static const kl__sim_special *const all[] = {kl__sim_specials_load,
                                                 kl__sim_specials_network,
                                                 kl__sim_specials_cluster};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        for (const kl__sim_special *at = all[i]; at->name != NULL; at++) {
            if (strcmp(at->name, name) == 0) {
                at->write(row);
                return;
            }
        }
    }
}

static void write_bool(const kl__sim_row *row, const char *path,
                       const char *absent)
{
    const kl_value *value = kl__sim_at(row->root, path);

    kl__sim_cell_bool(row,
                      value != NULL ? kl_value_bool(value) : *absent != '\0');
}

static void write_scalar(const kl__sim_row *row, bool as_text,
                         const kl_value *value, const char *absent)
{
    if (value == NULL) {
        kl__sim_cell_text(row, absent);
    } else if (kl_value_type(value) == KL_STRING) {
        kl__sim_cell_text(row, kl_value_string(value, NULL));
    } else if (as_text) {
        kl__sim_cell_printf(row, "%lld", (long long)kl_value_integer(value));
    } else {
        kl__sim_cell_integer(row, kl_value_integer(value));
    }
}

/* Writes the cell for a word of the form TYPE PATH[=absent]. */
static void write_typed(const kl__sim_row *row, char type, char *path,
                        const char *absent)
{
    const kl_value *value = kl__sim_at(row->root, path);
    char age[KL__SIM_AGE_SIZE];
    kl__buf text = {0};

    switch (type) {
    case 's':
        kl__sim_cell_text(row, kl__sim_text_at(row->root, path, absent));
        break;
    case 'i':
        kl__sim_cell_integer(row, kl_value_integer(value));
        break;
    case 'n':
    case 'N':
        write_scalar(row, type == 'N', value, absent);
        break;
    case 'b':
        write_bool(row, path, absent);
        break;
    case 'a':
        kl__sim_cell_text(
            row, value == NULL && *absent != '\0'
                     ? absent
                     : kl__sim_age(row, kl_value_string(value, NULL), age));
        break;
    case '#':
        write_count(row, path);
        break;
    case 'c':
    case 'm':
        write_containers(row, path, type == 'c' ? "name" : "image");
        break;
    case 'l':
        kl__sim_join_labels(&text, value, "<none>");
        kl__sim_cell_take(row, &text);
        break;
    default:
        kl__sim_join_selector(&text, value, "<none>");
        kl__sim_cell_take(row, &text);
        break;
    }
}

static void write_cell(const kl__sim_row *row, char *word)
{
    char *absent = strchr(word, '=');

    if (absent != NULL) {
        *absent++ = '\0';
    }
    if (*word == '&') {
        write_special(row, word + 1);
    } else if (strcmp(word, "name") == 0) {
        kl__sim_cell_text(row, kl__sim_text_at(row->root, "metadata.name", ""));
    } else if (strcmp(word, "age") == 0) {
        write_typed(row, 'a', (char[]){"metadata.creationTimestamp"}, "");
    } else {
        write_typed(row, word[0], word + 2, absent != NULL ? absent : "");
    }
}

void kl__sim_table_cells(const kl__sim_table *table, const kl_value *root,
                         kl__buf *out)
{
    const kl__sim_row row = {table, root, out};
    bool is_custom = kl__sim_kind_is(table->kind, KL__SIM_CUSTOM);
    const char *at = is_custom ? "name" : cells_of(table->kind);

    kl__buf_putc(out, '[');
    while (*at != '\0') {
        size_t length = strcspn(at, "|");
        char word[WORD_SIZE];

        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        write_cell(&row, word);
        at += length + (at[length] == '|');
    }
    if (is_custom) {
        const kl__sim_version *served = kl__sim_kind_version(
            table->kind, table->version, strlen(table->version));

        if (served != NULL) {
            kl__sim_cells_custom(&row, served);
        }
    }
    kl__buf_putc(out, ']');
}
