package main

import (
	"fmt"
	"os"

	"kubelua/bench/replay"
)

// The seed of varied data.
const seed = 1

// kindSize is how many objects of a kind a varied cluster has, and their mean sizes.
type kindSize struct {
	Kind          string `json:"kind"`
	Count         int    `json:"count"`
	JSONBytes     int    `json:"json_bytes"`     // with managedFields
	BareBytes     int    `json:"bare_bytes"`     // without
	ProtobufBytes int    `json:"protobuf_bytes"` // with; 0: there is none
}

// varied has contenders keep five kinds at once, of objects as they are in real
// clusters; then once more without managedFields.
func (r *race) varied() {
	of := r.with.Varied
	of.ManagedFields = true
	all := replay.Varied(seed, of)
	for _, data := range all {
		size := kindSize{Kind: data.Kind.Kind, Count: data.Count()}
		size.JSONBytes, size.ProtobufBytes = data.Bytes()
		r.with.VariedKinds = append(r.with.VariedKinds, size)
	}
	r.keepAll("varied", all)
	of.ManagedFields = false
	all = replay.Varied(seed, of)
	for i, data := range all {
		r.with.VariedKinds[i].BareBytes, _ = data.Bytes()
	}
	r.keepAll("bare", all)
}

// keepAll measures a sync of all these kinds; `part` starts the names of figures.
func (r *race) keepAll(part string, all []*replay.Data) {
	for range min(2, r.with.Rounds) {
		for _, c := range r.competing() {
			if c.isSlow || c.onlyPods || r.broken(c.name, part) {
				continue
			}
			r.server.ServeAll(all)
			t, err := c.begin(r.server, "stream")
			if err != nil {
				r.drop(c.name, part, err)
				continue
			}
			t.stop(false)
			got := figures{}
			for from, to := range map[string]string{"rest_bytes": "bytes", "sync_cpu": "sync_cpu", "peak": "peak"} {
				got[part+"_"+to] = t.got[from]
			}
			r.keep(c.name, part, got)
			fmt.Fprintf(os.Stderr, "%s %-18s: %.2f KB an object, sync %.1f us\n",
				part, c.name, t.got["rest_bytes"]/1024, t.got["sync_cpu"])
		}
	}
}
