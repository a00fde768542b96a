// Package clients proves that client-go works with the simulator: the server of
// KUBECONFIG, one namespace for each test.
package clients

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const patience = 20 * time.Second

// connect reads KUBECONFIG.
func connect(t *testing.T) *rest.Config {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = 1000
	config.Burst = 1000
	return config
}

// world is a client, and a namespace of its own.
func world(t *testing.T) (context.Context, *kubernetes.Clientset, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	client, err := kubernetes.NewForConfig(connect(t))
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	_, err = client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: name},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return ctx, client, name
}

func configMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "shop"}},
		Data:       map[string]string{"value": value},
	}
}

func must[T any](t *testing.T) func(value T, err error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}

// next returns the next value of a channel; it fails if none comes in time.
func next[T any](t *testing.T, channel <-chan T) T {
	t.Helper()
	select {
	case value, open := <-channel:
		if !open {
			t.Fatal("the channel was closed")
		}
		return value
	case <-time.After(patience):
		t.Fatal("nothing came in time")
	}
	panic("not reached")
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("not in time: " + what)
		}
	}
}
