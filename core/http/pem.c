/*
 * pem.c - see pem.h. A block of PEM is "-----BEGIN label-----", base64 on lines
 * of any length, and "-----END label-----".
 */
#include "http/pem.h"

#include "base/base64.h"
#include "http/der.h"

#include <string.h>

#define BEGIN "-----BEGIN "
#define END "-----END "
#define DASHES "-----"

enum { LINE_BYTES = 48 /* 64 characters of base64 */ };

typedef struct block {
    const char *label;
    size_t label_length;
    const char *body; /* what stands between the two lines */
    size_t length;
    bool is_whole; /* its END was found */
} block;

bool kl__pem_has_passphrase(const char *text)
{
    return text != NULL && (strstr(text, BEGIN "ENCRYPTED ") != NULL ||
                            strstr(text, "\nProc-Type:") != NULL);
}

/* Reads the next block, and moves `*at` behind it; a block without an END ends
 * where the next one begins. False: there is none. */
static bool next_block(const char **at, block *out)
{
    const char *begin = strstr(*at, BEGIN), *end, *next;
    const char *label_end =
        begin != NULL ? strstr(begin + sizeof(BEGIN) - 1, DASHES) : NULL;

    if (label_end == NULL) {
        return false;
    }
    out->label = begin + sizeof(BEGIN) - 1;
    out->label_length = (size_t)(label_end - out->label);
    out->body = label_end + sizeof(DASHES) - 1;
    end = strstr(out->body, END);
    next = strstr(out->body, BEGIN);
    out->is_whole = end != NULL && (next == NULL || end < next);
    if (!out->is_whole) {
        end = next != NULL ? next : out->body + strlen(out->body);
    }
    out->length = (size_t)(end - out->body);
    *at = out->is_whole ? end + sizeof(END) - 1 : end;
    return true;
}

static bool has_label(const block *found, const char *label)
{
    return found->label_length == strlen(label) &&
           memcmp(found->label, label, found->label_length) == 0;
}

/* Appends the base64 of the body without blanks; true if it is a certificate.
 */
static bool decode_certificate(const block *found, kl__buf *der)
{
    kl__buf text = {0};
    bool is_good;

    for (size_t i = 0; i < found->length; i++) {
        if (strchr(" \t\r\n", found->body[i]) == NULL) {
            kl__buf_putc(&text, found->body[i]);
        }
    }
    is_good = text.length > 0 && !text.failed &&
              kl__base64_decode(der, text.bytes, text.length) &&
              kl__der_is_certificate(der->bytes, der->length);
    der->failed |= text.failed;
    kl__buf_deinit(&text);
    return is_good;
}

/* Lines of 64 characters: OpenSSL reads no lines of more than 254. */
static void append_certificate(kl__buf *out, const kl__buf *der)
{
    kl__buf_puts(out, BEGIN "CERTIFICATE" DASHES "\n");
    for (size_t at = 0; at < der->length; at += LINE_BYTES) {
        size_t left = der->length - at;

        kl__base64_encode(out, der->bytes + at,
                          left < LINE_BYTES ? left : LINE_BYTES);
        kl__buf_putc(out, '\n');
    }
    kl__buf_puts(out, END "CERTIFICATE" DASHES "\n");
}

int kl__pem_certificates(const char *text, kl__buf *out)
{
    block found;
    int broken = 0;

    while (next_block(&text, &found)) {
        kl__buf der = {0};

        if ((!has_label(&found, "CERTIFICATE") &&
             !has_label(&found, "X509 CERTIFICATE")) ||
            memchr(found.body, ':', found.length) != NULL) {
            continue;
        }
        if (found.is_whole && decode_certificate(&found, &der)) {
            append_certificate(out, &der);
        } else {
            broken++;
        }
        out->failed |= der.failed;
        kl__buf_deinit(&der);
    }
    return broken;
}
