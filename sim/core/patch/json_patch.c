/*
 * json_patch.c - see patch.h: JSON patch (RFC 6902). Go decodes one into
 * structs: the checks of operations have its messages. The cost of all
 * operations together is limited: a patch of a few megabytes could walk through
 * long arrays for minutes.
 */
#include "sim/core/patch/patch.h"

#include "base/buf.h"
#include "base/mem.h"
#include "sim/core/patch/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

/* Checks the shape of a JSON patch; codes like those of kl__patch_json. */
static kl_code patch_check_operations(const kl__node *patch, kl_error *err)
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
static const kl__schema operation_schema = {.go = "handlers.jsonPatchOp",
                                            .type = KL__SCHEMA_OBJECT,
                                            .fields = members,
                                            .field_count = sizeof(members) /
                                                           sizeof(members[0])};
static const kl__schema patch_schema = {.type = KL__SCHEMA_ARRAY,
                                        .items = &operation_schema};

kl_code kl__patch_check(const kl__node *patch, kl__findings *out, kl_error *err)
{
    kl_code code = kl__schema_check(patch, &patch_schema, out, err);

    return code == KL_OK ? name_patch(out, err) : code;
}

/* ---- operations ---- */

/* How many members and elements all operations together may step over (about
 * half a second). Measuring the depth of a whole document counts as
 * MEASURE_STEPS. */
enum { MOST_STEPS = 100 * 1000 * 1000, MEASURE_STEPS = 1000 * 1000 };

typedef struct patch_job {
    kl__edit *edit;
    kl__node *root;
    kl__buf segment; /* the decoded last segment of a path */
    size_t depth;    /* an upper bound of the document's depth */
    size_t copied;
    size_t steps;
    kl_error *err;
} patch_job;

/* Where a path leads: a container, and a member or element of it. */
typedef struct place {
    kl__node *container;
    const char *name; /* name or index, in job.segment */
    size_t length;
    size_t level; /* the depth of the value there: 1 for a member of the root */
} place;

static kl_code refuse_operation(patch_job *job, const char *why)
{
    return kl__patch_refuse(job->err, 422, "%s", why);
}

static kl_code patch_out_of_memory(patch_job *job)
{
    return kl_error_set(job->err, KL_ENOMEM, "out of memory for a patch");
}

static kl_code spend_steps(patch_job *job, size_t steps)
{
    job->steps += steps;
    return job->steps <= MOST_STEPS
               ? KL_OK
               : kl__patch_refuse(job->err, 413,
                                  "the operations of the JSON patch take too "
                                  "long");
}

/* Decodes one segment of a path: ~1 is /, ~0 is ~. */
static bool decode_segment(patch_job *job, const char *text, size_t length)
{
    kl__buf_reset(&job->segment);
    for (size_t i = 0; i < length; i++) {
        bool is_escape = text[i] == '~' && i + 1 < length &&
                         (text[i + 1] == '0' || text[i + 1] == '1');

        kl__buf_putc(&job->segment, !is_escape           ? text[i]
                                    : text[i + 1] == '0' ? '~'
                                                         : '/');
        i += is_escape;
    }
    kl__buf_append(&job->segment, "", 0);
    return !job->segment.failed;
}

/* Reads a number as Go's strconv.Atoi does. */
static bool read_index(const place *at, long *index)
{
    const char *digits = at->name;
    size_t length = at->length;
    char *end;

    if (length > 0 && (*digits == '-' || *digits == '+')) {
        digits++;
        length--;
    }
    if (length == 0 || strspn(digits, "0123456789") != length) {
        return false;
    }
    errno = 0;
    *index = strtol(at->name, &end, 10);
    return errno == 0;
}

/* The index of an existing element. */
static bool find_index(const place *at, size_t *index)
{
    long size = (long)kl__node_size(at->container), number;

    if (!read_index(at, &number) || number >= size || number < -size) {
        return false;
    }
    *index = (size_t)(number < 0 ? number + size : number);
    return true;
}

/* Finds the value at a place. False: an array has no such element. *found is
 * NULL if an object has no such member. */
static bool look_up(patch_job *job, const place *at, kl__node **found)
{
    size_t index;

    if (kl__node_is(at->container, KL_OBJECT)) {
        job->steps += kl__node_size(at->container);
        *found = kl__node_get_n(at->container, at->name, at->length);
        return true;
    }
    if (!find_index(at, &index)) {
        return false;
    }
    job->steps += index;
    *found = kl__node_at(at->container, index);
    return true;
}

/* Follows a path to the container of its last segment. */
static kl_code find_place(patch_job *job, const char *path, size_t length,
                          place *at)
{
    const char *end = path + length, *slash = memchr(path, '/', length);

    *at = (place){.container = job->root};
    while (slash != NULL) {
        const char *next = memchr(slash + 1, '/', (size_t)(end - slash - 1));
        const char *stop = next != NULL ? next : end;

        if (!decode_segment(job, slash + 1, (size_t)(stop - slash - 1))) {
            return patch_out_of_memory(job);
        }
        at->name = job->segment.bytes != NULL ? job->segment.bytes : "";
        at->length = job->segment.length;
        at->level++;
        slash = next;
        if (next == NULL) {
            return spend_steps(job, 1);
        }
        if (!look_up(job, at, &at->container) ||
            (!kl__node_is(at->container, KL_OBJECT) &&
             !kl__node_is(at->container, KL_ARRAY))) {
            break;
        }
    }
    return refuse_operation(job, "doc is missing path");
}

/* Reads the path or "from" of an operation. */
static kl_code find_named(patch_job *job, const kl__node *operation,
                          const char *name, place *at)
{
    const kl__node *path = kl__node_get(operation, name);
    const char *text;
    size_t length;

    if (!kl__node_is(path, KL_STRING)) {
        return refuse_operation(job,
                                "operation missing path field: missing value");
    }
    text = kl__node_string(path, &length);
    return find_place(job, text, length, at);
}

/* Checks that the document may get a value of that depth at that place, and
 * updates the bound of its depth. */
static kl_code deepen_place(patch_job *job, const place *at, size_t depth)
{
    if (at->level + depth > job->depth) {
        job->depth = at->level + depth;
    }
    return job->depth <= KL__NODE_DEPTH
               ? KL_OK
               : refuse_operation(job, "exceeded max depth");
}

static kl_code add_element(patch_job *job, const place *at, kl__node *value)
{
    long size = (long)kl__node_size(at->container), number;

    if (at->length == 1 && *at->name == '-') {
        return kl__node_append(at->container, value) ? KL_OK
                                                     : patch_out_of_memory(job);
    }
    if (!read_index(at, &number) || number > size || number < -(size + 1)) {
        return refuse_operation(job, "invalid index referenced");
    }
    number += number < 0 ? size + 1 : 0;
    job->steps += (size_t)number;
    return kl__node_insert(at->container, (size_t)number, value)
               ? KL_OK
               : patch_out_of_memory(job);
}

static kl_code add_at(patch_job *job, const place *at, kl__node *value)
{
    if (value == NULL) {
        return patch_out_of_memory(job);
    }
    if (kl__node_is(at->container, KL_ARRAY)) {
        return add_element(job, at, value);
    }
    job->steps += kl__node_size(at->container);
    return kl__node_put_n(job->edit, at->container, at->name, at->length, value)
               ? KL_OK
               : patch_out_of_memory(job);
}

/* Takes the value out of an operation; null if it has none. */
static kl__node *take_value(patch_job *job, kl__node *operation)
{
    kl__node *value = kl__node_remove(operation, "value");

    return value != NULL ? value : kl__edit_null(job->edit);
}

static kl_code add_value(patch_job *job, kl__node *operation)
{
    place at;
    kl_code code = find_named(job, operation, "path", &at);
    kl__node *value;

    if (code != KL_OK) {
        return code;
    }
    value = take_value(job, operation);
    code = deepen_place(job, &at, kl__node_depth(value));
    return code == KL_OK ? add_at(job, &at, value) : code;
}

static kl_code remove_at(patch_job *job, const place *at, kl__node **value)
{
    size_t index;

    if (kl__node_is(at->container, KL_OBJECT)) {
        job->steps += kl__node_size(at->container);
        *value = kl__node_remove_n(at->container, at->name, at->length);
    } else if (find_index(at, &index)) {
        job->steps += index;
        *value = kl__node_remove_at(at->container, index);
    } else {
        *value = NULL;
    }
    return *value != NULL
               ? KL_OK
               : refuse_operation(job, "Unable to remove nonexistent key");
}

static kl_code remove_value(patch_job *job, kl__node *operation)
{
    place at;
    kl__node *value;
    kl_code code = find_named(job, operation, "path", &at);

    return code == KL_OK ? remove_at(job, &at, &value) : code;
}

static kl_code replace_root(patch_job *job, kl__node *value)
{
    if (!kl__node_is(value, KL_OBJECT) && !kl__node_is(value, KL_ARRAY)) {
        return refuse_operation(
            job, "replace operation value must be object or array");
    }
    kl__node_become(job->root, value);
    job->depth = kl__node_depth(job->root);
    return KL_OK;
}

static bool is_root(const kl__node *operation)
{
    const char *path = kl__node_text(operation, "path");

    return path != NULL && *path == '\0';
}

static kl_code replace_value(patch_job *job, kl__node *operation)
{
    kl__node *value, *old;
    place at;
    kl_code code;

    if (is_root(operation)) {
        return replace_root(job, kl__node_get(operation, "value"));
    }
    code = find_named(job, operation, "path", &at);
    if (code != KL_OK) {
        return code;
    }
    if (!look_up(job, &at, &old)) {
        return refuse_operation(job, "doc is missing key");
    }
    value = take_value(job, operation);
    if (value == NULL) {
        return patch_out_of_memory(job);
    }
    code = deepen_place(job, &at, kl__node_depth(value));
    if (code == KL_OK && old != NULL) {
        kl__node_become(old, value);
        return KL_OK;
    }
    return code == KL_OK ? add_at(job, &at, value) : code;
}

static kl_code move_value(patch_job *job, kl__node *operation)
{
    place at;
    size_t level;
    kl__node *value;
    kl_code code = find_named(job, operation, "from", &at);

    if (code == KL_OK) {
        level = at.level;
        code = remove_at(job, &at, &value);
    }
    if (code == KL_OK) {
        code = find_named(job, operation, "path", &at);
    }
    if (code == KL_OK && at.level > level) {
        /* The moved value can be as deep as the document below its old level.
         * If this bound is too high, measure. */
        size_t depth = job->depth > level ? job->depth - level : 0;

        if (at.level + depth > KL__NODE_DEPTH) {
            job->depth = kl__node_depth(job->root);
            depth = kl__node_depth(value);
            job->steps += MEASURE_STEPS;
        }
        code = deepen_place(job, &at, depth);
    }
    return code == KL_OK ? add_at(job, &at, value) : code;
}

static kl_code copy_value(patch_job *job, kl__node *operation)
{
    place at;
    kl__node *value = NULL;
    size_t length = 0;
    kl_code code = find_named(job, operation, "from", &at);
    char *json;

    if (code == KL_OK && !look_up(job, &at, &value)) {
        code = refuse_operation(job, "invalid index referenced");
    }
    if (code == KL_OK) {
        code = find_named(job, operation, "path", &at);
    }
    if (code != KL_OK) {
        return code;
    }
    json = kl__node_json(value, &length, job->err);
    if (json == NULL && value != NULL) {
        return patch_out_of_memory(job);
    }
    kl__free(json);
    job->copied += value != NULL ? length : 0;
    if (job->copied > KL__PATCH_MOST_COPIED) {
        return refuse_operation(job,
                                "the accumulated size increase of copy is too "
                                "large");
    }
    code = deepen_place(job, &at, kl__node_depth(value));
    return code == KL_OK ? add_at(job, &at, kl__edit_copy(job->edit, value))
                         : code;
}

static kl_code test_value(patch_job *job, kl__node *operation)
{
    const kl__node *expected = kl__node_get(operation, "value");
    kl__node *value = job->root;
    bool passes;
    place at;

    if (!is_root(operation)) {
        kl_code code = find_named(job, operation, "path", &at);

        if (code != KL_OK) {
            return code;
        }
        if (!look_up(job, &at, &value)) {
            return refuse_operation(job, "invalid index referenced");
        }
    }
    passes = kl__node_type(value) == KL_NULL
                 ? kl__node_type(expected) == KL_NULL
                 : expected != NULL && kl__node_equal(value, expected);
    return passes ? KL_OK : refuse_operation(job, "test failed");
}

static kl_code run_operation(patch_job *job, kl__node *operation)
{
    static const struct {
        const char *name;
        kl_code (*run)(struct patch_job *job, kl__node *operation);
    } kinds[] = {{"add", add_value},         {"remove", remove_value},
                 {"replace", replace_value}, {"move", move_value},
                 {"copy", copy_value},       {"test", test_value}};
    const char *kind = kl__node_text(operation, "op");

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kind != NULL && strcmp(kind, kinds[i].name) == 0) {
            return kinds[i].run(job, operation);
        }
    }
    return refuse_operation(job, "Unexpected kind");
}

kl_code kl__patch_json(kl__edit *edit, kl__node *target, kl__node *patch,
                       kl_error *err)
{
    patch_job job = {.edit = edit,
                     .root = target,
                     .depth = kl__node_depth(target),
                     .err = err};
    kl__node_iter iter = {0};
    kl__node *operation;
    kl_code code = patch_check_operations(patch, err);

    while (code == KL_OK &&
           (operation = kl__node_next(patch, &iter, NULL, NULL)) != NULL) {
        code = run_operation(&job, operation);
        if (code == KL_OK) {
            code = spend_steps(&job, 1);
        }
    }
    kl__buf_deinit(&job.segment);
    return code;
}
