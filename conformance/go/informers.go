package main

import (
	"context"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/pager"
)

const (
	convergeTimeout = time.Minute
	convergePause   = 50 * time.Millisecond
)

// follower is one shared informer, what it asked of the server, and how to list afresh what it
// should hold.
type follower struct {
	name     string
	requests *requestLog
	informer cache.SharedIndexInformer
	list     pager.ListPageFunc
	order    orderCheck
}

// followers starts dynamic and typed informers on config maps and pods, and one with a selector.
func followers(ctx context.Context, harness *harness) ([]*follower, error) {
	all := []*follower{
		dynamicFollower(harness, "dynamic config maps", configMapsResource, ""),
		dynamicFollower(harness, "dynamic pods", podsResource, ""),
		dynamicFollower(harness, "dynamic config maps of team red", configMapsResource, "team=red"),
		typedConfigMaps(harness),
		typedPods(harness),
	}
	for _, each := range all {
		if _, err := each.informer.AddEventHandler(&each.order); err != nil {
			return nil, err
		}
		go each.informer.RunWithContext(ctx)
	}
	for _, each := range all {
		if !cache.WaitForCacheSync(ctx.Done(), each.informer.HasSynced) {
			return nil, fmt.Errorf("%s: never synced", each.name)
		}
	}
	return all, nil
}

func dynamicFollower(
	harness *harness, name string, resource schema.GroupVersionResource, selector string,
) *follower {
	requests := &requestLog{}
	tweak := func(options *metav1.ListOptions) { options.LabelSelector = selector }
	factory := dynamicinformer.NewFilteredDynamicSharedInformerFactory(
		harness.dynamic(requests), 0, namespace, tweak)
	client := harness.dynamic(nil).Resource(resource).Namespace(namespace)
	return &follower{
		name:     name,
		requests: requests,
		informer: factory.ForResource(resource).Informer(),
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			return client.List(ctx, options)
		},
	}
}

func typedConfigMaps(harness *harness) *follower {
	requests := &requestLog{}
	factory := informers.NewSharedInformerFactory(harness.typed(requests), 0)
	client := harness.typed(nil).CoreV1().ConfigMaps(metav1.NamespaceAll)
	return &follower{
		name:     "typed config maps",
		requests: requests,
		informer: factory.Core().V1().ConfigMaps().Informer(),
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
	}
}

func typedPods(harness *harness) *follower {
	requests := &requestLog{}
	factory := informers.NewSharedInformerFactory(harness.typed(requests), 0)
	client := harness.typed(nil).CoreV1().Pods(metav1.NamespaceAll)
	return &follower{
		name:     "typed pods",
		requests: requests,
		informer: factory.Core().V1().Pods().Informer(),
		list: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
	}
}

// converges waits until the informer's store holds exactly what a fresh list gives.
func (f *follower) converges(ctx context.Context, count int) error {
	expected, err := f.fresh(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	if len(expected) != count {
		return fmt.Errorf("%s: the list has %d objects, not %d", f.name, len(expected), count)
	}
	var difference string
	err = wait.PollUntilContextTimeout(ctx, convergePause, convergeTimeout, true,
		func(context.Context) (bool, error) {
			difference = compare(expected, f.held())
			return difference == "", nil
		})
	if err != nil {
		return fmt.Errorf("%s: store and list differ: %s", f.name, difference)
	}
	return f.order.problem()
}

func (f *follower) fresh(ctx context.Context) (map[string]any, error) {
	objects := map[string]any{}
	list := pager.New(f.list)
	err := list.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		objects[key(object)] = plain(object)
		return nil
	})
	return objects, err
}

func (f *follower) held() map[string]any {
	objects := map[string]any{}
	for _, each := range f.informer.GetStore().List() {
		object := each.(runtime.Object)
		objects[key(object)] = plain(object)
	}
	return objects
}

func compare(expected, found map[string]any) string {
	for key, object := range expected {
		other, here := found[key]
		if !here {
			return fmt.Sprintf("%s is missing (%d of %d)", key, len(found), len(expected))
		}
		if !reflect.DeepEqual(object, other) {
			return fmt.Sprintf("%s is\n%v, not\n%v", key, other, object)
		}
	}
	for key := range found {
		if _, here := expected[key]; !here {
			return fmt.Sprintf("%s is too many (%d of %d)", key, len(found), len(expected))
		}
	}
	return ""
}

func key(object runtime.Object) string {
	key, err := cache.MetaNamespaceKeyFunc(object)
	if err != nil {
		return err.Error()
	}
	return key
}

// plain leaves out kind and apiVersion, which typed list items do not carry.
func plain(object runtime.Object) any {
	switch object := object.(type) {
	case *corev1.ConfigMap:
		object = object.DeepCopy()
		object.TypeMeta = metav1.TypeMeta{}
		return object
	case *corev1.Pod:
		object = object.DeepCopy()
		object.TypeMeta = metav1.TypeMeta{}
		return object
	default:
		return object
	}
}

func versionOf(object any) string {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return err.Error()
	}
	return accessor.GetResourceVersion()
}
