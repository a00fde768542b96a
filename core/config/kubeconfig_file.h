/*
 * kubeconfig_file.h - one kubeconfig file as it was read, and its fields, with
 * errors that say which field of which line is wrong.
 */
#ifndef KL_CONFIG_KUBECONFIG_FILE_H
#define KL_CONFIG_KUBECONFIG_FILE_H

#include "base/buf.h"
#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__kubeconfig_file {
    char *path;     /* as it was given */
    char *folder;   /* absolute: what relative paths in it are relative to */
    kl__buf text;   /* wiped when freed */
    kl_doc *doc;    /* NULL: the file is empty */
    bool is_longer; /* there are more documents; a warning has said so */
} kl__kubeconfig_file;

/* Reads and checks what can be checked without knowing a context. `*missing`:
 * there is no such file (KL_ECONFIG). KL_ECONFIG, KL_ENOMEM. */
kl_code kl__kubeconfig_file_init(kl__kubeconfig_file *file, const char *path,
                                 size_t path_length, bool *missing,
                                 kl_error *err);
void kl__kubeconfig_file_deinit(kl__kubeconfig_file *file);

/* An entry of "clusters", "users" or "contexts". */
typedef struct kl__entry {
    bool found; /* false: every field reads as absent */
    const kl__kubeconfig_file *file;
    const char *list;      /* "users" */
    const char *body;      /* "user" */
    const char *inner;     /* "exec": an object in the body; NULL: the body */
    const char *name;      /* of the entry */
    size_t index;          /* in the list */
    const kl_value *value; /* the body, or the inner object; may be NULL */
} kl__entry;

/* Finds the entry of that name; the strings are borrowed. A name that is there
 * twice, or a list that is none: KL_ECONFIG. */
kl_code kl__entry_find(const kl__kubeconfig_file *file, const char *list,
                       const char *name, kl__entry *entry, kl_error *err);

/* The object `inner` in the body of an entry. KL_ECONFIG if it is none. */
kl_code kl__entry_inner(const kl__entry *entry, const char *inner,
                        kl__entry *out, kl_error *err);

/* KL_ECONFIG: "FILE:LINE: users[\"bob\"].user.token: message". */
kl_code kl__entry_error(const kl__entry *entry, const char *field,
                        kl_error *err, const char *format, ...) KL_PRINTF(4, 5);

/* Fields. Absent, null and "" leave the target as it is (NULL, false); what is
 * read into a char * is the caller's. Another type: KL_ECONFIG. */
kl_code kl__entry_string(const kl__entry *entry, const char *field, char **out,
                         kl_error *err);
kl_code kl__entry_bool(const kl__entry *entry, const char *field, bool *out,
                       kl_error *err);
/* A path, made absolute. */
kl_code kl__entry_path(const kl__entry *entry, const char *field, char **out,
                       kl_error *err);
/* Base64 of a PEM text. */
kl_code kl__entry_pem(const kl__entry *entry, const char *field, char **out,
                      kl_error *err);
/* Several fields at once; the last one's name is NULL. */
typedef struct kl__field {
    const char *name;
    char **out;
    kl_code (*read)(const kl__entry *entry, const char *field, char **out,
                    kl_error *err); /* one of the above */
} kl__field;

kl_code kl__entry_fields(const kl__entry *entry, const kl__field *fields,
                         kl_error *err);

/* An array, for the caller to go through; NULL where it is absent. */
kl_code kl__entry_array(const kl__entry *entry, const char *field,
                        const kl_value **out, kl_error *err);

/* `path` in the folder of the file, unless it is absolute; the caller's. NULL
 * when out of memory. */
char *kl__kubeconfig_path(const kl__kubeconfig_file *file, const char *path);

#endif
