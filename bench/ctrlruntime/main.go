// Command ctrlruntime is the controller of controller-runtime in the benchmark:
// it applies a ConfigMap for each Widget of a namespace, and reports when it is
// done. Usage: ctrlruntime KUBECONFIG NAMESPACE WIDGETS CHANGES WORKERS
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

type reconciler struct {
	client.Client
	tally *tally
}

func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var widget Widget
	if err := r.Get(ctx, request.NamespacedName, &widget); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.tally.begin(widget.Spec.Stamp)
	owned := corev1ac.ConfigMap(widget.Name, widget.Namespace).
		WithOwnerReferences(metav1ac.OwnerReference().
			WithAPIVersion(groupVersion.String()).WithKind("Widget").
			WithName(widget.Name).WithUID(widget.UID).
			WithController(true).WithBlockOwnerDeletion(true)).
		WithData(map[string]string{
			"image": widget.Spec.Image,
			"size":  strconv.Itoa(widget.Spec.Size),
			"stamp": strconv.FormatInt(widget.Spec.Stamp, 10),
		})
	err := r.Apply(ctx, owned, client.FieldOwner("bench"), client.ForceOwnership)
	if err == nil {
		r.tally.applied(widget.Name)
	}
	return ctrl.Result{}, err
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "ctrlruntime:", err)
		os.Exit(1)
	}
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func main() {
	if len(os.Args) != 6 {
		fmt.Fprintln(os.Stderr, "usage: ctrlruntime KUBECONFIG NAMESPACE WIDGETS CHANGES WORKERS")
		os.Exit(2)
	}
	namespace, widgets, changes := os.Args[2], number(os.Args[3]), number(os.Args[4])
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	check(err)
	config.QPS = -1 // as controller-runtime's own loading has it: no limit of the client
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	check(corev1.AddToScheme(scheme))
	addToScheme(scheme)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:  scheme,
		Metrics: server.Options{BindAddress: "0"},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{namespace: {}},
			DefaultTransform:  cache.TransformStripManagedFields(),
		},
	})
	check(err)
	r := &reconciler{Client: manager.GetClient(), tally: newTally(widgets, changes)}
	check(ctrl.NewControllerManagedBy(manager).For(&Widget{}).Owns(&corev1.ConfigMap{}).
		WithOptions(controller.Options{MaxConcurrentReconciles: number(os.Args[5])}).
		Complete(r))
	go r.tally.report()
	check(manager.Start(ctrl.SetupSignalHandler()))
}
