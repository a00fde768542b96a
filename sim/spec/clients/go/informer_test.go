package clients

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

var configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")

// tell runs an informer whose handler writes each event to a channel, and waits
// until the handler has synced.
func tell(t *testing.T, ctx context.Context, informer cache.SharedIndexInformer, run func(<-chan struct{})) <-chan string {
	t.Helper()
	said := make(chan string, 100)
	name := func(object any) string {
		if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = unknown.Obj
		}
		return object.(metav1.Object).GetName()
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(object any, initial bool) {
			if name(object) != "kube-root-ca.crt" { // a controller puts it into every namespace
				said <- fmt.Sprint("add ", name(object), " ", initial)
			}
		},
		UpdateFunc: func(_, object any) { said <- "update " + name(object) },
		DeleteFunc: func(object any) { said <- "delete " + name(object) },
	})
	if err != nil {
		t.Fatal(err)
	}
	run(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		t.Fatal("not synced in time")
	}
	return said
}

// follow creates, updates and deletes an object, and expects the handler's
// events.
func follow(t *testing.T, ctx context.Context, client kubernetes.Interface, namespace string, said <-chan string) {
	t.Helper()
	maps := client.CoreV1().ConfigMaps(namespace)
	must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("second", "1"), metav1.CreateOptions{}))
	must[*corev1.ConfigMap](t)(maps.Update(ctx, configMap("second", "2"), metav1.UpdateOptions{}))
	if err := maps.Delete(ctx, "second", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"add first true", "add second false", "update second", "delete second"} {
		if got := next(t, said); got != wanted {
			t.Fatalf("%q, not %q", got, wanted)
		}
	}
}

func TestInformerOfTypedObjects(t *testing.T) {
	ctx, client, namespace := world(t)
	must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("first", "1"), metav1.CreateOptions{}))
	other, err := kubernetes.NewForConfig(connect(t))
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(other, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps()
	follow(t, ctx, other, namespace, tell(t, ctx, informer.Informer(), factory.Start))
	first, err := informer.Lister().ConfigMaps(namespace).Get("first")
	if err != nil || first.Data["value"] != "1" {
		t.Fatal(first, err)
	}
}

func TestInformerOfDynamicObjects(t *testing.T) {
	ctx, client, namespace := world(t)
	must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("first", "1"), metav1.CreateOptions{}))
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(
		must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(connect(t))), 0, namespace, nil)
	informer := factory.ForResource(configMaps)
	follow(t, ctx, client, namespace, tell(t, ctx, informer.Informer(), factory.Start))
	first, err := informer.Lister().ByNamespace(namespace).Get("first")
	if err != nil {
		t.Fatal(err)
	}
	value, _, _ := unstructured.NestedString(first.(*unstructured.Unstructured).Object, "data", "value")
	if value != "1" {
		t.Fatal(first)
	}
}

func TestInformerOfMetadata(t *testing.T) {
	ctx, client, namespace := world(t)
	must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("first", "1"), metav1.CreateOptions{}))
	factory := metadatainformer.NewFilteredSharedInformerFactory(
		must[metadata.Interface](t)(metadata.NewForConfig(connect(t))), 0, namespace, nil)
	informer := factory.ForResource(configMaps)
	follow(t, ctx, client, namespace, tell(t, ctx, informer.Informer(), factory.Start))
}

func TestInformerByLabel(t *testing.T) {
	ctx, client, namespace := world(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("first", "1"), metav1.CreateOptions{}))
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace),
		informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "app=shop" }))
	said := tell(t, ctx, factory.Core().V1().ConfigMaps().Informer(), factory.Start)
	changed := configMap("first", "1")
	changed.Labels["app"] = "mail"
	must[*corev1.ConfigMap](t)(maps.Update(ctx, changed, metav1.UpdateOptions{}))
	changed.Labels["app"] = "shop"
	must[*corev1.ConfigMap](t)(maps.Update(ctx, changed, metav1.UpdateOptions{}))
	for _, wanted := range []string{"add first true", "delete first", "add first false"} {
		if got := next(t, said); got != wanted {
			t.Fatalf("%q, not %q", got, wanted)
		}
	}
}
