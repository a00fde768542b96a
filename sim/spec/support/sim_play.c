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

/* What claims are about: a reply, or an event's object at `prefix`. */
typedef struct subject {
    const char *line;
    const kl_doc *doc;
    const char *prefix;
    const kl_reply *raw; /* NULL: an event */
} subject;

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
    return "";
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

/* The claim "path=value" or "path!=value". */
static bool has_value(const subject *about, char *path, char *value)
{
    const bool differs = value[-1] == '!';
    char *json = value[1] == '{' || value[1] == '[' ? json_of(value + 1) : NULL;
    const char *found;
    bool equal;

    value[differs ? -1 : 0] = '\0';
    found = about->raw != NULL && strcmp(path, "type") == 0
                ? about->raw->content_type
                : text_at(about, path);
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

void sim_claim(const kl_doc *doc, const char *claims)
{
    check_claims(&(subject){claims, doc, "", NULL}, claims);
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

    if (word[0] == '/') {
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

/* A line "METHOD target body", and what stands behind its arrow. */
static void play_request(kl_sim *sim, char *line, const char *expected)
{
    char *shown = copy_text(line, strlen(line)), target[4096], *rest, *body;
    const char *method = strtok_r(line, " ", &rest);
    kl_call call = {.target = target};
    kl_error err = {0};
    kl_reply reply;
    kl_doc *doc;

    call.content_type = patch_type(&method);
    call.method = method;
    write_target(target, sizeof(target), strtok_r(NULL, " ", &rest));
    body = rest == NULL || *rest == '\0' ? NULL
           : *rest == '='                ? copy_text(rest + 1, strlen(rest + 1))
                                         : json_of(rest);
    call.body = body;
    call.body_length = body != NULL ? strlen(body) : 0;
    if (kl_sim_call(sim, &call, &reply, &err) != KL_OK) {
        fail_msg("%s: %s", shown, err.message);
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
    kl_reply_clear(&reply);
    free(body);
    free(shown);
}

static void open_watch(sim_rig *rig, const char *word, int status)
{
    char target[4096];

    assert_non_null(rig);
    write_target(target, sizeof(target), word);
    strcat(target, strchr(target, '?') != NULL ? "&watch=1" : "?watch=1");
    sim_watch_close(&rig->watch);
    sim_watch_open(&rig->watch, rig->transport, "", target);
    if (rig->watch.status != status) {
        fail_msg("WATCH %s: %d, not %d", word, rig->watch.status, status);
    }
}

/* A GET over the rig's transport, where faults are: "target agent". */
static void send_over(sim_rig *rig, char *line, const char *expected)
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

/* A line that is no request, of its first word and the rest. */
static void play_other(kl_sim *sim, sim_rig *rig, const char *line)
{
    const char *rest = line + strcspn(line, " ");
    char name[256] = "";

    rest += *rest != '\0';
    if (strncmp(line, "WATCH ", 6) == 0) {
        open_watch(rig, rest, 200);
    } else if (strncmp(line, "ADD ", 4) == 0) {
        sim_add(sim, rest);
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

static void play_lines(kl_sim *sim, sim_rig *rig, const char *lines)
{
    while (*lines != '\0') {
        const size_t length = strcspn(lines, "\n");
        char *line = fill_in(lines, length);
        char *arrow = strstr(line, " -> ");

        if (arrow != NULL) {
            *arrow = '\0';
        }
        if (arrow != NULL && strncmp(line, "WATCH ", 6) == 0) {
            open_watch(rig, line + 6, atoi(arrow + 4));
        } else if (arrow != NULL && strncmp(line, "SEND ", 5) == 0) {
            send_over(rig, line + 5, arrow + 4);
        } else if (arrow != NULL) {
            play_request(sim, line, arrow + 4);
        } else {
            play_other(sim, rig, line);
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
