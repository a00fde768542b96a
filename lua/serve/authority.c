/*
 * authority.c - see authority.h. Keys are ECDSA P-256: any API server takes
 * them, and they are made in a millisecond.
 */
#include "authority.h"

#include "binding.h"

#include <arpa/inet.h>
#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TYPE_PAIR "kubelua.pair"

enum {
    SERIAL = 16,    /* bytes */
    VERSION = 3,    /* of X.509 */
    EARLIER = 3600, /* seconds that a certificate is older than it is: clocks
                       of machines differ */
    NAMES = 16,     /* of a server at most */
    SUBJECT = 256   /* bytes of a name at most */
};

/* A certificate and its key; __gc frees both. */
typedef struct pair {
    gnutls_x509_crt_t cert;
    gnutls_x509_privkey_t key;
} pair;

static int pair_gc(lua_State *L)
{
    pair *self = lua_touserdata(L, 1);

    if (self->cert != NULL) {
        gnutls_x509_crt_deinit(self->cert);
    }
    if (self->key != NULL) {
        gnutls_x509_privkey_deinit(self->key);
    }
    *self = (pair){NULL, NULL};
    return 0;
}

static pair *push_pair(lua_State *L)
{
    pair *self = lua_newuserdata(L, sizeof(*self));

    *self = (pair){NULL, NULL};
    luaL_getmetatable(L, TYPE_PAIR);
    lua_setmetatable(L, -2);
    return self;
}

static int refuse(lua_State *L, const char *what, int status)
{
    kl_error err;

    kl_error_set(&err, status == GNUTLS_E_MEMORY_ERROR ? KL_ENOMEM : KL_EINVAL,
                 "%s: %s", what, gnutls_strerror(status));
    return push_error(L, &err);
}

/* Makes a key, and a certificate that is not signed yet. Returns a GnuTLS
 * status, as the functions below. */
static int begin_certificate(pair *self, const char *name, time_t now,
                             time_t seconds)
{
    unsigned char serial[SERIAL];
    int status = gnutls_x509_privkey_init(&self->key);

    if (status == 0) {
        status = gnutls_x509_privkey_generate(
            self->key, GNUTLS_PK_ECDSA,
            GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0);
    }
    status = status == 0 ? gnutls_x509_crt_init(&self->cert) : status;
    status = status == 0 ? gnutls_rnd(GNUTLS_RND_NONCE, serial, sizeof(serial))
                         : status;
    if (status != 0) {
        return status;
    }
    serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and not 0 */
    status = gnutls_x509_crt_set_version(self->cert, VERSION);
    if (status == 0) {
        status = gnutls_x509_crt_set_serial(self->cert, serial, sizeof(serial));
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_activation_time(self->cert, now - EARLIER);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_expiration_time(self->cert, now + seconds);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_dn_by_oid(self->cert,
                                               GNUTLS_OID_X520_COMMON_NAME, 0,
                                               name, (unsigned)strlen(name));
    }
    return status == 0 ? gnutls_x509_crt_set_key(self->cert, self->key)
                       : status;
}

static int sign(pair *self, const pair *issuer)
{
    return gnutls_x509_crt_sign2(self->cert, issuer->cert, issuer->key,
                                 GNUTLS_DIG_SHA256, 0);
}

static int make_authority(pair *self, const char *name, time_t now,
                          time_t seconds)
{
    int status = begin_certificate(self, name, now, seconds);

    if (status == 0) {
        status = gnutls_x509_crt_set_basic_constraints(self->cert, 1, 0);
    }
    if (status == 0) {
        status =
            gnutls_x509_crt_set_key_usage(self->cert, GNUTLS_KEY_KEY_CERT_SIGN);
    }
    return status == 0 ? sign(self, self) : status;
}

static int add_name(gnutls_x509_crt_t cert, const char *name)
{
    unsigned char ip[16];
    unsigned size = 0;

    if (inet_pton(AF_INET, name, ip) == 1) {
        size = 4;
    } else if (inet_pton(AF_INET6, name, ip) == 1) {
        size = 16;
    }
    return size != 0
               ? gnutls_x509_crt_set_subject_alt_name(
                     cert, GNUTLS_SAN_IPADDRESS, ip, size, GNUTLS_FSAN_APPEND)
               : gnutls_x509_crt_set_subject_alt_name(
                     cert, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name),
                     GNUTLS_FSAN_APPEND);
}

/* The names of a server: NULL is behind the last one. */
static int make_server(pair *self, const pair *issuer, const char **names,
                       time_t now, time_t seconds)
{
    int status = begin_certificate(self, "kubelua", now, seconds);

    for (; status == 0 && *names != NULL; names++) {
        status = add_name(self->cert, *names);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_key_usage(self->cert,
                                               GNUTLS_KEY_DIGITAL_SIGNATURE);
    }
    if (status == 0) {
        status = gnutls_x509_crt_set_key_purpose_oid(
            self->cert, GNUTLS_KP_TLS_WWW_SERVER, 0);
    }
    return status == 0 ? sign(self, issuer) : status;
}

/* Pushes certificate and key as PEM, which GnuTLS has made in a buffer of its
 * own; so the texts are copied to userdata before Lua may raise. */
static int push_pem(lua_State *L, const pair *self)
{
    enum { ROOM = 16384 };
    char *cert = lua_newuserdata(L, ROOM), *key = lua_newuserdata(L, ROOM);
    size_t cert_size = ROOM, key_size = ROOM;
    int status = gnutls_x509_crt_export(self->cert, GNUTLS_X509_FMT_PEM, cert,
                                        &cert_size);

    if (status == 0) {
        status = gnutls_x509_privkey_export(self->key, GNUTLS_X509_FMT_PEM, key,
                                            &key_size);
    }
    if (status != 0) {
        return refuse(L, "cannot write a certificate", status);
    }
    lua_pushlstring(L, cert, cert_size);
    lua_pushlstring(L, key, key_size);
    gnutls_memset(key, 0, ROOM);
    return 2;
}

/* serve.make_authority(name, now, seconds): certificate and key (PEM) of a CA
 * that lives for so many seconds from `now` (Unix time). nil, message, code. */
static int lua_make_authority(lua_State *L)
{
    const char *name = check_text(L, 1);
    time_t now = (time_t)luaL_checknumber(L, 2);
    time_t seconds = (time_t)luaL_checknumber(L, 3);
    pair *self = push_pair(L);
    int status = make_authority(self, name, now, seconds);

    return status != 0 ? refuse(L, "cannot make a CA", status)
                       : push_pem(L, self);
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text,
                            (unsigned)strlen(text)};
}

/* Of several certificates the first one. `key` may be NULL. */
static int load_pair(pair *self, const char *cert, const char *key)
{
    const gnutls_datum_t cert_pem = datum_of(cert);
    int status = gnutls_x509_crt_init(&self->cert);

    if (status == 0) {
        status =
            gnutls_x509_crt_import(self->cert, &cert_pem, GNUTLS_X509_FMT_PEM);
    }
    if (status == 0 && key != NULL) {
        const gnutls_datum_t key_pem = datum_of(key);

        status = gnutls_x509_privkey_init(&self->key);
        status = status == 0 ? gnutls_x509_privkey_import(self->key, &key_pem,
                                                          GNUTLS_X509_FMT_PEM)
                             : status;
    }
    return status;
}

/* Reads the list at `index`; the texts stay in it. */
static void check_names(lua_State *L, int index, const char **names)
{
    int count;

    luaL_checktype(L, index, LUA_TTABLE);
    count = (int)lua_rawlen(L, index);
    luaL_argcheck(L, count >= 1 && count <= NAMES, index, "1 to 16 names");
    for (int i = 0; i < count; i++) {
        lua_rawgeti(L, index, i + 1);
        luaL_argcheck(L, lua_type(L, -1) == LUA_TSTRING, index, "names");
        names[i] = check_text(L, -1);
        lua_pop(L, 1);
    }
    names[count] = NULL;
}

/* serve.make_certificate(ca, ca_key, names, now, seconds): certificate and key
 * (PEM) of a server with these DNS names and addresses. nil, message, code. */
static int lua_make_certificate(lua_State *L)
{
    const char *cert = check_text(L, 1), *key = check_text(L, 2);
    const char *names[NAMES + 1];
    time_t now = (time_t)luaL_checknumber(L, 4);
    time_t seconds = (time_t)luaL_checknumber(L, 5);
    pair *issuer = push_pair(L), *self = push_pair(L);
    int status = load_pair(issuer, cert, key);

    if (status != 0) {
        return refuse(L, "the CA cannot be read", status);
    }
    check_names(L, 3, names);
    status = make_server(self, issuer, names, now, seconds);
    return status != 0 ? refuse(L, "cannot make a certificate", status)
                       : push_pem(L, self);
}

static void push_name(lua_State *L, unsigned char *name, size_t size, int type)
{
    char text[INET6_ADDRSTRLEN];

    if (type == GNUTLS_SAN_IPADDRESS) {
        inet_ntop(size == 4 ? AF_INET : AF_INET6, name, text, sizeof(text));
        lua_pushstring(L, text);
    } else {
        lua_pushlstring(L, (const char *)name, size);
    }
}

/* table: table. Sets the list `names`. */
static void set_names(lua_State *L, gnutls_x509_crt_t cert)
{
    unsigned char name[SUBJECT];

    lua_newtable(L);
    for (unsigned i = 0; i < NAMES; i++) {
        size_t size = sizeof(name);
        int type =
            gnutls_x509_crt_get_subject_alt_name(cert, i, name, &size, NULL);

        if (type < 0) {
            break;
        }
        push_name(L, name, size, type);
        lua_rawseti(L, -2, (int)i + 1);
    }
    lua_setfield(L, -2, "names");
}

static void set_subject(lua_State *L, const char *field,
                        int (*read)(gnutls_x509_crt_t, char *, size_t *),
                        gnutls_x509_crt_t cert)
{
    char text[SUBJECT] = "";
    size_t size = sizeof(text);

    lua_pushstring(L, read(cert, text, &size) == 0 ? text : "");
    lua_setfield(L, -2, field);
}

/* serve.read_certificate(pem): the first one as a table: made_at, ends_at (Unix
 * time), subject, issuer, names. nil, message, code. */
static int lua_read_certificate(lua_State *L)
{
    const char *pem = check_text(L, 1);
    pair *self = push_pair(L);
    int status = load_pair(self, pem, NULL);

    if (status != 0) {
        return refuse(L, "the certificate cannot be read", status);
    }
    lua_newtable(L);
    lua_pushnumber(L,
                   (lua_Number)gnutls_x509_crt_get_activation_time(self->cert) +
                       EARLIER);
    lua_setfield(L, -2, "made_at");
    lua_pushnumber(L,
                   (lua_Number)gnutls_x509_crt_get_expiration_time(self->cert));
    lua_setfield(L, -2, "ends_at");
    set_subject(L, "subject", gnutls_x509_crt_get_dn, self->cert);
    set_subject(L, "issuer", gnutls_x509_crt_get_issuer_dn, self->cert);
    set_names(L, self->cert);
    return 1;
}

/* serve.is_signed(certificate, ca): true if the key of that CA has signed it.
 * Both are PEM, of which the first certificate counts; times do not. */
static int lua_is_signed(lua_State *L)
{
    const char *pem = check_text(L, 1), *ca = check_text(L, 2);
    pair *self = push_pair(L), *issuer = push_pair(L);
    unsigned problems = 0;
    int status = load_pair(self, pem, NULL);

    status = status == 0 ? load_pair(issuer, ca, NULL) : status;
    if (status == 0) {
        status = gnutls_x509_crt_verify(self->cert, &issuer->cert, 1,
                                        GNUTLS_VERIFY_DISABLE_TIME_CHECKS,
                                        &problems);
    }
    lua_pushboolean(L, status == 0 && problems == 0);
    return 1;
}

void bind_authority(lua_State *L)
{
    static const luaL_Reg methods[] = {{"__gc", pair_gc}, {NULL, NULL}};
    static const luaL_Reg functions[] = {
        {"make_authority", lua_make_authority},
        {"make_certificate", lua_make_certificate},
        {"read_certificate", lua_read_certificate},
        {"is_signed", lua_is_signed},
        {NULL, NULL}};

    push_type(L, TYPE_PAIR, methods);
    luaL_setfuncs(L, functions, 0);
}
