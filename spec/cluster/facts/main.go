// facts prints, as JSON, what the Go types of kube-apiserver say of the
// built-in kinds and OpenAPI does not: the names of types in messages, what is
// left out when it is empty, the numbers of protobuf. sim/tools/schema reads
// it.
package main

import (
	"encoding/json"
	"os"
	"reflect"
	"sort"
	"strings"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/install"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
)

// Kind is what one group and version serve under a name.
type Kind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
	Type    string `json:"type"`
}

func main() {
	scheme := legacyscheme.Scheme
	apiextensions.Install(scheme)
	apiregistration.Install(scheme)
	r := reader{structs: map[string]*Struct{}, types: map[string]reflect.Type{}}
	kinds := readKinds(scheme, &r)
	for _, object := range []any{&metav1.Status{}, &metav1.Table{}, &metav1.PartialObjectMetadata{},
		&metav1.PartialObjectMetadataList{}, &metav1.DeleteOptions{}} {
		r.read(reflect.TypeOf(object).Elem())
	}
	kinds = append(kinds, readKind(&r, "meta.k8s.io", "v1beta1", &metav1beta1.PartialObjectMetadataList{}),
		readKind(&r, "apidiscovery.k8s.io", "v2", &apidiscovery.APIGroupDiscoveryList{}))
	p := prober{scheme: scheme, found: map[string]map[string][]string{}}
	for _, kind := range kinds {
		if !strings.HasSuffix(kind.Kind, "List") && !strings.Contains(kind.Type, "apimachinery") {
			p.probe(r.types[kind.Type])
		}
	}
	p.settle(&r)
	var structs []*Struct
	for _, s := range r.structs {
		structs = append(structs, s)
	}
	sort.Slice(structs, func(i, j int) bool { return structs[i].Name < structs[j].Name })
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", " ")
	if err := out.Encode(map[string]any{"kinds": kinds, "structs": structs}); err != nil {
		panic(err)
	}
}

// readKind reads a kind that is answered, but no scheme's.
func readKind(r *reader, group, version string, object any) Kind {
	t := reflect.TypeOf(object).Elem()
	r.read(t)
	return Kind{group, version, t.Name(), modelName(t)}
}

// readKinds reads the kinds of the versions that a server serves by default.
func readKinds(scheme *runtime.Scheme, r *reader) []Kind {
	var kinds []Kind
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version != "v1" && gvk.Version != "v2" {
			continue
		}
		r.read(t)
		kinds = append(kinds, Kind{gvk.Group, gvk.Version, gvk.Kind, modelName(t)})
	}
	sort.Slice(kinds, func(i, j int) bool {
		a, b := kinds[i], kinds[j]
		return a.Group+"/"+a.Version+"/"+a.Kind < b.Group+"/"+b.Version+"/"+b.Kind
	})
	return kinds
}
