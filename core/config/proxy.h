/*
 * proxy.h - whether a proxy stands between: HTTPS_PROXY, HTTP_PROXY and
 * NO_PROXY, read as Go's http.ProxyFromEnvironment reads them.
 */
#ifndef KL_CONFIG_PROXY_H
#define KL_CONFIG_PROXY_H

#include "kubelua/error.h"

/* KL_ECONFIG unless it is the URL of an http, https or socks5 proxy. */
kl_code kl__proxy_check(const char *proxy_url, kl_error *err);

/* The environment's proxy for a server's URL: `*proxy_url` is the caller's, or
 * NULL where there is none. KL_ECONFIG, KL_ENOMEM. */
kl_code kl__proxy_from_environment(const char *server, char **proxy_url,
                                   kl_error *err);

#endif
