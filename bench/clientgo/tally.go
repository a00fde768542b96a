package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// tally is what the handler has seen in a phase.
type tally struct {
	done chan struct{} // receives once a phase

	mutex       sync.Mutex // guards what follows
	wanted      int        // of events; 0: a delete ends the phase
	times       bool       // whether to read when objects were written
	delays      []int64    // nanoseconds
	events, sum int
}

func newTally() *tally {
	return &tally{done: make(chan struct{}, 1), wanted: -1}
}

// event is the handler of what was added or updated.
func (t *tally) event(object any) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.times {
		now := monotonic()
		then, _ := strconv.ParseInt(written(object), 10, 64)
		t.delays = append(t.delays, now-then)
	}
	t.sum += fields(object)
	t.events++
	if t.events == t.wanted {
		t.done <- struct{}{}
	}
}

// finish is the handler of what was deleted.
func (t *tally) finish() {
	t.done <- struct{}{}
}

func (t *tally) begin(name string, count int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.wanted, t.times, t.delays = count, name == "delays", make([]int64, 0, count)
}

// take returns what was seen, and forgets it; delays as they are printed.
func (t *tally) take() (events, sum int, delays string) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	events, sum = t.events, t.sum
	delays = strings.Trim(fmt.Sprint(t.delays), "[]")
	t.events, t.sum, t.wanted, t.delays = 0, 0, -1, nil
	return events, sum, delays
}

// orders is what the other side says, which looks at this process from outside.
type orders struct {
	from  *bufio.Reader
	name  string
	count int
}

func newOrders() *orders {
	return &orders{from: bufio.NewReader(os.Stdin)}
}

// next waits for what to do; false: nothing more.
func (o *orders) next() bool {
	line, _ := o.from.ReadString('\n')
	read, _ := fmt.Sscan(line, &o.name, &o.count)
	return read == 2
}

// report prints a line, waits for one (the other side measures memory), and
// returns the CPU time at which the next phase begins.
func (o *orders) report(name string, since time.Duration, count, sum int) time.Duration {
	fmt.Println(name, (cpu() - since).Microseconds(), count, sum)
	o.from.ReadString('\n')
	return cpu()
}

// cpu is what this process has used so far, all threads of it.
func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// monotonic is the clock that the server stamps objects with.
func monotonic() int64 {
	var now unix.Timespec
	unix.ClockGettime(unix.CLOCK_MONOTONIC, &now)
	return now.Nano()
}
