/*
 * sim_status.c - see sim_status.h.
 */
#include "sim/core/answer/sim_status.h"

#include "kubelua/writer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_status_member(kl_writer *writer, const char *name,
                              const char *value)
{
    if (value != NULL) {
        kl_writer_name(writer, name, strlen(name));
        kl_writer_string(writer, value, strlen(value));
    }
}

static void name_member(kl_writer *writer, const char *name)
{
    kl_writer_name(writer, name, strlen(name));
}

/* Writes the causes of a range of indexes, then the errors of a range. */
static void write_some(kl_writer *writer, const kl__sim_status *status,
                       const size_t from[2], const size_t to[2])
{
    for (size_t i = from[0]; i < to[0]; i++) {
        kl_writer_begin_object(writer);
        put_status_member(writer, "reason", status->causes[i].reason);
        put_status_member(writer, "message", status->causes[i].message);
        put_status_member(writer, "field", status->causes[i].field);
        kl_writer_end_object(writer);
    }
    for (size_t i = from[1]; i < to[1]; i++) {
        const kl__field_error *error = &status->errors->items[i];

        kl_writer_begin_object(writer);
        put_status_member(writer, "reason", kl__field_reason(error->fault));
        put_status_member(writer, "message", error->message);
        put_status_member(writer, "field", error->field);
        kl_writer_end_object(writer);
    }
}

static void write_causes(kl_writer *writer, const kl__sim_status *status)
{
    const size_t none[2] = {0, 0};
    const size_t twice[2] = {status->causes_twice, status->errors_twice};
    const size_t all[2] = {status->cause_count,
                           status->errors != NULL ? status->errors->count : 0};

    name_member(writer, "causes");
    kl_writer_begin_array(writer);
    write_some(writer, status, none, twice);
    write_some(writer, status, none, all);
    kl_writer_end_array(writer);
}

static void write_details(kl_writer *writer, const kl__sim_status *status)
{
    name_member(writer, "details");
    kl_writer_begin_object(writer);
    put_status_member(writer, "name", status->name);
    put_status_member(
        writer, "group",
        status->group != NULL && *status->group != '\0' ? status->group : NULL);
    put_status_member(writer, "kind", status->kind);
    put_status_member(writer, "uid", status->uid);
    if (status->cause_count != 0 ||
        (status->errors != NULL && status->errors->count != 0)) {
        write_causes(writer, status);
    }
    if (status->retry_after_seconds != 0) {
        name_member(writer, "retryAfterSeconds");
        kl_writer_integer(writer, status->retry_after_seconds);
    }
    kl_writer_end_object(writer);
}

void kl__sim_status_write(const kl__sim_status *status, kl__buf *out)
{
    kl_writer *writer = kl_writer_new();
    const char *text;
    size_t length = 0;

    if (writer == NULL) {
        out->failed = true;
        return;
    }
    kl_writer_begin_object(writer);
    put_status_member(writer, "kind", "Status");
    put_status_member(writer, "apiVersion", "v1");
    name_member(writer, "metadata");
    kl_writer_begin_object(writer);
    put_status_member(writer, "continue", status->token);
    kl_writer_end_object(writer);
    put_status_member(writer, "status",
                      status->code < 400 ? "Success" : "Failure");
    put_status_member(writer, "message",
                      status->words != NULL      ? status->words
                      : *status->message != '\0' ? status->message
                                                 : NULL);
    put_status_member(writer, "reason", status->reason);
    if (status->has_details || status->cause_count != 0 ||
        status->retry_after_seconds != 0) {
        write_details(writer, status);
    }
    if (status->code >= 400) {
        name_member(writer, "code");
        kl_writer_integer(writer, status->code);
    }
    kl_writer_end_object(writer);
    text = kl_writer_finish(writer, &length, NULL);
    if (text != NULL) {
        kl__buf_append(out, text, length);
    } else {
        out->failed = true;
    }
    kl_writer_free(writer);
}

kl_code kl__sim_answer_status(kl__sim_answer *answer,
                              const kl__sim_status *status, kl_error *err)
{
    kl__buf_reset(&answer->out);
    kl__sim_answer_json(answer, status->code);
    if (status->code >= 400) {
        kl__sim_accept_error(answer);
    }
    if (status->retry_after_seconds != 0) {
        answer->retry_after_seconds = status->retry_after_seconds;
    }
    kl__sim_status_write(status, &answer->out);
    kl__buf_putc(&answer->out, '\n');
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

static void format_message(kl__sim_status *status, const char *format,
                           va_list args)
{
    vsnprintf(status->message, sizeof(status->message), format, args);
    kl__sim_make_utf8(status->message);
}

kl_code kl__sim_refuse(kl__sim_answer *answer, int code, const char *reason,
                       kl_error *err, const char *format, ...)
{
    kl__sim_status status = {.code = code, .reason = reason};
    va_list args;

    va_start(args, format);
    format_message(&status, format, args);
    va_end(args);
    return kl__sim_answer_status(answer, &status, err);
}

kl_code kl__sim_refuse_path(kl__sim_answer *answer, kl_error *err)
{
    kl__sim_status status = {
        .code = 404,
        .reason = "NotFound",
        .has_details = true,
        .message = "the server could not find the requested resource"};

    return kl__sim_answer_status(answer, &status, err);
}

kl_code kl__sim_refuse_page(kl__sim_answer *answer, kl_error *err)
{
    answer->status = 404;
    answer->content_type = "text/plain; charset=utf-8";
    kl__buf_puts(&answer->out, "404 page not found\n");
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

/* Answers 405 for a custom kind: a real server words it differently there. */
static kl_code refuse_custom_method(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_kind *kind = answer->kind;
    kl__sim_status status = {.code = 405,
                             .reason = "MethodNotAllowed",
                             .has_details = true,
                             .group = kind->group,
                             .kind = kind->plural};

    snprintf(status.message, sizeof(status.message),
             "%s is not supported on resources of kind \"%s\"",
             kl__sim_verb(&answer->ask), kind->qualified);
    return kl__sim_answer_status(answer, &status, err);
}

kl_code kl__sim_refuse_method(kl__sim_answer *answer, kl_error *err)
{
    kl__sim_status status = {
        .code = 405,
        .reason = "MethodNotAllowed",
        .has_details = true,
        .message =
            "the server does not allow this method on the requested resource"};

    if (answer->kind != NULL && kl__sim_kind_is(answer->kind, KL__SIM_CUSTOM)) {
        return refuse_custom_method(answer, err);
    }
    return kl__sim_answer_status(answer, &status, err);
}

kl_code kl__sim_refuse_missing(kl__sim_answer *answer, const kl__sim_kind *kind,
                               const char *name, kl_error *err)
{
    kl__sim_status status = {.code = 404,
                             .reason = "NotFound",
                             .has_details = true,
                             .name = name,
                             .group = kind->group,
                             .kind = kind->plural};

    snprintf(status.message, sizeof(status.message), "%s \"%s\" not found",
             kind->qualified, name);
    kl__sim_make_utf8(status.message);
    return kl__sim_answer_status(answer, &status, err);
}

kl_code kl__sim_refuse_conflict(kl__sim_answer *answer,
                                const kl__sim_kind *kind, const char *name,
                                const char *why, kl_error *err)
{
    kl__sim_status status = {.code = 409,
                             .reason = "Conflict",
                             .has_details = true,
                             .name = name,
                             .group = kind->group,
                             .kind = kind->plural};

    snprintf(status.message, sizeof(status.message),
             "Operation cannot be fulfilled on %s \"%s\": %s", kind->qualified,
             name, why);
    kl__sim_make_utf8(status.message);
    return kl__sim_answer_status(answer, &status, err);
}

void kl__sim_cause_add(kl__sim_status *status, const char *reason,
                       const char *field, const char *format, ...)
{
    kl__sim_cause *cause;
    va_list args;

    if (status->cause_count == KL__SIM_MAX_CAUSES) {
        return;
    }
    cause = &status->causes[status->cause_count++];
    cause->reason = reason;
    cause->field = field;
    va_start(args, format);
    vsnprintf(cause->message, sizeof(cause->message), format, args);
    va_end(args);
    kl__sim_make_utf8(cause->message);
}

/* Appends all causes, with commas between them. */
static void put_causes(const kl__sim_status *status, kl__buf *text)
{
    const char *comma = "";

    for (size_t i = 0; i < status->cause_count; i++) {
        kl__buf_printf(text, "%s%s: %s", comma, status->causes[i].field,
                       status->causes[i].message);
        comma = ", ";
    }
    for (size_t i = 0; status->errors != NULL && i < status->errors->count;
         i++) {
        const kl__field_error *error = &status->errors->items[i];

        kl__sim_make_utf8(error->message);
        kl__sim_make_utf8(error->field);
        kl__buf_printf(text, "%s%s: %s", comma, error->field, error->message);
        comma = ", ";
    }
}

kl_code kl__sim_refuse_invalid(kl__sim_answer *answer, kl__sim_status *status,
                               const char *qualified, kl_error *err)
{
    const char *name = status->name != NULL ? status->name : "";
    size_t count = status->cause_count +
                   (status->errors != NULL ? status->errors->count : 0);
    kl__buf text = {0};
    kl_code code;

    status->code = 422;
    status->reason = "Invalid";
    status->has_details = true;
    kl__buf_printf(&text, "%s \"%s\" is invalid: %s", qualified, name,
                   count > 1 ? "[" : "");
    put_causes(status, &text);
    kl__buf_puts(&text, count > 1 ? "]" : "");
    if (text.failed) {
        kl__buf_deinit(&text);
        return kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
    }
    kl__sim_make_utf8(text.bytes);
    status->words = text.bytes;
    code = kl__sim_answer_status(answer, status, err);
    status->words = NULL;
    kl__buf_deinit(&text);
    return code;
}

const char *kl__sim_reason(int code)
{
    static const struct {
        int code;
        const char *reason;
    } reasons[] = {{400, "BadRequest"},
                   {401, "Unauthorized"},
                   {403, "Forbidden"},
                   {404, "NotFound"},
                   {405, "MethodNotAllowed"},
                   {406, "NotAcceptable"},
                   {409, "Conflict"},
                   {410, "Expired"},
                   {413, "RequestEntityTooLarge"},
                   {415, "UnsupportedMediaType"},
                   {422, "Invalid"},
                   {429, "TooManyRequests"},
                   {500, "InternalError"},
                   {503, "ServiceUnavailable"},
                   {504, "Timeout"}};

    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
        if (reasons[i].code == code) {
            return reasons[i].reason;
        }
    }
    return NULL;
}

void kl__sim_status_too_large(kl__sim_status *status, int64_t version,
                              int64_t current)
{
    status->code = 504;
    status->reason = "Timeout";
    status->retry_after_seconds = 1;
    kl__sim_cause_add(status, "ResourceVersionTooLarge", NULL,
                      "Too large resource version");
    snprintf(status->message, sizeof(status->message),
             "Timeout: Too large resource version: %" PRId64
             ", current: %" PRId64,
             version, current);
}
