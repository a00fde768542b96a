package replay

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Data is objects of one kind, each encoded once.
type Data struct {
	Resource       schema.GroupVersionResource
	Kind           schema.GroupVersionKind
	json, protobuf *encoding // protobuf: nil for custom resources
	lengths        []int64   // of what a handler reads of each model
	recorded       []turn    // what changes one after the other; nil: each object
	listed         int       // how many of a recording's models are its list; 0: all
	namespaced     bool
}

// turn is a recorded change: that object becomes what that model is.
type turn struct {
	object, model int
}

func newData(kind schema.GroupVersionKind, resource string, objects []runtime.Object) *Data {
	d := &Data{Resource: kind.GroupVersion().WithResource(resource), Kind: kind}
	for _, object := range objects {
		about, err := meta.Accessor(object)
		if err != nil {
			panic(err) // our own object
		}
		d.namespaced = d.namespaced || about.GetNamespace() != ""
		d.lengths = append(d.lengths, readLength(object))
	}
	d.json = newEncoding("application/json", kind, objects)
	if _, custom := objects[0].(*unstructured.Unstructured); !custom {
		d.protobuf = newEncoding(protobufType, kind, objects)
	}
	return d
}

// readLength is how many bytes a handler reads of an object: of a Pod three
// fields, of others the name and the UID.
func readLength(object runtime.Object) int64 {
	if pod, is := object.(*corev1.Pod); is {
		return int64(len(pod.Name) + len(pod.Status.Phase) + len(pod.Spec.NodeName))
	}
	about, err := meta.Accessor(object)
	if err != nil {
		panic(err)
	}
	return int64(len(about.GetName()) + len(about.GetUID()))
}

// Pods is up to `most` pods that resemble each other: those of one shop.
func Pods(most int) *Data {
	var all []runtime.Object
	for i := range min(most, models) {
		all = append(all, pod(i))
	}
	return newData(corev1.SchemeGroupVersion.WithKind("Pod"), "pods", all)
}

// Count returns the number of objects in the list. A recording has those of its list;
// other data have one object for each model.
func (d *Data) Count() int {
	if d.listed > 0 {
		return d.listed
	}
	return len(d.lengths)
}

// Bytes is the mean size of an object: its JSON, its protobuf (0: none).
func (d *Data) Bytes() (int, int) {
	mean := func(e *encoding) (sum int) {
		if e == nil {
			return 0
		}
		for i := range d.Count() {
			sum += len(e.models[i].bytes)
		}
		return sum / d.Count()
	}
	return mean(d.json), mean(d.protobuf)
}

// path is where the API server has the resource.
func (d *Data) path() string {
	if d.Resource.Group == "" {
		return fmt.Sprintf("/api/%s/%s", d.Resource.Version, d.Resource.Resource)
	}
	return fmt.Sprintf("/apis/%s/%s/%s", d.Resource.Group, d.Resource.Version,
		d.Resource.Resource)
}
