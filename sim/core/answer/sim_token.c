/*
 * sim_token.c - see sim_options.h and docs/KUBERNETES.md#pagination: continue
 * tokens in kube-apiserver's format: base64url of
 * {"v":"meta.k8s.io/v1","rv":VERSION,"start":"/KEY\u0000"}.
 */
#include "sim/core/answer/sim_options.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"

#include <inttypes.h>
#include <string.h>

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
