/*
 * kubeconfigs.h - kubeconfigs for specs: written, loaded, refused.
 */
#ifndef KL_SPEC_KUBECONFIGS_H
#define KL_SPEC_KUBECONFIGS_H

#include "kubelua/config.h"

/* "-----BEGIN CERTIFICATE-----\n" in base64. */
#define KUBECONFIG_PEM "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCg=="

/* One test in a temporary folder, see temp_files.h. */
#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, temp_files_setup, temp_files_teardown)

/* Loads a config; if that fails, fails the test with its message. */
kl_config *config_load(const kl_config_options *options);

/* Asserts that loading fails with KL_ECONFIG and a message that contains the
 * text. */
void assert_config_error(const kl_config_options *options, const char *message);

/* Writes a kubeconfig with one context, of a cluster "c" and a user "u", both
 * given as YAML maps on one line. Returns its path. */
const char *kubeconfig_write(const char *cluster, const char *user);

/* kubeconfig_write, then assert_config_error for that file. */
void assert_entry_error(const char *cluster, const char *user,
                        const char *message);

#endif
