package main

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/features"
	"k8s.io/client-go/kubernetes"
)

const cborType = "application/cbor"

// cborGates are client-go's, with those on that let clients speak CBOR before all else.
type cborGates struct{ others features.Gates }

func (g cborGates) Enabled(feature features.Feature) bool {
	switch feature {
	case features.ClientsAllowCBOR, features.ClientsPreferCBOR:
		return true
	}
	return g.others.Enabled(feature)
}

// clientsSpeakCBOR lets clients that prefer CBOR create, read, watch, apply and delete, and checks
// on the wire that nothing else travelled.
func clientsSpeakCBOR(ctx context.Context, harness *harness) error {
	others := features.FeatureGates()
	features.ReplaceFeatureGates(cborGates{others})
	defer features.ReplaceFeatureGates(others)
	log := &wireLog{}
	config := harness.wired(log)
	// Typed clients send CBOR by themselves, and go on to ask for protobuf.
	config.AcceptContentTypes = "application/json;q=0.9," + cborType
	if err := speakTypedCBOR(ctx, kubernetes.NewForConfigOrDie(config)); err != nil {
		return fmt.Errorf("typed: %w", err)
	}
	if err := speakDynamicCBOR(ctx, dynamic.NewForConfigOrDie(config)); err != nil {
		return fmt.Errorf("dynamic: %w", err)
	}
	return log.isCBOROnly()
}

func speakTypedCBOR(ctx context.Context, client kubernetes.Interface) error {
	secrets := client.CoreV1().Secrets(typedNamespace)
	watcher, err := secrets.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=cbor"})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "cbor"},
		Data:       map[string][]byte{"key": {0, 1, 0xff}},
	}
	created, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	if value := created.Data["key"]; string(value) != "\x00\x01\xff" {
		return fmt.Errorf("created with %x", value)
	}
	list, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		return fmt.Errorf("listed %v: %w", list, err)
	}
	applied := applycorev1.Secret("cbor", typedNamespace).WithData(map[string][]byte{"more": {2}})
	options := metav1.ApplyOptions{FieldManager: "cbor", Force: true}
	if _, err := secrets.Apply(ctx, applied, options); err != nil {
		return err
	}
	read, err := secrets.Get(ctx, "cbor", metav1.GetOptions{})
	if err != nil || len(read.Data) != 2 || read.Data["more"][0] != 2 {
		return fmt.Errorf("read %v: %w", read, err)
	}
	grace := int64(0)
	if err := secrets.Delete(ctx, "cbor", metav1.DeleteOptions{GracePeriodSeconds: &grace}); err != nil {
		return err
	}
	return hears(ctx, watcher, watch.Added, watch.Modified, watch.Deleted)
}

func speakDynamicCBOR(ctx context.Context, client dynamic.Interface) error {
	things := client.Resource(thingsResource).Namespace(typedNamespace)
	watcher, err := things.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=cbor"})
	if err != nil {
		return err
	}
	defer watcher.Stop()
	thing := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "wire.example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "cbor", "labels": map[string]any{"a": "b"}},
		"spec":     map[string]any{"replicas": int64(3)},
	}}
	created, err := things.Create(ctx, thing, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	replicas, _, err := unstructured.NestedInt64(created.Object, "spec", "replicas")
	if err != nil || replicas != 3 {
		return fmt.Errorf("created %v: %w", created.Object, err)
	}
	thing.SetLabels(map[string]string{"a": "c"})
	options := metav1.ApplyOptions{FieldManager: "cbor", Force: true}
	if _, err := things.Apply(ctx, "cbor", thing, options); err != nil {
		return err
	}
	list, err := things.List(ctx, metav1.ListOptions{LabelSelector: "a=c"})
	if err != nil || len(list.Items) != 1 || list.Items[0].GetKind() != "Thing" {
		return fmt.Errorf("listed %v: %w", list, err)
	}
	if err := things.Delete(ctx, "cbor", metav1.DeleteOptions{}); err != nil {
		return err
	}
	return hears(ctx, watcher, watch.Added, watch.Modified, watch.Deleted)
}

// hears fails unless a watcher is told of these events, and of no others before.
func hears(ctx context.Context, watcher watch.Interface, wanted ...watch.EventType) error {
	for _, expected := range wanted {
		select {
		case event := <-watcher.ResultChan():
			if event.Type != expected {
				return fmt.Errorf("heard %s %v instead of %s", event.Type, event.Object, expected)
			}
		case <-ctx.Done():
			return fmt.Errorf("not heard of %s: %w", expected, ctx.Err())
		}
	}
	return nil
}

// isCBOROnly fails if anything travelled in another form, or a stream was not one of CBOR.
func (l *wireLog) isCBOROnly() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	streams := 0
	for line, count := range l.seen {
		sent, got, _ := strings.Cut(line, " -> ")
		_, body, _ := strings.Cut(sent, " ")
		isFine := body == "nothing" || body == cborType || body == "application/apply-patch+cbor"
		if got == cborType+"-seq" {
			streams += count
		}
		if !isFine || !strings.HasPrefix(got, cborType) {
			return fmt.Errorf("not CBOR: %s", line)
		}
	}
	if streams != 2 {
		return fmt.Errorf("%d watches were sequences of CBOR: %v", streams, l.seen)
	}
	return nil
}
