package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"kubelua/bench/replay"
)

// figures is what one round of a contender cost, by the names of results.json:
// microseconds (a pod, an update), bytes a pod, or plain ratios.
type figures map[string]float64

// but is the figures without those, which say nothing of this contender.
func (all figures) but(names ...string) figures {
	for _, name := range names {
		delete(all, name)
	}
	return all
}

// trial is a contender that runs, and what is known of it so far.
type trial struct {
	*running
	server  *replay.Server // nil: a real one
	objects int
	sum     int64 // of the bytes that handlers read of all objects
	isBlind bool
	empty   float64 // resident memory before there was an informer
	got     figures
}

// begin starts a contender and has it fill its cache with what is served.
func (c *contender) begin(server *replay.Server, listing string) (*trial, error) {
	var names, kinds []string
	for _, what := range server.Resources() {
		names = append(names, what.Resource)
		kinds = append(kinds, what.Resource+"."+what.Version+"."+what.Group)
	}
	r, err := c.start("SERVER", server.URL, "LISTING", listing,
		"RESOURCES", strings.Join(names, " "), "KINDS", strings.Join(kinds, " "))
	if err != nil {
		return nil, err
	}
	t := &trial{running: r, server: server, objects: server.Count(), sum: server.Sum(),
		isBlind: c.isBlind, got: figures{}}
	if err = t.sync(); err != nil {
		r.stop(true)
		return nil, fmt.Errorf("%s of %d objects: %w", listing, t.objects, err)
	}
	return t, nil
}

func (t *trial) sync() error {
	if _, err := t.wait("ready"); err != nil {
		return err
	}
	t.empty = t.memory("VmRSS")
	switches := t.switches()
	begin := time.Now()
	t.say("")
	end, err := t.wait("synced")
	if err != nil {
		return err
	}
	wall := time.Since(begin)
	if end.count != int64(t.objects) || t.hasMissed(end.sum, t.sum) {
		return fmt.Errorf("synced %d objects, read %d of %d bytes", end.count, end.sum, t.sum)
	}
	highest := t.memory("VmHWM")
	t.got["sync_switches"] = (t.switches() - switches) / float64(t.objects)
	t.say("")
	if _, err = t.wait("rest"); err != nil {
		return err
	}
	rest := t.settled()
	t.got["sync_cpu"] = end.cpu / float64(t.objects)
	t.got["sync_wall"] = float64(wall.Microseconds()) / float64(t.objects)
	t.got["rest_bytes"] = (rest - t.empty) / float64(t.objects)
	t.got["rest_all"] = rest
	t.got["peak"] = highest / rest
	t.got["peak_all"] = highest
	t.got["peak_bytes"] = (highest - t.empty) / float64(t.objects)
	return nil
}

// hasMissed is true if a handler should have read fields, and has read other ones.
func (t *trial) hasMissed(read, sent int64) bool {
	return read != sent && !t.isBlind
}

// phase has the contender do something, once it is ready for what `act` does.
func (t *trial) phase(name string, count int, act func() int64) (line, error) {
	t.say("%s %d", name, count)
	if _, err := t.wait("begun"); err != nil {
		return line{}, err
	}
	sum := act()
	end, err := t.wait("done")
	if err == nil && count > 0 && (end.count != int64(count) || t.hasMissed(end.sum, sum)) {
		err = fmt.Errorf("saw %d of %d events, read %d of %d bytes",
			end.count, count, end.sum, sum)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return end, err
}

// updates measures changes that come as fast as the contender reads.
func (t *trial) updates(count int) error {
	var begin time.Time
	end, err := t.phase("updates", count, func() int64 {
		begin = time.Now()
		return t.server.Update(count)
	})
	wall := time.Since(begin)
	t.got["late_bytes"] = (t.memory("VmRSS") - t.empty) / float64(t.objects)
	t.got["update_cpu"] = end.cpu / float64(count)
	t.got["update_wall"] = float64(wall.Microseconds()) / float64(count)
	return err
}

// A contender may put off work. KubeLua packs what a watch brought some seconds later.
const putOff = 5 * time.Second

// afterwards measures what is left to do after changes, and what then stays.
func (t *trial) afterwards(count int) {
	used := t.cpu()
	time.Sleep(putOff)
	t.got["later_bytes"] = (t.settled() - t.empty) / float64(t.objects)
	t.got["later_cpu"] = (t.cpu() - used) / float64(count)
}

// delays measures the time from a write to the handler; changes come in bursts.
func (t *trial) delays(name string, of changes) error {
	_, err := t.timed(name, of.Count, func() int64 {
		return t.server.Bursts(of.Count, of.Burst, time.Duration(of.PauseMS)*time.Millisecond)
	})
	return err
}

// timed measures the time from each write of `act` to the handler. The collector of
// this process, which writes or is the server, stays away.
func (t *trial) timed(name string, count int, act func() int64) (line, error) {
	runtime.GC()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	end, err := t.phase("delays", count, act)
	if err == nil && len(end.delays) != count {
		err = fmt.Errorf("%s: %d delays", name, len(end.delays))
	}
	if err != nil {
		return end, err
	}
	slices.Sort(end.delays)
	rank := func(share float64) float64 {
		at := int(share*float64(len(end.delays))+0.999999) - 1
		return float64(end.delays[at]) / 1000
	}
	t.got[name+"_p50"], t.got[name+"_p99"], t.got[name+"_max"] = rank(0.5), rank(0.99), rank(1)
	return end, nil
}

// relist measures a list of which nothing is new.
func (t *trial) relist() error {
	end, err := t.phase("relist", 0, func() int64 {
		t.server.Expire()
		return 0
	})
	t.got["relist_cpu"] = end.cpu / float64(t.objects)
	t.got["relist_events"] = float64(end.count)
	return err
}

// measure has a contender go through everything once.
func (c *contender) measure(server *replay.Server, data *replay.Data, with *settings) (figures, error) {
	objects, updates := with.Pods, with.Updates
	if c.isHeavy {
		objects, updates = with.FewPods, with.FewUpdates
	} else if c.isSlow {
		updates = with.SlowUpdates
	}
	server.Serve(data, objects)
	t, err := c.begin(server, "stream")
	if err != nil {
		return nil, err
	}
	if err = t.updates(updates); err == nil {
		t.afterwards(updates)
		err = t.delays("steady", with.Steady)
	}
	if err == nil {
		err = t.delays("burst", with.Bursts)
	}
	if err == nil && !c.isBlind {
		err = t.relist()
	}
	t.stop(err != nil)
	if err != nil {
		return nil, err
	}
	if c.isBlind {
		return t.got.but("rest_all", "peak_all", "rest_bytes", "peak", "peak_bytes", "late_bytes", "later_bytes"), nil
	}
	all := t.got
	all.but("rest_all", "peak_all")
	all[sized("update_cpu", objects)] = all["update_cpu"]
	if c.hasPages {
		server.Serve(data, objects)
		if t, err = c.begin(server, "page"); err != nil {
			return nil, err
		}
		t.stop(false)
		for _, name := range []string{"sync_cpu", "peak", "peak_bytes"} {
			all["paged_"+name] = t.got[name]
		}
	}
	for _, size := range with.Sizes {
		if c.isSlow {
			break
		}
		if err = c.measureSize(server, data, size, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func sized(name string, objects int) string {
	return fmt.Sprintf("%s_%d", name, objects)
}

// measureSize finds what an update costs with a cache of another size.
func (c *contender) measureSize(server *replay.Server, data *replay.Data, size cacheSize, all figures) error {
	server.Serve(data, size.Pods)
	t, err := c.begin(server, "stream")
	if err != nil {
		return err
	}
	err = t.updates(size.Updates)
	t.stop(err != nil)
	all[sized("update_cpu", size.Pods)] = t.got["update_cpu"]
	all[sized("rest_bytes", size.Pods)] = t.got["rest_bytes"]
	return err
}
