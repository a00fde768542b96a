/*
 * sim_credentials.c - see sim_credentials.h.
 */
#include "sim/core/access/sim_credentials.h"

#include "base/base64.h"
#include "base/mem.h"
#include "base/str.h"
#include "kubelua/writer.h"
#include "sim/core/access/sim_access.h"
#include "sim/core/store/sim_compose.h"

#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <string.h>

enum { DIGEST_SIZE = 32, TOKEN_BYTES = 24 };

static const char header[] = "{\"alg\":\"HS256\",\"typ\":\"JWT\"}";
static const char issuer[] = "https://kubernetes.default.svc.cluster.local";

/* Decodes base64url; false: it is malformed, or memory ran out. */
static bool read_base64url(kl__buf *out, const char *text, size_t length)
{
    kl__buf plain = {0};
    bool done;

    for (size_t i = 0; i < length; i++) {
        kl__buf_putc(&plain, text[i] == '-'   ? '+'
                             : text[i] == '_' ? '/'
                                              : text[i]);
    }
    while (plain.length % 4 != 0 && !plain.failed) {
        kl__buf_putc(&plain, '=');
    }
    done = !plain.failed &&
           kl__base64_decode(out, plain.bytes != NULL ? plain.bytes : "",
                             plain.length);
    kl__buf_deinit(&plain);
    return done && !out->failed;
}

static bool sign_text(const kl_sim *sim, const char *text, size_t length,
                      unsigned char *digest)
{
    return gnutls_hmac_fast(GNUTLS_MAC_SHA256, sim->secret, sizeof(sim->secret),
                            text, length, digest) == 0;
}

static void put_claim(kl_writer *writer, const char *name, const char *text)
{
    kl_writer_name(writer, name, strlen(name));
    kl_writer_string(writer, text, strlen(text));
}

static void put_time(kl_writer *writer, const char *name, int64_t seconds)
{
    kl_writer_name(writer, name, strlen(name));
    kl_writer_integer(writer, seconds);
}

static void write_claims(kl_writer *writer, const kl__sim_claim *claim,
                         const char *subject)
{
    kl_writer_begin_object(writer);
    kl_writer_name(writer, "aud", 3);
    kl_writer_begin_array(writer);
    kl_writer_string(writer, claim->audience, strlen(claim->audience));
    kl_writer_end_array(writer);
    put_time(writer, "exp", claim->expires);
    put_time(writer, "iat", claim->issued);
    put_claim(writer, "iss", issuer);
    kl_writer_name(writer, "kubernetes.io", 13);
    kl_writer_begin_object(writer);
    put_claim(writer, "namespace", claim->name_space);
    kl_writer_name(writer, "serviceaccount", 14);
    kl_writer_begin_object(writer);
    put_claim(writer, "name", claim->name);
    put_claim(writer, "uid", claim->uid);
    kl_writer_end_object(writer);
    kl_writer_end_object(writer);
    put_time(writer, "nbf", claim->issued);
    put_claim(writer, "sub", subject);
    kl_writer_end_object(writer);
}

/* Appends "HEADER.CLAIMS", the part of a token that is signed. */
static kl_code put_claims(kl__buf *out, const kl__sim_claim *claim,
                          kl_error *err)
{
    kl_writer *writer = kl_writer_new();
    char *subject = kl__strprintf("system:serviceaccount:%s:%s",
                                  claim->name_space, claim->name);
    const char *json = NULL;
    size_t length;

    if (writer != NULL && subject != NULL) {
        write_claims(writer, claim, subject);
        json = kl_writer_finish(writer, &length, err);
    }
    if (json != NULL) {
        kl__base64url_encode(out, header, strlen(header));
        kl__buf_putc(out, '.');
        kl__base64url_encode(out, json, length);
    }
    kl_writer_free(writer);
    kl__free(subject);
    return json != NULL && !out->failed
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a token");
}

/* Makes the secret that signs tokens, when the first token is made. */
static kl_code make_secret(kl_sim *sim, kl_error *err)
{
    if (sim->has_secret) {
        return KL_OK;
    }
    if (gnutls_rnd(GNUTLS_RND_KEY, sim->secret, sizeof(sim->secret)) != 0) {
        return kl_error_set(err, KL_EIO, "simulator: no randomness");
    }
    sim->has_secret = true;
    return KL_OK;
}

kl_code kl__sim_token_make_up(kl_sim *sim, kl_error *err)
{
    unsigned char bytes[TOKEN_BYTES];
    kl__buf out = {0};

    if (gnutls_rnd(GNUTLS_RND_KEY, bytes, sizeof(bytes)) != 0) {
        return kl_error_set(err, KL_EIO, "simulator: no randomness");
    }
    kl__base64url_encode(&out, bytes, sizeof(bytes));
    sim->admin_token = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    return sim->admin_token != NULL
               ? KL_OK
               : kl_error_set(err, KL_ENOMEM, "out of memory for a token");
}

char *kl__sim_token_issue(kl_sim *sim, const kl__sim_claim *claim,
                          kl_error *err)
{
    unsigned char digest[DIGEST_SIZE];
    kl__buf out = {0};
    char *token = NULL;

    if (make_secret(sim, err) != KL_OK ||
        put_claims(&out, claim, err) != KL_OK) {
        kl__buf_deinit(&out);
        return NULL;
    }
    if (!sign_text(sim, out.bytes, out.length, digest)) {
        kl_error_set(err, KL_EIO, "simulator: a token cannot be signed");
    } else {
        kl__buf_putc(&out, '.');
        kl__base64url_encode(&out, digest, sizeof(digest));
        token = kl__buf_take(&out, NULL);
        if (token == NULL) {
            kl_error_set(err, KL_ENOMEM, "out of memory for a token");
        }
    }
    kl__buf_deinit(&out);
    return token;
}

/* True if this cluster has signed the token: the signature follows the second
 * dot (at `point`), and covers the text before that dot. */
static bool is_signed(const kl_sim *sim, const char *token, const char *point)
{
    unsigned char digest[DIGEST_SIZE];
    kl__buf given = {0};
    bool is_good = sim->has_secret &&
                   sign_text(sim, token, (size_t)(point - token), digest) &&
                   read_base64url(&given, point + 1, strlen(point + 1)) &&
                   given.length == sizeof(digest) &&
                   gnutls_memcmp(given.bytes, digest, sizeof(digest)) == 0;

    kl__buf_deinit(&given);
    return is_good;
}

/* Fills `user` with the service account that the claims name, if it still
 * exists. */
static kl_code take_claims(kl_sim *sim, const kl_value *claims,
                           kl__sim_user *user, kl_error *err)
{
    const char *subject = kl__sim_text(claims, "sub");
    const kl_value *about =
        kl_value_get(kl_value_get(claims, "kubernetes.io"), "serviceaccount");
    const char *within =
        kl__sim_text(kl_value_get(claims, "kubernetes.io"), "namespace");
    const char *name = kl__sim_text(about, "name");
    const char *uid = kl__sim_text(about, "uid");
    kl__sim_resource *accounts = kl__sim_find(sim, "", "serviceaccounts");
    kl__sim_node *node = NULL;
    char *key;
    kl_code code;

    if (subject == NULL || within == NULL || name == NULL || uid == NULL ||
        kl_value_integer(kl_value_get(claims, "exp")) <=
            kl__sim_clock_unix(&sim->clock) / 1000) {
        return kl_error_set(err, KL_EUNAUTHORIZED, "the token has expired");
    }
    key = kl__strprintf("%s/%s", within, name);
    if (key == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a token");
    }
    node = kl__sim_tree_find(&accounts->items, key);
    kl__free(key);
    if (node == NULL || strcmp(node->state->uid, uid) != 0) {
        return kl_error_set(err, KL_EUNAUTHORIZED,
                            "the service account is gone");
    }
    code = kl__sim_user_init(user, subject, "", ',', err);
    user->uid = code == KL_OK ? kl__strdup(uid) : NULL;
    return code == KL_OK ? kl__sim_user_complete(user, err) : code;
}

static kl_code read_signed(kl_sim *sim, const char *token, kl__sim_user *user,
                           kl_error *err)
{
    const char *first = strchr(token, '.');
    const char *second = first != NULL ? strchr(first + 1, '.') : NULL;
    kl__buf claims = {0};
    kl_doc *doc = NULL;
    kl_code code =
        kl_error_set(err, KL_EUNAUTHORIZED, "the token is of no user");

    if (second != NULL && is_signed(sim, token, second) &&
        read_base64url(&claims, first + 1, (size_t)(second - first - 1))) {
        doc = kl_doc_parse(claims.bytes, claims.length, err);
    }
    if (doc != NULL) {
        code = take_claims(sim, kl_doc_root(doc), user, err);
    }
    kl_doc_unref(doc);
    kl__buf_deinit(&claims);
    return code;
}

/* Copies a user of the options, and adds the groups that every user has. */
static kl_code copy_user(const kl__sim_user *from, kl__sim_user *user,
                         kl_error *err)
{
    kl_code code = kl__sim_user_init(user, from->name, "", ',', err);

    for (size_t i = 0; code == KL_OK && i < from->group_count; i++) {
        code = kl__sim_user_join(user, from->groups[i], strlen(from->groups[i]),
                                 err);
    }
    return code == KL_OK ? kl__sim_user_complete(user, err) : code;
}

static bool is_one(const char *token, const char *given)
{
    return token != NULL && strcmp(token, given) == 0;
}

kl_code kl__sim_token_user(kl_sim *sim, const char *token, kl__sim_user *user,
                           kl_error *err)
{
    kl_code code;

    if (is_one(sim->token, token) || is_one(sim->admin_token, token)) {
        code = kl__sim_user_init(user, "kubernetes-admin", KL__SIM_MASTERS, ',',
                                 err);
        return code == KL_OK ? kl__sim_user_complete(user, err) : code;
    }
    for (size_t i = 0; i < sim->account_count; i++) {
        if (strcmp(token, sim->accounts[i].token) == 0) {
            return copy_user(&sim->accounts[i].user, user, err);
        }
    }
    return read_signed(sim, token, user, err);
}
