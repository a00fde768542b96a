// Command clientgo opens many informers of client-go at once, each of ConfigMaps
// in a namespace of its own, without client-go's own limit of requests. Prints
// how long it took until all had synced, the CPU time of this process, the most
// memory that it took, and its threads, then and four seconds later.
// Arguments: a kubeconfig, how many informers.
package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func cpu() float64 {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}

// statusOf is the number after a name in what the kernel says of this process.
func statusOf(name string) int {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); fields[0] == name {
			value, _ := strconv.Atoi(fields[1])
			return value
		}
	}
	return -1
}

func main() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		panic(err)
	}
	count, _ := strconv.Atoi(os.Args[2])
	config.QPS = -1
	client := kubernetes.NewForConfigOrDie(config)
	began := time.Now()
	stop := make(chan struct{})
	var synced []cache.InformerSynced
	for i := range count {
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0,
			informers.WithNamespace(fmt.Sprintf("n%d", i)))
		informer := factory.Core().V1().ConfigMaps().Informer()
		synced = append(synced, informer.HasSynced)
		factory.Start(stop)
	}
	for _, has := range synced {
		for !has() {
			time.Sleep(time.Millisecond)
		}
	}
	fmt.Printf("client-go  %6.2f s %6.2f s of CPU %4d MB %5d threads",
		time.Since(began).Seconds(), cpu(), statusOf("VmHWM:")/1024, statusOf("Threads:"))
	time.Sleep(4 * time.Second)
	fmt.Printf(", %d at rest\n", statusOf("Threads:"))
}
