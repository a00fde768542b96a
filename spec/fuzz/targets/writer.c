/*
 * writer.c - the JSON writer: each byte of the first line is a call, its text
 * the next line. Calls that make one value are written, and read back as they
 * were asked for; any others are refused.
 */
#include "fuzz.h"

#include "json/quote.h"
#include "kubelua/memory.h"
#include "kubelua/writer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The model: what is open, and `sound` while all calls so far were allowed. */
typedef struct model {
    char open[KL_MAX_DEPTH];
    size_t depth;
    bool named;
    bool whole;
    bool sound;
} model;

static void value_begins(model *self)
{
    bool in_object = self->depth > 0 && self->open[self->depth - 1] == '{';

    if ((in_object && !self->named) || (self->depth == 0 && self->whole)) {
        self->sound = false;
    }
    self->named = false;
    self->whole = self->depth == 0;
}

static void opens(model *self, char bracket)
{
    value_begins(self);
    self->whole = false;
    if (self->depth == KL_MAX_DEPTH) {
        self->sound = false;
    }
    if (self->sound) {
        self->open[self->depth++] = bracket;
    }
}

static void closes(model *self, char bracket)
{
    if (self->depth == 0 || self->open[self->depth - 1] != bracket ||
        self->named) {
        self->sound = false;
    }
    if (self->sound) {
        self->depth--;
        self->whole = self->depth == 0;
    }
}

static void names(model *self, fuzz_text text)
{
    if (self->depth == 0 || self->open[self->depth - 1] != '{' || self->named ||
        !kl__utf8_is_valid(text.bytes, text.length)) {
        self->sound = false;
    }
    self->named = true;
}

static void write_container(kl_writer *writer, model *self, char call)
{
    switch (call) {
    case '{':
        kl_writer_begin_object(writer);
        opens(self, '{');
        break;
    case '[':
        kl_writer_begin_array(writer);
        opens(self, '[');
        break;
    case '}':
        kl_writer_end_object(writer);
        closes(self, '{');
        break;
    default:
        kl_writer_end_array(writer);
        closes(self, '[');
        break;
    }
}

/* The first eight bytes of the text as a number. */
static double number_of(fuzz_text text)
{
    double number = 0;

    memcpy(&number, text.bytes,
           text.length < sizeof(number) ? text.length : sizeof(number));
    return number;
}

static void write_real(kl_writer *writer, model *self, fuzz_text text)
{
    double number = text.length > 0 ? number_of(text) : 0.5;

    kl_writer_real(writer, number);
    value_begins(self);
    self->sound = self->sound && isfinite(number);
}

static void write_value(kl_writer *writer, model *self, char call,
                        fuzz_text text)
{
    kl_doc *doc;

    switch (call) {
    case '0':
        kl_writer_null(writer);
        break;
    case 't':
        kl_writer_bool(writer, text.length % 2 == 1);
        break;
    case 'i':
        kl_writer_integer(writer, INT64_MIN + (int64_t)text.length);
        break;
    case 's':
        kl_writer_string(writer, text.bytes, text.length);
        self->sound = self->sound && kl__utf8_is_valid(text.bytes, text.length);
        break;
    default:
        doc = kl_doc_parse(text.bytes, text.length, NULL);
        kl_writer_value(writer, doc != NULL ? kl_doc_root(doc) : NULL);
        kl_doc_unref(doc);
        break;
    }
    value_begins(self);
}

static void write_call(kl_writer *writer, model *self, char call,
                       fuzz_text text)
{
    if (strchr("{}[]", call) != NULL) {
        write_container(writer, self, call);
    } else if (call == 'n') {
        kl_writer_name(writer, text.bytes, text.length);
        names(self, text);
    } else if (call == 'r') {
        write_real(writer, self, text);
    } else {
        write_value(writer, self, call, text);
    }
}

static void expect_text(const char *json, size_t length)
{
    kl_doc *doc = kl_doc_parse(json, length, NULL), *again;
    char *text;

    if (doc == NULL) { /* its deepest value is as deep as is allowed */
        FUZZ_EXPECT(length > KL_MAX_DEPTH);
        return;
    }
    text = kl_value_json(kl_doc_root(doc), &length, NULL);
    again = kl_doc_parse(text, length, NULL);
    FUZZ_EXPECT(fuzz_same(kl_doc_root(doc), kl_doc_root(again)));
    kl_free(text);
    kl_doc_unref(again);
    kl_doc_unref(doc);
}

void fuzz_writer(const char *bytes, size_t length)
{
    fuzz_text texts = {bytes, length};
    fuzz_text calls = fuzz_line(&texts);
    kl_writer *writer = kl_writer_new();
    model self = {.sound = true};
    kl_error err = {.code = KL_OK};
    const char *json;

    for (size_t i = 0; i < calls.length; i++) {
        const char call = calls.bytes[i];
        bool has_text = call != '\0' && strchr("{}[]0", call) == NULL;
        fuzz_text text = has_text ? fuzz_line(&texts) : texts;
        char *block = fuzz_block(has_text ? text : (fuzz_text){NULL, 0});

        text.bytes = block;
        text.length = has_text ? text.length : 0;
        write_call(writer, &self, call != '\0' ? call : '0', text);
        free(block);
    }
    json = kl_writer_finish(writer, &length, &err);
    FUZZ_EXPECT((json != NULL) ==
                (self.sound && self.whole && self.depth == 0));
    if (json != NULL) {
        expect_text(json, length);
    } else {
        FUZZ_EXPECT(err.code == KL_EINVAL && err.message[0] != '\0');
    }
    kl_writer_free(writer);
}
