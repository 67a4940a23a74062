package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// firstVersion is that of the empty source: not 0, which means "any" to a server.
const firstVersion = 1

// source is the server: a counter of changes, the objects, and the changes since the horizon.
type source struct {
	script *script

	lock    sync.Mutex
	version int
	// writes counts all changes that ever were, also those that a restore has undone.
	writes  int
	objects map[string]*corev1.ConfigMap
	// history has the changes after the horizon, oldest first.
	history []watch.Event
	horizon int
	// states has the objects as they were at each version.
	states map[int]map[string]*corev1.ConfigMap
	// pages has what is left of lists by their continue tokens.
	pages map[string]page

	streams  []*stream
	refusals map[string][]string
	// cuts has after how many initial events the next watch-lists end.
	cuts     []int
	holding  bool
	requests []string
}

// page is the rest of a list.
type page struct {
	version int
	rest    []*corev1.ConfigMap
}

func newSource(script *script) *source {
	s := &source{
		script:   script,
		version:  firstVersion,
		writes:   firstVersion,
		horizon:  firstVersion,
		objects:  map[string]*corev1.ConfigMap{},
		states:   map[int]map[string]*corev1.ConfigMap{},
		pages:    map[string]page{},
		refusals: map[string][]string{},
	}
	s.states[firstVersion] = map[string]*corev1.ConfigMap{}
	return s
}

// IsWatchListSemanticsUnSupported is how client-go asks whether to try.
func (s *source) IsWatchListSemanticsUnSupported() bool { return !s.script.watchList }

// List answers a list.
func (s *source) List(options metav1.ListOptions) (runtime.Object, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	kind := "list"
	if options.Continue != "" {
		kind = "page"
	}
	s.requests = append(s.requests, kind+" "+describeList(options))
	if err := s.refusal(kind); err != nil {
		return nil, err
	}
	if options.Continue != "" {
		next, known := s.pages[options.Continue]
		if !known {
			return nil, expired()
		}
		return s.answer(next, options.Limit), nil
	}
	if s.isFuture(options.ResourceVersion) {
		return nil, tooLarge()
	}
	whole := page{version: s.version}
	for _, key := range slices.Sorted(maps.Keys(s.objects)) {
		whole.rest = append(whole.rest, s.objects[key])
	}
	return s.answer(whole, options.Limit), nil
}

func (s *source) answer(from page, limit int64) *corev1.ConfigMapList {
	count := len(from.rest)
	if s.script.pageSize > 0 && limit > 0 {
		count = min(count, int(limit), s.script.pageSize)
	}
	list := &corev1.ConfigMapList{}
	list.ResourceVersion = strconv.Itoa(from.version)
	for _, object := range from.rest[:count] {
		list.Items = append(list.Items, *object.DeepCopy())
	}
	if count < len(from.rest) {
		list.Continue = fmt.Sprintf("%d:%s", from.version, keyOf(from.rest[count]))
		s.pages[list.Continue] = page{version: from.version, rest: from.rest[count:]}
	}
	return list
}

// Watch answers a watch, with the state first if asked so.
func (s *source) Watch(options metav1.ListOptions) (watch.Interface, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	kind := "watch"
	if options.SendInitialEvents != nil && *options.SendInitialEvents {
		kind = "watch-list"
	}
	s.requests = append(s.requests, kind+" "+describeVersion(options.ResourceVersion))
	if err := s.refusal(kind); err != nil {
		return nil, err
	}
	if s.isFuture(options.ResourceVersion) {
		return nil, tooLarge()
	}
	if kind == "watch-list" {
		return s.watchList(), nil
	}
	return s.watch(options.ResourceVersion)
}

func (s *source) watch(from string) (watch.Interface, error) {
	version, err := strconv.Atoi(from)
	if err != nil || version == 0 {
		return nil, statusError("400")
	}
	if version < s.horizon {
		if s.script.expiredAtStart {
			return nil, expired()
		}
		stream := s.open()
		s.endWith(stream, expired())
		return stream, nil
	}
	stream := s.open()
	if s.take("short") != "" {
		s.end(stream)
		return stream, nil
	}
	for _, event := range s.history {
		if versionOf(event.Object) > version {
			stream.send(event)
		}
	}
	return stream, nil
}

func (s *source) watchList() *stream {
	stream := s.open()
	keys := slices.Sorted(maps.Keys(s.objects))
	cut := -1
	if len(s.cuts) > 0 {
		cut, s.cuts = min(s.cuts[0], len(keys)), s.cuts[1:]
		keys = keys[:cut]
	}
	for _, key := range keys {
		stream.send(watch.Event{Type: watch.Added, Object: s.objects[key]})
	}
	switch {
	case cut >= 0:
		s.end(stream)
	case s.holding:
		stream.awaitsEnd = true
	default:
		s.endInitialEvents(stream)
	}
	return stream
}

func (s *source) endInitialEvents(stream *stream) {
	stream.send(initialEventsEnd(s.version))
	if s.script.bookmarkAfterState {
		stream.send(bookmark(s.version))
	}
}

// change makes one change and tells the open streams, unless they lose it.
func (s *source) change(verb, key string, lost bool) {
	s.version++
	s.writes++
	object := s.next(verb, key)
	if verb == "delete" {
		delete(s.objects, key)
	} else {
		s.objects[key] = object
	}
	s.states[s.version] = maps.Clone(s.objects)
	kinds := map[string]watch.EventType{"add": watch.Added, "modify": watch.Modified, "delete": watch.Deleted}
	event := watch.Event{Type: kinds[verb], Object: object}
	s.history = append(s.history, event)
	if !lost {
		s.broadcast(event)
	}
}

// next is the object's next state. Only an add makes it another object.
func (s *source) next(verb, key string) *corev1.ConfigMap {
	namespace, name, _ := strings.Cut(key, "/")
	object := &corev1.ConfigMap{}
	object.Namespace, object.Name = namespace, name
	object.UID = types.UID(strconv.Itoa(s.writes))
	if known := s.objects[key]; known != nil && verb != "add" {
		object.UID = known.UID
	}
	object.ResourceVersion = strconv.Itoa(s.version)
	object.Data = map[string]string{"write": strconv.Itoa(s.writes)}
	return object
}

// repeat tells the object's state once more.
func (s *source) repeat(key string) {
	if object := s.objects[key]; object != nil {
		s.broadcast(watch.Event{Type: watch.Modified, Object: object})
	}
}

// expire forgets the history and all continue tokens.
func (s *source) expire() {
	s.history, s.horizon = nil, s.version
	s.pages = map[string]page{}
}

// restore goes back to an older state, as a server does that lost its newest data.
func (s *source) restore(version int) {
	s.version = min(max(version, firstVersion), s.version)
	s.objects = maps.Clone(s.states[s.version])
	s.expire()
	s.endAll()
}

// release ends the initial events of the streams that were held.
func (s *source) release() {
	s.holding = false
	for _, stream := range s.streams {
		if stream.awaitsEnd {
			stream.awaitsEnd = false
			s.endInitialEvents(stream)
		}
	}
}

func (s *source) isFuture(version string) bool {
	number, err := strconv.Atoi(version)
	return err == nil && number > s.version
}

// refusal is the next error that the script has for this kind of request.
func (s *source) refusal(kind string) error {
	if reason := s.take(kind); reason != "" {
		return statusError(reason)
	}
	return nil
}

func (s *source) take(kind string) string {
	reasons := s.refusals[kind]
	if len(reasons) == 0 {
		return ""
	}
	s.refusals[kind] = reasons[1:]
	return reasons[0]
}

func (s *source) takeRequests() []string {
	s.lock.Lock()
	defer s.lock.Unlock()
	requests := s.requests
	s.requests = nil
	return requests
}

func keyOf(object *corev1.ConfigMap) string { return object.Namespace + "/" + object.Name }

func versionOf(object runtime.Object) int {
	version, err := strconv.Atoi(object.(*corev1.ConfigMap).ResourceVersion)
	if err != nil {
		panic(err)
	}
	return version
}

func describeList(options metav1.ListOptions) string {
	text := describeVersion(options.ResourceVersion)
	if options.Continue != "" {
		text = "after " + options.Continue
	}
	if options.Limit > 0 {
		text += fmt.Sprintf(" limit %d", options.Limit)
	}
	return text
}

func describeVersion(version string) string {
	switch version {
	case "":
		return "newest"
	case "0":
		return "any"
	}
	return "@" + version
}
