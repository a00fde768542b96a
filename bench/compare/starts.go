package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// starter is a program that prints something once it is told of the first pod.
type starter struct {
	name    string
	command []string
	env     []string
}

// kubectl is the one of spec/cluster where KUBELUA_CLUSTER_BIN says where that
// is, or that of the PATH.
func kubectl() string {
	if folder := os.Getenv("KUBELUA_CLUSTER_BIN"); folder != "" {
		return filepath.Join(folder, "kubectl")
	}
	return "kubectl"
}

func starters(build, server, home string) []starter {
	here, _ := os.Getwd()
	program := func(name string) string { return filepath.Join(build, "bench", name) }
	script := filepath.Join(here, "kubelua", "first.lua")
	return []starter{
		{"kubectl get pods --watch", []string{kubectl(), "--server", server, "get", "pods",
			"--all-namespaces", "--watch", "--no-headers"}, []string{"HOME=" + home, "KUBECONFIG=/dev/null"}},
		{"client-go, protobuf", []string{program("clientgo"), server, "first", "protobuf", "pods.v1."}, nil},
		{"JavaScript client", []string{program("node"), program("javascript/informer.js"), server, "first"}, nil},
		{"kopf", []string{program("venv/bin/python"), "-m", "kopf", "run", "--quiet", "--standalone",
			"--all-namespaces", filepath.Join(here, "python", "first.py")}, []string{"BENCH_SERVER=" + server}},
		{"kubelua run", []string{filepath.Join(here, "..", "bin", "kubelua"), "run", "--server", server, script},
			[]string{"KUBELUA_BUILD=" + build, "KUBELUA_LOG=error"}},
		{"KubeLua LuaJIT", []string{"luajit", script, server}, luaEnvironment(build, "5.1")},
		{"KubeLua Lua 5.4", []string{"lua5.4", script, server}, luaEnvironment(build, "5.4")},
	}
}

// starts measures the time from fork to the first event printed, in turns.
func (r *race) starts() (all []outcome) {
	home, err := os.MkdirTemp("", "bench-home-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(home)
	r.server.Serve(r.data, r.with.StartPods)
	every := starters(r.options.build, r.server.URL, home)
	rounds, failed := map[string][]figures{}, map[string]string{}
	for _, s := range every {
		program := contender{command: s.command}
		failed[s.name] = program.absent()
	}
	for round := range r.with.Starts + 1 { // the first one warms up
		for _, s := range every {
			if failed[s.name] != "" {
				continue
			}
			took, err := s.first()
			if err != nil {
				failed[s.name] = "failed: " + err.Error()
			} else if round > 0 {
				rounds[s.name] = append(rounds[s.name], figures{"first_ms": took.Seconds() * 1000})
			}
		}
	}
	for _, s := range every {
		out := outcome{Name: s.name, Absent: failed[s.name], Figures: map[string]figure{}}
		if out.Absent == "" {
			out.Figures = summarize(rounds[s.name])
		}
		fmt.Fprintf(os.Stderr, "start %-24s %.1f ms %s\n", s.name, out.Figures["first_ms"].Median, out.Absent)
		all = append(all, out)
	}
	return all
}

// first is how long it takes from before the fork to the first line printed.
func (s *starter) first() (time.Duration, error) {
	process := exec.Command(s.command[0], s.command[1:]...)
	process.Env = append(os.Environ(), s.env...)
	out, err := process.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begin := time.Now()
	if err := process.Start(); err != nil {
		return 0, err
	}
	stuck := time.AfterFunc(time.Minute, func() { process.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	took := time.Since(begin)
	stuck.Stop()
	process.Process.Kill()
	process.Wait()
	if err != nil || line == "" {
		return 0, errors.New("it printed nothing")
	}
	return took, nil
}
