package main

import (
	"fmt"
	"os"
)

// The smaller one of the caches whose events are compared.
const thousand = 1000

// scale has KubeLua keep very many pods, once: what a process needs, and what an
// event costs beside one with few pods. Changes jump from pod to pod.
func (r *race) scale() {
	for _, c := range r.competing() {
		if c.name != inCPlain && c.name != inC && c.name != inLua54 {
			continue
		}
		got, err := r.million(c)
		if err != nil {
			r.drop(c.name, "scale", err)
			continue
		}
		r.keep(c.name, "scale", got)
		fmt.Fprintf(os.Stderr, "scale %-18s: %.2f GB, synced in %.1f s, event %.1f us, of %d pods %.1f us\n",
			c.name, got["million_bytes"]/(1<<30), got["million_seconds"], got["million_update_cpu"],
			thousand, got["thousand_update_cpu"])
	}
}

func (r *race) million(c *contender) (figures, error) {
	few, err := r.scattered(c, min(thousand, r.with.Many))
	if err != nil {
		return nil, err
	}
	many, err := r.scattered(c, r.with.Many)
	if err != nil {
		return nil, err
	}
	return figures{
		"million_bytes":       many["rest_all"],
		"million_peak":        many["peak"],
		"million_sync_cpu":    many["sync_cpu"],
		"million_seconds":     many["sync_wall"] * float64(r.with.Many) / 1e6,
		"million_update_cpu":  many["update_cpu"],
		"thousand_update_cpu": few["update_cpu"],
		"million_ratio":       many["update_cpu"] / few["update_cpu"],
	}, nil
}

// scattered measures a sync and changes of that many pods, with what is left to do
// after them.
func (r *race) scattered(c *contender, pods int) (figures, error) {
	r.server.Scatter(r.data, pods)
	t, err := c.begin(r.server, "stream")
	if err != nil {
		return nil, err
	}
	if err = t.updates(r.with.ManyUpdates); err == nil {
		t.afterwards(r.with.ManyUpdates)
		t.got["update_cpu"] += t.got["later_cpu"]
	}
	t.stop(err != nil)
	return t.got, err
}
