package clients

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const keeper = "example.com/keeper"

// shopkeeper makes a Deployment of each ConfigMap, and keeps a finalizer on it.
type shopkeeper struct {
	client.Client
	farewells chan string
}

func (self *shopkeeper) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var shop corev1.ConfigMap
	if err := self.Get(ctx, request.NamespacedName, &shop); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !shop.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&shop, keeper) {
			self.farewells <- shop.Name
			return ctrl.Result{}, self.Update(ctx, &shop)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&shop, keeper) {
		return ctrl.Result{}, self.Update(ctx, &shop)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: shop.Name, Namespace: shop.Namespace}}
	_, err := controllerutil.CreateOrPatch(ctx, self.Client, deployment, func() error {
		labels := map[string]string{"shop": shop.Name}
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
		deployment.Spec.Template.Labels = labels
		if len(deployment.Spec.Template.Spec.Containers) == 0 {
			deployment.Spec.Template.Spec.Containers = []corev1.Container{{Name: "till"}}
		}
		deployment.Spec.Template.Spec.Containers[0].Image = shop.Data["value"]
		return controllerutil.SetControllerReference(&shop, deployment, self.Scheme())
	})
	return ctrl.Result{}, err
}

// manage runs a manager until the test ends.
func manage(t *testing.T, ctx context.Context, namespace string) (ctrl.Manager, *shopkeeper) {
	t.Helper()
	manager := must[ctrl.Manager](t)(ctrl.NewManager(connect(t), ctrl.Options{
		Scheme: scheme.Scheme, Metrics: server.Options{BindAddress: "0"},
		Cache:          cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}},
		LeaderElection: true, LeaderElectionID: "shops", LeaderElectionNamespace: namespace,
		LeaderElectionReleaseOnCancel: true, GracefulShutdownTimeout: ptr.To(patience),
	}))
	keeper := &shopkeeper{manager.GetClient(), make(chan string, 10)}
	err := ctrl.NewControllerManagedBy(manager).For(&corev1.ConfigMap{}).Owns(&appsv1.Deployment{}).Complete(keeper)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(running) }()
	t.Cleanup(func() {
		stop()
		if err := next(t, ended); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	select {
	case <-manager.Elected():
	case err := <-ended:
		t.Fatal("the manager ended: ", err)
	}
	return manager, keeper
}

func TestControllerRuntime(t *testing.T) {
	log.SetLogger(logr.Discard())
	ctx, _, namespace := world(t)
	manager, keeper := manage(t, ctx, namespace)
	shops := manager.GetClient()
	key := client.ObjectKey{Namespace: namespace, Name: "bakery"}
	shop := configMap(key.Name, "bread:1")
	shop.Namespace = namespace
	var deployment appsv1.Deployment
	image := func(want string) func() bool {
		return func() bool {
			err := shops.Get(ctx, key, &deployment)
			return err == nil && deployment.Spec.Template.Spec.Containers[0].Image == want
		}
	}

	if err := shops.Create(ctx, shop); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a Deployment", image("bread:1"))
	if len(deployment.OwnerReferences) != 1 || deployment.OwnerReferences[0].UID != shop.UID {
		t.Fatal(deployment.OwnerReferences)
	}
	patch := client.MergeFrom(shop.DeepCopy())
	shop.Data["value"] = "bread:2"
	if err := shops.Patch(ctx, shop, patch); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new image", image("bread:2"))
	old := deployment.UID
	if err := shops.Delete(ctx, &deployment); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the Deployment again", func() bool {
		return image("bread:2")() && deployment.UID != old
	})
	if err := shops.Delete(ctx, shop); err != nil {
		t.Fatal(err)
	}
	if name := next(t, keeper.farewells); name != "bakery" {
		t.Fatal(name)
	}
	eventually(t, "what it owned to go", func() bool {
		return apierrors.IsNotFound(manager.GetAPIReader().Get(ctx, key, &deployment))
	})
}
