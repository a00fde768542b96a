/*
 * kubeconfig_file.c - see kubeconfig_file.h.
 */
#include "config/kubeconfig_file.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/file.h"
#include "config/yaml_json.h"
#include "kubelua/log.h"
#include "kubelua/manifest.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static kl_code no_memory_for_file(kl_error *err)
{
    return kl_error_set(err, KL_ENOMEM, "out of memory for a kubeconfig");
}

/* The folder of a path, as an absolute path: the process may change its working
 * directory later. */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = slash != NULL ? (size_t)(slash - path) : 0;
    char *here, *folder;

    if (path[0] == '/') {
        return kl__strndup(path, length);
    }
    here = getcwd(NULL, 0);
    if (here == NULL) {
        return kl__strdup(".");
    }
    folder = kl__strprintf("%s%s%.*s", here, length != 0 ? "/" : "",
                           (int)length, path);
    free(here);
    return folder;
}

char *kl__kubeconfig_path(const kl__kubeconfig_file *file, const char *path)
{
    return path[0] == '/' ? kl__strdup(path)
                          : kl__strprintf("%s/%s", file->folder, path);
}

/* Keeps the first document of the file. */
static kl_code take_document(void *context, const char *json, size_t length,
                             kl_error *err)
{
    kl__kubeconfig_file *file = context;

    if (file->is_longer) {
        return KL_OK;
    } else if (file->doc != NULL) {
        file->is_longer = true;
        kl_log(KL_LOG_WARN, "%s: only the first of its documents is read",
               file->path);
        return KL_OK;
    }
    file->doc = kl_doc_parse(json, length, err);
    return file->doc != NULL ? KL_OK : err != NULL ? err->code : KL_ENOMEM;
}

static kl_code check_kind(const kl__kubeconfig_file *file, kl_error *err)
{
    const kl_value *root = kl_doc_root(file->doc);
    const char *kind = kl_value_string(kl_value_get(root, "kind"), NULL);
    const char *version =
        kl_value_string(kl_value_get(root, "apiVersion"), NULL);

    if (kl_value_type(root) != KL_OBJECT) {
        return kl_error_set(err, KL_ECONFIG,
                            "%s is no kubeconfig: it holds no map", file->path);
    }
    if ((kind != NULL && *kind != '\0' && strcmp(kind, "Config") != 0) ||
        (version != NULL && *version != '\0' && strcmp(version, "v1") != 0)) {
        return kl_error_set(
            err, KL_ECONFIG,
            "%s is no kubeconfig: kind %s, apiVersion %s; wanted are Config "
            "and v1",
            file->path, kind != NULL ? kind : "(none)",
            version != NULL ? version : "(none)");
    }
    return KL_OK;
}

static kl_code begin_file(kl__kubeconfig_file *file, const char *path,
                          size_t path_length, kl_error *err)
{
    *file = (kl__kubeconfig_file){.path = kl__strndup(path, path_length)};
    file->folder = file->path != NULL ? folder_of(file->path) : NULL;
    return file->folder != NULL ? KL_OK : no_memory_for_file(err);
}

static kl_code parse_text(kl__kubeconfig_file *file, kl_error *err)
{
    kl_error why;
    kl_code code = kl_manifest_each(file->text.bytes, file->text.length,
                                    take_document, file, &why);

    if (code != KL_OK) {
        code = code == KL_ENOMEM ? code : KL_ECONFIG;
        return kl_error_set(err, code, "%s: %s", file->path, why.message);
    }
    return file->doc != NULL ? check_kind(file, err) : KL_OK;
}

kl_code kl__kubeconfig_file_init(kl__kubeconfig_file *file, const char *path,
                                 size_t path_length, bool *missing,
                                 kl_error *err)
{
    kl_code code = begin_file(file, path, path_length, err);

    *missing = false;
    if (code == KL_OK) {
        code = kl__file_read(file->path, &file->text, missing, err);
    }
    if (code == KL_OK) {
        code = parse_text(file, err);
    }
    if (code != KL_OK) {
        kl__kubeconfig_file_deinit(file);
    }
    return code;
}

kl_code kl__kubeconfig_file_init_text(kl__kubeconfig_file *file,
                                      const char *name, const char *text,
                                      kl_error *err)
{
    kl_code code = begin_file(file, name, strlen(name), err);

    if (code == KL_OK && strlen(text) > KL__MAX_FILE) {
        code = kl_error_set(err, KL_ETOO_LARGE, "%s has more than %d MB", name,
                            KL__MAX_FILE / (1024 * 1024));
    }
    if (code == KL_OK) {
        kl__buf_puts(&file->text, text);
        code =
            file->text.failed ? no_memory_for_file(err) : parse_text(file, err);
    }
    if (code != KL_OK) {
        kl__kubeconfig_file_deinit(file);
    }
    return code;
}

void kl__kubeconfig_file_deinit(kl__kubeconfig_file *file)
{
    kl_doc_unref(file->doc);
    if (file->text.bytes != NULL) {
        kl__wipe(file->text.bytes, file->text.length);
    }
    kl__buf_deinit(&file->text);
    kl__free(file->folder);
    kl__free(file->path);
    *file = (kl__kubeconfig_file){0};
}

kl_code kl__entry_error(const kl__entry *entry, const char *field,
                        kl_error *err, const char *format, ...)
{
    char message[KL_ERROR_MESSAGE_SIZE], index[24];
    const char *path[6];
    size_t count = 0, line;
    va_list args;

    va_start(args, format);
    vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    snprintf(index, sizeof(index), "%zu", entry->index);
    path[count++] = entry->list;
    path[count++] = index;
    path[count++] = entry->body;
    if (entry->inner != NULL) {
        path[count++] = entry->inner;
    }
    path[count++] = field;
    path[count] = NULL;
    line =
        kl__yaml_line(entry->file->text.bytes, entry->file->text.length, path);
    return kl_error_set(err, KL_ECONFIG, "%s:%zu: %s[\"%s\"].%s%s%s%s%s: %s",
                        entry->file->path, line, entry->list, entry->name,
                        entry->body, entry->inner != NULL ? "." : "",
                        entry->inner != NULL ? entry->inner : "",
                        field != NULL ? "." : "", field != NULL ? field : "",
                        message);
}

const char *kl__entry_text(const kl_value *value)
{
    size_t length;
    const char *text = kl_value_string(value, &length);

    return text != NULL && strlen(text) == length ? text : NULL;
}

/* Finds the list in the file. KL_ECONFIG: it is not a list. */
static kl_code find_list(const kl__kubeconfig_file *file, const char *list,
                         const kl_value **items, kl_error *err)
{
    const char *path[] = {list, NULL};

    *items =
        file->doc != NULL ? kl_value_get(kl_doc_root(file->doc), list) : NULL;
    if (kl_value_type(*items) != KL_NULL && kl_value_type(*items) != KL_ARRAY) {
        return kl_error_set(
            err, KL_ECONFIG, "%s:%zu: %s: must be a list", file->path,
            kl__yaml_line(file->text.bytes, file->text.length, path), list);
    }
    return KL_OK;
}

static kl_code check_object(const kl__entry *entry, kl_error *err)
{
    kl_type type = kl_value_type(entry->value);

    return type == KL_OBJECT || type == KL_NULL
               ? KL_OK
               : kl__entry_error(entry, NULL, err, "must be a map");
}

kl_code kl__entry_find(const kl__kubeconfig_file *file, const char *list,
                       const char *name, kl__entry *entry, kl_error *err)
{
    const kl_value *items, *item;
    kl_value_iter iter = {0};
    kl_code code = find_list(file, list, &items, err);

    *entry = (kl__entry){.file = file, .list = list, .name = name};
    entry->body = strcmp(list, "users") == 0      ? "user"
                  : strcmp(list, "clusters") == 0 ? "cluster"
                                                  : "context";
    if (code != KL_OK) {
        return code;
    }
    for (size_t i = 0; (item = kl_value_next(items, &iter, NULL)) != NULL;
         i++) {
        const char *item_name = kl__entry_text(kl_value_get(item, "name"));

        if (!kl__streq(item_name, name)) {
            continue;
        }
        entry->index = i;
        if (entry->found) {
            return kl__entry_error(entry, NULL, err,
                                   "the name is there twice; rename one");
        }
        entry->found = true;
        entry->value = kl_value_get(item, entry->body);
        code = check_object(entry, err);
        if (code != KL_OK) {
            return code;
        }
    }
    return KL_OK;
}

kl_code kl__entry_inner(const kl__entry *entry, const char *inner,
                        kl__entry *out, kl_error *err)
{
    *out = *entry;
    out->inner = inner;
    out->value = kl_value_get(entry->value, inner);
    out->found = kl_value_type(out->value) != KL_NULL;
    return check_object(out, err);
}

/* Reads a field of this type; NULL if it is absent. */
static kl_code read_field(const kl__entry *entry, const char *field,
                          kl_type type, const kl_value **out, kl_error *err)
{
    const kl_value *value = kl_value_get(entry->value, field);
    const char *wanted = type == KL_STRING ? "text (quote it)"
                         : type == KL_BOOL ? "true or false"
                                           : "a list";

    *out = NULL;
    if (kl_value_type(value) == KL_NULL) {
        return KL_OK;
    }
    if (kl_value_type(value) != type) {
        return kl__entry_error(entry, field, err, "must be %s", wanted);
    }
    *out = value;
    return KL_OK;
}

kl_code kl__entry_string(const kl__entry *entry, const char *field, char **out,
                         kl_error *err)
{
    const kl_value *value;
    const char *text;
    size_t length;
    kl_code code = read_field(entry, field, KL_STRING, &value, err);

    if (code != KL_OK || kl_value_string(value, &length) == NULL ||
        length == 0) {
        return code;
    }
    text = kl_value_string(value, NULL);
    if (strlen(text) != length) {
        return kl__entry_error(entry, field, err, "holds a NUL character");
    }
    *out = kl__strdup(text);
    return *out != NULL ? KL_OK : no_memory_for_file(err);
}

kl_code kl__entry_bool(const kl__entry *entry, const char *field, bool *out,
                       kl_error *err)
{
    const kl_value *value;
    kl_code code = read_field(entry, field, KL_BOOL, &value, err);

    if (code == KL_OK && value != NULL) {
        *out = kl_value_bool(value);
    }
    return code;
}

kl_code kl__entry_path(const kl__entry *entry, const char *field, char **out,
                       kl_error *err)
{
    char *path = NULL;
    kl_code code = kl__entry_string(entry, field, &path, err);

    if (code != KL_OK || path == NULL) {
        return code;
    }
    *out = kl__kubeconfig_path(entry->file, path);
    kl__free(path);
    return *out != NULL ? KL_OK : no_memory_for_file(err);
}

kl_code kl__entry_pem(const kl__entry *entry, const char *field, char **out,
                      kl_error *err)
{
    const kl_value *value;
    const char *text;
    size_t length = 0;
    kl__buf pem = {0};
    kl_code code = read_field(entry, field, KL_STRING, &value, err);

    text = kl_value_string(value, &length);
    if (code != KL_OK || length == 0) {
        return code;
    }
    if (!kl__base64_decode(&pem, text, length)) {
        code = pem.failed ? no_memory_for_file(err)
                          : kl__entry_error(entry, field, err,
                                            "is not base64; write it with "
                                            "base64 -w0");
    } else if (pem.length == 0 || strlen(pem.bytes) != pem.length ||
               strstr(pem.bytes, "-----BEGIN") == NULL) {
        code = kl__entry_error(entry, field, err,
                               "decodes to something that is not PEM");
    }
    if (code != KL_OK) {
        if (pem.bytes != NULL) {
            kl__wipe(pem.bytes, pem.length);
        }
        kl__buf_deinit(&pem);
        return code;
    }
    *out = pem.bytes;
    return KL_OK;
}

kl_code kl__entry_fields(const kl__entry *entry, const kl__field *fields,
                         kl_error *err)
{
    kl_code code = KL_OK;

    for (; fields->name != NULL && code == KL_OK; fields++) {
        code = fields->read(entry, fields->name, fields->out, err);
    }
    return code;
}

kl_code kl__entry_array(const kl__entry *entry, const char *field,
                        const kl_value **out, kl_error *err)
{
    return read_field(entry, field, KL_ARRAY, out, err);
}
