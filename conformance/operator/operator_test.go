package operator

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func newGreeting(namespace string, names ...string) *Greeting {
	return &Greeting{
		ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: namespace},
		Spec:       GreetingSpec{Names: names},
	}
}

func waitUntilReady(t *testing.T, greeting *Greeting) {
	t.Helper()
	eventually(t, "the greeting is ready", func() bool {
		must(t, api.Get(t.Context(), client.ObjectKeyFromObject(greeting), greeting))
		return greeting.isReady()
	})
}

func cards(t *testing.T, namespace string) map[string]string {
	t.Helper()
	var list corev1.ConfigMapList
	must(t, api.List(t.Context(), &list, client.InNamespace(namespace)))
	found := map[string]string{}
	for _, card := range list.Items {
		if text, ok := card.Data["text"]; ok {
			found[card.Name] = text
		}
	}
	return found
}

func TestAGreetingIsDefaultedReconciledAndReported(t *testing.T) {
	greeting := newGreeting(newNamespace(t), "ada", "grace")
	must(t, api.Create(t.Context(), greeting))
	if greeting.Spec.Phrase != "Hello" {
		t.Fatalf("the webhook did not fill in the phrase: %+v", greeting.Spec)
	}
	waitUntilReady(t, greeting)
	if greeting.Status.Greeted != 2 || greeting.Generation != 1 {
		t.Fatalf("greeted %d, generation %d", greeting.Status.Greeted, greeting.Generation)
	}
	found := cards(t, greeting.Namespace)
	if len(found) != 2 || found["g-ada"] != "Hello, ada" {
		t.Fatalf("cards: %v", found)
	}
}

func TestAChangeIsFollowedThroughTheIndex(t *testing.T) {
	greeting := newGreeting(newNamespace(t), "ada", "grace")
	must(t, api.Create(t.Context(), greeting))
	waitUntilReady(t, greeting)
	patch := client.MergeFrom(greeting.DeepCopyObject().(*Greeting))
	greeting.Spec.Names = []string{"ada", "alan"}
	must(t, api.Patch(t.Context(), greeting, patch))
	if greeting.Generation != 2 {
		t.Fatalf("generation %d after a change of the spec", greeting.Generation)
	}
	waitUntilReady(t, greeting)
	eventually(t, "the cards are those of ada and alan", func() bool {
		found := cards(t, greeting.Namespace)
		_, ada := found["g-ada"]
		_, alan := found["g-alan"]
		return ada && alan && len(found) == 2
	})
}

func TestADeletedCardComesBack(t *testing.T) {
	greeting := newGreeting(newNamespace(t), "ada")
	must(t, api.Create(t.Context(), greeting))
	waitUntilReady(t, greeting)
	card := corev1.ConfigMap{}
	card.Name, card.Namespace = "g-ada", greeting.Namespace
	must(t, api.Delete(t.Context(), &card))
	eventually(t, "the card is back", func() bool {
		return cards(t, greeting.Namespace)["g-ada"] != ""
	})
}

func TestBadGreetingsAreRefusedBySchemaRuleAndWebhook(t *testing.T) {
	namespace := newNamespace(t)
	for wanted, greeting := range map[string]*Greeting{
		`spec.names[0]: Invalid value: "Ada"`: newGreeting(namespace, "Ada"),
		"nobody is not somebody":              newGreeting(namespace, "nobody"),
		`spec.names[1]: Duplicate value`:      newGreeting(namespace, "ada", "ada"),
		`"Go away" is no greeting`: {
			ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: namespace},
			Spec:       GreetingSpec{Phrase: "Go away", Names: []string{"ada"}},
		},
	} {
		err := api.Create(t.Context(), greeting)
		if err == nil || !strings.Contains(err.Error(), wanted) {
			t.Errorf("wanted %q, got %v", wanted, err)
		}
	}
}

func TestAnOwnerTakesItsCardsAlongAndSaysFarewell(t *testing.T) {
	greeting := newGreeting(newNamespace(t), "ada", "grace")
	must(t, api.Create(t.Context(), greeting))
	waitUntilReady(t, greeting)
	must(t, api.Delete(t.Context(), greeting))
	eventually(t, "the greeting is gone", func() bool {
		err := api.Get(t.Context(), client.ObjectKeyFromObject(greeting), &Greeting{})
		return apierrors.IsNotFound(err)
	})
	eventually(t, "the cards are collected", func() bool {
		return len(cards(t, greeting.Namespace)) == 0
	})
	note := corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: greeting.Namespace, Name: farewellKey}
	must(t, api.Get(t.Context(), key, &note))
}

func TestANamespaceTakesEverythingAlong(t *testing.T) {
	namespace := newNamespace(t)
	greeting := newGreeting(namespace, "ada")
	must(t, api.Create(t.Context(), greeting))
	waitUntilReady(t, greeting)
	object := corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	must(t, api.Delete(t.Context(), &object))
	eventually(t, "the namespace is gone", func() bool {
		err := api.Get(context.Background(), client.ObjectKeyFromObject(&object), &object)
		return apierrors.IsNotFound(err)
	})
	var left GreetingList
	must(t, api.List(t.Context(), &left, client.InNamespace(namespace)))
	if len(left.Items) != 0 {
		t.Fatalf("left behind: %v", left.Items)
	}
}
