// Command compare has every contender go through everything against one server,
// in turn, several times over, and writes what that cost as results.json.
package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kubelua/bench/replay"
)

type options struct {
	quick                                     bool
	rounds, updates, pods                     int
	only, build, under, out, parts, recording string
	controllers, real                         bool
	kubeconfig                                string
	workers                                   int
}

// What can be measured: see README.md.
const allParts = "classic,varied,scale,starts"

// race is all contenders, and what they did so far.
type race struct {
	server  *replay.Server
	data    *replay.Data
	options *options
	with    settings
	rounds  map[string]map[string][]figures // of a contender, by part
	absent  map[string]string               // why a contender does not compete
	notes   []string
}

func (o *options) settings() settings {
	with := fullSettings()
	if o.quick {
		with = quickSettings()
	}
	if with.Rounds = o.rounds; o.rounds == 0 {
		with.Rounds = 3
	}
	if o.pods > 0 {
		with.Pods = o.pods
	}
	if o.updates > 0 {
		with.Updates = o.updates
	}
	with.Parts = strings.Split(o.parts, ",")
	if o.recording != "" {
		with.Parts = []string{"classic"}
	}
	return with
}

// warm is settings that only have everything run once.
func (with settings) warm() settings {
	with.Updates, with.SlowUpdates = min(with.Updates, 1000), min(with.SlowUpdates, 100)
	with.Steady.Count, with.Bursts.Count = 10, with.Bursts.Burst
	with.FewPods, with.FewUpdates = min(with.FewPods, 100), min(with.FewUpdates, 100)
	with.Sizes = nil
	if with.Recording == "" {
		with.Pods = min(with.Pods, 1000)
	}
	return with
}

// competing is the contenders that were asked for, and are there.
func (r *race) competing() (all []*contender) {
	for _, c := range contenders(r.options.build) {
		if strings.Contains(c.name, r.options.only) && r.absent[c.name] == "" {
			c.command = append(strings.Fields(r.options.under), c.command...)
			all = append(all, &c)
		}
	}
	return all
}

// keep keeps what a round of a part has found.
func (r *race) keep(name, part string, got figures) {
	if r.rounds[name] == nil {
		r.rounds[name] = map[string][]figures{}
	}
	r.rounds[name][part] = append(r.rounds[name][part], got)
}

// drop forgets a part of a contender, which went wrong.
func (r *race) drop(name, part string, err error) {
	fmt.Fprintf(os.Stderr, "%s: %s: %s\n", part, name, err)
	r.notes = append(r.notes, fmt.Sprintf("%s, %s: failed: %s", name, part, err))
	r.keep(name, part, nil)
	r.rounds[name][part] = nil
}

// broken is true if this contender has failed in this part in an earlier round.
func (r *race) broken(name, part string) bool {
	rounds, is := r.rounds[name][part]
	return is && rounds == nil
}

// classic has every contender take its turn, round by round.
func (r *race) classic() {
	for round := -1; round < r.with.Rounds; round++ { // round -1 warms up
		for _, c := range r.competing() {
			r.lap(c, round)
		}
	}
}

// lap has a contender take its turn. One that failed is out.
func (r *race) lap(c *contender, round int) {
	with := r.with
	if round < 0 {
		with = with.warm()
	}
	begin := time.Now()
	got, err := c.measure(r.server, r.data, &with)
	if err != nil {
		r.absent[c.name] = "failed: " + err.Error()
		fmt.Fprintf(os.Stderr, "%2d %-18s %s\n", round+1, c.name, err)
		return
	}
	fmt.Fprintf(os.Stderr, "%2d %-18s %5.1f s: sync %.1f us, update %.1f us, p99 %.0f us\n",
		round+1, c.name, time.Since(begin).Seconds(),
		got["sync_cpu"], got["update_cpu"], got["steady_p99"])
	if round >= 0 {
		r.keep(c.name, "classic", got)
	}
}

// outcomes is what came out, in the order of the tables.
func (r *race) outcomes() (all []outcome) {
	for _, c := range contenders(r.options.build) {
		if !strings.Contains(c.name, r.options.only) {
			continue
		}
		out := outcome{Name: c.name, Absent: r.absent[c.name], Figures: map[string]figure{}}
		for _, rounds := range r.rounds[c.name] {
			if out.Absent == "" && len(rounds) > 0 {
				maps.Copy(out.Figures, summarize(rounds))
			}
		}
		all = append(all, out)
	}
	return all
}

// serve makes what the classic part serves, and finds the contenders for it.
func (r *race) serve() (err error) {
	most := r.with.Pods
	for _, size := range r.with.Sizes {
		most = max(most, size.Pods)
	}
	r.data = replay.Pods(most)
	if r.options.recording != "" {
		if r.data, err = replay.Recording(r.options.recording); err != nil {
			return err
		}
		r.with.Recording, r.with.Sizes = filepath.Base(r.options.recording), []cacheSize{}
		r.with.Pods, r.with.FewPods = r.data.Count(), r.data.Count()
	}
	r.with.JSONBytes, r.with.ProtobufBytes = r.data.Bytes()
	for _, c := range contenders(r.options.build) {
		if r.absent[c.name] = c.absent(); c.onlyPods && r.data.Kind.Kind != "Pod" {
			r.absent[c.name] = "knows pods only"
		} else if c.name == "client-go protobuf" && r.data.Resource.Group != "" && r.with.ProtobufBytes == 0 {
			r.absent[c.name] = "there is no protobuf of " + r.data.Kind.Kind
		}
	}
	return nil
}

func run(o *options) error {
	begin, since, at := time.Now(), readClock(), newMachine()
	server, err := replay.NewServer()
	if err != nil {
		return err
	}
	defer server.Close()
	r := &race{server: server, options: o, with: o.settings(),
		rounds: map[string]map[string][]figures{}, absent: map[string]string{}}
	if err := r.serve(); err != nil {
		return err
	}
	var begun []outcome
	for _, part := range r.with.Parts {
		switch part {
		case "classic":
			r.classic()
		case "varied":
			r.varied()
		case "scale":
			r.scale()
		case "starts":
			begun = r.starts()
		default:
			return fmt.Errorf("-parts: %q is none of %s", part, allParts)
		}
	}
	at.busy(since)
	all := results{Date: begin.Format("2006-01-02 15:04"), Commit: commit(),
		Minutes: time.Since(begin).Minutes(), Machine: at, Versions: versions(),
		Settings: r.with, Contenders: r.outcomes(), Starts: begun, Notes: r.notes}
	all.Complete = !o.quick && o.pods+o.updates == 0 && o.only+o.under+o.recording == "" &&
		o.parts == allParts
	return writeJSON(o.out, all)
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "a tenth of everything")
	flag.IntVar(&o.rounds, "rounds", 0, "repetitions (default 3)")
	flag.IntVar(&o.pods, "pods", 0, "objects in the cache (default 10000)")
	flag.IntVar(&o.updates, "updates", 0, "changes that are delivered (default 100000)")
	flag.StringVar(&o.only, "only", "", "those whose name holds this")
	flag.StringVar(&o.parts, "parts", allParts, "what to measure, with commas")
	flag.StringVar(&o.recording, "recording", "",
		"a file to serve: what kubectl get -o json or kubelua record printed")
	flag.StringVar(&o.under, "under", "", "a profiler's command line")
	flag.StringVar(&o.build, "build", "../build-bench", "the build folder")
	flag.StringVar(&o.out, "out", "results.json", "the file to write")
	flag.BoolVar(&o.controllers, "controllers", false, "compare controllers, not informers")
	flag.BoolVar(&o.real, "real", false, "compare informers on a real API server")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "",
		"of an API server (default: a simulator for -controllers, one of spec/cluster for -real)")
	flag.IntVar(&o.workers, "workers", 16, "keys that a controller reconciles at once")
	flag.Parse()
	o.build, _ = filepath.Abs(o.build)
	compare := run
	if o.controllers {
		compare = runControllers
	} else if o.real {
		compare = runReal
	}
	if err := compare(&o); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}
