// Command clientgo keeps all objects of one kind, or of some, in informers of
// client-go and reports what that costs. Usage: clientgo SERVER stream|page
// protobuf|json|dynamic RESOURCE.VERSION.GROUP... SERVER may be the path of a
// kubeconfig. Or, to see how long a process
// takes to its first event: clientgo SERVER first protobuf pods.v1.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const stamp = "bench.example.com/written"

// fields is what a handler reads of an object: the length of three fields of a
// Pod, of the name and the UID of others.
func fields(object any) int {
	switch object := object.(type) {
	case *corev1.Pod:
		return len(object.Name) + len(object.Status.Phase) + len(object.Spec.NodeName)
	case *unstructured.Unstructured:
		if object.GetKind() == "Pod" {
			phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
			node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
			return len(object.GetName()) + len(phase) + len(node)
		}
	}
	about := object.(metav1.Object)
	return len(about.GetName()) + len(about.GetUID())
}

// written is when the server wrote an object.
func written(object any) string {
	if custom, is := object.(*unstructured.Unstructured); is {
		text, _, _ := unstructured.NestedString(custom.Object, "metadata", "annotations", stamp)
		return text
	}
	return object.(metav1.Object).GetAnnotations()[stamp]
}

func strip(object any) (any, error) {
	if accessor, err := meta.Accessor(object); err == nil {
		accessor.SetManagedFields(nil)
	}
	return object, nil
}

// open makes an informer of a resource; what is not built in is unstructured.
func open(config *rest.Config, mode, resource string) (cache.SharedIndexInformer, error) {
	what, _ := schema.ParseResourceArg(resource)
	if what == nil {
		return nil, errors.New(resource + " is not RESOURCE.VERSION.GROUP")
	}
	if mode != "dynamic" {
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return nil, err
		}
		generic, err := informers.NewSharedInformerFactory(client, 0).ForResource(*what)
		if err == nil {
			return generic.Informer(), nil
		}
	}
	client, err := dynamic.NewForConfig(&rest.Config{Host: config.Host})
	if err != nil {
		return nil, err
	}
	factory := dynamicinformer.NewDynamicSharedInformerFactory(client, 0)
	return factory.ForResource(*what).Informer(), nil
}

// kept is an informer and its handler.
type kept struct {
	informer     cache.SharedIndexInformer
	registration cache.ResourceEventHandlerRegistration
}

// keep opens an informer of each resource, with a handler for its events.
func keep(config *rest.Config, mode string, resources []string, on cache.ResourceEventHandler) (all []kept, err error) {
	for _, resource := range resources {
		informer, err := open(config, mode, resource)
		if err != nil {
			return nil, err
		}
		if err := informer.SetTransform(strip); err != nil {
			return nil, err
		}
		registration, err := informer.AddEventHandler(on)
		if err != nil {
			return nil, err
		}
		all = append(all, kept{informer, registration})
	}
	return all, nil
}

// configure finds the server: a URL, or the path of a kubeconfig.
func configure(server, mode string) *rest.Config {
	config := &rest.Config{Host: server}
	if strings.HasPrefix(server, "/") {
		var err error
		if config, err = clientcmd.BuildConfigFromFlags("", server); err != nil {
			panic(err)
		}
	}
	config.ContentType = "application/json"
	if mode == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
	}
	config.AcceptContentTypes = config.ContentType
	return config
}

// first prints the name of the first object that the handler is called for.
func first(server, mode string, resources []string) error {
	all, err := keep(configure(server, mode), mode, resources, cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			fmt.Println(object.(metav1.Object).GetName())
			os.Exit(0)
		}})
	if err == nil {
		all[0].informer.Run(context.Background().Done())
	}
	return err
}

func run(server, listing, mode string, resources []string) error {
	if listing == "page" { // client-go reads this once, later
		os.Setenv("KUBE_FEATURE_WatchListClient", "false")
	}
	seen := newTally()
	all, err := keep(configure(server, mode), mode, resources, cache.ResourceEventHandlerFuncs{
		AddFunc:    seen.event,
		UpdateFunc: func(_, object any) { seen.event(object) },
		DeleteFunc: func(any) { seen.finish() },
	})
	if err != nil {
		return err
	}
	orders := newOrders()
	since, count := orders.report("ready", cpu(), 0, 0), 0
	for _, one := range all {
		go one.informer.Run(context.Background().Done())
	}
	for _, one := range all {
		cache.WaitForCacheSync(nil, one.registration.HasSynced)
		count += len(one.informer.GetStore().ListKeys())
	}
	_, sum, _ := seen.take()
	orders.report("synced", since, count, sum)
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
	if len(os.Args) < 5 {
		fmt.Fprintln(os.Stderr, "usage: clientgo SERVER stream|page|first "+
			"protobuf|json|dynamic RESOURCE.VERSION.GROUP...")
		os.Exit(2)
	}
	server, listing, mode, resources := os.Args[1], os.Args[2], os.Args[3], os.Args[4:]
	var err error
	if listing == "first" {
		err = first(server, mode, resources)
	} else {
		err = run(server, listing, mode, resources)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "clientgo:", err)
		os.Exit(1)
	}
}
