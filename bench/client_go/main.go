// Command client_go is client-go's shared informer as a program that a benchmark can drive.
//
// It prints `synced N` once its cache is filled and its handler has seen everything, then answers
// lines on standard input: `reset` forgets the updates that were counted, `events N` is answered once
// the handler has seen N of them, `lookups N` and `lists READERS SECONDS` with what they cost.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func main() {
	server := flag.String("server", "", "URL of the API")
	form := flag.String("form", "typed", "typed or dynamic")
	flag.Parse()
	config := &rest.Config{Host: *server, QPS: -1}
	informer := newInformer(config, *form)
	handler := &counter{}
	registration, err := informer.AddEventHandler(handler)
	check(err)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go informer.RunWithContext(ctx)
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		os.Exit(1)
	}
	fmt.Println("synced", len(informer.GetStore().ListKeys()))
	commands(informer, handler)
}

func newInformer(config *rest.Config, form string) cache.SharedIndexInformer {
	indexers := cache.Indexers{"node": byNode, "app": byApp}
	if form == "dynamic" {
		client, err := dynamic.NewForConfig(config)
		check(err)
		pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
		source := &cache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
				return pods.List(ctx, options)
			},
			WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
				return pods.Watch(ctx, options)
			},
		}
		return cache.NewSharedIndexInformer(source, &unstructured.Unstructured{}, 0, indexers)
	}
	client, err := kubernetes.NewForConfig(config)
	check(err)
	pods := client.CoreV1().Pods("")
	source := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return pods.Watch(ctx, options)
		},
	}
	return cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, indexers)
}

func byNode(object any) ([]string, error) {
	switch pod := object.(type) {
	case *corev1.Pod:
		return []string{pod.Spec.NodeName}, nil
	case *unstructured.Unstructured:
		node, _, err := unstructured.NestedString(pod.Object, "spec", "nodeName")
		return []string{node}, err
	}
	return nil, fmt.Errorf("not a pod: %T", object)
}

func byApp(object any) ([]string, error) {
	metadata, ok := object.(metav1.Object)
	if !ok {
		return nil, fmt.Errorf("no metadata: %T", object)
	}
	return []string{metadata.GetLabels()["app"]}, nil
}

type counter struct{ updates atomic.Int64 }

func (c *counter) OnAdd(any, bool)   {}
func (c *counter) OnUpdate(any, any) { c.updates.Add(1) }
func (c *counter) OnDelete(any)      {}

func commands(informer cache.SharedIndexInformer, handler *counter) {
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		words := strings.Fields(input.Text())
		switch words[0] {
		case "events":
			wanted := number(words[1])
			for handler.updates.Load() < wanted {
				time.Sleep(time.Millisecond)
			}
			fmt.Println("events", wanted)
		case "reset":
			handler.updates.Store(0)
			fmt.Println("reset")
		case "lookups":
			fmt.Println("lookups", lookups(informer.GetIndexer(), number(words[1])))
		case "lists":
			readers, seconds := int(number(words[1])), number(words[2])
			fmt.Println("lists", lists(informer.GetStore(), readers, seconds))
		}
	}
}

// Nanoseconds for one lookup by index.
func lookups(indexer cache.Indexer, count int64) int64 {
	begun := time.Now()
	for turn := range count {
		found, err := indexer.ByIndex("node", fmt.Sprintf("node-%d", turn%5000))
		check(err)
		if len(found) == 0 {
			panic("no pod on the node")
		}
	}
	return time.Since(begun).Nanoseconds() / count
}

// Lists made by so many readers in so many seconds.
func lists(store cache.Store, readers int, seconds int64) int64 {
	var made atomic.Int64
	var group sync.WaitGroup
	deadline := time.Now().Add(time.Duration(seconds) * time.Second)
	for range readers {
		group.Go(func() {
			for time.Now().Before(deadline) {
				store.List()
				made.Add(1)
			}
		})
	}
	group.Wait()
	return made.Load()
}

func number(text string) int64 {
	value, err := strconv.ParseInt(text, 10, 64)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
