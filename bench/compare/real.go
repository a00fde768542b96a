package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"kubelua/bench/replay"
)

// Pods for a real server are in a namespace of their own.
const (
	realNamespace = "bench-real"
	realPods      = "/api/v1/namespaces/" + realNamespace + "/pods"
)

// realWork is how much is measured on a real server.
type realWork struct {
	Rounds  int     `json:"rounds"`
	Pods    int     `json:"pods"`
	Bytes   int     `json:"bytes"` // of a pod as the server sends it
	Changes changes `json:"changes"`
}

// realResults is what real.json holds.
type realResults struct {
	Complete   bool              `json:"complete"`
	Date       string            `json:"date"`
	Commit     string            `json:"commit"`
	Minutes    float64           `json:"minutes"`
	Machine    machine           `json:"machine"`
	Versions   map[string]string `json:"versions"`
	Settings   realWork          `json:"settings"`
	Contenders []outcome         `json:"contenders"`
}

func (o *options) realWork() realWork {
	with := realWork{Rounds: 3, Pods: 20000, Changes: changes{1000, 1, 5}}
	if o.quick {
		with.Pods, with.Changes.Count = 2000, 200
	}
	if o.rounds > 0 {
		with.Rounds = o.rounds
	}
	if o.pods > 0 {
		with.Pods = o.pods
	}
	if o.updates > 0 {
		with.Changes.Count = o.updates
	}
	return with
}

// realContenders is what competes on a real server.
func realContenders(o *options) (all []contender) {
	for _, c := range contenders(o.build) {
		switch c.name {
		case protobuf, inC, inLuaJIT, inLua54:
			if strings.Contains(c.name, o.only) {
				c.command = append(strings.Fields(o.under), c.command...)
				all = append(all, c)
			}
		}
	}
	return all
}

// startCluster starts an API server by spec/cluster; `stop` ends it.
func startCluster(build string) (kubeconfig string, stop func(), err error) {
	script, err := filepath.Abs("../spec/cluster/cluster.sh")
	if err != nil {
		return "", nil, err
	}
	dir := filepath.Join(build, "bench", "cluster")
	start := exec.Command(script, "start", "--owner", fmt.Sprint(os.Getpid()), dir)
	start.Stderr = os.Stderr
	if err := start.Run(); err != nil {
		return "", nil, fmt.Errorf("%s: %w", script, err)
	}
	stop = func() { exec.Command(script, "stop", dir).Run() }
	return filepath.Join(dir, "kubeconfig"), stop, nil
}

// fillPods has the server keep so many pods in the namespace.
func (c *cluster) fillPods(count int) error {
	last := fmt.Sprintf(realPods+"/pod-%05d", count-1)
	if c.ask(http.MethodGet, last, nil, nil) == nil {
		return nil // by an earlier run
	}
	err := c.ask(http.MethodPost, "/api/v1/namespaces", object{"apiVersion": "v1",
		"kind": "Namespace", "metadata": object{"name": realNamespace}}, nil)
	if err != nil && err != errConflict {
		return err
	}
	return writeAll(count, func(i int) error {
		err := c.ask(http.MethodPost, realPods, replay.NewPod(i), nil)
		if err == errConflict {
			return nil
		}
		return err
	})
}

// podFields is what handlers read of a pod.
type podFields struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct{ Phase string }
}

// read is how many bytes that is.
func (p *podFields) read() int64 {
	return int64(len(p.Metadata.Name) + len(p.Spec.NodeName) + len(p.Status.Phase))
}

// countPods is how many pods the server has, how many bytes one has, and how many
// bytes handlers read of all.
func (c *cluster) countPods() (count, size int, sum int64, err error) {
	var list struct{ Items []json.RawMessage }
	if err = c.ask(http.MethodGet, "/api/v1/pods", nil, &list); err != nil {
		return 0, 0, 0, err
	}
	for _, text := range list.Items {
		var one podFields
		if err = json.Unmarshal(text, &one); err != nil {
			return 0, 0, 0, err
		}
		size += len(text)
		sum += one.read()
	}
	if count = len(list.Items); count == 0 {
		return 0, 0, 0, errors.New("the server has no pods")
	}
	return count, size / count, sum, nil
}

// touch writes into one pod after the other when it did so. Returns how many bytes
// handlers read of them.
func (c *cluster) touch(of changes, count int) (sum int64, err error) {
	pause := time.NewTicker(time.Duration(of.PauseMS) * time.Millisecond)
	defer pause.Stop()
	for i := range of.Count {
		var one podFields
		<-pause.C
		err = c.ask(http.MethodPatch, fmt.Sprintf(realPods+"/pod-%05d", i%count), object{
			"metadata": object{"annotations": object{replay.Stamp: fmt.Sprint(monotonic())}}}, &one)
		if err != nil {
			return 0, err
		}
		sum += one.read()
	}
	return sum, nil
}

// syncReal has a contender fill its cache from a real server.
func (c *contender) syncReal(on *cluster, listing string, count int, sum int64) (*trial, error) {
	r, err := c.start("SERVER", on.kubeconfig, "LISTING", listing, "RESOURCES", "pods",
		"KINDS", "pods.v1.")
	if err != nil {
		return nil, err
	}
	t := &trial{running: r, objects: count, sum: sum, got: figures{}}
	if err = t.sync(); err != nil {
		r.stop(true)
		return nil, fmt.Errorf("%s of %d pods: %w", listing, count, err)
	}
	return t, nil
}

// lone measures changes that come one by one.
func (t *trial) lone(on *cluster, of changes) error {
	var failed error
	before := t.switches()
	end, err := t.timed("lone", of.Count, func() (sum int64) {
		sum, failed = on.touch(of, t.objects)
		return sum
	})
	if failed != nil {
		return failed
	}
	t.got["lone_cpu"] = end.cpu / float64(of.Count)
	t.got["lone_switches"] = (t.switches() - before) / float64(of.Count)
	return err
}

// measureReal has a contender go through everything once.
func (c *contender) measureReal(on *cluster, with realWork, sum int64) (figures, error) {
	t, err := c.syncReal(on, "stream", with.Pods, sum)
	if err != nil {
		return nil, err
	}
	err = t.lone(on, with.Changes)
	t.stop(err != nil)
	if err != nil {
		return nil, err
	}
	all := t.got
	if t, err = c.syncReal(on, "page", with.Pods, sum); err != nil {
		return nil, err
	}
	t.stop(false)
	for _, name := range []string{"sync_cpu", "sync_switches", "peak_all"} {
		all["paged_"+name] = t.got[name]
	}
	return all, nil
}

// realCluster is the API server of the kubeconfig, or one that is started; `stop`
// ends it then.
func realCluster(o *options) (on *cluster, stop func(), err error) {
	on, stop = &cluster{kubeconfig: o.kubeconfig}, func() {}
	if o.kubeconfig == "" {
		if on.kubeconfig, stop, err = startCluster(o.build); err != nil {
			return nil, nil, err
		}
	}
	on.config, err = clientcmd.BuildConfigFromFlags("", on.kubeconfig)
	if err == nil {
		on.client, err = rest.HTTPClientFor(on.config)
	}
	if err != nil {
		stop()
	}
	return on, stop, err
}

// raceReal has all contenders take turns, after a round that is thrown away.
func raceReal(o *options, on *cluster, with realWork, sum int64) (all []outcome) {
	rounds, failed := map[string][]figures{}, map[string]string{}
	for round := -1; round < with.Rounds; round++ {
		for _, c := range realContenders(o) {
			if failed[c.name] != "" {
				continue
			}
			got, err := c.measureReal(on, with, sum)
			if err != nil {
				failed[c.name] = "failed: " + err.Error()
				fmt.Fprintf(os.Stderr, "%2d %-18s %s\n", round+1, c.name, err)
				continue
			}
			fmt.Fprintf(os.Stderr, "%2d %-18s sync %.1f us and %.2f switches a pod, in pages %.1f us; "+
				"lone %.0f us, p50 %.0f us\n", round+1, c.name, got["sync_cpu"], got["sync_switches"],
				got["paged_sync_cpu"], got["lone_cpu"], got["lone_p50"])
			if round >= 0 {
				rounds[c.name] = append(rounds[c.name], got)
			}
		}
	}
	for _, c := range realContenders(o) {
		out := outcome{Name: c.name, Absent: failed[c.name], Figures: map[string]figure{}}
		if len(rounds[c.name]) > 0 && out.Absent == "" {
			out.Figures = summarize(rounds[c.name])
		}
		all = append(all, out)
	}
	return all
}

// runReal does on a real API server, over TLS and HTTP/2, what run does with replayed
// bytes.
func runReal(o *options) error {
	begin, with := time.Now(), o.realWork()
	on, stop, err := realCluster(o)
	if err != nil {
		return err
	}
	defer stop()
	if err = on.fillPods(with.Pods); err != nil {
		return err
	}
	count, size, sum, err := on.countPods()
	if err == nil && count != with.Pods {
		err = fmt.Errorf("the server has %d pods instead of %d", count, with.Pods)
	}
	if err != nil {
		return err
	}
	with.Bytes = size
	since, at := readClock(), newMachine()
	all := realResults{Contenders: raceReal(o, on, with, sum)}
	at.busy(since)
	all.Date, all.Commit = begin.Format("2006-01-02 15:04"), commit()
	all.Minutes, all.Machine, all.Versions = time.Since(begin).Minutes(), at, versions()
	all.Settings = with
	all.Complete = !o.quick && o.pods+o.updates == 0 && o.only+o.under+o.kubeconfig == ""
	return writeJSON(o.out, all)
}
