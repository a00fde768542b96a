/*
 * discovery.c - answers of discovery: names to look up on the first line, a
 * pattern of chunks on the second, answers of both forms (wire.h) on the
 * others. A resource that was listed is found by its name; no other name finds
 * one.
 */
#include "fuzz.h"

#include "api/discovery_fetch.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MOST_LOOKUPS = 100 };

static kl__catalogue *fetch_all(fuzz_text answers, fuzz_text pattern,
                                kl_code *code)
{
    fuzz_wire wire;
    kl_error err = {.code = KL_OK};
    kl_client *client;
    kl__catalogue *catalogue = kl__catalogue_new();
    kl__fetch *fetch;

    fuzz_wire_init(&wire, answers, pattern);
    client = kl_client_new(&(kl_client_options){.transport = &wire.base}, NULL);
    fetch = kl__fetch_new(&(kl__survey){
        .client = client, .catalogue = catalogue, .deadline_ms = INT64_MAX});
    FUZZ_EXPECT(kl__fetch_step(fetch, &err)); /* the wire is never silent */
    kl__fetch_free(fetch);
    *code = err.code;
    FUZZ_EXPECT(*code == KL_OK || err.message[0] != '\0');
    kl_client_unref(client);
    return catalogue;
}

static const char *text_of(const kl__catalogue *catalogue, kl__text_at at)
{
    FUZZ_EXPECT(at < catalogue->texts.length);
    return kl__catalogue_text(catalogue, at);
}

/* An entry's full name finds an entry of that name. */
static void expect_entry(const kl__catalogue *catalogue,
                         const kl__catalogue_entry *entry)
{
    const char *group = text_of(catalogue, entry->group);
    const char *version = text_of(catalogue, entry->version);
    const char *plural = text_of(catalogue, entry->plural);
    const kl__catalogue_entry *found;
    char name[600];

    FUZZ_EXPECT(*plural != '\0' && strchr(plural, '/') == NULL);
    FUZZ_EXPECT(*text_of(catalogue, entry->kind) != '\0');
    if (strlen(group) + strlen(version) + strlen(plural) + 3 > sizeof(name) ||
        strchr(group, '/') != NULL || strchr(version, '/') != NULL) {
        return;
    }
    snprintf(name, sizeof(name), "%s/%s/%s", group, version, plural);
    found = kl__catalogue_find(catalogue, name);
    FUZZ_EXPECT(found != NULL);
    FUZZ_EXPECT(!entry->watchable || found->watchable || entry->stale);
    FUZZ_EXPECT(strcasecmp(text_of(catalogue, found->group), group) == 0);
    FUZZ_EXPECT(strcasecmp(text_of(catalogue, found->version), version) == 0);
}

static void expect_path(const kl__resource *resource)
{
    kl__buf path = {0};

    kl__resource_path(resource, "a b/c", &path);
    FUZZ_EXPECT(strncmp(path.bytes, "/api", 4) == 0);
    FUZZ_EXPECT(strpbrk(path.bytes, " ?#\r\n") == NULL);
    FUZZ_EXPECT(!resource->namespaced ||
                strstr(path.bytes, "/namespaces/a%20b%2Fc/") != NULL);
    kl__buf_deinit(&path);
}

static void look_up(const kl__catalogue *catalogue, const char *name)
{
    const kl__catalogue_entry *entry = kl__catalogue_find(catalogue, name);
    kl__resource resource;
    kl_error err = {.code = KL_OK};
    size_t length;
    const char *word = kl__resource_word(name, &length);

    FUZZ_EXPECT(word >= name && word + length <= name + strlen(name));
    if (entry == NULL) {
        FUZZ_EXPECT(kl__catalogue_unknown(catalogue, name, &err) ==
                    KL_EUNKNOWN_KIND);
        FUZZ_EXPECT(err.message[0] != '\0');
        return;
    }
    FUZZ_EXPECT(kl__catalogue_resource(catalogue, entry, &resource));
    expect_path(&resource);
    kl__resource_clear(&resource);
}

/* How many resources an aggregated answer lists. */
static size_t count_resources(const kl_value *root)
{
    const kl_value *groups = kl_value_get(root, "items"), *group, *version;
    kl_value_iter outer = {0}, inner, innermost;
    size_t count = 0;

    while ((group = kl_value_next(groups, &outer, NULL)) != NULL) {
        const kl_value *versions = kl_value_get(group, "versions");

        inner = (kl_value_iter){0};
        while ((version = kl_value_next(versions, &inner, NULL)) != NULL) {
            innermost = (kl_value_iter){0};
            while (kl_value_next(kl_value_get(version, "resources"), &innermost,
                                 NULL) != NULL) {
                count++;
            }
        }
    }
    return count;
}

/* The catalogue has no more entries than all answers list. */
static void expect_no_more(const kl__catalogue *catalogue, fuzz_text answers)
{
    size_t most = 0;

    while (answers.length > 0) {
        fuzz_text body = fuzz_part(&answers, "--");
        kl_doc *doc;

        fuzz_line(&body);
        doc = kl_doc_parse(body.bytes, body.length, NULL);
        if (doc != NULL) {
            const kl_value *root = kl_doc_root(doc);

            most += count_resources(root);
            most += kl_value_size(kl_value_get(root, "resources"));
        }
        kl_doc_unref(doc);
    }
    FUZZ_EXPECT(catalogue->count <= most);
}

void fuzz_discovery(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    char *names = fuzz_string(fuzz_line(&text)), *save = NULL;
    fuzz_text pattern = fuzz_line(&text);
    kl_code code, code_cut;
    kl__catalogue *whole = fetch_all(text, (fuzz_text){NULL, 0}, &code);
    kl__catalogue *cut = fetch_all(text, pattern, &code_cut);

    FUZZ_EXPECT(code == code_cut);
    FUZZ_EXPECT(whole->count == cut->count);
    FUZZ_EXPECT(whole->texts.length == cut->texts.length);
    for (size_t i = 0; i < whole->count && i < MOST_LOOKUPS; i++) {
        expect_entry(whole, &whole->entries[i]);
    }
    expect_no_more(whole, text);
    for (char *name = strtok_r(names, " ", &save); name != NULL;
         name = strtok_r(NULL, " ", &save)) {
        look_up(whole, name);
    }
    kl__catalogue_unref(whole);
    kl__catalogue_unref(cut);
    free(names);
}
