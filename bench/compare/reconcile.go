package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// work is how much a controller is asked for.
type work struct {
	Rounds  int     `json:"rounds"`
	Widgets int     `json:"widgets"`
	Bytes   int     `json:"bytes"` // of a Widget as it is written
	Workers int     `json:"workers"`
	Changes changes `json:"changes"`
	Server  string  `json:"server"`
}

// controllerResults is what controllers.json holds.
type controllerResults struct {
	Complete   bool              `json:"complete"`
	Date       string            `json:"date"`
	Commit     string            `json:"commit"`
	Minutes    float64           `json:"minutes"`
	Machine    machine           `json:"machine"`
	Versions   map[string]string `json:"versions"`
	Settings   work              `json:"settings"`
	Contenders []outcome         `json:"contenders"`
}

func controllers(build string) []contender {
	words := []string{"KUBECONFIG", "NAMESPACE", "WIDGETS", "CHANGES", "WORKERS"}
	lua := func(name, interpreter, abi string) contender {
		return luaContender(build, name, interpreter, abi,
			append([]string{"reconcile.lua"}, words...)...)
	}
	return []contender{
		{name: "controller-runtime",
			command: append([]string{filepath.Join(build, "bench", "ctrlruntime")}, words...)},
		lua("KubeLua LuaJIT", "luajit", "5.1"),
		lua("KubeLua Lua 5.4", "lua5.4", "5.4"),
	}
}

// usedCPU is what a process has used, in seconds.
func usedCPU(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	var user, system float64
	if fields := strings.Fields(rest); len(fields) > 12 {
		fmt.Sscan(fields[11], &user)
		fmt.Sscan(fields[12], &system)
	}
	return (user + system) / 100
}

// reconcileAll has a controller begin with a full namespace, and then follow
// changes of it.
func (c *contender) reconcileAll(on *cluster, namespace string, with work) (got figures,
	err error) {
	if err = on.fill(namespace, with.Widgets); err != nil {
		return nil, err
	}
	begin, served := time.Now(), on.cpu()
	r, err := c.start("KUBECONFIG", on.kubeconfig, "NAMESPACE", namespace,
		"WIDGETS", fmt.Sprint(with.Widgets), "CHANGES", fmt.Sprint(with.Changes.Count),
		"WORKERS", fmt.Sprint(with.Workers))
	if err != nil {
		return nil, err
	}
	defer func() { r.stop(err != nil) }()
	pid := r.process.Process.Pid
	if _, err = r.wait("applied"); err != nil {
		return nil, err
	}
	got = figures{"wall": time.Since(begin).Seconds(), "applied_cpu": usedCPU(pid)}
	end, err := r.wait("quiet")
	if err != nil {
		return nil, err
	}
	got["cpu"], got["peak"], got["rest"] = usedCPU(pid), r.memory("VmHWM"), r.memory("VmRSS")
	got["reconciles"] = float64(end.count) / float64(with.Widgets)
	got["server_cpu"] = on.cpu() - served
	if err = on.change(namespace, with.Changes); err != nil {
		return nil, err
	}
	if end, err = r.wait("done"); err != nil {
		return nil, err
	}
	if len(end.delays) != with.Changes.Count {
		return nil, fmt.Errorf("%d delays", len(end.delays))
	}
	slices.Sort(end.delays)
	rank := func(share float64) float64 {
		at := int(share*float64(len(end.delays))+0.999999) - 1
		return float64(end.delays[at]) / 1e6
	}
	got["p50"], got["p99"], got["max"] = rank(0.5), rank(0.99), rank(1)
	got["change_cpu"] = (usedCPU(pid) - got["cpu"]) / float64(with.Changes.Count)
	return got, on.verify(namespace, with.Widgets)
}

func (o *options) work() work {
	with := work{Rounds: 3, Widgets: 10000, Workers: o.workers, Changes: changes{2000, 1, 5},
		Server: "the simulator, HTTP/1.1"}
	text, _ := json.Marshal(widget(0))
	with.Bytes = len(text)
	if o.quick {
		with.Widgets, with.Changes.Count = 1000, 200
	}
	if o.rounds > 0 {
		with.Rounds = o.rounds
	}
	if o.pods > 0 {
		with.Widgets = o.pods
		with.Changes.Count = min(with.Changes.Count, o.pods)
	}
	if o.kubeconfig != "" {
		with.Server = "kube-apiserver with etcd, HTTP/2"
	}
	return with
}

// runControllers does for controllers what run does for informers. All of them
// use one server, and each run uses a new namespace. The first round is short,
// and its figures are thrown away.
func runControllers(o *options) error {
	begin, since, at := time.Now(), readClock(), newMachine()
	on, err := newCluster("..", o.build, o.kubeconfig)
	if err != nil {
		return err
	}
	defer on.close()
	with, rounds, failed := o.work(), map[string][]figures{}, map[string]string{}
	for round := -1; round < with.Rounds; round++ {
		for _, c := range controllers(o.build) {
			if !strings.Contains(c.name, o.only) || failed[c.name] != "" {
				continue
			}
			now := with
			if round < 0 {
				now.Widgets, now.Changes.Count = 100, 10
			}
			c.command = append(strings.Fields(o.under), c.command...)
			namespace := fmt.Sprintf("bench-%x-%d-%d", begin.Unix(), round+1, len(rounds[c.name]))
			namespace += "-" + strings.ToLower(strings.NewReplacer(" ", "-", ".", "-").Replace(c.name))
			got, err := c.reconcileAll(on, namespace, now)
			if err != nil {
				failed[c.name] = "failed: " + err.Error()
				fmt.Fprintf(os.Stderr, "%2d %-18s %s\n", round+1, c.name, err)
				continue
			}
			fmt.Fprintf(os.Stderr, "%2d %-18s %.1f s, CPU %.2f s (server %.2f s), peak %.0f MB, "+
				"%.2f reconciles each, p99 %.2f ms\n", round+1, c.name, got["wall"], got["cpu"],
				got["server_cpu"], got["peak"]/(1<<20), got["reconciles"], got["p99"])
			if round >= 0 {
				rounds[c.name] = append(rounds[c.name], got)
			}
		}
	}
	at.busy(since)
	all := controllerResults{Date: begin.Format("2006-01-02 15:04"), Commit: commit(),
		Minutes: time.Since(begin).Minutes(), Machine: at, Versions: versions(), Settings: with}
	all.Complete = !o.quick && o.pods == 0 && o.only+o.under+o.kubeconfig == ""
	for _, c := range controllers(o.build) {
		out := outcome{Name: c.name, Absent: failed[c.name], Figures: map[string]figure{}}
		if len(rounds[c.name]) > 0 {
			out.Figures = summarize(rounds[c.name])
		}
		all.Contenders = append(all.Contenders, out)
	}
	return writeJSON(o.out, all)
}
