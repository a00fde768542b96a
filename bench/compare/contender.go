package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"kubelua/bench/replay"
)

// contender is a program that speaks the benchmark's protocol: it prints a
// line at the end of each phase, and waits for one.
type contender struct {
	name    string
	command []string // SERVER and UPDATES stand for themselves
	env     []string
}

// result is what one run of a contender cost.
type result struct {
	syncCPU, syncWall     float64 // microseconds a pod
	updateCPU, updateWall float64 // microseconds an update
	restBytes             float64 // resident, a pod, over the empty process
	lateBytes             float64 // the same after all updates
	peak                  float64 // of resident memory, over that at rest
	sum                   int64   // of what the handler read
}

// running is a contender that runs.
type running struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// wait reads the line that ends a phase.
func (r *running) wait(phase string) (cpu float64, count, sum int64, err error) {
	var name string
	line, err := r.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &name, &cpu, &count, &sum)
	}
	if err == nil && name != phase {
		err = fmt.Errorf("%q instead of %s", line, phase)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", phase, err)
	}
	return cpu, count, sum, err
}

// proceed lets the next phase begin.
func (r *running) proceed() time.Time {
	io.WriteString(r.in, "\n")
	return time.Now()
}

// memory reads VmRSS or VmHWM, in bytes.
func (r *running) memory(field string) (bytes float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.process.Process.Pid))
	for _, line := range strings.Split(string(text), "\n") {
		if rest, is := strings.CutPrefix(line, field+":"); is {
			fmt.Sscan(rest, &bytes)
		}
	}
	return bytes * 1024
}

// settled is the resident memory once it stays the same for half a second.
func (r *running) settled() float64 {
	last, same := r.memory("VmRSS"), 0
	for try := 0; same < 5 && try < 50; try++ {
		time.Sleep(100 * time.Millisecond)
		now := r.memory("VmRSS")
		if same++; now != last {
			last, same = now, 0
		}
	}
	return last
}

func (c *contender) start(server *replay.Server, updates int) (*running, error) {
	var args []string
	for _, arg := range c.command {
		arg = strings.ReplaceAll(arg, "SERVER", server.URL)
		args = append(args, strings.ReplaceAll(arg, "UPDATES", fmt.Sprint(updates)))
	}
	r := &running{process: exec.Command(args[0], args[1:]...)}
	r.process.Env = append(os.Environ(), c.env...)
	r.process.Stderr = os.Stderr
	in, err := r.process.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := r.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	r.in, r.out = in, bufio.NewReader(out)
	return r, r.process.Start()
}

// measure runs a contender once, from its start to its last update.
func (c *contender) measure(server *replay.Server, pods, updates int) (res result, err error) {
	server.Reset()
	r, err := c.start(server, updates)
	if err != nil {
		return res, err
	}
	defer func() { // a profiler writes what it saw when all ends well
		if r.proceed(); err != nil {
			r.process.Process.Kill()
		}
		r.process.Wait()
	}()
	if _, _, _, err = r.wait("ready"); err != nil {
		return res, err
	}
	empty := r.memory("VmRSS")
	begin := r.proceed()
	cpu, count, _, err := r.wait("synced")
	if err == nil && count != int64(pods) {
		err = fmt.Errorf("synced %d pods", count)
	}
	if err != nil {
		return res, err
	}
	res.syncCPU = cpu / float64(pods)
	res.syncWall = float64(time.Since(begin).Microseconds()) / float64(pods)
	highest := r.memory("VmHWM")
	r.proceed()
	if _, _, _, err = r.wait("rest"); err != nil {
		return res, err
	}
	rest := r.settled()
	res.restBytes = (rest - empty) / float64(pods)
	res.peak = highest / rest
	begin = r.proceed()
	server.Update(updates)
	cpu, count, res.sum, err = r.wait("updated")
	if err == nil && count != int64(updates) {
		err = fmt.Errorf("saw %d updates", count)
	}
	res.lateBytes = (r.memory("VmRSS") - empty) / float64(pods)
	res.updateCPU = cpu / float64(updates)
	res.updateWall = float64(time.Since(begin).Microseconds()) / float64(updates)
	return res, err
}
