package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"syscall"
)

// machine is where it ran, and what else ran there.
type machine struct {
	CPU        string  `json:"cpu"`
	Cores      int     `json:"cores"`
	MemoryGB   float64 `json:"memory_gb"`
	System     string  `json:"system"`
	Kernel     string  `json:"kernel"`
	LoadBefore float64 `json:"load_before"` // load average of the minute before
	Others     float64 `json:"others"`      // share of all CPU time that others had
	Stolen     float64 `json:"stolen"`      // share that the hypervisor kept
}

// after returns what follows a pattern in a file, up to the end of its line.
func after(path, pattern string) string {
	text, _ := os.ReadFile(path)
	found := regexp.MustCompile(`(?m)` + pattern + `\s*(.*)$`).FindSubmatch(text)
	if found == nil {
		return ""
	}
	return strings.Trim(string(found[1]), `" `)
}

// says returns the first line of a command's output.
func says(command ...string) string {
	text, _ := exec.Command(command[0], command[1:]...).CombinedOutput()
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}

func newMachine() machine {
	m := machine{CPU: after("/proc/cpuinfo", `^model name\s*:`), Cores: runtime.NumCPU(),
		System: after("/etc/os-release", `^PRETTY_NAME=`),
		Kernel: says("uname", "-r")}
	fmt.Sscan(after("/proc/meminfo", `^MemTotal:`), &m.MemoryGB)
	m.MemoryGB /= 1 << 20
	fmt.Sscan(after("/proc/loadavg", `^`), &m.LoadBefore)
	return m
}

// clock is CPU time, in seconds: of the machine, lost to it, and our own.
type clock struct {
	all, idle, stolen, own float64
}

func readClock() (c clock) {
	var ticks [8]float64 // user nice system idle iowait irq softirq steal
	line := strings.Fields(after("/proc/stat", `^cpu `))
	for i := range ticks {
		fmt.Sscan(line[i], &ticks[i])
		c.all += ticks[i] / 100
	}
	c.idle, c.stolen = (ticks[3]+ticks[4])/100, ticks[7]/100
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		syscall.Getrusage(who, &usage)
		c.own += float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e9
	}
	return c
}

// busy says what was not ours of the time since.
func (m *machine) busy(since clock) {
	now := readClock()
	all := now.all - since.all
	m.Stolen = (now.stolen - since.stolen) / all
	used := all - (now.idle - since.idle) - (now.stolen - since.stolen)
	m.Others = max(0, used-(now.own-since.own)) / all
}

// versions of all that takes part.
func versions() map[string]string {
	all := map[string]string{
		"Go":     strings.TrimPrefix(runtime.Version(), "go"),
		"gcc":    says("cc", "-dumpfullversion"),
		"LuaJIT": strings.TrimPrefix(strings.SplitN(says("luajit", "-v"), " -- ", 2)[0], "LuaJIT "),
		"Lua":    strings.SplitN(strings.TrimPrefix(says("lua5.4", "-v"), "Lua "), " ", 2)[0],
		"glibc":  strings.TrimPrefix(says("getconf", "GNU_LIBC_VERSION"), "glibc ")}
	for _, library := range []string{"libcurl", "yyjson"} {
		all[library] = says("pkg-config", "--modversion", library)
	}
	if info, is := debug.ReadBuildInfo(); is {
		for _, module := range info.Deps {
			if module.Path == "k8s.io/client-go" {
				all["client-go"] = strings.TrimPrefix(module.Version, "v")
			}
		}
	}
	all["controller-runtime"] = strings.TrimPrefix(
		after("go.mod", `^\s*sigs.k8s.io/controller-runtime v`), "v")
	all["kube-rs"] = after("kubers/Cargo.toml", `^kube = \{ version = "=`)
	all["kube-rs"], _, _ = strings.Cut(all["kube-rs"], `"`)
	all["node"] = strings.TrimPrefix(says("node", "--version"), "v")
	all["@kubernetes/client-node"] = strings.TrimRight(
		after("javascript/package.json", `^\s*"@kubernetes/client-node":`), `",`)
	all["Python"] = strings.TrimPrefix(says("python3", "--version"), "Python ")
	all["kopf"] = after("python/requirements.txt", `^kopf==`)
	all["kubernetes (Python)"] = after("python/requirements.txt", `^kubernetes==`)
	if rustc := strings.Fields(says("rustc", "--version")); len(rustc) > 1 {
		all["rustc"] = rustc[1]
	}
	return all
}

// commit is what was built.
func commit() string {
	name := says("git", "rev-parse", "--short", "HEAD")
	if says("git", "status", "--porcelain", "--untracked-files=no", "..") != "" {
		name += ", changed"
	}
	return name
}
