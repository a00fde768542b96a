package clients

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

func findResource(lists []*metav1.APIResourceList, version, name string) bool {
	for _, list := range lists {
		for _, resource := range list.APIResources {
			if list.GroupVersion == version && resource.Name == name {
				return true
			}
		}
	}
	return false
}

func TestDiscoveryAggregated(t *testing.T) {
	client := must[*discovery.DiscoveryClient](t)(discovery.NewDiscoveryClientForConfig(connect(t)))
	groups, resources, failed, err := client.GroupsAndMaybeResources()
	if err != nil || len(failed) > 0 || resources == nil {
		t.Fatal(err, failed, "not aggregated: ", resources == nil)
	}
	if resources[appsv1.SchemeGroupVersion] == nil || len(groups.Groups) < 10 {
		t.Fatal(groups)
	}
}

func TestDiscoveryLegacy(t *testing.T) {
	client := must[*discovery.DiscoveryClient](t)(discovery.NewDiscoveryClientForConfig(connect(t)))
	client.UseLegacyDiscovery = true
	lists := must[[]*metav1.APIResourceList](t)(client.ServerPreferredResources())
	if !findResource(lists, "apps/v1", "deployments") || !findResource(lists, "v1", "pods") {
		t.Fatal(lists)
	}
}

func TestDiscoveryCachedOnDisk(t *testing.T) {
	folder := t.TempDir()
	for range 2 { // asked, then read
		client := must[*disk.CachedDiscoveryClient](t)(disk.NewCachedDiscoveryClientForConfig(
			connect(t), folder+"/discovery", folder+"/http", 0))
		lists := must[[]*metav1.APIResourceList](t)(client.ServerPreferredResources())
		if !findResource(lists, "batch/v1", "jobs") {
			t.Fatal(lists)
		}
	}
}

func TestRESTMapper(t *testing.T) {
	client := must[*discovery.DiscoveryClient](t)(discovery.NewDiscoveryClientForConfig(connect(t)))
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	mapping := must[*meta.RESTMapping](t)(mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Deployment"}))
	if mapping.Resource.Resource != "deployments" || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		t.Fatal(mapping)
	}
	short := restmapper.NewShortcutExpander(mapper, client, nil)
	found := must[schema.GroupVersionResource](t)(short.ResourceFor(schema.GroupVersionResource{Resource: "deploy"}))
	if found != appsv1.SchemeGroupVersion.WithResource("deployments") {
		t.Fatal(found)
	}
	_, err := mapper.RESTMapping(schema.GroupKind{Group: "apps", Kind: "Nothing"})
	if !meta.IsNoMatchError(err) {
		t.Fatal(err)
	}
}

func TestVersionAndOpenAPI(t *testing.T) {
	client := must[*discovery.DiscoveryClient](t)(discovery.NewDiscoveryClientForConfig(connect(t)))
	version, err := client.ServerVersion()
	if err != nil || version.Major != "1" {
		t.Fatal(version, err)
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		t.Fatal(err)
	}
	document, err := paths["apis/apps/v1"].Schema("application/json")
	if err != nil || len(document) < 1000 {
		t.Fatal(len(document), err)
	}
	all, err := client.OpenAPISchema() // as protobuf
	if err != nil {
		t.Fatal(err)
	}
	types := all.GetDefinitions().GetAdditionalProperties()
	for _, found := range types {
		if found.Name == "io.k8s.api.apps.v1.Deployment" && len(found.Value.Properties.AdditionalProperties) == 5 {
			return
		}
	}
	t.Fatal(len(types), "types, but no Deployment")
}
