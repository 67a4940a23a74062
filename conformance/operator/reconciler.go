package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	finalizer   = "demo.listwatch.dev/farewell"
	ownerIndex  = "owner"
	farewellKey = "last-farewell"
)

// Reconciler makes the world as its greetings want it.
type Reconciler struct {
	client.Client
}

func (r *Reconciler) setUp(ctx context.Context, manager ctrl.Manager) error {
	byOwner := func(object client.Object) []string {
		owner := metav1.GetControllerOf(object)
		if owner == nil || owner.Kind != "Greeting" {
			return nil
		}
		return []string{owner.Name}
	}
	indexer := manager.GetFieldIndexer()
	if err := indexer.IndexField(ctx, &corev1.ConfigMap{}, ownerIndex, byOwner); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(manager).
		For(&Greeting{}).
		Owns(&corev1.ConfigMap{}).
		Complete(r)
}

// Reconcile handles one greeting.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var greeting Greeting
	if err := r.Get(ctx, request.NamespacedName, &greeting); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !greeting.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.sayFarewell(ctx, &greeting)
	}
	if controllerutil.AddFinalizer(&greeting, finalizer) {
		return ctrl.Result{}, r.Update(ctx, &greeting)
	}
	for _, name := range greeting.Spec.Names {
		if err := r.greet(ctx, &greeting, name); err != nil {
			return ctrl.Result{}, err
		}
	}
	if err := r.dropOthers(ctx, &greeting); err != nil {
		return ctrl.Result{}, err
	}
	greeting.Status.Greeted = int32(len(greeting.Spec.Names))
	greeting.Status.ObservedGeneration = greeting.Generation
	meta.SetStatusCondition(&greeting.Status.Conditions, metav1.Condition{
		Type:               "Ready",
		Status:             metav1.ConditionTrue,
		Reason:             "Greeted",
		ObservedGeneration: greeting.Generation,
	})
	return ctrl.Result{}, r.Status().Update(ctx, &greeting)
}

func (r *Reconciler) greet(ctx context.Context, greeting *Greeting, name string) error {
	card := corev1.ConfigMap{}
	card.Name, card.Namespace = greeting.Name+"-"+name, greeting.Namespace
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, &card, func() error {
		card.Data = map[string]string{"text": fmt.Sprintf("%s, %s", greeting.Spec.Phrase, name)}
		return controllerutil.SetControllerReference(greeting, &card, r.Scheme())
	})
	return err
}

// dropOthers deletes the cards of names that are no longer wanted, found by the index.
func (r *Reconciler) dropOthers(ctx context.Context, greeting *Greeting) error {
	var cards corev1.ConfigMapList
	mine := []client.ListOption{
		client.InNamespace(greeting.Namespace),
		client.MatchingFields{ownerIndex: greeting.Name},
	}
	if err := r.List(ctx, &cards, mine...); err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, name := range greeting.Spec.Names {
		wanted[greeting.Name+"-"+name] = true
	}
	for i := range cards.Items {
		if !wanted[cards.Items[i].Name] {
			if err := client.IgnoreNotFound(r.Delete(ctx, &cards.Items[i])); err != nil {
				return err
			}
		}
	}
	return nil
}

// sayFarewell leaves a note, and lets the greeting go.
func (r *Reconciler) sayFarewell(ctx context.Context, greeting *Greeting) error {
	if !controllerutil.ContainsFinalizer(greeting, finalizer) {
		return nil
	}
	note := corev1.ConfigMap{}
	note.Name, note.Namespace = farewellKey, greeting.Namespace
	_, err := controllerutil.CreateOrUpdate(ctx, r.Client, &note, func() error {
		note.Data = map[string]string{"greeting": greeting.Name}
		return nil
	})
	// A namespace on its way out takes no notes.
	if err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return err
	}
	controllerutil.RemoveFinalizer(greeting, finalizer)
	return client.IgnoreNotFound(r.Update(ctx, greeting))
}
