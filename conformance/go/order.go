package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// orderCheck sees every notification of an informer: no object may go back in time.
type orderCheck struct {
	mutex sync.Mutex
	first error
}

func (o *orderCheck) OnAdd(any, bool) {}

func (o *orderCheck) OnUpdate(before, after any) { o.follows(versionOf(before), versionOf(after)) }

func (o *orderCheck) OnDelete(any) {}

func (o *orderCheck) follows(before, after string) {
	if err := increases(before, after); err != nil {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.first = errors.Join(o.first, err)
	}
}

func (o *orderCheck) problem() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return o.first
}

// recorder follows one watch that client-go's RetryWatcher takes up again wherever it broke.
type recorder struct {
	mutex   sync.Mutex
	version string
	objects map[string]any
	problem error
}

func record(ctx context.Context, client dynamic.ResourceInterface) (*recorder, error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	recorder := &recorder{version: list.GetResourceVersion(), objects: map[string]any{}}
	for index := range list.Items {
		recorder.objects[key(&list.Items[index])] = &list.Items[index]
	}
	source := &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, recorder.version, source)
	if err != nil {
		return nil, err
	}
	go func() {
		for event := range watcher.ResultChan() {
			recorder.take(event)
		}
	}()
	return recorder, nil
}

func (r *recorder) take(event watch.Event) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if event.Type == watch.Error {
		r.problem = errors.Join(r.problem, apierrors.FromObject(event.Object))
		return
	}
	version := versionOf(event.Object)
	if err := increases(r.version, version); err != nil {
		r.problem = errors.Join(r.problem, fmt.Errorf("%s: %w", event.Type, err))
	}
	r.version = version
	r.fold(event.Type, event.Object)
}

// fold applies an event the strict way: what is added was absent, what changes or goes was there.
func (r *recorder) fold(kind watch.EventType, object runtime.Object) {
	name := key(object)
	_, here := r.objects[name]
	if here == (kind == watch.Added) {
		r.problem = errors.Join(r.problem, fmt.Errorf("%s of %s, present: %t", kind, name, here))
	}
	if kind == watch.Deleted {
		delete(r.objects, name)
		return
	}
	r.objects[name] = object
}

func (r *recorder) state() (map[string]any, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	objects := make(map[string]any, len(r.objects))
	for name, object := range r.objects {
		objects[name] = object
	}
	return objects, r.problem
}

func increases(before, after string) error {
	first, err := strconv.ParseUint(before, 10, 64)
	if err != nil {
		return err
	}
	second, err := strconv.ParseUint(after, 10, 64)
	if err != nil {
		return err
	}
	if second <= first {
		return fmt.Errorf("resourceVersion %d comes after %d", second, first)
	}
	return nil
}

func asStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }
