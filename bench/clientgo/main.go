// Command clientgo keeps all pods of a server in an informer of client-go and
// reports what that costs. Usage: clientgo SERVER stream|page protobuf|json|dynamic
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

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

const stamp = "bench.example.com/written"

// reader is how a handler reads an object: the lengths of three fields, and
// when it was written.
type reader struct {
	fields  func(object any) int
	written func(object any) string
}

var typed = reader{
	func(object any) int {
		pod := object.(*corev1.Pod)
		return len(pod.Name) + len(pod.Status.Phase) + len(pod.Spec.NodeName)
	},
	func(object any) string { return object.(*corev1.Pod).Annotations[stamp] },
}

var untyped = reader{
	func(object any) int {
		pod := object.(*unstructured.Unstructured)
		phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
		node, _, _ := unstructured.NestedString(pod.Object, "spec", "nodeName")
		return len(pod.GetName()) + len(phase) + len(node)
	},
	func(object any) string {
		pod := object.(*unstructured.Unstructured)
		text, _, _ := unstructured.NestedString(pod.Object, "metadata", "annotations", stamp)
		return text
	},
}

func strip(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

func open(server, mode string) (cache.SharedIndexInformer, reader, error) {
	config := &rest.Config{Host: server}
	if mode == "dynamic" {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, untyped, err
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
		return nil, typed, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	return factory.Core().V1().Pods().Informer(), typed, nil
}

func run(server, listing, mode string) error {
	if listing == "page" { // client-go reads this once, later
		os.Setenv("KUBE_FEATURE_WatchListClient", "false")
	}
	informer, read, err := open(server, mode)
	if err != nil {
		return err
	}
	if err := informer.SetTransform(strip); err != nil {
		return err
	}
	seen := newTally(read)
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    seen.event,
		UpdateFunc: func(_, object any) { seen.event(object) },
		DeleteFunc: func(any) { seen.finish() },
	})
	if err != nil {
		return err
	}
	orders := newOrders()
	since := orders.report("ready", cpu(), 0, 0)
	go informer.Run(context.Background().Done())
	cache.WaitForCacheSync(nil, registration.HasSynced)
	_, sum, _ := seen.take()
	orders.report("synced", since, len(informer.GetStore().ListKeys()), sum)
	runtime.GC()
	debug.FreeOSMemory()
	fmt.Println("rest 0 0 0")
	for orders.next() {
		since := cpu()
		seen.begin(orders.name, orders.count)
		fmt.Println("begun")
		<-seen.done
		used := cpu() - since
		events, sum, delays := seen.take()
		fmt.Println("done", used.Microseconds(), events, sum, delays)
	}
	return nil
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: clientgo SERVER stream|page protobuf|json|dynamic")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, "clientgo:", err)
		os.Exit(1)
	}
}
