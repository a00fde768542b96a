/*
 * sim_message.c - see sim_message.h. In protobuf the length of a list comes
 * before its items. So items are encoded twice, once to be measured and once
 * when they are sent; the list as a whole is never in memory.
 */
#include "sim/core/answer/sim_message.h"

#include "sim/core/schema/protobuf_write.h"
#include "sim/core/schema/schema_protobuf.h"
#include "sim/core/answer/sim_shape.h"
#include "sim/core/request/sim_protobuf.h"

#include <string.h>

static kl_code message_out_of_memory(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

static const char *get_text(const kl_value *object, const char *name)
{
    const char *text = kl_value_string(kl_value_get(object, name), NULL);

    return text != NULL ? text : "";
}

/* The schema that encodes an object. NULL: KL_ENOMEM. */
static const kl__schema *schema_of(const kl_value *object, kl_error *err)
{
    kl_error why = {0};
    const kl__schema *schema = kl__sim_protobuf_schema(
        get_text(object, "apiVersion"), get_text(object, "kind"), &why);

    if (schema == NULL && why.code != KL_ENOMEM) {
        schema = kl__schema_builtin("meta.k8s.io", "v1",
                                    "PartialObjectMetadata", &why);
    }
    if (schema == NULL) {
        message_out_of_memory(err);
    }
    return schema;
}

kl_code kl__sim_message_put(const kl_value *object, kl__buf *out, kl_error *err)
{
    const kl__schema *schema = schema_of(object, err);
    size_t begin;

    if (schema == NULL) {
        return KL_ENOMEM;
    }
    kl__protobuf_begin(out, get_text(object, "apiVersion"),
                       get_text(object, "kind"));
    begin = kl__wire_begin(out, KL__PROTOBUF_RAW);
    kl__protobuf_encode(schema, object, out);
    kl__wire_end(out, begin);
    kl__protobuf_end(out);
    return KL_OK;
}

void kl__sim_message_item(kl__sim_answer *answer, const kl__sim_state *state,
                          kl__buf *out)
{
    kl__buf *json = &answer->item;
    kl_doc *doc;
    size_t begin;

    kl__buf_reset(json);
    kl__sim_shape_item(answer, state, json);
    doc = json->failed ? NULL : kl_doc_parse(json->bytes, json->length, NULL);
    if (doc == NULL) {
        out->failed = true;
        return;
    }
    begin = kl__wire_begin(out, answer->items.number);
    kl__protobuf_encode(answer->items.schema, kl_doc_root(doc), out);
    kl__wire_end(out, begin);
    kl_doc_unref(doc);
}

/* Measures all items together. */
static kl_code measure_items(kl__sim_answer *answer, kl_error *err)
{
    kl__buf item = {0};

    answer->items.length = 0;
    for (size_t i = 0; i < answer->state_count && !item.failed; i++) {
        kl__buf_reset(&item);
        kl__sim_message_item(answer, answer->states[i], &item);
        answer->items.length += item.length;
    }
    if (item.failed) {
        kl__buf_deinit(&item);
        return message_out_of_memory(err);
    }
    kl__buf_deinit(&item);
    return KL_OK;
}

/* Writes a list up to its items; answer->tail becomes the end of the
 * envelope. */
static kl_code put_list_head(kl__sim_answer *answer, const kl_value *list,
                             kl__buf *out, kl_error *err)
{
    const kl__schema *schema = schema_of(list, err);
    const kl__schema_field *items =
        schema != NULL ? kl__schema_get(schema, "items", strlen("items"))
                       : NULL;
    kl__buf head = {0};
    kl_code code;

    if (items == NULL) {
        return KL_ENOMEM;
    }
    answer->items =
        (kl__sim_items){.schema = items->schema->items, items->number};
    code = measure_items(answer, err);
    kl__protobuf_encode(schema, list, &head);
    kl__protobuf_begin(out, get_text(list, "apiVersion"),
                       get_text(list, "kind"));
    kl__wire_put_head(out, KL__PROTOBUF_RAW,
                      head.length + answer->items.length);
    kl__buf_append(out, head.bytes, head.length);
    out->failed = out->failed || head.failed;
    kl__buf_deinit(&head);
    kl__buf_reset(&answer->tail);
    kl__protobuf_end(&answer->tail);
    return code;
}

/* Parses the body of a list without its items, or of another answer. NULL:
 * KL_ENOMEM. */
static kl_doc *parse_body_head(const kl__sim_answer *answer, kl_error *err)
{
    kl__buf json = {0};
    kl_doc *doc = NULL;

    kl__buf_append(&json, answer->out.bytes, answer->out.length);
    kl__buf_append(&json, answer->tail.bytes, answer->tail.length);
    if (!json.failed) {
        doc = kl_doc_parse(json.bytes, json.length, err);
    }
    if (doc == NULL) {
        message_out_of_memory(err);
    }
    kl__buf_deinit(&json);
    return doc;
}

kl_code kl__sim_message_encode(kl__sim_answer *answer, kl_error *err)
{
    kl__buf out = {0};
    kl_doc *doc;
    kl_code code;

    if (answer->out.length == 0) {
        return KL_OK;
    }
    doc = parse_body_head(answer, err);
    if (doc == NULL) {
        return KL_ENOMEM;
    }
    code = answer->tail.length != 0
               ? put_list_head(answer, kl_doc_root(doc), &out, err)
               : kl__sim_message_put(kl_doc_root(doc), &out, err);
    kl_doc_unref(doc);
    kl__buf_deinit(&answer->out);
    answer->out = out;
    if (code == KL_OK && (out.failed || answer->tail.failed)) {
        code = message_out_of_memory(err);
    }
    return code;
}
