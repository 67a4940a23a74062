// Package operator is an operator as people write them: on controller-runtime, unmodified, with a
// custom resource, webhooks, finalizers, owned objects, a status, an index and leader election. Its
// tests have the shape of those that others run against envtest.
package operator

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var groupVersion = schema.GroupVersion{Group: "demo.listwatch.dev", Version: "v1"}

// Greeting wants a ConfigMap with a text for each of its names.
type Greeting struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GreetingSpec   `json:"spec,omitempty"`
	Status GreetingStatus `json:"status,omitempty"`
}

// GreetingSpec says whom to greet and how.
type GreetingSpec struct {
	Phrase string   `json:"phrase,omitempty"`
	Names  []string `json:"names,omitempty"`
}

// GreetingStatus says how many were greeted.
type GreetingStatus struct {
	Greeted            int32              `json:"greeted,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

// GreetingList is a list of greetings.
type GreetingList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Greeting `json:"items"`
}

func (g *Greeting) DeepCopyObject() runtime.Object {
	copied := *g
	g.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Spec.Names = append([]string(nil), g.Spec.Names...)
	copied.Status.Conditions = append([]metav1.Condition(nil), g.Status.Conditions...)
	return &copied
}

func (l *GreetingList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = nil
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Greeting))
	}
	return &copied
}

func (g *Greeting) isReady() bool {
	return meta.IsStatusConditionTrue(g.Status.Conditions, "Ready") &&
		g.Status.ObservedGeneration == g.Generation
}

func addToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &Greeting{}, &GreetingList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}
