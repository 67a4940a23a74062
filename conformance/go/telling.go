package main

import (
	"context"
	"fmt"
	"os"

	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
)

// tell prints every change of the config maps in the default namespace, as one informer tells
// them, until the process is ended.
func tell(ctx context.Context) error {
	harness := &harness{url: os.Getenv("LISTWATCH_SERVER")}
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(
		harness.dynamic(nil), 0, namespace, nil)
	informer := factory.ForResource(configMapsResource).Informer()
	if _, err := informer.AddEventHandler(printer{}); err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

// printer tells changes of state. A list that finds an object as it was is no change.
type printer struct{}

func (printer) OnAdd(object any, _ bool) { show("ADDED", object) }

func (printer) OnUpdate(before, after any) {
	if versionOf(before) != versionOf(after) {
		show("MODIFIED", after)
	}
}

func (printer) OnDelete(object any) { show("DELETED", object) }

func show(event string, object any) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object)
	if err != nil {
		key = err.Error()
	}
	fmt.Printf("%-10s%s\n", event, key)
}
