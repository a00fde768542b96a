/*
 * sim_control.c - see sim_control.h. A table of paths: a new path is a new row
 * and its function.
 */
#include "sim/core/sim_control.h"

#include "base/mem.h"
#include "sim/core/access/sim_access.h"
#include "sim/core/answer/sim_status.h"
#include "sim/core/sim_faults.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* `rest`: the segment after the name, or NULL. */
typedef kl_code (*control_fn)(kl__sim_answer *answer, const char *rest,
                              kl_error *err);

static kl_code check_out(const kl__sim_answer *answer, kl_error *err)
{
    return !answer->out.failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for an answer");
}

/* Answers with `json`, and frees it. If `json` is NULL, returns the code of
 * `err`. */
static kl_code answer_json(kl__sim_answer *answer, char *json,
                           const kl_error *err)
{
    if (json == NULL) {
        return err->code;
    }
    kl__sim_answer_json(answer, 200);
    kl__buf_printf(&answer->out, "%s\n", json);
    kl__free(json);
    return check_out(answer, NULL);
}

static kl_code tell_number(kl__sim_answer *answer, int status, const char *name,
                           int64_t number, kl_error *err)
{
    kl__sim_answer_json(answer, status);
    kl__buf_printf(&answer->out, "{\"%s\":%" PRId64 "}\n", name, number);
    return check_out(answer, err);
}

/* Answers with the outcome of a call: success, or the error in `why`. */
static kl_code tell_outcome(kl__sim_answer *answer, kl_code code,
                            const kl_error *why, kl_error *err)
{
    if (code == KL_ENOMEM) {
        return kl_error_set(err, KL_ENOMEM, "%s", why->message);
    }
    if (code != KL_OK) {
        return kl__sim_refuse(answer, 400, "BadRequest", err, "%s",
                              why->message);
    }
    kl__sim_answer_json(answer, 200);
    kl__buf_puts(&answer->out, "{}\n");
    return check_out(answer, err);
}

static kl_code get_faults(kl__sim_answer *answer, const char *rest,
                          kl_error *err)
{
    kl_error why;
    char *json;

    (void)rest;
    json = kl_sim_faults(answer->sim, &why);
    return json != NULL ? answer_json(answer, json, NULL)
                        : kl_error_set(err, why.code, "%s", why.message);
}

static kl_code post_fault(kl__sim_answer *answer, const char *rest,
                          kl_error *err)
{
    kl_error why;
    int64_t id;
    kl_code code = kl__sim_fault(answer->sim, &answer->ask, &id, &why);

    (void)rest;
    return code == KL_OK ? tell_number(answer, 201, "id", id, err)
                         : tell_outcome(answer, code, &why, err);
}

static kl_code delete_fault(kl__sim_answer *answer, const char *rest,
                            kl_error *err)
{
    int64_t id = rest != NULL ? strtoll(rest, NULL, 10) : 0;

    if ((rest != NULL && id <= 0) || !kl_sim_heal(answer->sim, id)) {
        return kl__sim_refuse(answer, 404, "NotFound", err,
                              "there is no fault \"%s\": GET /kubelua/faults "
                              "lists them",
                              rest);
    }
    return tell_outcome(answer, KL_OK, NULL, err);
}

static kl_code get_requests(kl__sim_answer *answer, const char *rest,
                            kl_error *err)
{
    kl_error why;
    char *json = kl_sim_requests(answer->sim, &why);

    (void)rest;
    return json != NULL ? answer_json(answer, json, NULL)
                        : kl_error_set(err, why.code, "%s", why.message);
}

static kl_code delete_requests(kl__sim_answer *answer, const char *rest,
                               kl_error *err)
{
    (void)rest;
    kl_sim_requests_clear(answer->sim);
    return tell_outcome(answer, KL_OK, NULL, err);
}

static kl_code post_compact(kl__sim_answer *answer, const char *rest,
                            kl_error *err)
{
    (void)rest;
    kl_sim_compact(answer->sim);
    return tell_outcome(answer, KL_OK, NULL, err);
}

static kl_code post_cut(kl__sim_answer *answer, const char *rest, kl_error *err)
{
    (void)rest;
    kl_sim_cut(answer->sim);
    return tell_outcome(answer, KL_OK, NULL, err);
}

/* The number that the body has under `name`; -1 if there is none. */
static double number_of(const kl__sim_ask *ask, const char *name)
{
    const kl_value *value = kl_value_get(kl_doc_root(ask->doc), name);
    const kl_type type = kl_value_type(value);

    return type == KL_INTEGER || type == KL_UNSIGNED || type == KL_REAL
               ? kl_value_real(value)
               : -1;
}

static kl_code get_clock(kl__sim_answer *answer, const char *rest,
                         kl_error *err)
{
    (void)rest;
    return tell_number(answer, 200, "now_ms", kl_sim_now(answer->sim), err);
}

static kl_code post_clock(kl__sim_answer *answer, const char *rest,
                          kl_error *err)
{
    const double seconds =
        answer->ask.doc != NULL ? number_of(&answer->ask, "advance") : -1;
    kl_error why;
    kl_code code;

    (void)rest;
    if (!(seconds >= 0 && seconds <= 1e9)) {
        return kl__sim_refuse(answer, 400, "BadRequest", err,
                              "clock: {\"advance\": SECONDS} is needed");
    }
    code = kl_sim_advance(answer->sim, (int64_t)(seconds * 1000), &why);
    return code == KL_OK ? get_clock(answer, NULL, err)
                         : tell_outcome(answer, code, &why, err);
}

static kl_code post_snapshot(kl__sim_answer *answer, const char *rest,
                             kl_error *err)
{
    int64_t version;
    kl_error why;
    kl_code code = kl_sim_snapshot(answer->sim, &version, &why);

    (void)rest;
    return code == KL_OK ? tell_number(answer, 201, "version", version, err)
                         : tell_outcome(answer, code, &why, err);
}

static kl_code post_restore(kl__sim_answer *answer, const char *rest,
                            kl_error *err)
{
    const double version =
        answer->ask.doc != NULL ? number_of(&answer->ask, "version") : -1;
    kl_error why;
    kl_code code;

    (void)rest;
    if (!(version >= 1 && version <= 1e15)) {
        return kl__sim_refuse(answer, 400, "BadRequest", err,
                              "restore: {\"version\": NUMBER} is needed");
    }
    code = kl_sim_restore(answer->sim, (int64_t)version, &why);
    return tell_outcome(answer, code, &why, err);
}

static kl_code get_paths(kl__sim_answer *answer, const char *rest,
                         kl_error *err);

static const struct control_row {
    const char *method;
    const char *name; /* NULL: /kubelua itself */
    control_fn run;
} rows[] = {
    {"GET", NULL, get_paths},
    {"GET", "faults", get_faults},
    {"POST", "faults", post_fault},
    {"DELETE", "faults", delete_fault},
    {"GET", "requests", get_requests},
    {"DELETE", "requests", delete_requests},
    {"POST", "compact", post_compact},
    {"POST", "cut", post_cut},
    {"GET", "clock", get_clock},
    {"POST", "clock", post_clock},
    {"POST", "snapshot", post_snapshot},
    {"POST", "restore", post_restore},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static kl_code get_paths(kl__sim_answer *answer, const char *rest,
                         kl_error *err)
{
    kl__buf *out = &answer->out;

    (void)rest;
    kl__sim_answer_json(answer, 200);
    kl__buf_puts(out, "{\"paths\":[");
    for (size_t i = 1; i < ROWS; i++) {
        kl__buf_printf(out, "%s\"%s /kubelua/%s\"", i > 1 ? "," : "",
                       rows[i].method, rows[i].name);
    }
    kl__buf_puts(out, "]}\n");
    return check_out(answer, err);
}

bool kl__sim_is_control(const kl__sim_answer *answer)
{
    const kl__sim_ask *ask = &answer->ask;

    return answer->may_control && ask->segment_count > 0 &&
           strcmp(ask->segments[0], "kubelua") == 0;
}

static bool is_row(const struct control_row *row, const kl__sim_ask *ask)
{
    const char *name = ask->segment_count > 1 ? ask->segments[1] : NULL;
    bool is_named = row->name == NULL || name == NULL
                        ? row->name == name
                        : strcmp(row->name, name) == 0;

    return is_named && strcmp(row->method, ask->method) == 0 &&
           (ask->segment_count <= 2 ||
            (ask->segment_count == 3 && row->run == delete_fault));
}

/* True if the header is "Bearer TOKEN" with the control token; takes as long
 * whichever byte differs. */
static bool is_control_token(const kl_sim *sim, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    const size_t size = sizeof(sim->control_token) - 1;
    unsigned char differs = 0;

    if (strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0 ||
        strlen(authorization) != sizeof(scheme) - 1 + size) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        differs |= (unsigned char)(authorization[sizeof(scheme) - 1 + i] ^
                                   sim->control_token[i]);
    }
    return differs == 0;
}

static bool is_json(const char *content_type)
{
    static const char json[] = "application/json";

    return strncasecmp(content_type, json, sizeof(json) - 1) == 0 &&
           strchr("; ", content_type[sizeof(json) - 1]) != NULL;
}

/* Over a port a page of another site could make a browser send the request, and
 * another user of this machine could: both lack the token, and a page cannot
 * send JSON without being asked. False: refused (*code). */
static bool may_control(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;

    if (!is_control_token(answer->sim, ask->authorization)) {
        *code = kl__sim_refuse(
            answer, 401, "Unauthorized", err,
            "a control request needs the header \"Authorization: Bearer "
            "TOKEN\" with the control token, which kubelua sim prints when it "
            "starts (cluster:control_token())");
        return false;
    }
    if (strcmp(ask->method, "GET") != 0 && !is_json(ask->content_type)) {
        *code =
            kl__sim_refuse(answer, 415, "UnsupportedMediaType", err,
                           "a control request needs the header \"Content-Type: "
                           "application/json\"");
        return false;
    }
    *code = KL_OK;
    return true;
}

/* Checks credentials, as for any other request. False: refused (*code). */
static bool may_enter(kl__sim_answer *answer, kl_code *code, kl_error *err)
{
    bool may = answer->direct;

    *code = KL_OK;
    if (!may) {
        kl__mutex_lock(&answer->sim->mutex);
        may = kl__sim_let_in(answer, code, err);
        kl__mutex_unlock(&answer->sim->mutex);
    }
    return may;
}

kl_code kl__sim_control(kl__sim_answer *answer, kl_error *err)
{
    const kl__sim_ask *ask = &answer->ask;
    kl_code code;

    if (answer->has_socket ? !may_control(answer, &code, err)
                           : !may_enter(answer, &code, err)) {
        return code;
    }
    for (size_t i = 0; i < ROWS; i++) {
        if (is_row(&rows[i], ask)) {
            return rows[i].run(
                answer, ask->segment_count > 2 ? ask->segments[2] : NULL, err);
        }
    }
    return kl__sim_refuse(answer, 404, "NotFound", err,
                          "%s %s: GET /kubelua lists the paths", ask->method,
                          ask->target);
}
