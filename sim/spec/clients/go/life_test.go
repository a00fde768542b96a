package clients

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcore "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/client-go/tools/record"
)

// campaign runs a candidate for leader until its context ends; a candidate that
// leads sends its name.
func campaign(t *testing.T, ctx context.Context, client kubernetes.Interface, namespace, name string, leads chan<- string) {
	t.Helper()
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, namespace, "leader", client.CoreV1(),
		client.CoordinationV1(), resourcelock.ResourceLockConfig{Identity: name})
	if err != nil {
		t.Fatal(err)
	}
	go leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
		Lock: lock, ReleaseOnCancel: true, Name: name,
		LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 200 * time.Millisecond,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { leads <- name },
			OnStoppedLeading: func() {},
		},
	})
}

func TestLeaderElection(t *testing.T) {
	ctx, client, namespace := world(t)
	leads := make(chan string, 2)
	first, resign := context.WithCancel(ctx)
	campaign(t, first, client, namespace, "first", leads)
	if leader := next(t, leads); leader != "first" {
		t.Fatal(leader)
	}
	campaign(t, ctx, client, namespace, "second", leads)
	select {
	case leader := <-leads:
		t.Fatal("two leaders: " + leader)
	case <-time.After(500 * time.Millisecond):
	}
	resign()
	if leader := next(t, leads); leader != "second" {
		t.Fatal(leader)
	}
	lease, err := client.CoordinationV1().Leases(namespace).Get(ctx, "leader", metav1.GetOptions{})
	if err != nil || *lease.Spec.HolderIdentity != "second" || *lease.Spec.LeaseTransitions < 1 {
		t.Fatal(lease, err)
	}
}

func TestRecorderOfCoreEvents(t *testing.T) {
	ctx, client, namespace := world(t)
	object := must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("a", ""), metav1.CreateOptions{}))
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcore.EventSinkImpl{Interface: client.CoreV1().Events(namespace)})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "spec"})
	recorder.Event(object, corev1.EventTypeNormal, "Tested", "hello")
	recorder.Event(object, corev1.EventTypeNormal, "Tested", "hello") // counted by a patch
	eventually(t, "an event that counts two", func() bool {
		list, err := client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "involvedObject.name=a,reason=Tested"})
		return err == nil && len(list.Items) == 1 && list.Items[0].Count == 2
	})
}

func TestRecorderOfNewEvents(t *testing.T) {
	ctx, client, namespace := world(t)
	object := must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("a", ""), metav1.CreateOptions{}))
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	defer broadcaster.Shutdown()
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		t.Fatal(err)
	}
	recorder := broadcaster.NewRecorder(scheme.Scheme, "example.com/spec")
	recorder.Eventf(object, nil, corev1.EventTypeWarning, "Tested", "Testing", "hello %d", 5)
	eventually(t, "an event", func() bool {
		list, err := client.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{FieldSelector: "reason=Tested"})
		return err == nil && len(list.Items) == 1 && list.Items[0].Note == "hello 5"
	})
	list := must[*corev1.EventList](t)(client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{}))
	if len(list.Items) != 1 || list.Items[0].Message != "hello 5" {
		t.Fatal(list.Items)
	}
}
