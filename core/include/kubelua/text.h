/*
 * text.h - values that Kubernetes writes as text: bytes in base64 (Secrets),
 * and times (RFC 3339).
 */
#ifndef KUBELUA_TEXT_H
#define KUBELUA_TEXT_H

#include "kubelua/error.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The bytes in base64 (RFC 4648, padded, without line breaks), NUL terminated;
 * the caller owns the text: kl_free. `written` (may be NULL) gets its length.
 * NULL: KL_ENOMEM. Thread-safe.
 */
KL_API char *kl_base64_encode(const void *bytes, size_t length, size_t *written,
                              kl_error *err);

/*
 * The bytes that a base64 text stands for, and a NUL byte behind them; the
 * caller owns them: kl_free. `decoded` gets how many there are. Line breaks are
 * skipped, padding must be there, as Go decodes the data of a Secret.
 * NULL: KL_EPARSE with the position, KL_ENOMEM. Thread-safe.
 */
KL_API char *kl_base64_decode(const char *text, size_t length, size_t *decoded,
                              kl_error *err);

/* Unix time. `nanoseconds`, 0 to 999999999, are added to `seconds`, also before
 * 1970. */
typedef struct kl_time {
    int64_t seconds;
    int32_t nanoseconds;
} kl_time;

/*
 * Reads a time of RFC 3339, such as "2026-11-22T11:00:00.5+01:00", of the years
 * 0001 to 9999; a fraction is cut at nanoseconds. A leap second, which is at
 * the end of a month in UTC, is the same Unix time as the second after it
 * (POSIX). KL_EPARSE: not such a time. Thread-safe, allocates nothing.
 */
KL_API kl_code kl_time_parse(const char *text, kl_time *out, kl_error *err);

/* Room for what kl_time_format writes, its final NUL included. */
#define KL_TIME_SIZE 28

/*
 * Writes a time in UTC as Kubernetes does: "2026-11-22T10:00:00Z" where
 * `digits` is 0 (metav1.Time), "2026-11-22T10:00:00.000000Z" where it is 6
 * (metav1.MicroTime); further digits are cut. KL_EINVAL: a year before 0001 or
 * after 9999, or other `digits`. Thread-safe, allocates nothing.
 */
KL_API kl_code kl_time_format(kl_time time, int digits, char out[KL_TIME_SIZE],
                              kl_error *err);

#ifdef __cplusplus
}
#endif
#endif
