// Command compare runs every contender against one server, in turn, several
// times over, and prints medians and ratios as Markdown.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"kubelua/bench/replay"
)

type options struct {
	pods, updates, rounds int
	only, build, under    string
}

func contenders(build string) []contender {
	here, _ := os.Getwd()
	script := filepath.Join(here, "kubelua", "pods.lua")
	lua := func(name, interpreter, abi string) contender {
		return contender{name, []string{interpreter, script, "SERVER", "UPDATES"},
			[]string{"LUA_PATH=" + here + "/../lua/?.lua;" + here + "/../lua/?/init.lua;;",
				"LUA_CPATH=" + filepath.Join(build, "lua", abi, "?.so") + ";;"}}
	}
	clientgo := func(mode string) contender {
		return contender{"client-go " + mode, []string{
			filepath.Join(build, "bench", "clientgo"), "SERVER", mode, "UPDATES"}, nil}
	}
	return []contender{clientgo("protobuf"), clientgo("json"), clientgo("dynamic"),
		{"KubeLua C", []string{filepath.Join(build, "bench", "pods"), "SERVER", "UPDATES"}, nil},
		lua("KubeLua LuaJIT", "luajit", "5.1"), lua("KubeLua Lua 5.4", "lua5.4", "5.4")}
}

// run measures all, interleaved: a machine that slows down does so for all.
func run(o *options) error {
	server, err := replay.NewServer(o.pods)
	if err != nil {
		return err
	}
	defer server.Close()
	results := map[string][]result{}
	var names []string
	var sum int64
	for round := -1; round < o.rounds; round++ { // round -1 warms up
		for _, c := range contenders(o.build) {
			if !strings.Contains(c.name, o.only) {
				continue
			}
			pods, updates := o.pods, o.updates
			if round < 0 {
				names = append(names, c.name)
				updates = min(updates, 1000)
			}
			c.command = append(strings.Fields(o.under), c.command...)
			res, err := c.measure(server, pods, updates)
			if err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
			fmt.Fprintf(os.Stderr, "%2d %-20s %+v\n", round, c.name, res)
			if round < 0 {
				continue
			}
			if sum == 0 {
				sum = res.sum
			}
			if res.sum != sum {
				return fmt.Errorf("%s read something else than the others", c.name)
			}
			results[c.name] = append(results[c.name], res)
		}
	}
	json, protobuf := server.Bytes()
	fmt.Printf("%d pods of %d bytes of JSON, %d of protobuf; %d updates; medians of %d runs.\n\n",
		o.pods, json, protobuf, o.updates, o.rounds)
	table(os.Stdout, names, results)
	return nil
}

func main() {
	var o options
	flag.IntVar(&o.pods, "pods", 10000, "objects in the cache")
	flag.IntVar(&o.updates, "updates", 100000, "changes that are delivered")
	flag.IntVar(&o.rounds, "rounds", 5, "repetitions")
	flag.StringVar(&o.only, "only", "", "those whose name holds this")
	flag.StringVar(&o.under, "under", "", "a profiler's command line")
	flag.StringVar(&o.build, "build", "../build-bench", "the build folder")
	flag.Parse()
	o.build, _ = filepath.Abs(o.build)
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}
