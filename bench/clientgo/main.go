// Command clientgo keeps all pods of a server in an informer of client-go and
// reports what that cost. Usage: clientgo SERVER protobuf|json|dynamic UPDATES
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// What the handler reads of an object: the sum of the lengths of three fields.
func typed(object any) int {
	pod := object.(*corev1.Pod)
	return len(pod.Name) + len(pod.Status.Phase) + len(pod.Spec.NodeName)
}

func untyped(object any) int {
	pod := object.(*unstructured.Unstructured)
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
	return len(pod.GetName()) + len(phase) + len(node)
}

func strip(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func open(server, mode string) (cache.SharedIndexInformer, func(any) int, error) {
	config := &rest.Config{Host: server}
	if mode == "dynamic" {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, nil, err
		}
		factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
		return factory.ForResource(corev1.SchemeGroupVersion.
			WithResource("pods")).Informer(), untyped, nil
	}
	config.ContentType = "application/json"
	if mode == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	config.AcceptContentTypes = config.ContentType
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	return factory.Core().V1().Pods().Informer(), typed, nil
}

// cpu is what this process has used so far, all threads of it.
func cpu() time.Duration {
	var usage syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// report prints a line, waits for one (the other side measures memory), and
// returns the CPU time at which the next phase begins.
func report(in *bufio.Reader, name string, since time.Duration, count, sum int64) time.Duration {
	fmt.Println(name, (cpu() - since).Microseconds(), count, sum)
	in.ReadString('\n')
	return cpu()
}

func run(server, mode string, updates int64) error {
	var count, sum atomic.Int64
	in := bufio.NewReader(os.Stdin)
	done := make(chan struct{})
	informer, read, err := open(server, mode)
	if err != nil {
		return err
	}
	if err := informer.SetTransform(strip); err != nil {
		return err
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { sum.Add(int64(read(object))) },
		UpdateFunc: func(_, object any) {
			sum.Add(int64(read(object)))
			if count.Add(1) == updates {
				close(done)
			}
		},
	})
	if err != nil {
		return err
	}
	since := report(in, "ready", cpu(), 0, 0)
	go informer.Run(context.Background().Done())
	cache.WaitForCacheSync(nil, registration.HasSynced)
	report(in, "synced", since, int64(len(informer.GetStore().ListKeys())), sum.Load())
	runtime.GC()
	debug.FreeOSMemory()
	since = report(in, "rest", cpu(), 0, 0)
	<-done
	report(in, "updated", since, count.Load(), sum.Load())
	return nil
}

func main() {
	updates, err := strconv.ParseInt(os.Args[3], 10, 64)
	if err == nil {
		err = run(os.Args[1], os.Args[2], updates)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clientgo:", err)
		os.Exit(1)
	}
}
