/*
 * definition_spec.c - refusals of CustomResourceDefinitions in kube-apiserver's
 * words. Each line was compared with a real server's answer.
 */
#include "spec_case.h"
#include "sim/core/schema/definition.h"

#include "kubelua/memory.h"

/* A definition, with ' for "; %s is what the case is about. */
static const char whole[] =
    "{'metadata':{'name':'foos.example.com'},'spec':{'group':'example.com',"
    "'scope':'Cluster','names':{'plural':'foos','singular':'foo','kind':'Foo',"
    "'listKind':'FooList'},'versions':[{'name':'v1','served':true,'storage':"
    "true,'schema':{'openAPIV3Schema':%s}%s}]},'status':{'storedVersions':["
    "'v1']}}";

static kl_doc *parse(const char *text)
{
    char json[4096];
    kl_error err = {0};
    kl_doc *doc;

    snprintf(json, sizeof(json), "%s", text);
    for (char *at = json; *at != '\0'; at++) {
        *at = (char)(*at == '\'' ? '"' : *at);
    }
    doc = kl_doc_parse(json, strlen(json), &err);
    if (doc == NULL) {
        fail_msg("%s in %s", err.message, json);
    }
    return doc;
}

static void refuses_all(const char *text, const char *old, const char *expected)
{
    kl__field_errors errors = {0};
    kl__buf lines = {0};
    kl_doc *doc = parse(text), *before = old != NULL ? parse(old) : NULL;

    kl__definition_validate(
        kl_doc_root(doc), before != NULL ? kl_doc_root(before) : NULL, &errors);
    assert_false(errors.failed);
    for (size_t i = 0; i < errors.count; i++) {
        kl__buf_printf(&lines, "%s: %s\n", errors.items[i].field,
                       errors.items[i].message);
    }
    assert_string_equal(lines.bytes != NULL ? lines.bytes : "", expected);
    kl__buf_deinit(&lines);
    kl__field_errors_deinit(&errors);
    kl_doc_unref(doc);
    kl_doc_unref(before);
}

/* Of the schema of a property "a". */
static void refuses(const char *property, const char *expected)
{
    static const char path[] = "spec.validation.openAPIV3Schema.properties[a]";
    char schema[1024], text[4096], full[4096];

    snprintf(schema, sizeof(schema), "{'type':'object','properties':{'a':%s}}",
             property);
    snprintf(text, sizeof(text), whole, schema, "");
    snprintf(full, sizeof(full), "%s%s%s", *expected != '\0' ? path : "",
             expected, *expected != '\0' ? "\n" : "");
    refuses_all(text, NULL, full);
}

/* Of what a version has beside its schema, which is any object's. */
static void refuses_part(const char *part, const char *expected)
{
    char text[4096];

    snprintf(text, sizeof(text), whole, "{'type':'object'}", part);
    refuses_all(text, NULL, expected);
}

PLAIN_CASE(a_schema_must_be_structural)
{
    refuses("{'type':'string'}", "");
    refuses("{}", ".type: Required value: must not be empty for specified "
                  "object fields");
    refuses("{'type':'array'}", ".items: Required value: must be specified");
    refuses("{'type':'strong'}",
            ".type: Unsupported value: \"strong\": supported values: "
            "\"array\", \"boolean\", \"integer\", \"number\", \"object\", "
            "\"string\"");
    refuses("{'type':'object','anyOf':[{'type':'object'}]}",
            ".anyOf[0].type: Forbidden: must be empty to be structural");
    refuses("{'x-kubernetes-int-or-string':true,'anyOf':[{'type':'integer'},{"
            "'type':'string'}]}",
            "");
    refuses("{'type':'string','pattern':'(?=a)'}",
            ".pattern: Invalid value: \"(?=a)\": must be a valid regular "
            "expression, but isn't: error parsing regexp: invalid or "
            "unsupported Perl syntax: `(?=`");
    refuses("{'type':'object','x-kubernetes-embedded-resource':true}",
            ".properties: Required value: must not be empty if "
            "x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields");
}

PLAIN_CASE(keywords_of_a_schema_are_checked)
{
    refuses("{'type':'object','properties':{'b':{'type':'string'}},"
            "'additionalProperties':{'type':'string'}}",
            ".additionalProperties: Forbidden: additionalProperties and "
            "properties are mutual exclusive");
    refuses("{'type':'array','items':{'type':'string'},'uniqueItems':true}",
            ".uniqueItems: Forbidden: uniqueItems cannot be set to true since "
            "the runtime complexity becomes quadratic");
    refuses("{'$ref':'x'}", ".$ref: Forbidden: $ref is not supported");
    refuses("{'type':'array','items':{'type':'object','properties':{'k':{"
            "'type':'string'}}},'x-kubernetes-list-type':'map',"
            "'x-kubernetes-list-map-keys':['k']}",
            ".items.properties[k].default: Required value: this property is in "
            "x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property");
    refuses("{'type':'array','items':{'type':'string'},"
            "'x-kubernetes-list-type':'bag'}",
            ".x-kubernetes-list-type: Unsupported value: \"bag\": supported "
            "values: \"atomic\", \"set\", \"map\"");
    refuses("{'type':'integer','x-kubernetes-validations':[{'rule':' '}]}",
            ".x-kubernetes-validations[0].rule: Required value: rule is not "
            "specified");
}

PLAIN_CASE(defaults_must_fit_their_schema)
{
    refuses("{'type':'integer','default':1}", "");
    refuses("{'type':'integer','default':'x'}",
            ".default: Invalid value: \"string\":  in body must be of type "
            "integer: \"string\"");
    refuses("{'type':'object','default':{'b':1}}",
            ".default: Invalid value: {\"b\":1}: must not have unknown fields");
}

PLAIN_CASE(columns_and_subresources_are_checked)
{
    refuses_part(",'subresources':{'scale':{'specReplicasPath':'.x',"
                 "'statusReplicasPath':'.status.n'}}",
                 "spec.subresources.scale.specReplicasPath: Invalid value: "
                 "\".x\": should be a json path under .spec\n");
    refuses_part(",'additionalPrinterColumns':[{'name':'A','type':'x',"
                 "'jsonPath':'.spec'}]",
                 "spec.additionalPrinterColumns[0].type: Invalid value: \"x\": "
                 "must be one of boolean,date,integer,number,string\n");
    refuses_part(",'deprecationWarning':'x'",
                 "spec.versions[0].deprecationWarning: Invalid value: \"x\": "
                 "can only be set for deprecated versions\n");
    refuses_part(",'selectableFields':[{'jsonPath':'.spec.a'}]",
                 "spec.selectableFields[0].jsonPath: Invalid value: "
                 "\".spec.a\": is an invalid path: does not refer to a valid "
                 "field\n");
}

PLAIN_CASE(the_names_of_a_definition_cannot_change)
{
    char old[4096], now[4096];
    char *at;

    snprintf(old, sizeof(old), whole, "{'type':'object'}", "");
    snprintf(now, sizeof(now), whole, "{'type':'object'}", "");
    at = strstr(now, "'name':'v1'");
    memcpy(at, "'name':'v2'", 11);
    refuses_all(now, old,
                "status.storedVersions: Invalid value: [\"v1\"]: must have the "
                "storage version v2\nstatus.storedVersions[0]: Invalid value: "
                "\"v1\": missing from spec.versions; v1 was previously a "
                "storage version, and must remain in spec.versions until a "
                "storage migration ensures no data remains persisted in v1 and "
                "removes v1 from status.storedVersions\n");
}
