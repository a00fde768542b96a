// Command compare has every contender go through everything against one server,
// in turn, several times over, and writes what that cost as results.json.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"kubelua/bench/replay"
)

type options struct {
	quick                   bool
	rounds, updates, pods   int
	only, build, under, out string
	controllers             bool
	kubeconfig              string
	workers                 int
}

// race is all contenders, and what they did so far.
type race struct {
	server  *replay.Server
	options *options
	with    settings
	rounds  map[string][]figures
	failed  map[string]string
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
	return with
}

// warm is settings that only have everything run once.
func (with settings) warm() settings {
	with.Updates, with.SlowUpdates = min(with.Updates, 1000), min(with.SlowUpdates, 100)
	with.Steady.Count, with.Bursts.Count = 10, with.Bursts.Burst
	with.Pods, with.Sizes = min(with.Pods, 1000), nil
	return with
}

// lap has a contender take its turn. One that failed is out.
func (r *race) lap(c *contender, round int) {
	if r.failed[c.name] != "" {
		return
	}
	with := r.with
	if round < 0 {
		with = with.warm()
	}
	c.command = append(strings.Fields(r.options.under), c.command...)
	begin := time.Now()
	got, err := c.measure(r.server, &with)
	if err != nil {
		r.failed[c.name] = "failed: " + err.Error()
		fmt.Fprintf(os.Stderr, "%2d %-16s %s\n", round+1, c.name, err)
		return
	}
	fmt.Fprintf(os.Stderr, "%2d %-16s %5.1f s: sync %.1f us, update %.1f us, p99 %.0f us\n",
		round+1, c.name, time.Since(begin).Seconds(),
		got["sync_cpu"], got["update_cpu"], got["steady_p99"])
	if round >= 0 {
		r.rounds[c.name] = append(r.rounds[c.name], got)
	}
}

// outcomes is what came out, in the order of the tables.
func (r *race) outcomes() (all []outcome) {
	for _, c := range contenders(r.options.build) {
		if !strings.Contains(c.name, r.options.only) {
			continue
		}
		out := outcome{Name: c.name, Absent: r.failed[c.name], Figures: map[string]figure{}}
		if out.Absent == "" {
			out.Figures = summarize(r.rounds[c.name])
		}
		all = append(all, out)
	}
	return all
}

func run(o *options) error {
	with := o.settings()
	begin, since, at := time.Now(), readClock(), newMachine()
	most := with.Pods
	for _, size := range with.Sizes {
		most = max(most, size.Pods)
	}
	server, err := replay.NewServer(most)
	if err != nil {
		return err
	}
	defer server.Close()
	with.JSONBytes, with.ProtobufBytes = server.Bytes()
	r := race{server, o, with, map[string][]figures{}, map[string]string{}}
	for _, c := range contenders(o.build) {
		r.failed[c.name] = c.absent()
	}
	for round := -1; round < with.Rounds; round++ { // round -1 warms up
		for _, c := range contenders(o.build) {
			if strings.Contains(c.name, o.only) {
				r.lap(&c, round)
			}
		}
	}
	at.busy(since)
	all := results{Date: begin.Format("2006-01-02 15:04"), Commit: commit(),
		Minutes: time.Since(begin).Minutes(), Machine: at, Versions: versions(),
		Settings: with, Contenders: r.outcomes()}
	all.Complete = !o.quick && o.pods+o.updates == 0 && o.only+o.under == ""
	return writeJSON(o.out, all)
}

func main() {
	var o options
	flag.BoolVar(&o.quick, "quick", false, "a tenth of everything")
	flag.IntVar(&o.rounds, "rounds", 0, "repetitions (default 3)")
	flag.IntVar(&o.pods, "pods", 0, "objects in the cache (default 10000)")
	flag.IntVar(&o.updates, "updates", 0, "changes that are delivered (default 100000)")
	flag.StringVar(&o.only, "only", "", "those whose name holds this")
	flag.StringVar(&o.under, "under", "", "a profiler's command line")
	flag.StringVar(&o.build, "build", "../build-bench", "the build folder")
	flag.StringVar(&o.out, "out", "results.json", "the file to write")
	flag.BoolVar(&o.controllers, "controllers", false, "compare controllers, not informers")
	flag.StringVar(&o.kubeconfig, "kubeconfig", "", "of an API server for them (default: a simulator)")
	flag.IntVar(&o.workers, "workers", 16, "keys that a controller reconciles at once")
	flag.Parse()
	o.build, _ = filepath.Abs(o.build)
	compare := run
	if o.controllers {
		compare = runControllers
	}
	if err := compare(&o); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}
