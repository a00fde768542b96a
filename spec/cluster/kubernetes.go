//go:build !assets

// The control plane itself. Without it (-tags assets) the program is the proxy
// alone and needs the standard library only: for machines that have the
// binaries of envtest already.

package main

import (
	"os"
	_ "time/tzdata" // time zones of CronJobs, as kube-apiserver embeds them

	"go.etcd.io/etcd/server/v3/etcdmain"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // exec plugins of kubeconfigs
	"k8s.io/component-base/cli"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // /metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // build info in it
	kubectl "k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func init() {
	commands["etcd"] = etcdMain
	commands["kube-apiserver"] = apiserverMain
	commands["kubectl"] = kubectlMain
}

func etcdMain() int {
	etcdmain.Main(os.Args)
	return 0
}

func apiserverMain() int {
	return cli.Run(app.NewAPIServerCommand())
}

// kubectlMain does what kubectl's own main does: verbosity before the flags.
func kubectlMain() int {
	_, _ = logs.GlogSetter(kubectl.GetLogVerbosity(os.Args))
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
	return 0
}
