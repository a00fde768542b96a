package replay

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const recorded = `{"kubelua":"recording","version":1,"started":"2026-03-01T08:00:00Z"}
{"at":0,"type":"ADDED","initial":true,"object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"web"}}}
{"at":0,"type":"SYNCED","resource":"pods","resourceVersion":"7"}
{"type":"ADDED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"web"}}}
{"type":"MODIFIED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"b","namespace":"web"},
  "status":{"phase":"Running"}}}
{"type":"DELETED","object":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"web"}}}
`

func read(t *testing.T, text string) (*Data, error) {
	path := filepath.Join(t.TempDir(), "recording.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Recording(path)
}

func TestARecordingListsFirstStatesAndRepeatsLaterOnes(t *testing.T) {
	d, err := read(t, recorded)
	if err != nil {
		t.Fatal(err)
	}
	if d.Resource.Resource != "pods" || d.Count() != 2 || d.protobuf == nil {
		t.Errorf("%d %s, protobuf %v", d.Count(), d.Resource.Resource, d.protobuf != nil)
	}
	c := newCollection(d, d.Count())
	for range 2 {
		object, now := c.change()
		if object != 1 || now.model != 2 || d.lengths[now.model] != int64(len("b"+"Running")) {
			t.Errorf("object %d becomes model %d", object, now.model)
		}
	}
}

func TestAListOfKubectlIsRead(t *testing.T) {
	d, err := read(t, `{"apiVersion":"v1","kind":"List","items":[
		{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","uid":"12"}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if d.path() != "/apis/example.com/v1/widgets" || d.protobuf != nil || d.lengths[0] != 3 {
		t.Errorf("%s, protobuf %v, lengths %v", d.path(), d.protobuf != nil, d.lengths)
	}
}

func TestARecordingOfTwoKindsIsRefused(t *testing.T) {
	_, err := read(t, recorded+`{"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}}`)
	if err == nil || !strings.Contains(err.Error(), "record one kind") {
		t.Errorf("%v", err)
	}
	if _, err = read(t, "{}"); err == nil {
		t.Error("an object without a kind is taken")
	}
	if _, err = read(t, ""); err == nil || !strings.Contains(err.Error(), "no objects") {
		t.Errorf("%v", err)
	}
}

func TestVariedDataIsTheSameForASeed(t *testing.T) {
	small := Cluster{Pods: 40, EndpointSlices: 5, Secrets: 20, Nodes: 2, Custom: 5, ManagedFields: true}
	all, again, other := Varied(1, small), Varied(1, small), Varied(2, small)
	for i, data := range all {
		for place := range data.json.models {
			text := data.json.models[place].bytes
			if !bytes.Equal(text, again[i].json.models[place].bytes) {
				t.Errorf("%s %d differs", data.Kind.Kind, place)
			}
			if bytes.Equal(text, other[i].json.models[place].bytes) {
				t.Errorf("%s %d is the same with another seed", data.Kind.Kind, place)
			}
		}
	}
}

func TestScatteredChangesReachEachObjectOnce(t *testing.T) {
	d := Pods(7)
	for _, count := range []int{1, 2, 10, 16, 1000} {
		s := &Server{}
		s.Scatter(d, count)
		seen := map[int]bool{}
		for range count {
			object, _ := s.served[0].change()
			seen[object] = true
		}
		if len(seen) != count {
			t.Errorf("%d of %d objects changed", len(seen), count)
		}
	}
}
