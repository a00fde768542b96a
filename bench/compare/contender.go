package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// contender is a program that speaks the benchmark's protocol: it prints a
// line at the end of each phase, and waits for one that says what is next.
type contender struct {
	name     string
	command  []string // words such as SERVER are replaced when it starts
	env      []string
	isSlow   bool // sees fewer updates, and no other cache sizes
	isHeavy  bool // and fewer objects still, as these are
	hasPages bool // can be told to list in pages
	onlyPods bool // knows no other kind
	isBlind  bool // keeps and reads nothing: the least that any client costs
}

// luaEnvironment is where a script finds the module.
func luaEnvironment(build, abi string) []string {
	here, _ := os.Getwd()
	return []string{"LUA_PATH=" + here + "/../lua/?.lua;" + here + "/../lua/?/init.lua;" +
		here + "/../sim/lua/?.lua;" + here + "/../lua/cli/?.lua;;",
		"LUA_CPATH=" + filepath.Join(build, "lua", abi, "?.so") + ";;",
		"KUBELUA_LOG=error"}
}

// luaContender is a script under one of the interpreters.
func luaContender(build, name, interpreter, abi string, command ...string) contender {
	here, _ := os.Getwd()
	command[0] = filepath.Join(here, "kubelua", command[0])
	return contender{name: name, command: append([]string{interpreter}, command...),
		env: luaEnvironment(build, abi), hasPages: true}
}

// Names that other places need too.
const (
	protobuf    = "client-go protobuf"
	inC         = "KubeLua C"
	inCPlain    = "KubeLua C, plain"
	inLuaJIT    = "KubeLua LuaJIT"
	inLua54     = "KubeLua Lua 5.4"
	kubeRust    = "kube-rs"
	javaScript  = "JavaScript client"
	pythonWatch = "Python client"
	bytesAlone  = "bytes alone"
)

func contenders(build string) []contender {
	here, _ := os.Getwd()
	program := func(name string) string { return filepath.Join(build, "bench", name) }
	lua := func(name, interpreter, abi string) contender {
		return luaContender(build, name, interpreter, abi, "pods.lua", "SERVER", "LISTING",
			"packed", "RESOURCES")
	}
	cContender := func(name, cache string) contender {
		return contender{name: name, hasPages: true,
			command: []string{program("pods"), "SERVER", "LISTING", cache, "RESOURCES"}}
	}
	clientgo := func(mode string) contender {
		return contender{name: "client-go " + mode, isSlow: mode != "protobuf", hasPages: true,
			command: []string{program("clientgo"), "SERVER", "LISTING", mode, "KINDS"}}
	}
	return []contender{
		clientgo("protobuf"), clientgo("json"), clientgo("dynamic"),
		{name: kubeRust, hasPages: true, onlyPods: true,
			command: []string{program("kubers"), "SERVER", "LISTING"}},
		{name: javaScript, isSlow: true, isHeavy: true, onlyPods: true,
			command: []string{program("node"), "--expose-gc",
				program("javascript/informer.js"), "SERVER", "LISTING"}},
		{name: pythonWatch, isSlow: true, isHeavy: true, hasPages: true, onlyPods: true,
			command: []string{program("venv/bin/python"),
				filepath.Join(here, "python", "watcher.py"), "SERVER", "LISTING"}},
		{name: bytesAlone, onlyPods: true, isBlind: true,
			command: []string{program("bytes"), "SERVER"}},
		cContender(inCPlain, "plain"), cContender(inC, "packed"),
		lua(inLuaJIT, "luajit", "5.1"), lua(inLua54, "lua5.4", "5.4"),
	}
}

// missing says why a contender's program cannot be found. Each key is the first
// part of the program's path below the build's folder bench.
var missing = map[string]string{
	"kubers": "cargo is missing, or failed",
	"node":   "node or npm is missing, or npm ci failed",
	"venv":   "python3 is missing, or pip failed",
}

// absent says why a contender cannot compete, or is empty.
func (c *contender) absent() string {
	if _, err := exec.LookPath(c.command[0]); err == nil {
		return ""
	}
	for part, why := range missing {
		if strings.Contains(c.command[0], "/bench/"+part) {
			return "not there: " + why
		}
	}
	return "not there: " + c.command[0] + " is missing"
}

// A phase that takes longer is stuck.
const patience = 10 * time.Minute

// running is a contender that runs.
type running struct {
	process *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

// start runs the contender's command. Each pair names a word of the command and
// what replaces it: "SERVER", url.
func (c *contender) start(pairs ...string) (*running, error) {
	var args []string
	for _, arg := range c.command {
		replaced := strings.NewReplacer(pairs...).Replace(arg)
		if arg == "RESOURCES" || arg == "KINDS" { // several words
			args = append(args, strings.Fields(replaced)...)
		} else {
			args = append(args, replaced)
		}
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

// stop lets a contender end: a profiler writes what it saw when all ends well.
func (r *running) stop(failed bool) {
	r.in.Close()
	if failed {
		r.process.Process.Kill()
	}
	r.process.Wait()
}

// line is what a contender says at the end of a phase.
type line struct {
	cpu    float64 // microseconds, of all its threads
	count  int64   // of events, or of what its cache holds
	sum    int64   // of what its handler read
	delays []int64 // nanoseconds from write to handler
}

// wait reads the line that ends a phase.
func (r *running) wait(phase string) (end line, err error) {
	stuck := time.AfterFunc(patience, func() { r.process.Process.Kill() })
	defer stuck.Stop()
	text, err := r.out.ReadString('\n')
	if err != nil {
		return end, fmt.Errorf("%s: %w", phase, err)
	}
	words := strings.Fields(text)
	if len(words) == 0 || words[0] != phase {
		return end, fmt.Errorf("%q instead of %s", text, phase)
	}
	if len(words) < 4 {
		return end, nil
	}
	fmt.Sscan(strings.Join(words[1:4], " "), &end.cpu, &end.count, &end.sum)
	for _, word := range words[4:] {
		var delay int64
		if _, err := fmt.Sscan(word, &delay); err != nil {
			return end, fmt.Errorf("%s: %w", phase, err)
		}
		end.delays = append(end.delays, delay)
	}
	return end, nil
}

// say writes a line: what to do next.
func (r *running) say(format string, args ...any) {
	fmt.Fprintf(r.in, format+"\n", args...)
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

// switches is how often threads that are alive were taken off a core.
func (r *running) switches() (count float64) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", r.process.Process.Pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, line := range strings.Split(string(text), "\n") {
			if name, value, is := strings.Cut(line, ":"); is && strings.HasSuffix(name, "_ctxt_switches") {
				var once float64
				fmt.Sscan(value, &once)
				count += once
			}
		}
	}
	return count
}

// cpu is the CPU time that the process has used so far, in microseconds: two
// fields of /proc/PID/stat behind the name in brackets, in hundredths of a second.
func (r *running) cpu() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", r.process.Process.Pid))
	words := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(words) < 13 {
		return 0
	}
	var user, system float64
	fmt.Sscan(words[11]+" "+words[12], &user, &system)
	return (user + system) * 1e4
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
