package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// How long nothing may be reconciled before the controller is at rest.
const quiet = time.Second

// tally is what the controller has done.
type tally struct {
	widgets, changes int

	mutex      sync.Mutex // guards what follows
	reconciles int
	last       time.Time           // when something was reconciled
	names      map[string]struct{} // of what was applied
	stamps     map[int64]struct{}  // that were seen
	delays     []int64             // nanoseconds from each write to its reconcile
}

func newTally(widgets, changes int) *tally {
	return &tally{widgets: widgets, changes: changes,
		names: map[string]struct{}{}, stamps: map[int64]struct{}{}}
}

// begin is called first in each reconcile.
func (t *tally) begin(stamp int64) {
	var now unix.Timespec
	if stamp != 0 {
		unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.reconciles++
	t.last = time.Now()
	if _, seen := t.stamps[stamp]; !seen && stamp != 0 {
		t.stamps[stamp] = struct{}{}
		t.delays = append(t.delays, now.Nano()-stamp)
	}
}

// applied is called when the server has taken what belongs to a Widget.
func (t *tally) applied(name string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.names == nil {
		return
	}
	t.names[name] = struct{}{}
	if len(t.names) == t.widgets {
		t.names = nil
		fmt.Println("applied 0", t.reconciles, 0)
	}
}

func (t *tally) isQuiet(isDone func() bool) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return isDone() && time.Since(t.last) > quiet
}

// report tells of the end of both phases.
func (t *tally) report() {
	for !t.isQuiet(func() bool { return t.names == nil }) {
		time.Sleep(quiet / 10)
	}
	fmt.Println("quiet 0", t.reconciles, 0)
	for !t.isQuiet(func() bool { return len(t.delays) >= t.changes }) {
		time.Sleep(quiet / 10)
	}
	words := strings.Trim(fmt.Sprint(t.delays), "[]")
	fmt.Println("done 0", t.reconciles, 0, words)
	os.Exit(0)
}
