/*
 * sim_play.c - see sim_play.h.
 */
#include "sim_play.h"

#include "fault_rig.h"

#include "kubelua/manifest.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    MOST_TEXTS = 16,
    MOST_KEPT = 16,
    LONGEST_NAME = 16,
    LONGEST_KEPT = 2048
};

/* What "$name=path" keeps; the oldest is overwritten. */
static struct {
    char name[LONGEST_NAME];
    char text[LONGEST_KEPT];
} kept[MOST_KEPT];
static size_t kept_count;

/* $streaming: what makes a watch begin with the objects that there are. */
static const char streaming[] =
    "sendInitialEvents=true&resourceVersionMatch=NotOlderThan";

/* What claims are about: a reply, or an event's object at `prefix`. */
typedef struct subject {
    const char *line;
    const kl_doc *doc;
    const char *prefix;
    const kl_reply *raw; /* NULL: an event */
} subject;

static int64_t deadline(void)
{
    return fault_in(SIM_CLIENT_PATIENCE_MS);
}

static char *copy_text(const char *text, size_t length)
{
    char *copy = calloc(1, length + 1);

    memcpy(copy, text, length);
    return copy;
}

const char *sim_kept(const char *name)
{
    for (size_t i = 0; i < MOST_KEPT; i++) {
        if (strcmp(kept[i].name, name) == 0) {
            return kept[i].text;
        }
    }
    return strcmp(name, "streaming") == 0 ? streaming : "";
}

static void keep_text(const char *name, const char *text)
{
    size_t i = 0;

    while (i < MOST_KEPT && strcmp(kept[i].name, name) != 0) {
        i++;
    }
    i = i < MOST_KEPT ? i : kept_count++ % MOST_KEPT;
    assert_true(strlen(name) < LONGEST_NAME && strlen(text) < LONGEST_KEPT);
    strcpy(kept[i].name, name);
    strcpy(kept[i].text, text);
}

/* The line with what is kept instead of "$name"; the caller frees it. */
static char *fill_in(const char *line, size_t length)
{
    kl__buf out = {0};
    char *text;

    for (size_t i = 0; i < length; i++) {
        char name[LONGEST_NAME] = "";
        size_t n = 0;

        while (line[i] == '$' && n + 1 < LONGEST_NAME && i + n + 1 < length &&
               isalnum((unsigned char)line[i + n + 1])) {
            name[n] = line[i + n + 1];
            n++;
        }
        if (n > 0 && sim_kept(name)[0] != '\0' && line[i + n + 1] != '=') {
            kl__buf_append(&out, sim_kept(name), strlen(sim_kept(name)));
            i += n;
        } else {
            kl__buf_append(&out, line + i, 1);
        }
    }
    text = copy_text(out.length != 0 ? out.bytes : "", out.length);
    kl__buf_deinit(&out);
    return text;
}

static kl_code copy_json(void *context, const char *json, size_t length,
                         kl_error *err)
{
    (void)err;
    kl__buf_append(context, json, length);
    return KL_OK;
}

/* YAML as JSON; the caller frees it. */
static char *json_of(const char *yaml)
{
    kl__buf json = {0};
    kl_error err = {0};
    char *text;

    if (kl_manifest_each(yaml, strlen(yaml), copy_json, &json, &err) != KL_OK ||
        json.length == 0) {
        fail_msg("%s: %s", yaml, err.message);
    }
    text = copy_text(json.bytes, json.length);
    kl__buf_deinit(&json);
    return text;
}

const char *sim_json(const char *yaml)
{
    static char *texts[MOST_TEXTS];
    static size_t next;
    const size_t at = next++ % MOST_TEXTS;

    if ((*yaml != '{' && *yaml != '[') || strchr(yaml, '"') != NULL ||
        strpbrk(yaml, "'abcdefghijklmnopqrstuvwxyz") == NULL) {
        return yaml;
    }
    free(texts[at]);
    texts[at] = json_of(yaml);
    return texts[at];
}

static const char *text_at(const subject *about, const char *path)
{
    char whole[512];

    snprintf(whole, sizeof(whole), "%s%s", about->prefix, path);
    return sim_text(about->doc, whole);
}

/* True if a claim is "Reason: message". */
static bool is_refusal(const char *claim)
{
    size_t letters = 0;

    while (isalpha((unsigned char)claim[letters])) {
        letters++;
    }
    return isupper((unsigned char)claim[0]) &&
           strncmp(claim + letters, ": ", 2) == 0;
}

static bool is_refused_so(const subject *about, const char *claim)
{
    char found[8192];

    snprintf(found, sizeof(found), "%s: ", text_at(about, "reason"));
    strncat(found, text_at(about, "message"),
            sizeof(found) - strlen(found) - 1);
    return strcmp(found, claim) == 0 &&
           strcmp(text_at(about, "kind"), "Status") == 0 &&
           strcmp(text_at(about, "status"), "Failure") == 0 &&
           (about->raw == NULL ||
            atoi(text_at(about, "code")) == about->raw->status);
}

/* The names of a list's items, separated by blanks. */
static const char *names_of(const kl_doc *list)
{
    static char text[4096];
    const kl_value *items = kl_value_get(kl_doc_root(list), "items");

    assert_int_equal(kl_value_type(items), KL_ARRAY);
    text[0] = '\0';
    for (size_t i = 0; i < kl_value_size(items); i++) {
        const kl_value *name = kl_value_get(
            kl_value_get(kl_value_at(items, i), "metadata"), "name");

        strcat(text, i != 0 ? " " : "");
        strcat(text, kl_value_string(name, NULL));
    }
    return text;
}

/* What a claim's left side stands for. */
static const char *found_at(const subject *about, const char *path)
{
    static char number[24];

    if (about->raw != NULL && strcmp(path, "type") == 0) {
        return about->raw->content_type;
    } else if (about->raw != NULL && strcmp(path, "retry-after") == 0) {
        snprintf(number, sizeof(number), "%ld", about->raw->retry_after_ms);
        return number;
    } else if (about->raw != NULL && strcmp(path, "body") == 0) {
        return about->raw->body;
    } else if (about->raw != NULL && strcmp(path, "names") == 0) {
        return names_of(about->doc);
    } else if (*path == '#') {
        snprintf(number, sizeof(number), "%zu",
                 strlen(found_at(about, path + 1)));
        return number;
    }
    return text_at(about, path);
}

/* The claim "path=value" or "path!=value". */
static bool has_value(const subject *about, char *path, char *value)
{
    const bool differs = value[-1] == '!';
    char *json = value[1] == '{' || value[1] == '[' ? json_of(value + 1) : NULL;
    const char *found;
    bool equal;

    value[differs ? -1 : 0] = '\0';
    found = found_at(about, path);
    equal = strcmp(found, json != NULL ? json : value + 1) == 0;
    free(json);
    return equal != differs;
}

static bool is_true(const subject *about, char *claim)
{
    char *equals = strchr(claim, '=');

    if (claim[0] == '~' || claim[0] == '!') {
        assert_non_null(about->raw);
        return (strstr(about->raw->body, claim + 1) != NULL) ==
               (claim[0] == '~');
    } else if (claim[0] == '^') {
        return strncmp(about->raw->body, claim + 1, strlen(claim + 1)) == 0;
    } else if (strncmp(claim, "warnings~", 9) == 0) {
        return about->raw->warnings != NULL &&
               strstr(about->raw->warnings, claim + 9) != NULL;
    } else if (is_refusal(claim)) {
        return is_refused_so(about, claim);
    }
    if (equals == NULL || equals == claim) {
        fail_msg("not a claim: %s", claim);
    }
    if (claim[0] == '$') {
        *equals = '\0';
        keep_text(claim + 1, text_at(about, equals + 1));
        return sim_kept(claim + 1)[0] != '\0';
    }
    return has_value(about, claim, equals);
}

static void check_claims(const subject *about, const char *claims)
{
    while (*claims != '\0') {
        const char *end = strstr(claims, " | ");
        size_t length = end != NULL ? (size_t)(end - claims) : strlen(claims);
        char *claim = copy_text(claims, length);

        if (!is_true(about, claim)) {
            fail_msg("%s\nnot so: %.*s\n%s", about->line, (int)length, claims,
                     about->raw != NULL ? about->raw->body
                                        : sim_text(about->doc, "object"));
        }
        free(claim);
        claims += length + (end != NULL ? 3 : 0);
    }
}

static void check_event(sim_watch *watch, const char *line, const char *event)
{
    const char *name = strchr(event, ' ');
    const char *type;

    if (strcmp(event, "SILENCE") == 0) {
        sim_watch_expect_silence(watch);
        return;
    }
    type = sim_watch_next(watch);
    if (strncmp(event, strcmp(type, "") == 0 ? "END" : type,
                strcspn(event, " ")) != 0 ||
        (name != NULL && strcmp(sim_text(watch->event, "object.metadata.name"),
                                name + 1) != 0)) {
        fail_msg("%s\nnot %s: %s %s", line, event, type,
                 sim_text(watch->event, "object"));
    }
}

void sim_watch_sees(sim_watch *watch, const char *events)
{
    const char *claims = strstr(events, " | ");
    const char *at = events;
    const char *end = claims != NULL ? claims : events + strlen(events);

    while (at < end) {
        const char *comma = strstr(at, ", ");
        const char *stop = comma != NULL && comma < end ? comma : end;
        char *event = copy_text(at, (size_t)(stop - at));

        check_event(watch, events, event);
        free(event);
        at = stop + (stop == comma ? 2 : 0);
    }
    if (claims != NULL) {
        check_claims(&(subject){events, watch->event, "object.", NULL},
                     claims + 3);
    }
}

/* "pods/a" is /api/v1/namespaces/default/pods/a, "apps/v1/deployments" is in
 * the group apps. */
static void write_target(char *out, size_t size, const char *word)
{
    const char *version = strstr(word, "/v");
    const size_t group = version != NULL && isdigit((unsigned char)version[2])
                             ? (size_t)(version - word)
                             : 0;

    if (strncmp(word, "crds", 4) == 0) {
        snprintf(out, size,
                 "/apis/apiextensions.k8s.io/v1/customresourcedefinitions%s",
                 word + 4);
    } else if (word[0] == '/') {
        snprintf(out, size, "%s", word);
    } else if (group > 0 && memchr(word, '/', group) == NULL) {
        const char *rest = strchr(version + 1, '/');

        snprintf(out, size, "/apis/%.*s/namespaces/default%s",
                 (int)(rest - word), word, rest);
    } else {
        snprintf(out, size, "/api/v1/namespaces/default/%s", word);
    }
}

/* HTTP's method and the content type of a line's method. */
static const char *patch_type(const char **method)
{
    static const struct {
        const char *word, *type;
    } patches[] = {{"PATCH", "application/merge-patch+json"},
                   {"STRATEGIC", "application/strategic-merge-patch+json"},
                   {"JSONPATCH", "application/json-patch+json"},
                   {"APPLY", "application/apply-patch+yaml"}};

    for (size_t i = 0; i < sizeof(patches) / sizeof(patches[0]); i++) {
        if (strcmp(*method, patches[i].word) == 0) {
            *method = "PATCH";
            return patches[i].type;
        }
    }
    return NULL;
}

/* A line's request: its words, and the headers of its options. */
typedef struct request {
    const char *method;
    const char *type;
    const char *accept;
    char target[4096];
    char *body;
    bool is_over; /* over the transport */
    kl__header headers[8];
    size_t header_count;
    char bearer[2048];
} request;

static void add_header(request *self, const char *name, const char *value)
{
    self->is_over = true;
    self->headers[self->header_count++] = (kl__header){name, value};
}

/* An option is a word and a value. */
static void read_option(request *self, char *option)
{
    char *value = option + strcspn(option, " ");

    value += *value == ' ' ? (*value = '\0', 1) : 0;
    if (strcmp(option, "accept") == 0) {
        self->accept = value;
    } else if (strcmp(option, "type") == 0) {
        self->type = value;
    } else if (strcmp(option, "token") == 0) {
        snprintf(self->bearer, sizeof(self->bearer), "Bearer %s", value);
        add_header(self, "Authorization", self->bearer);
    } else if (strcmp(option, "over") == 0) {
        self->is_over = true;
    } else {
        add_header(self, option, value);
    }
}

/* "METHOD target body @ option @ option"; the line is cut into pieces. */
static void read_request(request *self, char *line)
{
    char *options = strstr(line, " @ "), *rest;

    while (options != NULL) {
        char *next = strstr(options + 3, " @ ");

        *options = '\0';
        if (next != NULL) {
            *next = '\0';
        }
        read_option(self, options + 3);
        options = next;
    }
    self->method = strtok_r(line, " ", &rest);
    self->type = self->type != NULL ? self->type : patch_type(&self->method);
    write_target(self->target, sizeof(self->target),
                 strtok_r(NULL, " ", &rest));
    self->body = rest == NULL || *rest == '\0' ? NULL
                 : *rest == '=' ? copy_text(rest + 1, strlen(rest + 1))
                                : json_of(rest);
}

/* Sends it over the transport; the body is in `bytes`. */
static void send_over(sim_rig *rig, request *self, kl_reply *reply,
                      kl__buf *bytes)
{
    static kl__response response;
    kl__request sent = {.method = self->method,
                        .base_url = rig->url != NULL ? rig->url : "",
                        .tls = rig->tls,
                        .target = self->target,
                        .headers = self->headers,
                        .body = self->body,
                        .body_length =
                            self->body != NULL ? strlen(self->body) : 0};
    kl__stream *stream;
    kl_error err = {0};
    size_t length = 1;

    add_header(self, "Content-Type",
               self->type != NULL ? self->type : "application/json");
    if (self->accept != NULL) {
        add_header(self, "Accept", self->accept);
    }
    sent.header_count = self->header_count;
    stream = kl__transport_open(rig->transport, &sent, &err);
    if (stream == NULL || kl__stream_response(stream, &response, deadline(),
                                              NULL, &err) != KL_OK) {
        fail_msg("%s: %s", self->target, err.message);
    }
    while (length != 0) {
        char *room = kl__buf_reserve(bytes, 4096);

        assert_int_equal(kl__stream_read(stream, room, 4096, &length,
                                         deadline(), NULL, &err),
                         KL_OK);
        bytes->length += length;
        bytes->bytes[bytes->length] = '\0';
    }
    kl__stream_close(stream);
    *reply = (kl_reply){.status = response.status,
                        .content_type = response.content_type,
                        .body = bytes->bytes,
                        .body_length = bytes->length,
                        .warnings = response.warnings,
                        .retry_after_ms = response.retry_after_ms};
}

static void send_in_process(kl_sim *sim, const request *self, kl_reply *reply)
{
    const kl_call call = {.method = self->method,
                          .target = self->target,
                          .content_type = self->type,
                          .accept = self->accept,
                          .body = self->body,
                          .body_length =
                              self->body != NULL ? strlen(self->body) : 0};
    kl_error err = {0};

    if (kl_sim_call(sim, &call, reply, &err) != KL_OK) {
        fail_msg("%s: %s", self->target, err.message);
    }
}

/* A line's request, and what stands behind its arrow. */
static void play_request(kl_sim *sim, sim_rig *rig, char *line,
                         const char *expected)
{
    char *shown = copy_text(line, strlen(line));
    kl__buf bytes = {0};
    request asked = {0};
    kl_reply reply;
    kl_doc *doc;

    read_request(&asked, line);
    if (asked.is_over) {
        assert_non_null(rig);
        send_over(rig, &asked, &reply, &bytes);
    } else {
        send_in_process(sim, &asked, &reply);
    }
    if (reply.status != atoi(expected)) {
        fail_msg("%s: %d, not %s: %s", shown, reply.status, expected,
                 reply.body);
    }
    doc = kl_doc_parse(reply.body, reply.body_length, NULL);
    expected += strcspn(expected, " ");
    check_claims(&(subject){shown, doc, "", &reply},
                 expected + strspn(expected, " "));
    kl_doc_unref(doc);
    if (asked.is_over) {
        kl__buf_deinit(&bytes);
    } else {
        kl_reply_clear(&reply);
    }
    free(asked.body);
    free(shown);
}

/* "target", or "target @ accept TYPE". */
static void open_watch(sim_rig *rig, char *word, int status)
{
    static const char option[] = " @ accept ";
    char target[4096], *accept = strstr(word, option);

    assert_non_null(rig);
    if (accept != NULL) {
        *accept = '\0';
        accept += sizeof(option) - 1;
    }
    write_target(target, sizeof(target), word);
    strcat(target, strchr(target, '?') != NULL ? "&watch=1" : "?watch=1");
    sim_watch_close(&rig->watch);
    sim_watch_open_as(&rig->watch, rig->transport,
                      rig->url != NULL ? rig->url : "", target, accept);
    if (rig->watch.status != status) {
        fail_msg("WATCH %s: %d, not %d", word, rig->watch.status, status);
    }
}

/* A GET over the rig's transport, where faults are: "target agent". */
static void send_get(sim_rig *rig, char *line, const char *expected)
{
    char target[4096], *agent;
    int outcome;

    assert_non_null(rig);
    write_target(target, sizeof(target), strtok_r(line, " ", &agent));
    outcome = fault_outcome(rig, target, *agent != '\0' ? agent : NULL);
    if (outcome != atoi(expected)) {
        fail_msg("SEND %s: %d, not %s", target, outcome, expected);
    }
}

static void order_fault(sim_rig *rig, const char *rule)
{
    char *json = json_of(rule);

    assert_non_null(rig);
    fault_order(rig, json);
    free(json);
}

/* "gears.a.io Gear": a definition that keeps every field. */
static void define(kl_sim *sim, const char *words)
{
    const int name = (int)strcspn(words, " ");
    const int plural = (int)strcspn(words, ".");
    char line[1024];

    snprintf(line, sizeof(line),
             "POST crds {metadata: {name: %.*s}, spec: {group: %.*s, scope: "
             "Namespaced, names: {plural: %.*s, kind: %s}, versions: [{name: "
             "v1, served: true, storage: true, schema: {openAPIV3Schema: "
             "{type: object, x-kubernetes-preserve-unknown-fields: true}}}]}} "
             "-> 201",
             name, words, name - plural - 1, words + plural + 1, plural, words,
             words + name + 1);
    sim_play(sim, line);
}

static void add_all(kl_sim *sim, const char *names)
{
    char name[256];

    while (*names != '\0') {
        const size_t length = strcspn(names, " ");

        snprintf(name, sizeof(name), "%.*s", (int)length, names);
        sim_add(sim, name);
        names += length + (names[length] == ' ');
    }
}

/* "b a true": a ConfigMap, its owner, and if it blocks its deletion. */
static void add_owned(kl_sim *sim, const char *words)
{
    char name[64], owner[64], blocks[8], lines[512];

    assert_int_equal(sscanf(words, "%63s %63s %7s", name, owner, blocks), 3);
    snprintf(lines, sizeof(lines),
             "GET configmaps/%s -> 200 $owner=metadata.uid\n"
             "POST configmaps {metadata: {name: %s, ownerReferences: "
             "[{apiVersion: v1, kind: ConfigMap, name: %s, uid: '$owner', "
             "blockOwnerDeletion: %s}]}} -> 201\n",
             owner, name, owner, blocks);
    sim_play(sim, lines);
}

/* A line that is no request, of its first word and the rest. */
static void play_other(kl_sim *sim, sim_rig *rig, char *line)
{
    char *rest = line + strcspn(line, " ");
    char name[256] = "";

    rest += *rest != '\0';
    if (strncmp(line, "WATCH ", 6) == 0) {
        open_watch(rig, rest, 200);
    } else if (strncmp(line, "ADD ", 4) == 0) {
        add_all(sim, rest);
    } else if (strncmp(line, "OWN ", 4) == 0) {
        add_owned(sim, rest);
    } else if (strncmp(line, "DEFINE ", 7) == 0) {
        define(sim, rest);
    } else if (strncmp(line, "ADVANCE ", 8) == 0) {
        assert_int_equal(kl_sim_advance(sim, atoi(rest) * INT64_C(1000), NULL),
                         KL_OK);
    } else if (strncmp(line, "TOUCH ", 6) == 0) {
        memcpy(name, rest, strcspn(rest, " "));
        sim_touch(sim, name, rest + strlen(name) + 1);
    } else if (strncmp(line, "FAULT ", 6) == 0) {
        order_fault(rig, rest);
    } else if (strcmp(line, "COMPACT") == 0) {
        kl_sim_compact(sim);
    } else {
        assert_non_null(rig);
        sim_watch_sees(&rig->watch, line);
    }
}

static void play_line(kl_sim *sim, sim_rig *rig, char *line)
{
    char *arrow = strstr(line, " -> ");

    if (arrow == NULL) {
        play_other(sim, rig, line);
        return;
    }
    *arrow = '\0';
    arrow += 4;
    if (strncmp(line, "WATCH ", 6) == 0) {
        open_watch(rig, line + 6, atoi(arrow));
    } else if (strncmp(line, "SEND ", 5) == 0) {
        send_get(rig, line + 5, arrow);
    } else {
        play_request(sim, rig, line, arrow);
    }
}

/* "$name = text" keeps a text; other lines are played. */
static void play_lines(kl_sim *sim, sim_rig *rig, const char *lines)
{
    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n");
        const size_t end = *lines == '$' ? strcspn(lines, " ") : 0;
        char *line, name[LONGEST_NAME];

        if (end > 1 && end < LONGEST_NAME &&
            strncmp(lines + end, " = ", 3) == 0) {
            snprintf(name, sizeof(name), "%.*s", (int)end - 1, lines + 1);
            line = fill_in(lines + end + 3, length - end - 3);
            keep_text(name, line);
        } else {
            line = fill_in(lines, length);
            play_line(sim, rig, line);
        }
        free(line);
        lines += length + (lines[length] == '\n');
    }
}

void sim_play(kl_sim *sim, const char *lines)
{
    play_lines(sim, NULL, lines);
}

void rig_play(sim_rig *rig, const char *lines)
{
    play_lines(rig->sim, rig, lines);
}
