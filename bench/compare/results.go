package main

import (
	"encoding/json"
	"os"
	"slices"

	"kubelua/bench/replay"
)

// changes come in bursts, with a pause before each.
type changes struct {
	Count   int `json:"count"`
	Burst   int `json:"burst"`
	PauseMS int `json:"pause_ms"`
}

type cacheSize struct {
	Pods    int `json:"pods"`
	Updates int `json:"updates"`
}

// settings is how much is measured.
type settings struct {
	Rounds        int         `json:"rounds"`
	Pods          int         `json:"pods"`
	JSONBytes     int         `json:"json_bytes"`
	ProtobufBytes int         `json:"protobuf_bytes"`
	Updates       int         `json:"updates"`
	SlowUpdates   int         `json:"slow_updates"` // client-go json, dynamic
	FewPods       int         `json:"few_pods"`     // JavaScript, Python
	FewUpdates    int         `json:"few_updates"`
	Steady        changes     `json:"steady"`
	Bursts        changes     `json:"bursts"`
	Sizes         []cacheSize `json:"sizes"`
	Parts         []string    `json:"parts"`

	Varied      replay.Cluster `json:"varied"`
	VariedKinds []kindSize     `json:"varied_kinds"`
	Many        int            `json:"many"` // pods of the largest cache
	ManyUpdates int            `json:"many_updates"`
	Starts      int            `json:"starts"`
	StartPods   int            `json:"start_pods"`

	Recording string `json:"recording,omitempty"` // what was served
}

func fullSettings() settings {
	return settings{Pods: 10000, Updates: 100000, SlowUpdates: 10000,
		FewPods: 2000, FewUpdates: 2000,
		Steady: changes{1000, 1, 5}, Bursts: changes{2000, 100, 100},
		Sizes: []cacheSize{{1000, 40000}, {100000, 60000}},
		Varied: replay.Cluster{Pods: 10000, EndpointSlices: 1500, Secrets: 3000, Nodes: 500,
			Custom: 2000},
		Many: 1000000, ManyUpdates: 100000, Starts: 10, StartPods: 100}
}

func quickSettings() settings {
	return settings{Pods: 1000, Updates: 10000, SlowUpdates: 1000,
		FewPods: 300, FewUpdates: 300,
		Steady: changes{200, 1, 5}, Bursts: changes{500, 100, 100},
		Sizes: []cacheSize{{100, 5000}, {5000, 5000}},
		Varied: replay.Cluster{Pods: 1000, EndpointSlices: 150, Secrets: 300, Nodes: 50,
			Custom: 200},
		Many: 50000, ManyUpdates: 20000, Starts: 3, StartPods: 100}
}

// figure is what all rounds say of one thing.
type figure struct {
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	Runs   []float64 `json:"runs"`
}

// outcome is all that is known of a contender. One that is absent, or failed,
// says why and has no figures.
type outcome struct {
	Name    string            `json:"name"`
	Absent  string            `json:"absent,omitempty"`
	Figures map[string]figure `json:"figures"`
}

// results is what results.json holds; the report makes all tables of it.
type results struct {
	Complete   bool              `json:"complete"` // all contenders, nothing shortened
	Date       string            `json:"date"`
	Commit     string            `json:"commit"`
	Minutes    float64           `json:"minutes"`
	Machine    machine           `json:"machine"`
	Versions   map[string]string `json:"versions"`
	Settings   settings          `json:"settings"`
	Contenders []outcome         `json:"contenders"`
	Starts     []outcome         `json:"starts,omitempty"` // of a process to its first event
	Notes      []string          `json:"notes,omitempty"`  // what went wrong
}

// summarize makes figures of all rounds of a contender.
func summarize(rounds []figures) map[string]figure {
	all := map[string]figure{}
	for name := range rounds[0] {
		var f figure
		for _, round := range rounds {
			f.Runs = append(f.Runs, round[name])
		}
		sorted := slices.Sorted(slices.Values(f.Runs))
		middle := len(sorted) / 2
		f.Median = sorted[middle]
		if len(sorted)%2 == 0 {
			f.Median = (sorted[middle-1] + sorted[middle]) / 2
		}
		f.Min, f.Max = sorted[0], sorted[len(sorted)-1]
		all[name] = f
	}
	return all
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
