package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

const (
	namespace  = "default"
	workers    = 16
	retryPause = 20 * time.Millisecond
)

// write is one change, sent again until the server has taken it.
type write func(context.Context) error

// perform does all writes with several workers, and calls halfway once in the middle while the
// workers go on.
func perform(ctx context.Context, writes []write, halfway func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan write)
	var done atomic.Int64
	middle := make(chan struct{})
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for next := range queue {
				if err := next(ctx); err != nil {
					cancel(err)
					return
				}
				if done.Add(1) == int64(len(writes)/2) {
					close(middle)
				}
			}
		})
	}
	group.Go(func() {
		select {
		case <-middle:
			if err := halfway(); err != nil {
				cancel(err)
			}
		case <-ctx.Done():
		}
	})
	feed(ctx, queue, writes)
	group.Wait()
	return context.Cause(ctx)
}

func feed(ctx context.Context, queue chan<- write, writes []write) {
	defer close(queue)
	for _, next := range writes {
		select {
		case queue <- next:
		case <-ctx.Done():
			return
		}
	}
}

// persist repeats a request that the server may or may not have taken when it went away.
func persist(ctx context.Context, request func(context.Context) error) error {
	for {
		err := request(ctx)
		var status apierrors.APIStatus
		if err == nil || asStatus(err, &status) {
			return err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return fmt.Errorf("%w, last: %w", context.Cause(ctx), err)
		}
	}
}

func create(client dynamic.Interface, kind schema.GroupVersionResource, object map[string]any) write {
	body := &unstructured.Unstructured{Object: object}
	return func(ctx context.Context) error {
		err := persist(ctx, func(ctx context.Context) error {
			_, err := client.Resource(kind).Namespace(namespace).Create(ctx, body, metav1.CreateOptions{})
			return err
		})
		return unless(apierrors.IsAlreadyExists, err)
	}
}

// createPod goes through a typed client, which writes protobuf.
func createPod(client kubernetes.Interface, object *corev1.Pod) write {
	return func(ctx context.Context) error {
		err := persist(ctx, func(ctx context.Context) error {
			_, err := client.CoreV1().Pods(namespace).Create(ctx, object, metav1.CreateOptions{})
			return err
		})
		return unless(apierrors.IsAlreadyExists, err)
	}
}

func patch(client dynamic.Interface, kind schema.GroupVersionResource, name, body string) write {
	return func(ctx context.Context) error {
		return persist(ctx, func(ctx context.Context) error {
			_, err := client.Resource(kind).Namespace(namespace).
				Patch(ctx, name, types.MergePatchType, []byte(body), metav1.PatchOptions{})
			return err
		})
	}
}

func remove(client dynamic.Interface, kind schema.GroupVersionResource, name string) write {
	return func(ctx context.Context) error {
		err := persist(ctx, func(ctx context.Context) error {
			return client.Resource(kind).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
		})
		return unless(apierrors.IsNotFound, err)
	}
}

// unless forgives the answer that a repeated request gets when its first try had worked.
func unless(forgiven func(error) bool, err error) error {
	if forgiven(err) {
		return nil
	}
	return err
}

func configMap(index int) map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata": map[string]any{
			"name":   configMapName(index),
			"labels": map[string]any{"team": team(index)},
		},
		"data": map[string]any{"index": fmt.Sprint(index)},
	}
}

func pod(index int) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: podName(index), Labels: map[string]string{"team": team(index)}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name:  "main",
				Image: "example.com/app:1",
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")},
				},
				Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}},
			}},
		},
	}
}

func secret(name string) map[string]any {
	return map[string]any{
		"apiVersion": "v1",
		"kind":       "Secret",
		"metadata":   map[string]any{"name": name},
	}
}

func configMapName(index int) string { return fmt.Sprintf("config-%05d", index) }

func podName(index int) string { return fmt.Sprintf("pod-%05d", index) }

func team(index int) string { return []string{"red", "green", "blue"}[index%3] }
