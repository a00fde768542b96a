/*
 * sim_table_spec.c - Tables for `kubectl get`, cell by cell as a real
 * kube-apiserver 1.36 was seen to answer.
 */
#include "spec_case.h"
#include "sim/core/kinds/sim_columns.h"
#include "sim/core/kinds/sim_jsonpath.h"
#include "sim/core/table/sim_table_row.h"

#define NOW INT64_C(1795392000000) /* 2026-11-23T00:00:00Z */

static const kl__sim_builtin *row_of(const char *group, const char *plural)
{
    for (size_t i = 0; kl__sim_builtins[i].kind != NULL; i++) {
        if (strcmp(kl__sim_builtins[i].group, group) == 0 &&
            strcmp(kl__sim_builtins[i].plural, plural) == 0) {
            return &kl__sim_builtins[i];
        }
    }
    fail_msg("no kind %s", plural);
    return NULL;
}

/* Asserts the cells of an object; single quotes stand for double ones. */
static void expect(const char *group, const char *plural, const char *json,
                   const char *cells)
{
    kl__sim_kind *kind = kl__sim_kind_builtin(row_of(group, plural));
    const kl__sim_table table = {kind, "v1", NOW};
    char text[4096], wanted[1024];
    kl__buf out = {0};
    kl_doc *doc;

    snprintf(text, sizeof(text), "%s", json);
    snprintf(wanted, sizeof(wanted), "%s", cells);
    for (char *at = text; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    for (char *at = wanted; *at != '\0'; at++) {
        *at = *at == '\'' ? '"' : *at;
    }
    doc = kl_doc_parse(text, strlen(text), NULL);
    assert_non_null(doc);
    kl__sim_table_cells(&table, kl_doc_root(doc), &out);
    assert_false(out.failed);
    assert_string_equal(out.bytes, wanted);
    kl__buf_deinit(&out);
    kl_doc_unref(doc);
    kl__sim_kind_unref(kind);
}

/* A pod of that status (and spec), of which STATUS and so on are these. */
static void expect_pod(const char *rest, const char *cells)
{
    char json[2048], wanted[512];

    snprintf(json, sizeof(json),
             "{'metadata':{'name':'p','creationTimestamp':"
             "'2026-11-22T23:57:00Z'%s}",
             rest);
    snprintf(wanted, sizeof(wanted),
             "['p',%s,'3m','<none>','<none>','<none>','<none>']", cells);
    expect("", "pods", json, wanted);
}

#define SPEC "},'spec':{'containers':[{'name':'a'},{'name':'b'}]},'status':"

PLAIN_CASE(a_pod_without_containers_shows_its_phase)
{
    expect_pod(SPEC "{'phase':'Pending'}", "'0/2','Pending','0'");
    expect_pod(SPEC "{'phase':'Failed','reason':'Evicted'}",
               "'0/2','Evicted','0'");
    expect_pod(SPEC "{'phase':'Pending','conditions':[{'type':'PodScheduled',"
                    "'reason':'SchedulingGated'}]}",
               "'0/2','SchedulingGated','0'");
}

PLAIN_CASE(a_pod_shows_what_its_containers_do)
{
    expect_pod(SPEC "{'phase':'Running','containerStatuses':[{'name':'a',"
                    "'ready':true,'state':{'running':{}}},{'name':'b',"
                    "'ready':true,'restartCount':2,'state':{'running':{}}}]}",
               "'2/2','Running','2'");
    expect_pod(SPEC "{'phase':'Running','containerStatuses':[{'name':'a',"
                    "'restartCount':5,'state':{'waiting':{'reason':"
                    "'CrashLoopBackOff'}},'lastState':{'terminated':{"
                    "'finishedAt':'2026-11-22T23:55:00Z'}}}]}",
               "'0/2','CrashLoopBackOff','5 (5m ago)'");
    expect_pod(SPEC "{'phase':'Succeeded','containerStatuses':[{'name':'a',"
                    "'state':{'terminated':{'reason':'Completed',"
                    "'exitCode':0}}}]}",
               "'0/2','Completed','0'");
    expect_pod(SPEC "{'phase':'Running','containerStatuses':[{'name':'a',"
                    "'state':{'terminated':{'reason':'Completed'}}},{'name':"
                    "'b','ready':true,'state':{'running':{}}}]}",
               "'1/2','NotReady','0'");
    expect_pod(SPEC "{'phase':'Failed','containerStatuses':[{'name':'a',"
                    "'state':{'terminated':{'exitCode':3}}},{'name':'b',"
                    "'state':{'terminated':{'signal':9,'exitCode':1}}}]}",
               "'0/2','ExitCode:3','0'");
}

#define INIT                                                                \
    "},'spec':{'containers':[{'name':'a'}],'initContainers':[{'name':'i'}," \
    "{'name':'s','restartPolicy':'Always'}]},'status':"

PLAIN_CASE(a_pod_shows_how_far_initialization_is)
{
    expect_pod(INIT "{'phase':'Pending','initContainerStatuses':[{'name':'i',"
                    "'state':{'running':{}}}]}",
               "'0/2','Init:0/2','0'");
    expect_pod(INIT "{'phase':'Pending','initContainerStatuses':[{'name':'i',"
                    "'state':{'waiting':{'reason':'ImagePullBackOff'}}}]}",
               "'0/2','Init:ImagePullBackOff','0'");
    expect_pod(INIT "{'phase':'Pending','initContainerStatuses':[{'name':'i',"
                    "'restartCount':1,'state':{'terminated':{'exitCode':2}}}]}",
               "'0/2','Init:ExitCode:2','1'");
    expect_pod(INIT "{'phase':'Running','initContainerStatuses':[{'name':'i',"
                    "'restartCount':1,'state':{'terminated':{'exitCode':0}}},"
                    "{'name':'s','started':true,'ready':true,'restartCount':4,"
                    "'state':{'running':{}}}],'containerStatuses':[{'name':'a',"
                    "'ready':true,'state':{'running':{}}}]}",
               "'2/2','Running','4'");
}

PLAIN_CASE(a_pod_that_is_deleted_is_terminating)
{
    expect_pod(",'deletionTimestamp':'2026-11-22T23:59:00Z'" SPEC
               "{'phase':'Running'}",
               "'0/2','Terminating','0'");
    expect_pod(",'deletionTimestamp':'2026-11-22T23:59:00Z'" SPEC
               "{'phase':'Succeeded'}",
               "'0/2','Succeeded','0'");
    expect_pod(",'deletionTimestamp':'2026-11-22T23:59:00Z'" SPEC
               "{'phase':'Running','reason':'NodeLost'}",
               "'0/2','Unknown','0'");
}

PLAIN_CASE(other_kinds_show_what_a_real_server_does)
{
    expect("apps", "deployments",
           "{'metadata':{'name':'d'},'spec':{'replicas':3,'selector':{"
           "'matchLabels':{'a':'b'},'matchExpressions':[{'key':'z','operator':"
           "'In','values':['y','x']},{'key':'q','operator':'DoesNotExist'}]},"
           "'template':{'spec':{'containers':[{'name':'c','image':'i'},"
           "{'name':'e','image':'j'}]}}},'status':{'readyReplicas':1}}",
           "['d','1/3',0,0,'<unknown>','c,e','i,j','a=b,!q,z in (x,y)']");
    expect("", "services",
           "{'metadata':{'name':'s'},'spec':{'type':'NodePort','clusterIPs':["
           "'10.0.0.1'],'ports':[{'port':80,'nodePort':30080,'protocol':'TCP'},"
           "{'port':53,'protocol':'UDP'}],'selector':{'b':'c','a':'b'}}}",
           "['s','NodePort','10.0.0.1','<none>','80:30080/TCP,53/UDP',"
           "'<unknown>','a=b,b=c']");
    expect("", "endpoints",
           "{'metadata':{'name':'e'},'subsets':[{'addresses':[{'ip':'10.0.0.1'}"
           ",{'ip':'::1'}],'ports':[{'port':80},{'port':81}]}]}",
           "['e','10.0.0.1:80,[::1]:80,10.0.0.1:81 + 1 more...','<unknown>']");
    expect("autoscaling", "horizontalpodautoscalers",
           "{'metadata':{'name':'h'},'spec':{'scaleTargetRef':{'kind':"
           "'Deployment','name':'d'},'maxReplicas':5,'metrics':[{'type':"
           "'Resource','resource':{'name':'cpu','target':{"
           "'averageUtilization':50}}},{'type':'Pods','pods':{'target':{"
           "'averageValue':'5'}}},{'type':'External'}]}}",
           "['h','Deployment/d','cpu: <unknown>/50%, <unknown>/5 + 1 more...',"
           "'<unset>',5,0,'<unknown>']");
    expect("", "nodes",
           "{'metadata':{'name':'n','labels':{'node-role.kubernetes.io/"
           "worker':''}},'spec':{'unschedulable':true},'status':{'conditions':["
           "{'type':'Ready','status':'True'}],'addresses':[{'type':"
           "'InternalIP','address':'10.0.0.9'}],'nodeInfo':{'kubeletVersion':"
           "'v1.36.0','kernelVersion':'6.1','architecture':'arm64'}}}",
           "['n','Ready,SchedulingDisabled','worker','<unknown>','v1.36.0',"
           "'10.0.0.9','<none>','<unknown>','6.1 (arm64)','<unknown>']");
}

PLAIN_CASE(every_builtin_kind_has_as_many_cells_as_columns)
{
    for (size_t i = 0; kl__sim_builtins[i].kind != NULL; i++) {
        kl__sim_kind *kind = kl__sim_kind_builtin(&kl__sim_builtins[i]);
        const kl__sim_table table = {kind, "v1", NOW};
        kl__buf cells = {0}, columns = {0};
        kl_doc *left, *right;

        kl__sim_table_cells(&table, NULL, &cells);
        kl__sim_table_columns(kind, "v1", &columns);
        left = kl_doc_parse(cells.bytes, cells.length, NULL);
        right = kl_doc_parse(columns.bytes, columns.length, NULL);
        if (left == NULL || right == NULL ||
            kl_value_size(kl_doc_root(left)) !=
                kl_value_size(kl_doc_root(right))) {
            fail_msg("%s: %s for %s", kind->qualified, cells.bytes,
                     columns.bytes);
        }
        kl_doc_unref(left);
        kl_doc_unref(right);
        kl__buf_deinit(&cells);
        kl__buf_deinit(&columns);
        kl__sim_kind_unref(kind);
    }
}

PLAIN_CASE(durations_are_written_as_kubectl_does)
{
    static const struct {
        int64_t seconds;
        const char *text;
    } rows[] = {{-5, "<invalid>"},  {-1, "0s"},       {0, "0s"},
                {119, "119s"},      {120, "2m"},      {123, "2m3s"},
                {600, "10m"},       {10799, "179m"},  {10800, "3h"},
                {11000, "3h3m"},    {28800, "8h"},    {172799, "47h"},
                {172800, "2d"},     {180000, "2d2h"}, {691200, "8d"},
                {63071999, "729d"}, {63072000, "2y"}, {63158400, "2y1d"},
                {252288000, "8y"}};
    char age[KL__SIM_AGE_SIZE];

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_string_equal(kl__sim_duration(rows[i].seconds * 1000, age),
                            rows[i].text);
    }
}

PLAIN_CASE(json_paths_lead_to_the_first_value)
{
    static const char json[] =
        "{\"a\":{\"b.c\":[{\"t\":\"X\",\"v\":1},{\"t\":\"Y\",\"v\":2}]}}";
    static const struct {
        const char *path;
        int64_t value; /* 0: none */
    } rows[] = {{".a['b.c'][0].v", 1},
                {".a.b\\.c[1].v", 2},
                {".a['b.c'][-1].v", 2},
                {".a['b.c'][*].v", 1},
                {".a['b.c'][?(@.t==\"Y\")].v", 2},
                {".a['b.c'][?(@.t != 'X')].v", 2},
                {".a['b.c'][?(@.t==\"Z\")].v", 0},
                {".a['b.c'][?(@.t", 0},
                {".a['b.c'][7].v", 0},
                {".a['b.c", 0},
                {".x.y", 0},
                {"a", 0}};
    kl_doc *doc = kl_doc_parse(json, sizeof(json) - 1, NULL);

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(kl_value_integer(kl__sim_jsonpath_first(
                             rows[i].path, kl_doc_root(doc))),
                         rows[i].value);
    }
    kl_doc_unref(doc);
}
