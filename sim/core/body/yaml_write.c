/*
 * yaml_write.c - see yaml_write.h. libyaml breaks lines and chooses single
 * quotes; this file decides which texts need quotes, because a reader would
 * take them for numbers, dates or booleans.
 */
#include "sim/core/body/yaml_write.h"

#include "base/mem.h"
#include "config/yaml_scalar.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <yaml.h>

typedef struct printer {
    yaml_emitter_t emitter;
    kl__buf *out;
    bool failed;
} printer;

typedef struct member {
    const char *name;
    size_t length;
    const kl_value *value;
} member;

static int append_bytes(void *context, unsigned char *bytes, size_t length)
{
    printer *self = context;

    kl__buf_append(self->out, bytes, length);
    return !self->out->failed;
}

/* Emits the event. `made` is 0 if libyaml could not make the event; this fails
 * too. */
static void emit_event(printer *self, int made, yaml_event_t *event)
{
    if (self->failed || made == 0) {
        if (made != 0) {
            yaml_event_delete(event);
        }
        self->failed = true;
        return;
    }
    self->failed = yaml_emitter_emit(&self->emitter, event) == 0;
}

/* True if a text looks like a date: older readers would parse it as a time. */
static bool is_date(const char *text)
{
    for (int i = 0; i < 10; i++) {
        bool is_dash = i == 4 || i == 7;

        if (is_dash ? text[i] != '-' : !isdigit((unsigned char)text[i])) {
            return false;
        }
    }
    return text[10] == '\0' || strchr("Tt \t", text[10]) != NULL;
}

/* True if older readers take the text for a number in base 60: "1:30". */
static bool is_sexagesimal(const char *text)
{
    const char *colon = strchr(text, ':');

    return colon != NULL && isdigit((unsigned char)colon[1]) &&
           strspn(text, "-+0123456789_:.") == strlen(text);
}

static bool is_ambiguous(const char *text, size_t length)
{
    kl__yaml_node node = {0};
    kl__scalar scalar = {0};
    bool ambiguous;

    node.text = (char *)text;
    node.length = length;
    node.plain = true;
    ambiguous = kl__scalar_resolve(&node, &scalar, NULL) != KL_OK ||
                scalar.type != KL__SCALAR_STRING || is_date(text) ||
                is_sexagesimal(text);
    kl__scalar_deinit(&scalar);
    return ambiguous || strcmp(text, "<<") == 0 || strcmp(text, "=") == 0;
}

static void print_scalar(printer *self, const char *text, size_t length,
                         yaml_scalar_style_t style)
{
    yaml_event_t event;
    int made = yaml_scalar_event_initialize(&event, NULL, NULL,
                                            (const yaml_char_t *)text,
                                            (int)length, 1, 1, style);

    emit_event(self, made, &event);
}

static void print_text(printer *self, const char *text, size_t length)
{
    yaml_scalar_style_t style = YAML_PLAIN_SCALAR_STYLE;

    if (is_ambiguous(text, length)) {
        style = YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    } else if (memchr(text, '\n', length) != NULL) {
        style = YAML_LITERAL_SCALAR_STYLE;
    }
    print_scalar(self, text, length, style);
}

/* Compares names in go-yaml's order: letters after other characters, digits by
 * the number that they form. */
static int compare_yaml_names(const void *a, const void *b)
{
    const member *left = a, *right = b;
    size_t shared = left->length < right->length ? left->length : right->length;

    for (size_t i = 0; i < shared; i++) {
        unsigned char x = (unsigned char)left->name[i];
        unsigned char y = (unsigned char)right->name[i];

        if (x == y) {
            continue;
        }
        if (isdigit(x) && isdigit(y)) {
            long long m = atoll(left->name + i), n = atoll(right->name + i);

            if (m != n) {
                return m < n ? -1 : 1;
            }
        }
        if ((isalpha(x) != 0) != (isalpha(y) != 0)) {
            return isalpha(x) ? 1 : -1;
        }
        return x < y ? -1 : 1;
    }
    return (left->length > right->length) - (left->length < right->length);
}

static void print_value(printer *self, const kl_value *value);

static void print_members(printer *self, const kl_value *object)
{
    size_t count = 0;
    member *members = kl__calloc(kl_value_size(object) + 1, sizeof(*members));
    kl_value_iter iter = {0};
    const kl_value *name, *value;

    if (members == NULL) {
        self->failed = true;
        return;
    }
    while ((value = kl_value_next(object, &iter, &name)) != NULL) {
        members[count].name = kl_value_string(name, &members[count].length);
        members[count++].value = value;
    }
    qsort(members, count, sizeof(*members), compare_yaml_names);
    for (size_t i = 0; i < count && !self->failed; i++) {
        print_text(self, members[i].name, members[i].length);
        print_value(self, members[i].value);
    }
    kl__free(members);
}

static void print_object(printer *self, const kl_value *object)
{
    yaml_mapping_style_t style = kl_value_size(object) != 0
                                     ? YAML_BLOCK_MAPPING_STYLE
                                     : YAML_FLOW_MAPPING_STYLE;
    yaml_event_t event;

    emit_event(
        self, yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, style),
        &event);
    print_members(self, object);
    emit_event(self, yaml_mapping_end_event_initialize(&event), &event);
}

static void print_array(printer *self, const kl_value *array)
{
    yaml_sequence_style_t style = kl_value_size(array) != 0
                                      ? YAML_BLOCK_SEQUENCE_STYLE
                                      : YAML_FLOW_SEQUENCE_STYLE;
    kl_value_iter iter = {0};
    const kl_value *element;
    yaml_event_t event;

    emit_event(
        self,
        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, style),
        &event);
    while (!self->failed &&
           (element = kl_value_next(array, &iter, NULL)) != NULL) {
        print_value(self, element);
    }
    emit_event(self, yaml_sequence_end_event_initialize(&event), &event);
}

/* Prints a number, a boolean or null: YAML writes them as JSON does. */
static void print_word(printer *self, const kl_value *value)
{
    size_t length = 0;
    char *json = kl_value_json(value, &length, NULL);

    if (json == NULL) {
        self->failed = true;
        return;
    }
    print_scalar(self, json, length, YAML_PLAIN_SCALAR_STYLE);
    kl__free(json);
}

static void print_value(printer *self, const kl_value *value)
{
    size_t length;
    const char *text;

    switch (kl_value_type(value)) {
    case KL_OBJECT:
        print_object(self, value);
        break;
    case KL_ARRAY:
        print_array(self, value);
        break;
    case KL_STRING:
        text = kl_value_string(value, &length);
        print_text(self, text, length);
        break;
    default:
        print_word(self, value);
        break;
    }
}

kl_code kl__yaml_print(const kl_value *value, kl__buf *out, kl_error *err)
{
    printer self = {.out = out};
    yaml_event_t event;

    if (yaml_emitter_initialize(&self.emitter) == 0) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for YAML");
    }
    yaml_emitter_set_output(&self.emitter, append_bytes, &self);
    yaml_emitter_set_unicode(&self.emitter, 1);
    emit_event(&self,
               yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING),
               &event);
    emit_event(
        &self,
        yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1),
        &event);
    print_value(&self, value);
    emit_event(&self, yaml_document_end_event_initialize(&event, 1), &event);
    emit_event(&self, yaml_stream_end_event_initialize(&event), &event);
    yaml_emitter_delete(&self.emitter);
    return !self.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for YAML");
}
