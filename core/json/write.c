/*
 * write.c - writes JSON into a buffer, one value after the other; doc.c reads
 * it. A call that would make invalid JSON writes nothing; kl_writer_finish
 * reports the first such call.
 */
#include "kubelua/writer.h"

#include "base/buf.h"
#include "base/mem.h"
#include "json/quote.h"
#include "json/yyjson_memory.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#define QUOTE_OF(number) #number
#define TEXT_OF(number) QUOTE_OF(number)

struct kl_writer {
    kl__buf out;
    size_t depth;
    bool is_named;    /* a member's name was written, its value not yet */
    bool is_whole;    /* the outermost value is complete */
    kl_error failure; /* the first failure; code KL_OK: none */
    /* Bit i: level i is an object. Last, as it has no initial value. */
    uint64_t objects[(KL_MAX_DEPTH + 63) / 64];
};

kl_writer *kl_writer_new(void)
{
    kl_writer *writer = kl__malloc(sizeof(*writer));

    if (writer != NULL) {
        memset(writer, 0, offsetof(kl_writer, objects));
    }
    return writer;
}

void kl_writer_free(kl_writer *writer)
{
    if (writer != NULL) {
        kl__buf_deinit(&writer->out);
        kl__free(writer);
    }
}

/* Always false, for callers to return. */
static bool fail_write(kl_writer *writer, const char *message)
{
    if (writer->failure.code == KL_OK) {
        kl_error_set(&writer->failure, KL_EINVAL,
                     "cannot be written as JSON: %s", message);
    }
    return false;
}

/* True if no call has failed so far. */
static bool is_sound(kl_writer *writer)
{
    if (writer->failure.code == KL_OK && writer->out.failed) {
        kl_error_set(&writer->failure, KL_ENOMEM, "out of memory writing JSON");
    }
    return writer->failure.code == KL_OK;
}

static bool in_object(const kl_writer *writer)
{
    size_t level = writer->depth - 1;

    return writer->depth > 0 &&
           ((writer->objects[level / 64] >> (level % 64)) & 1) != 0;
}

/* Writes a comma, unless the next element or member is the first. */
static void write_comma(kl_writer *writer)
{
    char last = writer->out.bytes[writer->out.length - 1];

    if (last != '[' && last != '{') {
        kl__buf_putc(&writer->out, ',');
    }
}

/* True if a value may begin here; writes the comma before it. */
static bool begin_value(kl_writer *writer)
{
    if (!is_sound(writer)) {
        return false;
    }
    if (in_object(writer)) {
        if (!writer->is_named) {
            return fail_write(writer, "a value in an object without a name");
        }
        writer->is_named = false;
        return true;
    }
    if (writer->is_whole) {
        return fail_write(writer, "a second value after the outermost one");
    }
    if (writer->depth > 0) {
        write_comma(writer);
    }
    return true;
}

static void end_value(kl_writer *writer)
{
    writer->is_whole = writer->depth == 0;
}

static void begin_level(kl_writer *writer, char bracket)
{
    uint64_t bit = UINT64_C(1) << (writer->depth % 64);
    uint64_t *word;

    if (!begin_value(writer)) {
        return;
    }
    if (writer->depth == KL_MAX_DEPTH) {
        fail_write(writer,
                   "nested deeper than " TEXT_OF(KL_MAX_DEPTH) " levels");
        return;
    }
    word = &writer->objects[writer->depth / 64];
    *word = bracket == '{' ? *word | bit : *word & ~bit;
    writer->depth++;
    kl__buf_putc(&writer->out, bracket);
}

static void end_level(kl_writer *writer, char bracket)
{
    if (!is_sound(writer)) {
        return;
    }
    if (writer->depth == 0 || in_object(writer) != (bracket == '}')) {
        fail_write(writer, "an end without its beginning");
        return;
    }
    if (writer->is_named) {
        fail_write(writer, "a name without a value");
        return;
    }
    writer->depth--;
    kl__buf_putc(&writer->out, bracket);
    end_value(writer);
}

void kl_writer_begin_object(kl_writer *writer)
{
    begin_level(writer, '{');
}

void kl_writer_end_object(kl_writer *writer)
{
    end_level(writer, '}');
}

void kl_writer_begin_array(kl_writer *writer)
{
    begin_level(writer, '[');
}

void kl_writer_end_array(kl_writer *writer)
{
    end_level(writer, ']');
}

void kl_writer_name(kl_writer *writer, const char *name, size_t length)
{
    if (!is_sound(writer)) {
        return;
    }
    if (!in_object(writer) || writer->is_named) {
        fail_write(writer, "a name where no member begins");
        return;
    }
    if (!kl__utf8_is_valid(name, length)) {
        fail_write(writer, "a name that is not UTF-8");
        return;
    }
    write_comma(writer);
    kl__quote(&writer->out, name, length);
    kl__buf_putc(&writer->out, ':');
    writer->is_named = true;
}

void kl_writer_raw(kl_writer *writer, const char *json, size_t length)
{
    if (!begin_value(writer)) {
        return;
    }
    if (length == 0) {
        fail_write(writer, "an empty text as a value");
        return;
    }
    kl__buf_append(&writer->out, json, length);
    end_value(writer);
}

void kl_writer_null(kl_writer *writer)
{
    kl_writer_raw(writer, "null", 4);
}

void kl_writer_bool(kl_writer *writer, bool value)
{
    kl_writer_raw(writer, value ? "true" : "false", value ? 4 : 5);
}

void kl_writer_integer(kl_writer *writer, int64_t value)
{
    if (begin_value(writer)) {
        kl__buf_printf(&writer->out, "%" PRId64, value);
        end_value(writer);
    }
}

void kl_writer_real(kl_writer *writer, double value)
{
    yyjson_val number = {0};
    yyjson_alc memory;
    char space[256]; /* yyjson needs less for one number */
    size_t length;
    char *text;

    if (!isfinite(value)) {
        fail_write(writer, "a number that is infinite or none");
        return;
    }
    yyjson_set_real(&number, value);
    yyjson_alc_pool_init(&memory, space, sizeof(space));
    text = yyjson_val_write_opts(&number, YYJSON_WRITE_NOFLAG, &memory, &length,
                                 NULL);
    if (text != NULL) {
        kl_writer_raw(writer, text, length);
    } else {
        writer->out.failed = true;
    }
}

void kl_writer_string(kl_writer *writer, const char *text, size_t length)
{
    if (!begin_value(writer)) {
        return;
    }
    if (!kl__utf8_is_valid(text, length)) {
        fail_write(writer, "a string that is not UTF-8");
        return;
    }
    kl__quote(&writer->out, text, length);
    end_value(writer);
}

void kl_writer_value(kl_writer *writer, const kl_value *value)
{
    size_t length;
    char *text = kl_value_json(value, &length, NULL);

    if (text == NULL) {
        writer->out.failed = true;
        return;
    }
    kl_writer_raw(writer, text, length);
    kl__free(text);
}

const char *kl_writer_finish(kl_writer *writer, size_t *length, kl_error *err)
{
    if (writer->failure.code == KL_OK && writer->out.failed) {
        kl_error_set(&writer->failure, KL_ENOMEM, "out of memory writing JSON");
    }
    if (writer->failure.code != KL_OK) {
        if (err != NULL) {
            *err = writer->failure;
        }
        return NULL;
    }
    if (!writer->is_whole) {
        kl_error_set(err, KL_EINVAL, "cannot be written as JSON: %s",
                     writer->depth > 0 ? "an object or array without an end"
                                       : "there is no value");
        return NULL;
    }
    if (length != NULL) {
        *length = writer->out.length;
    }
    return writer->out.bytes;
}
