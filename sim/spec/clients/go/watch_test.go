package clients

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

func TestWatchListStreamsWhatThereIs(t *testing.T) {
	ctx, client, namespace := world(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	for _, name := range []string{"a", "b", "c"} {
		must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap(name, "1"), metav1.CreateOptions{}))
	}
	yes := true
	stream := must[watch.Interface](t)(maps.Watch(ctx, metav1.ListOptions{
		SendInitialEvents: &yes, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
		AllowWatchBookmarks: true, LabelSelector: "app=shop",
	}))
	defer stream.Stop()
	for _, name := range []string{"a", "b", "c"} {
		event := next(t, stream.ResultChan())
		if event.Type != watch.Added || event.Object.(*corev1.ConfigMap).Name != name {
			t.Fatal(event)
		}
	}
	bookmark := next(t, stream.ResultChan())
	object := bookmark.Object.(*corev1.ConfigMap)
	if bookmark.Type != watch.Bookmark || object.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
		t.Fatal(bookmark)
	}
	must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("d", "1"), metav1.CreateOptions{}))
	if event := next(t, stream.ResultChan()); event.Type != watch.Added {
		t.Fatal(event)
	}
}

func TestRetryWatcherResumes(t *testing.T) {
	ctx, client, namespace := world(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	first := must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("a", "1"), metav1.CreateOptions{}))
	second := int64(1) // each watch ends then, and the watcher resumes
	watcher := must[*watchtools.RetryWatcher](t)(watchtools.NewRetryWatcherWithContext(ctx, first.ResourceVersion,
		&cache.ListWatch{WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.TimeoutSeconds = &second
			return maps.Watch(ctx, options)
		}}))
	defer watcher.Stop()
	for i := range 3 {
		must[*corev1.ConfigMap](t)(maps.Update(ctx, configMap("a", time.Duration(i).String()), metav1.UpdateOptions{}))
		if event := next(t, watcher.ResultChan()); event.Type != watch.Modified {
			t.Fatal(event)
		}
		if i == 0 {
			time.Sleep(1500 * time.Millisecond)
		}
	}
}

func TestUntilAConditionHolds(t *testing.T) {
	ctx, client, namespace := world(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("a", "1"), metav1.CreateOptions{}))
	done := make(chan *watch.Event, 1)
	go func() {
		event, _ := watchtools.UntilWithSync(ctx, cache.NewListWatchFromClient(client.CoreV1().RESTClient(),
			"configmaps", namespace, fields.Everything()), &corev1.ConfigMap{}, nil,
			func(event watch.Event) (bool, error) {
				return event.Object.(*corev1.ConfigMap).Data["value"] == "2", nil
			})
		done <- event
	}()
	must[*corev1.ConfigMap](t)(maps.Update(ctx, configMap("a", "2"), metav1.UpdateOptions{}))
	if event := next(t, done); event == nil {
		t.Fatal("it never held")
	}
}
