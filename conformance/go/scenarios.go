package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/features"
)

const (
	pageSize        = 500
	bookmarkTimeout = 90 * time.Second
)

// watchLists decides whether informers stream their initial state, client-go's default, or list it.
type watchLists bool

func (w watchLists) Enabled(feature features.Feature) bool {
	if feature == features.WatchListClient {
		return bool(w)
	}
	return defaultGates.Enabled(feature)
}

var defaultGates = features.FeatureGates()

func discoveryNamesResources(_ context.Context, harness *harness) error {
	client := discovery.NewDiscoveryClientForConfigOrDie(harness.config(nil))
	if _, err := client.ServerVersion(); err != nil {
		return err
	}
	lists, err := client.ServerPreferredResources()
	if err != nil {
		return err
	}
	kinds := map[string]bool{}
	for _, list := range lists {
		for _, resource := range list.APIResources {
			kinds[list.GroupVersion+"/"+resource.Kind] = true
		}
	}
	for _, kind := range []string{"v1/ConfigMap", "v1/Pod", "v1/Namespace", "apps/v1/Deployment"} {
		if !kinds[kind] {
			return fmt.Errorf("%s is not among the %d kinds discovered", kind, len(kinds))
		}
	}
	return nil
}

// followCreations goes from empty to 10,000 objects with a restart in the middle.
func followCreations(ctx context.Context, harness *harness) error {
	client, typed := harness.dynamic(nil), harness.typed(nil)
	writes := make([]write, 0, configMaps+pods)
	for index := range configMaps + pods {
		if index%5 == 0 {
			writes = append(writes, createPod(typed, pod(index/5)))
		} else {
			writes = append(writes, create(client, configMapsResource, configMap(index-index/5-1)))
		}
	}
	return follow(ctx, harness, following{
		watchLists: true,
		writes:     writes,
		halfway:    harness.restart,
		counts:     [3]int{configMaps, pods, teamCount(0, configMaps)},
	})
}

// followChanges starts with those 10,000 objects, changes every fifth, moves some between teams
// and deletes every fourth, with a crash in the middle.
func followChanges(ctx context.Context, harness *harness) error {
	client := harness.dynamic(nil)
	var writes []write
	red := 0
	for index := range configMaps {
		name, labelled := configMapName(index), team(index)
		switch {
		case index%4 == 0:
			writes = append(writes, remove(client, configMapsResource, name))
			continue
		case index%5 == 0:
			writes = append(writes, patch(client, configMapsResource, name, `{"data":{"changed":"yes"}}`))
		case index%7 == 0:
			labelled = team(index + 1)
			body := fmt.Sprintf(`{"metadata":{"labels":{"team":%q}}}`, labelled)
			writes = append(writes, patch(client, configMapsResource, name, body))
		}
		if labelled == "red" {
			red++
		}
	}
	for index := range pods {
		if index%5 == 0 {
			body := `{"metadata":{"annotations":{"changed":"yes"}}}`
			writes = append(writes, patch(client, podsResource, podName(index), body))
		}
	}
	return follow(ctx, harness, following{
		watchLists: false,
		writes:     writes,
		halfway:    harness.crash,
		counts:     [3]int{configMaps * 3 / 4, pods, red},
	})
}

type following struct {
	watchLists watchLists
	writes     []write
	halfway    func() error
	// counts of config maps, pods and config maps of team red at the end.
	counts [3]int
}

func follow(ctx context.Context, harness *harness, plan following) error {
	features.ReplaceFeatureGates(plan.watchLists)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	informers, err := followers(ctx, harness)
	if err != nil {
		return err
	}
	recorder, err := record(ctx, harness.dynamic(nil).Resource(configMapsResource).Namespace(namespace))
	if err != nil {
		return err
	}
	if err := perform(ctx, plan.writes, plan.halfway); err != nil {
		return err
	}
	expected := []int{plan.counts[0], plan.counts[1], plan.counts[2], plan.counts[0], plan.counts[1]}
	for index, follower := range informers {
		if err := follower.converges(ctx, expected[index]); err != nil {
			return err
		}
		if err := follower.listedOnce(plan.watchLists); err != nil {
			return err
		}
	}
	return recorder.converges(ctx, informers[0])
}

// listedOnce checks that the restart cost no second reading of the whole state.
func (f *follower) listedOnce(mode watchLists) error {
	lists, states, answered := f.requests.counts()
	expectedLists, expectedStates := 1, 0
	if mode {
		expectedLists, expectedStates = 0, 1
	}
	if lists != expectedLists || states != expectedStates {
		return fmt.Errorf("%s: %d lists and %d streamed states, not one", f.name, lists, states)
	}
	if answered == 0 {
		return fmt.Errorf("%s: no watch was taken up again", f.name)
	}
	return nil
}

func (r *recorder) converges(ctx context.Context, follower *follower) error {
	expected, err := follower.fresh(ctx)
	if err != nil {
		return err
	}
	var difference string
	err = wait.PollUntilContextTimeout(ctx, convergePause, convergeTimeout, true,
		func(context.Context) (bool, error) {
			found, problem := r.state()
			difference = compare(expected, found)
			return difference == "", problem
		})
	if err != nil {
		return fmt.Errorf("the recorded watch: %w: %s", err, difference)
	}
	return nil
}

func teamCount(from, to int) int {
	count := 0
	for index := from; index < to; index++ {
		if team(index) == "red" {
			count++
		}
	}
	return count
}

func pagesAreOneState(ctx context.Context, harness *harness) error {
	client := harness.dynamic(nil).Resource(configMapsResource).Namespace(namespace)
	whole, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	options := metav1.ListOptions{Limit: pageSize}
	var version string
	var items []unstructured.Unstructured
	for {
		page, err := client.List(ctx, options)
		if err != nil {
			return err
		}
		items = append(items, page.Items...)
		if version == "" {
			version = page.GetResourceVersion()
			if err := createBetweenPages(ctx, harness); err != nil {
				return err
			}
		}
		if err := pageFits(page, version, len(whole.Items)-len(items)); err != nil {
			return err
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			break
		}
	}
	if len(items) != len(whole.Items) {
		return fmt.Errorf("%d items in pages, %d in one list", len(items), len(whole.Items))
	}
	for index := range items {
		if items[index].GetName() != whole.Items[index].GetName() {
			return fmt.Errorf("item %d is %s", index, items[index].GetName())
		}
	}
	return nil
}

// createBetweenPages changes the newest state, which later pages must not show.
func createBetweenPages(ctx context.Context, harness *harness) error {
	return create(harness.dynamic(nil), configMapsResource, configMap(99_999))(ctx)
}

func pageFits(page *unstructured.UnstructuredList, version string, left int) error {
	if page.GetResourceVersion() != version {
		return fmt.Errorf("a page at %s in a list at %s", page.GetResourceVersion(), version)
	}
	if page.GetContinue() == "" {
		return nil
	}
	if len(page.Items) != pageSize {
		return fmt.Errorf("a page of %d items", len(page.Items))
	}
	if remaining := page.GetRemainingItemCount(); remaining == nil || *remaining != int64(left) {
		return fmt.Errorf("remainingItemCount is %v, with %d left", remaining, left)
	}
	return nil
}

func watchGoesOnFromBookmark(ctx context.Context, harness *harness) error {
	client := harness.dynamic(nil).Resource(configMapsResource).Namespace(namespace)
	list, err := client.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return err
	}
	// Something else changes, so that the newest version moves on while the watch is quiet.
	elsewhere := harness.dynamic(nil).Resource(secretsResource).Namespace(namespace)
	secret := &unstructured.Unstructured{Object: secret("elsewhere")}
	var written *unstructured.Unstructured
	bookmark, err := nextEvent(ctx, client.Watch, metav1.ListOptions{
		ResourceVersion:     list.GetResourceVersion(),
		AllowWatchBookmarks: true,
	}, func() (err error) {
		written, err = elsewhere.Create(ctx, secret, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	if bookmark.Type != watch.Bookmark || versionOf(bookmark.Object) != written.GetResourceVersion() {
		return fmt.Errorf("a quiet watch gave %s at %s", bookmark.Type, versionOf(bookmark.Object))
	}
	object := configMap(100_000)
	change := create(harness.dynamic(nil), configMapsResource, object)
	next, err := nextEvent(ctx, client.Watch, metav1.ListOptions{
		ResourceVersion: versionOf(bookmark.Object),
	}, func() error { return change(ctx) })
	if err != nil {
		return err
	}
	if next.Type != watch.Added || key(next.Object) != namespace+"/"+configMapName(100_000) {
		return fmt.Errorf("after the bookmark came %s of %s", next.Type, key(next.Object))
	}
	return nil
}

type watchFunc func(context.Context, metav1.ListOptions) (watch.Interface, error)

// nextEvent opens a watch, does something, and returns the first event.
func nextEvent(
	ctx context.Context, open watchFunc, options metav1.ListOptions, meanwhile func() error,
) (watch.Event, error) {
	stream, err := open(ctx, options)
	if err != nil {
		return watch.Event{}, err
	}
	defer stream.Stop()
	if err := meanwhile(); err != nil {
		return watch.Event{}, err
	}
	select {
	case event, open := <-stream.ResultChan():
		if !open {
			return watch.Event{}, errors.New("the watch ended")
		}
		return event, nil
	case <-time.After(bookmarkTimeout):
		return watch.Event{}, errors.New("the watch stayed silent")
	case <-ctx.Done():
		return watch.Event{}, context.Cause(ctx)
	}
}
