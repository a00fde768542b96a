/*
 * sim_options.c - see sim_options.h and docs/KUBERNETES.md#list-option-checks.
 * A kube-apiserver 1.36 was seen to allow the same combinations.
 *
 * Continue tokens have its format (docs/KUBERNETES.md#pagination): base64url of
 * {"v":"meta.k8s.io/v1","rv":VERSION,"start":"/KEY\u0000"}.
 */
#include "sim/core/answer/sim_options.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "sim/core/answer/sim_labels.h"
#include "sim/core/answer/sim_status.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct options_reading {
    kl__sim_options *options;
    kl__sim_answer *answer;
    kl_code code; /* KL_ENOMEM if even the refusal failed */
    kl_error *err;
} options_reading;

static bool refuse_options(options_reading *reading, const char *message)
{
    reading->code = kl__sim_refuse(reading->answer, 400, "BadRequest",
                                   reading->err, "%s", message);
    return false;
}

/* Reads a signed number as Go does: a sign and digits, nothing around them. */
static bool read_integer(options_reading *reading, const char *name,
                         int64_t *number)
{
    const char *text = kl__sim_parameter_get(&reading->answer->ask, name);
    const char *digits = text;
    char message[256], *end;

    if (text == NULL || *text == '\0') {
        return true;
    }
    digits += *text == '-' || *text == '+';
    errno = 0;
    *number = strtoll(text, &end, 10);
    if (*digits >= '0' && *digits <= '9' && *end == '\0' && errno == 0) {
        return true;
    }
    snprintf(message, sizeof(message),
             "strconv.ParseInt: parsing \"%.100s\": %s", text,
             errno == ERANGE && *end == '\0' ? "value out of range"
                                             : "invalid syntax");
    return refuse_options(reading, message);
}

/* True if a resourceVersion is a number, which is stored in *at. */
static bool read_version(const char *text, int64_t *at)
{
    char *end;

    *at = 0;
    if (*text == '\0') {
        return true;
    }
    if (*text < '0' || *text > '9') {
        return false;
    }
    errno = 0;
    *at = strtoll(text, &end, 10);
    return *end == '\0' && errno == 0;
}

static bool refuse_version(options_reading *reading)
{
    const kl__sim_options *options = reading->options;

    if (options->watch) {
        reading->code = kl__sim_refuse(
            reading->answer, 500, NULL, reading->err,
            "resourceVersion: Invalid value: \"%s\": strconv.ParseUint: "
            "parsing \"%s\": invalid syntax",
            options->version, options->version);
    } else {
        reading->code = kl__sim_refuse(
            reading->answer, 400, "BadRequest", reading->err,
            "invalid resource version: resourceVersion: Invalid value: \"%s\": "
            "strconv.ParseUint: parsing \"%s\": invalid syntax",
            options->version, options->version);
    }
    return false;
}

bool kl__sim_options_await(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const char *version =
        kl__sim_parameter_get(&answer->ask, "resourceVersion");
    kl__sim_options options = {.watch = true, .version = version};
    options_reading reading = {&options, answer, KL_OK, err};
    int64_t reached = answer->sim->version;
    kl__sim_status status = {0};

    if (version == NULL) {
        return true;
    }
    if (!read_version(version, &options.at)) {
        refuse_version(&reading);
        *code = reading.code;
        return false;
    }
    if (options.at <= reached) {
        return true;
    }
    *code = KL_OK;
    if (!kl__sim_answer_await(answer, options.at)) {
        kl__sim_status_too_large(&status, options.at, reached);
        *code = kl__sim_answer_status(answer, &status, err);
    }
    return false;
}

static void check_list_options(const kl__sim_options *options,
                               kl__sim_status *status)
{
    const char *match = options->match;

    if (*match != '\0') {
        if (*options->version == '\0') {
            kl__sim_cause_add(status, "FieldValueForbidden",
                              "resourceVersionMatch",
                              "Forbidden: resourceVersionMatch is forbidden "
                              "unless resourceVersion is provided");
        }
        if (*options->token != '\0') {
            kl__sim_cause_add(status, "FieldValueForbidden",
                              "resourceVersionMatch",
                              "Forbidden: resourceVersionMatch is forbidden "
                              "when continue is provided");
        }
        if (strcmp(match, "Exact") != 0 && strcmp(match, "NotOlderThan") != 0) {
            kl__sim_cause_add(status, "FieldValueNotSupported",
                              "resourceVersionMatch",
                              "Unsupported value: \"%s\": supported values: "
                              "\"Exact\", \"NotOlderThan\", \"\"",
                              match);
        }
        if (strcmp(match, "Exact") == 0 && strcmp(options->version, "0") == 0) {
            kl__sim_cause_add(status, "FieldValueForbidden",
                              "resourceVersionMatch",
                              "Forbidden: resourceVersionMatch \"exact\" is "
                              "forbidden for resourceVersion \"0\"");
        }
    }
    if (options->has_initial) {
        kl__sim_cause_add(status, "FieldValueForbidden", "sendInitialEvents",
                          "Forbidden: sendInitialEvents is forbidden for list");
    }
}

static void check_watch(const kl__sim_options *options, bool no_streaming,
                        kl__sim_status *status)
{
    const char *match = options->match;
    bool not_older = strcmp(match, "NotOlderThan") == 0;

    if (options->has_initial && !not_older) {
        kl__sim_cause_add(status, "FieldValueForbidden", "resourceVersionMatch",
                          "Forbidden: sendInitialEvents requires setting "
                          "resourceVersionMatch to NotOlderThan");
    }
    if (options->has_initial && no_streaming) {
        kl__sim_cause_add(status, "FieldValueForbidden", "sendInitialEvents",
                          "Forbidden: sendInitialEvents is forbidden for watch "
                          "unless the WatchList feature gate is enabled");
    }
    if (*match == '\0') {
        return;
    }
    if (!options->has_initial) {
        kl__sim_cause_add(status, "FieldValueForbidden", "resourceVersionMatch",
                          "Forbidden: resourceVersionMatch is forbidden for "
                          "watch unless sendInitialEvents is provided");
    }
    if (!not_older) {
        kl__sim_cause_add(status, "FieldValueNotSupported",
                          "resourceVersionMatch",
                          "Unsupported value: \"%s\": supported values: "
                          "\"NotOlderThan\"",
                          match);
    }
    if (*options->token != '\0') {
        kl__sim_cause_add(status, "FieldValueForbidden", "resourceVersionMatch",
                          "Forbidden: resourceVersionMatch is forbidden when "
                          "continue is provided");
    }
}

/* Sets the defaults of a watch without a resourceVersion: it begins with the
 * current objects (kube-apiserver 1.34). */
static void set_defaults(kl__sim_options *options, bool no_streaming)
{
    if (options->watch && !no_streaming && !options->has_initial &&
        *options->match == '\0' &&
        (*options->version == '\0' || strcmp(options->version, "0") == 0)) {
        options->has_initial = true;
        options->initial = true;
        options->match = "NotOlderThan";
    }
}

static bool check_read_options(options_reading *reading)
{
    kl__sim_options *options = reading->options;
    bool no_streaming = reading->answer->sim->no_streaming_list;
    kl__sim_status status = {.group = "meta.k8s.io", .kind = "ListOptions"};

    if (options->watch) {
        check_watch(options, no_streaming, &status);
    } else {
        check_list_options(options, &status);
    }
    if (status.cause_count == 0) {
        return true;
    }
    reading->code = kl__sim_refuse_invalid(
        reading->answer, &status, "ListOptions.meta.k8s.io", reading->err);
    return false;
}

static bool read_selectors(options_reading *reading, const kl__sim_kind *kind)
{
    const kl__sim_ask *ask = &reading->answer->ask;
    kl__sim_selection *selection = &reading->answer->selection;
    const char *labels = kl__sim_parameter_get(ask, "labelSelector");
    const char *fields = kl__sim_parameter_get(ask, "fieldSelector");
    kl_error why = {0};
    kl_code code = KL_OK;

    if (ask->route.name_space != NULL) {
        selection->name_space = kl__strdup(ask->route.name_space);
        if (selection->name_space == NULL) {
            code = kl_error_set(&why, KL_ENOMEM, "out of memory");
        }
    }
    if (code == KL_OK && labels != NULL && *labels != '\0') {
        selection->labels = kl_selector_parse(labels, &why);
        code = selection->labels != NULL ? KL_OK : why.code;
    }
    if (code == KL_OK && fields != NULL && *fields != '\0') {
        const kl__sim_selectable of = {reading->answer->kind, kind};

        code = kl__sim_selection_fields(selection, &of, fields, &why);
    }
    if (code == KL_ENOMEM) {
        reading->code = kl_error_set(reading->err, code, "%s", why.message);
        return false;
    }
    /* cut off the second line, which points at the fault */
    why.message[strcspn(why.message, "\n")] = '\0';
    return code == KL_OK || refuse_options(reading, why.message);
}

static const char *get_parameter(const kl__sim_ask *ask, const char *name)
{
    const char *text = kl__sim_parameter_get(ask, name);

    return text != NULL ? text : "";
}

bool kl__sim_options_read(kl__sim_options *options, kl__sim_answer *answer,
                          const kl__sim_kind *kind, bool watch, kl_code *code,
                          kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    options_reading reading = {options, answer, KL_OK, err};
    const char *timeout = get_parameter(ask, "timeoutSeconds");
    bool done;

    memset(options, 0, sizeof(*options));
    options->watch = watch;
    options->version = get_parameter(ask, "resourceVersion");
    options->match = get_parameter(ask, "resourceVersionMatch");
    options->token = get_parameter(ask, "continue");
    options->has_initial =
        kl__sim_parameter_get(ask, "sendInitialEvents") != NULL;
    options->initial = kl__sim_parameter_is(ask, "sendInitialEvents");
    options->bookmarks = kl__sim_parameter_is(ask, "allowWatchBookmarks");
    options->has_timeout = *timeout != '\0' && strcmp(timeout, "0") != 0;
    set_defaults(options, answer->sim->no_streaming_list);
    done =
        read_integer(&reading, "limit", &options->limit) &&
        read_integer(&reading, "timeoutSeconds", &options->timeout_seconds) &&
        read_selectors(&reading, kind) && check_read_options(&reading);
    if (done && !read_version(options->version, &options->at)) {
        done = refuse_version(&reading);
    }
    *code = reading.code;
    return done;
}

/* ---- continue tokens ---- */

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* Decodes base64url; false: malformed at byte *bad of the text. */
static bool decode_base64url(const char *text, kl__buf *out, size_t *bad)
{
    uint32_t group = 0;
    size_t bits = 0, length = strlen(text);

    for (*bad = 0; *bad < length; (*bad)++) {
        const char *found = strchr(alphabet, text[*bad]);

        if (found == NULL) {
            return false;
        }
        group = (group << 6 | (uint32_t)(found - alphabet)) & 0xffffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            kl__buf_putc(out, (char)(group >> bits & 0xff));
        }
    }
    return length % 4 != 1;
}

void kl__sim_token_write(int64_t version, const char *key, kl__buf *out)
{
    kl__buf json = {0};

    kl__buf_printf(&json,
                   "{\"v\":\"meta.k8s.io/v1\",\"rv\":%" PRId64
                   ",\"start\":\"/%s\\u0000\"}",
                   version, key);
    if (json.failed) {
        out->failed = true;
    } else {
        kl__base64url_encode(out, json.bytes, json.length);
    }
    kl__buf_deinit(&json);
}

static kl_code refuse_token(kl_error *err, const char *why)
{
    return kl_error_set(err, KL_EINVAL,
                        "invalid continue token: continue key is not valid: %s",
                        why);
}

/* True if a start has "..", which would lead out of the collection and is not
 * allowed. */
static bool leads_up(const char *start)
{
    for (const char *at = start; *at != '\0'; at++) {
        if ((at == start || at[-1] == '/') && at[0] == '.' && at[1] == '.' &&
            (at[2] == '/' || at[2] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Reads the decoded token. */
static kl_code read_token(const kl_value *root, kl__sim_token *token,
                          kl_error *err)
{
    const char *format = kl_value_string(kl_value_get(root, "v"), NULL);
    const char *start = kl_value_string(kl_value_get(root, "start"), NULL);
    char why[128] = "";

    token->version = kl_value_integer(kl_value_get(root, "rv"));
    if (format == NULL || strcmp(format, "meta.k8s.io/v1") != 0) {
        kl_error_set(err, KL_EINVAL,
                     "invalid continue token: continue key is not valid: "
                     "server does not recognize this encoded version %.40s",
                     format != NULL ? format : "");
        return KL_EINVAL;
    }
    if (token->version == 0) {
        return refuse_token(err,
                            "incorrect encoded start resourceVersion (version "
                            "meta.k8s.io/v1)");
    }
    if (start == NULL || *start == '\0') {
        return refuse_token(err,
                            "encoded start key empty (version meta.k8s.io/v1)");
    }
    if (leads_up(start)) {
        strncat(why, start, sizeof(why) - 1);
        return refuse_token(err, why);
    }
    /* The NUL at the end means "after this key"; the C string ends there
     * too. */
    token->start = kl__strdup(start + (*start == '/'));
    return token->start != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a list");
}

kl_code kl__sim_token_read(const char *text, kl__sim_token *token,
                           kl_error *err)
{
    kl__buf json = {0};
    kl_error parse = {0};
    kl_doc *doc = NULL;
    kl_code code;
    size_t bad;

    memset(token, 0, sizeof(*token));
    if (!decode_base64url(text, &json, &bad)) {
        kl__buf_deinit(&json);
        return kl_error_set(err, KL_EINVAL,
                            "invalid continue token: continue key is not "
                            "valid: illegal base64 data at input byte %zu",
                            bad);
    }
    if (!json.failed) {
        doc = kl_doc_parse(json.bytes != NULL ? json.bytes : "", json.length,
                           &parse);
    }
    if (json.failed || (doc == NULL && parse.code == KL_ENOMEM)) {
        code = kl_error_set(err, KL_ENOMEM, "out of memory for a list");
    } else if (doc == NULL) {
        code = refuse_token(err, parse.message);
    } else {
        code = read_token(kl_doc_root(doc), token, err);
    }
    kl_doc_unref(doc);
    kl__buf_deinit(&json);
    return code;
}
