/*
 * der.h - checks if bytes are a certificate in DER (X.690, RFC 5280), so that
 * one broken certificate of a CA bundle can be left out. It checks the form
 * only; TLS verifies signatures and dates.
 */
#ifndef KL_HTTP_DER_H
#define KL_HTTP_DER_H

#include <stdbool.h>
#include <stddef.h>

bool kl__der_is_certificate(const void *bytes, size_t length);

#endif
