/*
 * field_set.c - see field_set.h. Each operation on sets walks through two
 * sorted sets side by side, so its time is linear.
 */
#include "sim/core/patch/field_set.h"

#include "base/map.h"
#include "base/mem.h"
#include "json/quote.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 16 };

/* --- Order. --------------------------------------------------------------- */

/* Compares by bytes, the order in which managedFields are stored; "." comes
 * first. <0, 0, >0. */
static int field_compare(const char *a, size_t a_length, const char *b,
                         size_t b_length)
{
    size_t shorter = a_length < b_length ? a_length : b_length;
    int order = memcmp(a, b, shorter);

    if (order != 0) {
        return order;
    }
    return a_length < b_length ? -1 : a_length > b_length;
}

/* --- Canonical form. ------------------------------------------------------ */

typedef struct key {
    const char *name;
    const kl__node *value;    /* the element's own value; NULL: see below */
    const kl_value *constant; /* the default from the schema; NULL: see below */
    const char *zero;         /* Go's zero value, as JSON */
} key;

static int compare_keys(const void *a, const void *b)
{
    return strcmp(((const key *)a)->name, ((const key *)b)->name);
}

static void write_node(kl__buf *out, const kl__node *node)
{
    const char *text;
    size_t length;
    char *json;

    switch (kl__node_type(node)) {
    case KL_STRING:
        text = kl__node_string(node, &length);
        kl__quote(out, text, length);
        return;
    case KL_INTEGER:
        kl__buf_printf(out, "%" PRId64, kl__node_integer(node));
        return;
    default:
        break;
    }
    json = kl__node_json(node, &length, NULL);
    if (json == NULL) {
        out->failed = true;
        return;
    }
    kl__buf_append(out, json, length);
    kl__free(json);
}

static void write_constant(kl__buf *out, const kl_value *value)
{
    const char *text;
    size_t length;

    switch (kl_value_type(value)) {
    case KL_STRING:
        text = kl_value_string(value, &length);
        kl__quote(out, text, length);
        break;
    case KL_BOOL:
        kl__buf_puts(out, kl_value_bool(value) ? "true" : "false");
        break;
    default:
        kl__buf_printf(out, "%" PRId64, kl_value_integer(value));
    }
}

static void write_keys(kl__buf *out, key *keys, size_t count)
{
    qsort(keys, count, sizeof(*keys), compare_keys);
    kl__buf_puts(out, "k:{");
    for (size_t i = 0; i < count; i++) {
        kl__buf_puts(out, i > 0 ? "," : "");
        kl__quote(out, keys[i].name, strlen(keys[i].name));
        kl__buf_putc(out, ':');
        if (keys[i].value != NULL) {
            write_node(out, keys[i].value);
        } else if (keys[i].zero != NULL) {
            kl__buf_puts(out, keys[i].zero);
        } else {
            write_constant(out, keys[i].constant);
        }
    }
    kl__buf_putc(out, '}');
}

static kl_code refuse_name(const char *name, kl_error *err)
{
    return kl_error_set(err, KL_EPARSE, "\"%.100s\" is no field of a set",
                        name);
}

/* Rewrites the name of a value or of merge keys in canonical form. */
static kl_code rewrite_name(kl__edit *edit, const char *name, size_t length,
                            kl__buf *out, kl_error *err)
{
    kl__node *value = kl__edit_parse(edit, name + 2, length - 2, err);
    key keys[MOST_KEYS] = {{0}};
    kl__node_iter iter = {0};
    size_t count = 0;

    if (value == NULL) {
        return err != NULL && err->code == KL_ENOMEM ? KL_ENOMEM
                                                     : refuse_name(name, err);
    }
    if (*name == 'v') {
        kl__buf_puts(out, "v:");
        write_node(out, value);
        return KL_OK;
    }
    if (!kl__node_is(value, KL_OBJECT) || kl__node_size(value) > MOST_KEYS) {
        return refuse_name(name, err);
    }
    while ((keys[count].value =
                kl__node_next(value, &iter, &keys[count].name, NULL)) != NULL) {
        if (++count == MOST_KEYS) {
            break;
        }
    }
    write_keys(out, keys, count);
    return KL_OK;
}

/* Replaces a name by its canonical form, which lives as long as the document.
 * KL_EPARSE: malformed; KL_ENOMEM. */
static kl_code field_canonical(kl__edit *edit, const char **name,
                               size_t *length, kl_error *err)
{
    kl_error local = {0};
    kl__buf out = {0};
    kl__node *kept;
    kl_code code;

    if (*length == 1 && **name == '.') {
        return KL_OK;
    }
    if (*length < 2 || (*name)[1] != ':' || strchr("fkvi", **name) == NULL) {
        return refuse_name(*name, err);
    }
    if (**name == 'f') {
        return KL_OK;
    }
    if (**name == 'i') {
        return *length > 2 && strspn(*name + 2, "0123456789") == *length - 2
                   ? KL_OK
                   : refuse_name(*name, err);
    }
    code = rewrite_name(edit, *name, *length, &out, &local);
    kept = code == KL_OK && !out.failed
               ? kl__edit_text_n(edit, out.bytes, out.length)
               : NULL;
    kl__buf_deinit(&out);
    if (code != KL_OK) {
        return kl_error_set(err, code, "%s", local.message);
    }
    if (kept == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for fields");
    }
    *name = kl__node_string(kept, length);
    return KL_OK;
}

/* --- Elements of lists. --------------------------------------------------- */

/* Finds the value of a key that an element lacks: its default, or the zero
 * value that Go writes for a member without omitempty, or none (NULL). */
static void find_default(const kl__schema *list, key *one)
{
    const kl__schema_field *field =
        list->items != NULL && list->items->type == KL__SCHEMA_OBJECT
            ? kl__schema_get(list->items, one->name, strlen(one->name))
            : NULL;
    const unsigned left_out = KL__SCHEMA_CUSTOM | KL__SCHEMA_POINTER |
                              KL__SCHEMA_OMIT_EMPTY | KL__SCHEMA_OMIT_ZERO;

    if (field == NULL) {
        return;
    }
    one->constant = field->schema->initial;
    if (one->constant == NULL && (field->schema->flags & left_out) == 0 &&
        (list->items->flags & KL__SCHEMA_CUSTOM) == 0) {
        one->zero = field->schema->type == KL__SCHEMA_STRING    ? "\"\""
                    : field->schema->type == KL__SCHEMA_INTEGER ? "0"
                                                                : NULL;
    }
}

static void explain_name(char *why, size_t size, const char *text)
{
    if (why != NULL) {
        snprintf(why, size, "%s", text);
    }
}

static void explain_keys(char *why, size_t size, const kl__schema *list)
{
    kl__buf keys = {0};

    for (size_t i = 0; why != NULL && list->map_keys[i] != NULL; i++) {
        kl__buf_printf(&keys, "%s\"%s\"", i > 0 ? " " : "", list->map_keys[i]);
    }
    if (why != NULL) {
        snprintf(why, size,
                 "associative list with keys has an element that omits all "
                 "key fields [%s] (and doesn't have default values for any "
                 "key fields)",
                 keys.bytes != NULL ? keys.bytes : "");
    }
    kl__buf_deinit(&keys);
}

static bool name_by_keys(kl__buf *out, const kl__schema *list,
                         const kl__node *element, char *why, size_t size)
{
    key keys[MOST_KEYS];
    size_t count = 0;

    if (!kl__node_is(element, KL_OBJECT)) {
        explain_name(
            why, size,
            kl__node_type(element) == KL_NULL
                ? "associative list with keys may not have a null element"
                : "associative list with keys may not have non-map "
                  "elements");
        return false;
    }
    for (size_t i = 0; list->map_keys != NULL && list->map_keys[i] != NULL &&
                       count < MOST_KEYS;
         i++) {
        const char *name = list->map_keys[i];

        keys[count] = (key){.name = name, .value = kl__node_get(element, name)};
        if (keys[count].value == NULL) {
            find_default(list, &keys[count]);
        }
        count += keys[count].value != NULL || keys[count].constant != NULL ||
                 keys[count].zero != NULL;
    }
    if (count == 0) {
        explain_keys(why, size, list);
        return false;
    }
    write_keys(out, keys, count);
    return true;
}

bool kl__field_of_element(kl__buf *out, const kl__schema *list,
                          const kl__node *element, char *why, size_t size)
{
    if (list->list == KL__LIST_MAP) {
        return name_by_keys(out, list, element, why, size);
    }
    switch (kl__node_type(element)) {
    case KL_OBJECT:
        explain_name(
            why, size,
            "associative list without keys has an element that's a map "
            "type");
        return false;
    case KL_ARRAY:
        explain_name(why, size,
                     "not supported: associative list with lists as elements");
        return false;
    case KL_NULL:
        explain_name(why, size,
                     "associative list without keys has an element that's an "
                     "explicit null");
        return false;
    default:
        kl__buf_puts(out, "v:");
        write_node(out, element);
        return true;
    }
}

/* --- In words. ------------------------------------------------------------ */

/* The end of a JSON scalar. */
static size_t skip_scalar(const char *json, size_t length, size_t at)
{
    bool in_text = false;

    for (; at < length; at++) {
        if (in_text && json[at] == '\\') {
            at++;
        } else if (json[at] == '"') {
            in_text = !in_text;
        } else if (!in_text && (json[at] == ',' || json[at] == '}')) {
            break;
        }
    }
    return at < length ? at : length;
}

/* Appends keys in their canonical form: {"a":1,"b":"x"} becomes [a=1,b="x"]. */
static void put_keys_in_words(kl__buf *out, const char *json, size_t length)
{
    size_t at = 1;

    kl__buf_putc(out, '[');
    while (at + 1 < length) {
        const char *name = json + at + 1;
        const char *quote = memchr(name, '"', length - at - 1);
        size_t value, end;

        if (quote == NULL) {
            break;
        }
        value = (size_t)(quote - json) + 2;
        end = skip_scalar(json, length, value < length ? value : length);
        kl__buf_puts(out, at > 1 ? "," : "");
        kl__buf_append(out, name, (size_t)(quote - name));
        kl__buf_putc(out, '=');
        if (value < end) {
            kl__buf_append(out, json + value, end - value);
        }
        at = end + 1;
    }
    kl__buf_putc(out, ']');
}

void kl__fields_text(kl__buf *out, const char *name, size_t length)
{
    switch (length > 1 ? *name : '\0') {
    case 'f':
        kl__buf_putc(out, '.');
        kl__buf_append(out, name + 2, length - 2);
        break;
    case 'k':
        put_keys_in_words(out, name + 2, length - 2);
        break;
    case 'v':
        kl__buf_puts(out, "[=");
        kl__buf_append(out, name + 2, length - 2);
        kl__buf_putc(out, ']');
        break;
    default:
        kl__buf_putc(out, '[');
        kl__buf_append(out, name + 2, length - 2);
        kl__buf_putc(out, ']');
    }
}

/* ---- sets ---- */

/* One of the two sets, and where the walk is in it. */
typedef struct set_side {
    const kl__node *set;
    kl__node_iter iter;
    kl__node *element; /* NULL at the end */
    const char *name;
    size_t length;
} set_side;

static bool is_self(const char *name, size_t length)
{
    return length == 1 && *name == '.';
}

static void advance_side(set_side *side)
{
    do {
        side->element =
            kl__node_next(side->set, &side->iter, &side->name, &side->length);
    } while (side->element != NULL && is_self(side->name, side->length));
}

static set_side side_of(const kl__node *set)
{
    set_side first = {.set = set};

    advance_side(&first);
    return first;
}

/* Moves `other` forward to the name of the element of `at`; true if `other` has
 * an element of that name. */
static bool catch_up(set_side *other, const set_side *at)
{
    int order = -1;

    while (other->element != NULL &&
           (order = field_compare(other->name, other->length, at->name,
                                  at->length)) < 0) {
        advance_side(other);
    }
    return other->element != NULL && order == 0;
}

static bool has_self(const kl__node *element)
{
    kl__node_iter iter = {0};
    const char *name;
    size_t length;

    return kl__node_next(element, &iter, &name, &length) != NULL &&
           is_self(name, length);
}

bool kl__fields_has(const kl__node *element)
{
    return kl__node_size(element) == 0 || has_self(element);
}

kl__node *kl__fields_begin(kl__edit *edit, bool is_member)
{
    kl__node *element = kl__edit_object(edit);

    if (element != NULL && is_member &&
        !kl__node_add_n(edit, element, ".", 1, kl__edit_object(edit))) {
        return NULL;
    }
    return element;
}

bool kl__fields_end(kl__edit *edit, kl__node *parent, const char *name,
                    size_t length, kl__node *element)
{
    if (element == NULL || !kl__fields_sort(edit, element)) {
        return false;
    }
    if (kl__node_size(element) == 0) {
        return true;
    }
    if (kl__node_size(element) == 1 && has_self(element)) {
        kl__node_clear(element);
    }
    return kl__node_add_n(edit, parent, name, length, element);
}

/* --- Sorting. ------------------------------------------------------------- */

bool kl__fields_sort(kl__edit *edit, kl__node *set)
{
    return kl__node_sort(edit, set, field_compare);
}

/* --- Subtracting. --------------------------------------------------------- */

/* Removes the fields of `other` from an element; true if nothing is left. */
static bool reduce_element(kl__node *element, const kl__node *other, bool deep)
{
    bool remains = kl__fields_has(element) && !kl__fields_has(other);
    bool has_dot = has_self(element);

    if (deep && kl__fields_has(other)) {
        return true;
    }
    kl__fields_subtract(element, other, deep);
    if (kl__node_size(element) == (has_dot ? 1 : 0)) {
        kl__node_clear(element);
        return !remains;
    }
    if (has_dot && !remains) {
        kl__node_remove(element, ".");
    }
    return false;
}

void kl__fields_subtract(kl__node *set, const kl__node *other, bool deep)
{
    set_side at = side_of(set), theirs = side_of(other);

    while (at.element != NULL && theirs.element != NULL) {
        if (catch_up(&theirs, &at) &&
            reduce_element(at.element, theirs.element, deep)) {
            kl__node_drop(&at.iter);
        }
        advance_side(&at);
    }
}

/* --- Uniting. ------------------------------------------------------------- */

bool kl__fields_mark(kl__edit *edit, kl__node *element)
{
    kl__node *marked;
    kl__node_iter iter = {0};
    kl__node *child;
    const char *name;
    size_t length;

    if (kl__fields_has(element)) {
        return true;
    }
    marked = kl__fields_begin(edit, true);
    while (marked != NULL &&
           (child = kl__node_next(element, &iter, &name, &length)) != NULL) {
        kl__node_drop(&iter);
        if (!kl__node_add_n(edit, marked, name, length, child)) {
            return false;
        }
    }
    if (marked != NULL) {
        kl__node_become(element, marked);
    }
    return marked != NULL;
}

static bool unite_element(kl__edit *edit, kl__node *element,
                          const kl__node *other)
{
    if (kl__node_size(element) == 0) {
        if (kl__node_size(other) == 0) {
            return true;
        }
        if (!kl__node_add_n(edit, element, ".", 1, kl__edit_object(edit))) {
            return false;
        }
    } else if (kl__fields_has(other) && !kl__fields_mark(edit, element)) {
        return false;
    }
    return kl__fields_unite(edit, element, other);
}

bool kl__fields_unite(kl__edit *edit, kl__node *set, const kl__node *other)
{
    kl__node *extra = kl__edit_object(edit), *element;
    set_side at = side_of(set), theirs = side_of(other);
    kl__node_iter iter = {0};
    const char *name;
    size_t length;

    for (; extra != NULL && theirs.element != NULL; advance_side(&theirs)) {
        bool done =
            catch_up(&at, &theirs)
                ? unite_element(edit, at.element, theirs.element)
                : kl__node_add_n(edit, extra, theirs.name, theirs.length,
                                 kl__edit_copy(edit, theirs.element));

        if (!done) {
            return false;
        }
    }
    while ((element = kl__node_next(extra, &iter, &name, &length)) != NULL) {
        kl__node_drop(&iter);
        if (!kl__node_add_n(edit, set, name, length, element)) {
            return false;
        }
    }
    return extra != NULL && kl__fields_sort(edit, set);
}

static bool intersect_into(kl__edit *edit, kl__node *into, const kl__node *a,
                           const kl__node *b)
{
    set_side at = side_of(a), theirs = side_of(b);

    for (; at.element != NULL && theirs.element != NULL; advance_side(&at)) {
        kl__node *both;

        if (!catch_up(&theirs, &at)) {
            continue;
        }
        both = kl__fields_begin(edit, kl__fields_has(at.element) &&
                                          kl__fields_has(theirs.element));
        if (both == NULL ||
            !intersect_into(edit, both, at.element, theirs.element) ||
            !kl__fields_end(edit, into, at.name, at.length, both)) {
            return false;
        }
    }
    return true;
}

kl__node *kl__fields_intersect(kl__edit *edit, const kl__node *a,
                               const kl__node *b)
{
    kl__node *both = kl__edit_object(edit);

    return both != NULL && intersect_into(edit, both, a, b) ? both : NULL;
}

/* --- Sets sent by clients. ------------------------------------------------ */

/* An element of a set that a client has sent. */
typedef struct named {
    const char *name;
    size_t length;
    kl__node *element;
} named;

/* Puts an element into a set; `seen` has the names that are in it. Of two
 * elements with the same name the last counts. */
static bool adopt_element(kl__edit *edit, kl__node *set, kl__map *seen,
                          const named *one)
{
    kl__node *first = kl__map_get_n(seen, one->name, one->length);

    if (first != NULL) {
        kl__node_become(first, one->element);
        return true;
    }
    return kl__map_put_n(seen, one->name, one->length, one->element, NULL) &&
           kl__node_add_n(edit, set, one->name, one->length, one->element);
}

kl_code kl__fields_adopt(kl__edit *edit, kl__node *set, kl_error *err)
{
    kl__node *canonical = kl__edit_object(edit);
    kl__node_iter iter = {0};
    kl_code code = KL_OK;
    kl__map seen = {0};
    named one;

    if (!kl__node_is(set, KL_OBJECT)) {
        return kl_error_set(err, KL_EPARSE, "a set of fields is an object");
    }
    while (canonical != NULL && code == KL_OK &&
           (one.element = kl__node_next(set, &iter, &one.name, &one.length)) !=
               NULL) {
        kl__node_drop(&iter);
        code = field_canonical(edit, &one.name, &one.length, err);
        if (code == KL_OK) {
            code = kl__fields_adopt(edit, one.element, err);
        }
        if (code == KL_OK && !adopt_element(edit, canonical, &seen, &one)) {
            canonical = NULL;
        }
    }
    kl__map_deinit(&seen);
    if (canonical == NULL ||
        (code == KL_OK && !kl__fields_sort(edit, canonical))) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for fields");
    }
    kl__node_become(set, canonical);
    return code;
}
