/*
 * streams.c - lists and watches as an informer reads them: "L" or "W" and a
 * pattern of chunks on the first line, the answers to /api/v1/pods (wire.h) on
 * the others. The items do not depend on the chunks; none is skipped.
 */
#include "fuzz.h"
#include "answered.h"

#include "api/list_watch.h"
#include "kubelua/memory.h"
#include "base/buf.h"
#include "wire.h"

#include <string.h>

enum { MOST_PAGES = 20 };

#define SERVED                                                                \
    "/api 200\n{\"kind\":\"APIGroupDiscoveryList\",\"items\":[{\"metadata\":" \
    "{},\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":"      \
    "\"pods\",\"responseKind\":{\"kind\":\"Pod\"},\"scope\":\"Namespaced\","  \
    "\"verbs\":[\"list\",\"watch\"]}]}]}]}\n--\n/apis 404\n--\n"

/* The result of a read. */
typedef struct outcome {
    kl__buf log;
    kl_code code;
    size_t items; /* of the current page or watch */
    char *token;
} outcome;

static void log_item(outcome *out, const kl__item *item)
{
    kl__buf_printf(&out->log, "%d %s %s %d\n", (int)item->type, item->version,
                   item->continue_token != NULL ? item->continue_token : "-",
                   item->initial_events_end);
    if (item->unreadable != NULL) {
        FUZZ_EXPECT(item->object == NULL);
        FUZZ_EXPECT(*kl__item_key(item) != '\0');
        kl__buf_puts(&out->log, kl__item_key(item));
        kl__buf_putc(&out->log, '\n');
        out->items++;
        return;
    }
    if (item->object == NULL) {
        FUZZ_EXPECT(item->type == KL__ITEM_PAGE ||
                    item->type == KL__ITEM_BOOKMARK ||
                    item->type == KL__ITEM_END);
        return;
    }
    FUZZ_EXPECT(strcmp(kl_object_kind(item->object), "Pod") == 0);
    FUZZ_EXPECT(*kl_object_name(item->object) != '\0');
    FUZZ_EXPECT(
        strcmp(kl_object_resource_version(item->object), item->version) == 0);
    kl__buf_puts(&out->log, kl_object_json(item->object, NULL, NULL));
    kl__buf_putc(&out->log, '\n');
    out->items++;
}

/* Reads to the end of a page or watch. */
static void read_items(kl__list_watch *source, outcome *out, kl_error *err)
{
    kl__item item = {.type = KL__ITEM_OBJECT};

    out->items = 0;
    do {
        out->code = kl__list_watch_next(source, &item, -1, NULL, err);
        if (out->code == KL_OK) {
            log_item(out, &item);
            if (item.type == KL__ITEM_PAGE) {
                out->token = item.continue_token;
                item.continue_token = NULL;
            }
            kl__item_clear(&item);
        }
    } while (out->code == KL_OK && item.type != KL__ITEM_PAGE &&
             item.type != KL__ITEM_END);
    FUZZ_EXPECT(kl__list_watch_next(source, &item, -1, NULL, NULL) ==
                KL_EINVAL);
}

static void read_pages(kl__list_watch *source, outcome *out, kl_error *err)
{
    for (int i = 0; i < MOST_PAGES && out->code == KL_OK; i++) {
        kl__list_params params = {.limit = 2, .continue_token = out->token};

        out->code = answered(kl__list_watch_list(source, &params, NULL, err),
                             source, NULL, err);
        kl_free(out->token);
        out->token = NULL;
        if (out->code == KL_OK) {
            read_items(source, out, err);
        }
        if (out->token == NULL || *out->token == '\0') {
            break;
        }
    }
    kl_free(out->token);
    out->token = kl__list_watch_take_continue(source);
    kl__buf_printf(&out->log, "offered: %s\n",
                   out->token != NULL ? out->token : "-");
    kl_free(out->token);
    out->token = NULL;
}

/* Logs a message, except the bytes that it quotes: how many there are depends
 * on the chunks. */
static void log_message(outcome *out, const char *message)
{
    const char *found = strstr(message, "; found: ");
    const char *with = strstr(message, "but with \"");
    size_t length = strlen(message);

    length = found != NULL ? (size_t)(found - message) : length;
    if (with != NULL && (size_t)(with - message) < length) {
        length = (size_t)(with - message);
    }
    kl__buf_append(&out->log, message, length);
}

static outcome read_all(bool is_watch, fuzz_text answers, fuzz_text pattern)
{
    static const char served[] = SERVED;
    kl__watch_params params = {.resource_version = "1", .timeout_seconds = 60};
    outcome out = {.code = KL_OK};
    kl_error err = {.message = ""};
    kl__list_watch *source;
    kl_client *client;
    fuzz_wire wire;

    fuzz_wire_init(&wire, (fuzz_text){served, sizeof(served) - 1}, pattern);
    fuzz_wire_add(&wire, answers);
    client = kl_client_new(&(kl_client_options){.transport = &wire.base}, NULL);
    source = kl__list_watch_new(
        client, &(kl__list_watch_options){.resource = "pods"}, NULL);
    FUZZ_EXPECT(kl__list_watch_resolve(source, NULL, NULL) == KL_OK);
    if (is_watch) {
        out.code = answered(kl__list_watch_watch(source, &params, NULL, &err),
                            source, NULL, &err);
        if (out.code == KL_OK) {
            read_items(source, &out, &err);
        }
    } else {
        read_pages(source, &out, &err);
    }
    FUZZ_EXPECT(out.code == KL_OK || err.message[0] != '\0');
    log_message(&out, err.message);
    kl__list_watch_free(source);
    kl_client_unref(client);
    return out;
}

/* A list of one page has as many items as its text. */
static void expect_page(const outcome *out, fuzz_text answers)
{
    fuzz_text body = fuzz_part(&answers, "--");
    kl_doc *doc;

    fuzz_line(&body);
    doc = kl_doc_parse(body.bytes, body.length, NULL);
    if (answers.length == 0 && doc != NULL && out->code == KL_OK &&
        memchr(body.bytes, '\\', body.length) == NULL) {
        FUZZ_EXPECT(out->items ==
                    kl_value_size(kl_value_get(kl_doc_root(doc), "items")));
    }
    FUZZ_EXPECT(answers.length != 0 || doc != NULL || out->code != KL_OK);
    kl_doc_unref(doc);
}

void fuzz_streams(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text line = fuzz_line(&text);
    fuzz_text pattern = {line.bytes + 1, line.length > 0 ? line.length - 1 : 0};
    bool is_watch = line.length == 0 || line.bytes[0] != 'L';
    outcome whole = read_all(is_watch, text, (fuzz_text){NULL, 0});
    outcome cut = read_all(is_watch, text, pattern);

    FUZZ_EXPECT(whole.code == cut.code);
    FUZZ_EXPECT(whole.log.length == cut.log.length &&
                memcmp(whole.log.bytes, cut.log.bytes, whole.log.length) == 0);
    if (!is_watch) {
        expect_page(&whole, text);
    }
    kl__buf_deinit(&whole.log);
    kl__buf_deinit(&cut.log);
}
