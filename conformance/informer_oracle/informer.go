package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

// actionTime is what every line costs that does not itself let time pass.
const actionTime = time.Millisecond

// trial is one script on its way.
type trial struct {
	script   *script
	source   *source
	informer cache.SharedIndexInformer
	handlers map[string]*handler
	stop     context.CancelFunc
	ended    chan struct{}
	store    string
	log      strings.Builder
}

// handler writes down what it is told.
type handler struct {
	registration cache.ResourceEventHandlerRegistration
	synced       bool

	lock  sync.Mutex
	lines []string
	// gate is closed unless the handler is blocked.
	gate chan struct{}
}

func run(ctx context.Context, script *script) string {
	source := newSource(script)
	trial := &trial{
		script: script,
		source: source,
		informer: cache.NewSharedIndexInformerWithOptions(source, &corev1.ConfigMap{},
			cache.SharedIndexInformerOptions{ResyncPeriod: script.resync}),
		handlers: map[string]*handler{},
		stop:     func() {},
		ended:    make(chan struct{}),
	}
	close(trial.ended)
	for number, step := range script.steps {
		fmt.Fprintf(&trial.log, "# %d %s\n", number+1, step.text)
		pause := actionTime
		for _, action := range step.actions {
			switch action.verb {
			case "settle":
				pause = settleTime
			case "step":
				pause = action.duration(0)
			default:
				trial.perform(ctx, action)
			}
		}
		time.Sleep(pause)
		synctest.Wait()
		trial.report()
	}
	trial.finish()
	return trial.log.String()
}

func (t *trial) perform(ctx context.Context, action action) {
	switch action.verb {
	case "start":
		t.start(ctx)
	case "stop":
		t.stop()
	case "handler":
		t.addHandler(action)
	case "remove":
		if handler := t.handlers[action.words[0]]; handler != nil && handler.registration != nil {
			t.note(action.words[0], "refused", t.informer.RemoveEventHandler(handler.registration))
		}
	case "block":
		if handler := t.handlers[action.words[0]]; handler != nil {
			handler.block()
		}
	case "unblock":
		if handler := t.handlers[action.words[0]]; handler != nil {
			handler.unblock()
		}
	default:
		t.source.lock.Lock()
		defer t.source.lock.Unlock()
		t.source.perform(action)
	}
}

// perform does what a script says of the server.
func (s *source) perform(action action) {
	switch action.verb {
	case "add", "modify", "delete":
		s.change(action.verb, action.words[0], false)
	case "lose":
		s.change(action.words[0], action.words[1], true)
	case "repeat":
		s.repeat(action.words[0])
	case "bookmark":
		s.broadcast(bookmark(s.version))
	case "reset", "break":
		// To client-go a lost connection looks like the end of the stream.
		s.endAll()
	case "expire":
		s.expire()
	case "restore":
		s.restore(action.number(0))
	case "error":
		s.endAllWith(statusError(action.words[0]))
	case "refuse":
		for range action.times(2) {
			s.refusals[action.words[0]] = append(s.refusals[action.words[0]], action.words[1])
		}
	case "short":
		for range action.times(1) {
			s.refusals["short"] = append(s.refusals["short"], "yes")
		}
	case "cut":
		s.cuts = append(s.cuts, action.number(0))
	case "hold":
		s.holding = true
	case "release":
		s.release()
	default:
		panic("nobody performs " + action.verb)
	}
}

func (t *trial) start(ctx context.Context) {
	ctx, t.stop = context.WithCancel(ctx)
	ended := make(chan struct{})
	t.ended = ended
	go func() {
		defer close(ended)
		t.informer.RunWithContext(ctx)
	}()
}

// addHandler takes `NAME`, `NAME resync 30s` or `NAME resync never`.
func (t *trial) addHandler(action action) {
	name := action.words[0]
	if t.handlers[name] != nil {
		return
	}
	handler := &handler{gate: make(chan struct{})}
	close(handler.gate)
	period := t.script.resync
	if len(action.words) == 3 {
		period = action.duration(2)
	}
	registration, err := t.informer.AddEventHandlerWithResyncPeriod(handler, period)
	t.note(name, "refused", err)
	if err == nil {
		handler.registration = registration
		t.handlers[name] = handler
	}
}

func (t *trial) note(name, what string, err error) {
	if err != nil {
		fmt.Fprintf(&t.log, "%s %s\n", name, what)
	}
}

// report writes what has happened since the last one.
func (t *trial) report() {
	for _, name := range slices.Sorted(maps.Keys(t.handlers)) {
		handler := t.handlers[name]
		for _, line := range handler.takeLines() {
			fmt.Fprintf(&t.log, "%s %s\n", name, line)
		}
		if !handler.synced && handler.registration.HasSynced() {
			handler.synced = true
			fmt.Fprintf(&t.log, "%s synced\n", name)
		}
	}
	if store := t.describeStore(); store != t.store {
		t.store = store
		fmt.Fprintf(&t.log, "store %s\n", store)
	}
	for _, request := range t.source.takeRequests() {
		fmt.Fprintf(&t.log, "request %s\n", request)
	}
}

func (t *trial) describeStore() string {
	var objects []string
	for _, item := range t.informer.GetStore().List() {
		objects = append(objects, describe(item.(*corev1.ConfigMap)))
	}
	slices.Sort(objects)
	version := t.informer.GetStore().LastStoreSyncResourceVersion()
	return strings.Join(append([]string{"@" + version}, objects...), " ")
}

// finish leaves nothing running, for virtual time ends with the last of them.
func (t *trial) finish() {
	for _, handler := range t.handlers {
		handler.unblock()
	}
	t.stop()
	<-t.ended
}

// OnAdd is told of an object.
func (h *handler) OnAdd(object any, isInInitialList bool) {
	line := "add " + describe(object.(*corev1.ConfigMap))
	if isInInitialList {
		line += " initial"
	}
	h.write(line)
}

// OnUpdate is told of a change, or by a resync of the same state again.
func (h *handler) OnUpdate(old, new any) {
	before, after := old.(*corev1.ConfigMap), new.(*corev1.ConfigMap)
	if before == after {
		h.write("resync " + describe(after))
		return
	}
	line := "update " + describe(before) + " -> " + describeState(after)
	if before.ResourceVersion == after.ResourceVersion {
		// Nobody else tells of these, so they must not take the place of something told.
		h.note(line)
		return
	}
	h.write(line)
}

// OnDelete is told of a deletion, with what is known of it.
func (h *handler) OnDelete(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		h.write("delete-unknown " + describe(unknown.Obj.(*corev1.ConfigMap)))
		return
	}
	h.write("delete " + describe(object.(*corev1.ConfigMap)))
}

// write notes a line and stays in the call for as long as the handler is blocked.
func (h *handler) write(line string) { <-h.note(line) }

func (h *handler) note(line string) <-chan struct{} {
	h.lock.Lock()
	defer h.lock.Unlock()
	h.lines = append(h.lines, line)
	return h.gate
}

func (h *handler) takeLines() []string {
	h.lock.Lock()
	defer h.lock.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

func (h *handler) block() {
	h.lock.Lock()
	defer h.lock.Unlock()
	select {
	case <-h.gate:
		h.gate = make(chan struct{})
	default:
	}
}

func (h *handler) unblock() {
	h.lock.Lock()
	defer h.lock.Unlock()
	select {
	case <-h.gate:
	default:
		close(h.gate)
	}
}

// describe is the object's name and state.
func describe(object *corev1.ConfigMap) string { return keyOf(object) + " " + describeState(object) }

// describeState is the version, and which write made it if that is not the version's number.
func describeState(object *corev1.ConfigMap) string {
	write := object.Data["write"]
	if write == object.ResourceVersion {
		return "@" + write
	}
	return "@" + object.ResourceVersion + " of write " + write
}
