package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// recorder sorts what a recording holds: the first state of each object, which
// is listed, and what objects become later.
type recorder struct {
	first, later []runtime.Object
	turns        []turn
	places       map[string]int // of objects in `first`, by namespace and name
	kind         string
}

// Recording reads what `kubectl get KIND -A -o json` or `kubelua record` printed,
// or watch events. The first state of each object is the list; what comes later
// are its changes, over and over. Deletions are left out.
func Recording(path string) (*Data, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &recorder{places: map[string]int{}}
	for from := json.NewDecoder(file); ; {
		var raw json.RawMessage
		if err = from.Decode(&raw); err == io.EOF {
			return r.data(path)
		}
		if err == nil {
			err = r.read(raw)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: byte %d: %w", path, from.InputOffset(), err)
		}
	}
}

// read takes a list, a watch event, or an object.
func (r *recorder) read(raw json.RawMessage) error {
	var read struct {
		Type   watch.EventType   `json:"type"`
		Object json.RawMessage   `json:"object"`
		Kind   string            `json:"kind"`
		Items  []json.RawMessage `json:"items"`
		Header string            `json:"kubelua"` // of a recording of `kubelua record`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return err
	}
	switch {
	case read.Items != nil:
		for _, item := range read.Items {
			if err := r.add(item); err != nil {
				return err
			}
		}
		return nil
	case read.Type == watch.Added || read.Type == watch.Modified:
		return r.add(read.Object)
	case read.Type != "" || read.Header != "": // a deletion, a bookmark, an error
		return nil
	}
	return r.add(raw)
}

// add takes an object as it is at that time.
func (r *recorder) add(raw json.RawMessage) error {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(raw, nil, nil)
	if runtime.IsNotRegisteredError(err) {
		object = &unstructured.Unstructured{}
		err = json.Unmarshal(raw, object)
	}
	if err != nil {
		return fmt.Errorf("not a list, a watch event or an object with its kind: %w", err)
	}
	about, err := meta.Accessor(object)
	if err != nil {
		return err
	}
	kind := object.GetObjectKind().GroupVersionKind().String()
	if r.kind == "" {
		r.kind = kind
	} else if r.kind != kind {
		return fmt.Errorf("holds %s and %s: record one kind", r.kind, kind)
	}
	notes := about.GetAnnotations()
	if notes == nil {
		notes = map[string]string{}
	}
	notes[stampName] = stampMark
	about.SetAnnotations(notes)
	about.SetResourceVersion(versionMark)
	key := about.GetNamespace() + "/" + about.GetName()
	if place, known := r.places[key]; known {
		r.turns = append(r.turns, turn{place, len(r.later)})
		r.later = append(r.later, object)
		return nil
	}
	r.places[key] = len(r.first)
	r.first = append(r.first, object)
	return nil
}

func (r *recorder) data(path string) (*Data, error) {
	if len(r.first) == 0 {
		return nil, errors.New(path + " holds no objects")
	}
	kind := r.first[0].GetObjectKind().GroupVersionKind()
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	d := newData(kind, resource.Resource, append(r.first, r.later...))
	d.listed, d.recorded = len(r.first), r.turns
	for i := range d.recorded {
		d.recorded[i].model += d.listed
	}
	return d, nil
}
