// kubelua-cluster is a whole Kubernetes control plane for specs in one file:
// etcd, kube-apiserver and kubectl as subcommands, or under the name by which
// it is called, and a TCP proxy that can break connections on command.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// commands maps a subcommand to its entry. It sees os.Args as a program of its
// own would, and its result is the exit status.
var commands = map[string]func() int{
	"proxy":   proxyMain,
	"control": controlMain,
}

func main() {
	name := filepath.Base(os.Args[0])
	if _, found := commands[name]; !found {
		if len(os.Args) < 2 {
			os.Exit(usage())
		}
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	command, found := commands[name]
	if !found {
		os.Exit(usage())
	}
	os.Exit(command())
}

func usage() int {
	var names []string
	for name := range commands {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Fprintf(os.Stderr, "usage: kubelua-cluster %s [ARGS]\n",
		strings.Join(names, "|"))
	return 2
}
