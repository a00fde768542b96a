/*
 * error.h - error codes. A call that can fail returns a kl_code, or a pointer
 * (NULL is failure), and takes a kl_error as its last argument.
 */
#ifndef KUBELUA_ERROR_H
#define KUBELUA_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define KL_API __attribute__((visibility("default")))
#define KL_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define KL_API
#define KL_PRINTF(text, first)
#endif

/*
 * X(constant, stable name, meaning). The name is the third value that a Lua
 * call returns; it never changes. If Kubernetes has a reason for the error, the
 * name follows it: "already_exists" is the reason AlreadyExists of a Status
 * (API conventions, "Response Status Kind").
 */
#define KL_CODE_LIST(X)                                                        \
    X(KL_OK, "ok", "success")                                                  \
    X(KL_ENOMEM, "no_memory", "out of memory")                                 \
    X(KL_EINVAL, "invalid_argument", "an argument or option is wrong")         \
    X(KL_ECLOSED, "closed", "the object was stopped or closed")                \
    X(KL_ECANCELED, "canceled", "the call was cancelled")                      \
    X(KL_ETIMEOUT, "timeout", "the deadline passed")                           \
    X(KL_EIO, "io", "a file, process or descriptor failed")                    \
    X(KL_ECONFIG, "config", "the configuration cannot work")                   \
    X(KL_EPARSE, "parse", "text that does not parse, or breaks the protocol")  \
    X(KL_ETOO_LARGE, "too_large", "larger than a bound allows")                \
    X(KL_ETLS, "tls", "TLS failed: certificate, name or handshake")            \
    X(KL_EUNAVAILABLE, "unavailable", "no answer: network, 502, 503, 504")     \
    X(KL_EUNKNOWN, "unknown", "a write was sent, and not answered")            \
    X(KL_EUNKNOWN_KIND, "unknown_kind", "the server serves no such resource")  \
    X(KL_EBAD_REQUEST, "bad_request", "HTTP 400")                              \
    X(KL_EUNAUTHORIZED, "unauthorized", "HTTP 401")                            \
    X(KL_EFORBIDDEN, "forbidden", "HTTP 403")                                  \
    X(KL_ENOT_FOUND, "not_found", "HTTP 404")                                  \
    X(KL_ENOT_ALLOWED, "method_not_allowed", "HTTP 405")                       \
    X(KL_ECONFLICT, "conflict", "HTTP 409")                                    \
    X(KL_EALREADY_EXISTS, "already_exists", "HTTP 409, reason AlreadyExists")  \
    X(KL_EGONE, "gone", "HTTP 410: the version or token has expired")          \
    X(KL_EINVALID, "invalid", "HTTP 422: the server finds the object invalid") \
    X(KL_ETOO_MANY_REQUESTS, "too_many_requests", "HTTP 429")                  \
    X(KL_EVERSION_AHEAD, "version_ahead", "504: resourceVersion too large")    \
    X(KL_EINTERNAL, "internal", "HTTP 500, or a status of no better name")     \
    X(KL_EFORKED, "forked", "used in a child of fork()")                       \
    X(KL_EUNREADABLE, "unreadable", "one object of a list cannot be read")

typedef enum kl_code {
#define KL_CODE_ENUM(constant, name, meaning) constant,
    KL_CODE_LIST(KL_CODE_ENUM)
#undef KL_CODE_ENUM
} kl_code;

/*
 * A message is cut at this many bytes, its final NUL included. It is UTF-8, and
 * can be shown on a terminal: what a terminal would obey is escaped, and
 * further lines are indented (KL_INDENTED_LINES of kubelua/log.h).
 */
#define KL_ERROR_MESSAGE_SIZE 1024

/*
 * The caller owns it; it needs no cleaning up. A call fills it only if the call
 * fails. `http_status` is 0 if no server answered; `retry_after_ms` is -1 if
 * the answer had no Retry-After.
 */
typedef struct kl_error {
    kl_code code;
    int http_status;
    long retry_after_ms;
    char message[KL_ERROR_MESSAGE_SIZE];
} kl_error;

/* The stable name of a code ("forbidden"); static, thread-safe, never NULL. */
KL_API const char *kl_code_name(kl_code code);

/*
 * Fills `err` (may be NULL) and returns `code`, for
 * `return kl_error_set(err, KL_EINVAL, "...")`. Thread-safe.
 */
KL_API kl_code kl_error_set(kl_error *err, kl_code code, const char *format,
                            ...) KL_PRINTF(3, 4);

/* Puts "text: " before the message of `err` (may be NULL). Thread-safe. */
KL_API void kl_error_prefix(kl_error *err, const char *format, ...)
    KL_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
#endif
