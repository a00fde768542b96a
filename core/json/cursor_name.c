/*
 * cursor_name.c - tells if bytes may have a member of some name, 32 bytes at a
 * time. A reader that has found a member asks this about the rest of the
 * object, as a later member of the same name would count. It takes about as
 * long as finding the end of the object.
 */
#include "json/cursor.h"

#include "json/marks.h"

#include <string.h>

/* True if a backslash is at `at`, or the opening quote of such a name, which
 * ends before `end`. */
static bool is_here(const char *at, const char *end, const char *name,
                    size_t length)
{
    if (*at == '\\') {
        return true;
    }
    return at[0] == '"' && (size_t)(end - at) >= length + 2 &&
           at[length + 1] == '"' && memcmp(at + 1, name, length) == 0;
}

#ifdef __SSE2__

/* Goes on while a quote, `first` behind it, and a quote `length` + 1 bytes
 * further, or a backslash, are nowhere in 32 bytes. */
static KL__AVX2 const char *pass_by(const char *at, const char *end, char first,
                                    size_t length)
{
    for (; (size_t)(end - at) >= length + 34; at += 32) {
        __m256i part = _mm256_loadu_si256((const __m256i *)(const void *)at);
        __m256i second =
            _mm256_loadu_si256((const __m256i *)(const void *)(at + 1));
        __m256i last = _mm256_loadu_si256(
            (const __m256i *)(const void *)(at + length + 1));
        __m256i name =
            _mm256_and_si256(_mm256_and_si256(kl__wide_equal(part, '"'),
                                              kl__wide_equal(second, first)),
                             kl__wide_equal(last, '"'));

        if (_mm256_movemask_epi8(
                _mm256_or_si256(name, kl__wide_equal(part, '\\'))) != 0) {
            break;
        }
    }
    return at;
}

#endif

bool kl__cursor_may_have(const char *at, const char *end, const char *name,
                         size_t length)
{
    while (at < end) {
        const char *stop = end;

#ifdef __SSE2__
        if (kl__skip_best() >= KL__SKIP_AVX2) {
            at = pass_by(at, end, length > 0 ? name[0] : '"', length);
            stop = (size_t)(end - at) >= length + 34 ? at + 32 : end;
        }
#endif
        for (; at < stop; at++) {
            if (is_here(at, end, name, length)) {
                return true;
            }
        }
    }
    return false;
}
