/*
 * sim_table_text.c - see sim_table_row.h: writes cells of every type, and the
 * texts that kinds have in common: ages, labels, selectors.
 */
#include "sim/core/table/sim_table_row.h"

#include "base/mem.h"
#include "config/timestamp.h"
#include "json/quote.h"
#include "sim/core/request/sim_ask.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_SIZE = 512, MAX_SORTED = 256 };

static void begin_cell(const kl__sim_row *row)
{
    if (row->out->length != 0 && row->out->bytes[row->out->length - 1] != '[') {
        kl__buf_putc(row->out, ',');
    }
}

void kl__sim_cell_text(const kl__sim_row *row, const char *text)
{
    begin_cell(row);
    kl__quote(row->out, text, strlen(text));
}

void kl__sim_cell_printf(const kl__sim_row *row, const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    kl__sim_make_utf8(text);
    kl__sim_cell_text(row, text);
}

void kl__sim_cell_integer(const kl__sim_row *row, int64_t value)
{
    begin_cell(row);
    kl__buf_printf(row->out, "%" PRId64, value);
}

void kl__sim_cell_bool(const kl__sim_row *row, bool value)
{
    begin_cell(row);
    kl__buf_puts(row->out, value ? "true" : "false");
}

void kl__sim_cell_raw(const kl__sim_row *row, const char *json)
{
    begin_cell(row);
    kl__buf_puts(row->out, json);
}

void kl__sim_cell_null(const kl__sim_row *row)
{
    kl__sim_cell_raw(row, "null");
}

void kl__sim_cell_take(const kl__sim_row *row, kl__buf *text)
{
    if (text->failed) {
        row->out->failed = true;
    } else {
        kl__sim_cell_text(row, text->length != 0 ? text->bytes : "");
    }
    kl__buf_deinit(text);
}

const kl_value *kl__sim_at(const kl_value *value, const char *path)
{
    for (;;) {
        size_t length = strcspn(path, ".");

        value = kl_value_get_n(value, path, length);
        if (path[length] == '\0' || value == NULL) {
            return value;
        }
        path += length + 1;
    }
}

const char *kl__sim_text_at(const kl_value *value, const char *path,
                            const char *otherwise)
{
    const char *text = kl_value_string(kl__sim_at(value, path), NULL);

    return text != NULL ? text : otherwise;
}

const char *kl__sim_duration(int64_t ms, char *age)
{
    /* Each row is for times below `below` seconds, and not below that of the
     * row before. They are written in units of `unit` seconds ("5h"); the rest
     * in units of `minor` seconds, if it is not 0 ("5h12m"). */
    static const struct {
        int64_t below;
        int64_t unit;
        char name;
        int64_t minor; /* 0: none */
        char minor_name;
    } steps[] = {{120, 1, 's', 0, 0},
                 {600, 60, 'm', 1, 's'},
                 {3 * 3600, 60, 'm', 0, 0},
                 {8 * 3600, 3600, 'h', 60, 'm'},
                 {48 * 3600, 3600, 'h', 0, 0},
                 {INT64_C(8) * 86400, 86400, 'd', 3600, 'h'},
                 {INT64_C(730) * 86400, 86400, 'd', 0, 0},
                 {INT64_C(2920) * 86400, INT64_C(365) * 86400, 'y', 86400, 'd'},
                 {INT64_MAX, INT64_C(365) * 86400, 'y', 0, 0}};
    int64_t seconds = ms / 1000;
    size_t at = 0;
    int64_t minor;

    if (seconds < -1) {
        return "<invalid>";
    }
    if (seconds < 0) {
        return "0s";
    }
    while (seconds >= steps[at].below) {
        at++;
    }
    minor =
        steps[at].minor != 0 ? seconds % steps[at].unit / steps[at].minor : 0;
    if (minor != 0) {
        snprintf(age, KL__SIM_AGE_SIZE, "%" PRId64 "%c%" PRId64 "%c",
                 seconds / steps[at].unit, steps[at].name, minor,
                 steps[at].minor_name);
    } else {
        snprintf(age, KL__SIM_AGE_SIZE, "%" PRId64 "%c",
                 seconds / steps[at].unit, steps[at].name);
    }
    return age;
}

const char *kl__sim_age(const kl__sim_row *row, const char *timestamp,
                        char *age)
{
    int64_t ms;

    if (timestamp == NULL || !kl__timestamp_parse(timestamp, &ms)) {
        return "<unknown>";
    }
    return kl__sim_duration(row->table->now_ms - ms, age);
}

void kl__sim_join(kl__buf *out, const char *separator, const char *text)
{
    if (out->length != 0) {
        kl__buf_puts(out, separator);
    }
    kl__buf_puts(out, text);
}

/* Compares the keys of two requirements of a selector. */
static int compare_label_keys(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;

    return strcmp(left + (*left == '!'), right + (*right == '!'));
}

/* Texts that are sorted before they are written; at most MAX_SORTED of them,
 * the others are left out. */
typedef struct sorted {
    char *texts[MAX_SORTED];
    size_t count;
    bool failed;
} sorted;

static void add_sorted(sorted *all, kl__buf *text)
{
    char *bytes = all->count < MAX_SORTED ? kl__buf_take(text, NULL) : NULL;

    if (bytes != NULL) {
        all->texts[all->count++] = bytes;
    } else {
        all->failed = all->failed || all->count < MAX_SORTED;
        kl__buf_deinit(text);
    }
}

static void write_sorted(sorted *all, kl__buf *out, const char *nothing)
{
    qsort(all->texts, all->count, sizeof(all->texts[0]), compare_label_keys);
    for (size_t i = 0; i < all->count; i++) {
        kl__buf_puts(out, i != 0 ? "," : "");
        kl__buf_puts(out, all->texts[i]);
        kl__free(all->texts[i]);
    }
    if (all->count == 0) {
        kl__buf_puts(out, nothing);
    }
    out->failed = out->failed || all->failed;
}

static void collect_labels(sorted *all, const kl_value *labels)
{
    kl_value_iter iter = {0};
    const kl_value *key, *value;

    while ((value = kl_value_next(labels, &iter, &key)) != NULL) {
        const char *text = kl_value_string(value, NULL);
        kl__buf pair = {0};

        kl__buf_printf(&pair, "%s=%s", kl_value_string(key, NULL),
                       text != NULL ? text : "");
        add_sorted(all, &pair);
    }
}

void kl__sim_join_labels(kl__buf *out, const kl_value *labels,
                         const char *nothing)
{
    sorted all = {.count = 0};

    collect_labels(&all, labels);
    write_sorted(&all, out, nothing);
}

static void write_values(kl__buf *out, const kl_value *values)
{
    sorted all = {.count = 0};
    kl_value_iter iter = {0};
    const kl_value *value;

    while ((value = kl_value_next(values, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(value, NULL);
        kl__buf copy = {0};

        kl__buf_puts(&copy, text != NULL ? text : "");
        add_sorted(&all, &copy);
    }
    kl__buf_puts(out, " (");
    write_sorted(&all, out, "");
    kl__buf_putc(out, ')');
}

static void collect_expressions(sorted *all, const kl_value *expressions)
{
    kl_value_iter iter = {0};
    const kl_value *one;

    while ((one = kl_value_next(expressions, &iter, NULL)) != NULL) {
        const char *key = kl__sim_text_at(one, "key", "");
        const char *operator= kl__sim_text_at(one, "operator", "");
        bool is_in = strcmp(operator, "In") == 0;
        kl__buf text = {0};

        if (strcmp(operator, "DoesNotExist") == 0) {
            kl__buf_putc(&text, '!');
        }
        kl__buf_puts(&text, key);
        if (is_in || strcmp(operator, "NotIn") == 0) {
            kl__buf_puts(&text, is_in ? " in" : " notin");
            write_values(&text, kl_value_get(one, "values"));
        }
        add_sorted(all, &text);
    }
}

void kl__sim_join_selector(kl__buf *out, const kl_value *selector,
                           const char *nothing)
{
    sorted all = {.count = 0};

    collect_labels(&all, kl_value_get(selector, "matchLabels"));
    collect_expressions(&all, kl_value_get(selector, "matchExpressions"));
    write_sorted(&all, out, nothing);
}

const kl_value *kl__sim_with(const kl_value *array, const char *member,
                             const char *text)
{
    kl_value_iter iter = {0};
    const kl_value *one;

    while ((one = kl_value_next(array, &iter, NULL)) != NULL) {
        if (strcmp(kl__sim_text_at(one, member, ""), text) == 0) {
            return one;
        }
    }
    return NULL;
}

const char *kl__sim_scalar(const kl_value *value, char *room)
{
    const char *text = kl_value_string(value, NULL);

    if (text != NULL) {
        return text;
    }
    if (kl_value_type(value) != KL_INTEGER) {
        return "";
    }
    snprintf(room, KL__SIM_SCALAR_SIZE, "%" PRId64, kl_value_integer(value));
    return room;
}

void kl__sim_lower(char *text)
{
    for (; *text != '\0'; text++) {
        if (*text >= 'A' && *text <= 'Z') {
            *text = (char)(*text - 'A' + 'a');
        }
    }
}
