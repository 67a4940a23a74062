// Command protobuf records objects of every built-in kind, as protobuf and as JSON, so that the
// server's own reading and writing of protobuf can be held against Kubernetes' without Go:
//
//	go run . ../../crates/server/tests/data/protobuf
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The versions that the server has schemas of.
var versions = []string{
	"v1", "admissionregistration.k8s.io/v1", "apiextensions.k8s.io/v1",
	"apiregistration.k8s.io/v1", "apps/v1", "authentication.k8s.io/v1",
	"authorization.k8s.io/v1", "autoscaling/v1", "autoscaling/v2", "batch/v1",
	"certificates.k8s.io/v1", "coordination.k8s.io/v1", "discovery.k8s.io/v1",
	"events.k8s.io/v1", "flowcontrol.apiserver.k8s.io/v1", "networking.k8s.io/v1",
	"node.k8s.io/v1", "policy/v1", "rbac.authorization.k8s.io/v1", "resource.k8s.io/v1",
	"scheduling.k8s.io/v1", "storage.k8s.io/v1", "storagemigration.k8s.io/v1", "meta.k8s.io/v1",
}

// Kinds that no path of the server speaks.
var unspoken = map[string]bool{
	"ConversionReview": true, "List": true, "PodStatusResult": true, "RangeAllocation": true,
	"SerializedReference": true, "Table": true, "WatchEvent": true,
}

// record is one line of a file.
type record struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Event      string          `json:"event,omitempty"`
	Protobuf   []byte          `json:"protobuf"`
	JSON       json.RawMessage `json:"json"`
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: protobuf FOLDER"))
	}
	known := scheme.Scheme
	for _, add := range []func(*runtime.Scheme) error{
		apiextensions.AddToScheme, apiregistration.AddToScheme, metav1.AddMetaToScheme,
	} {
		if err := add(known); err != nil {
			fail(err)
		}
	}
	if err := write(os.Args[1], known); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func write(folder string, known *runtime.Scheme) error {
	for name, filler := range map[string]func() *filler{
		"unset": func() *filler { return nil },
		"full":  func() *filler { return newFiller(plain{}, 1) },
		"edge":  func() *filler { return newFiller(extreme{}, 2) },
	} {
		records, err := recordAll(known, filler())
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := save(filepath.Join(folder, name+".jsonl.gz"), records); err != nil {
			return err
		}
	}
	events, err := recordEvents(known)
	if err != nil {
		return err
	}
	return save(filepath.Join(folder, "watch.jsonl.gz"), events)
}

func kinds(known *runtime.Scheme) []schema.GroupVersionKind {
	var found []schema.GroupVersionKind
	for _, text := range versions {
		version, err := schema.ParseGroupVersion(text)
		if err != nil {
			fail(err)
		}
		for kind, goType := range known.KnownTypes(version) {
			// Every version has the kinds of all; one copy of them is enough.
			isShared := strings.HasSuffix(goType.PkgPath(), "/meta/v1")
			isShared = isShared && text != "v1" && text != "meta.k8s.io/v1"
			isOptions := strings.HasSuffix(kind, "Options") && kind != "DeleteOptions"
			if unspoken[kind] || isShared || isOptions {
				continue
			}
			found = append(found, version.WithKind(kind))
		}
	}
	sort.Slice(found, func(i, j int) bool { return found[i].String() < found[j].String() })
	return found
}

func recordAll(known *runtime.Scheme, filler *filler) ([]record, error) {
	var records []record
	for _, kind := range kinds(known) {
		object, err := known.New(kind)
		if err != nil {
			return nil, err
		}
		if filler != nil {
			filler.object(object)
		}
		line, err := recordOne(known, kind, object)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		records = append(records, line)
	}
	return records, nil
}

// recordOne writes an object as protobuf, and as JSON what Kubernetes reads back from there.
func recordOne(known *runtime.Scheme, kind schema.GroupVersionKind, object runtime.Object) (record, error) {
	object.GetObjectKind().SetGroupVersionKind(kind)
	serializer := protobuf.NewSerializer(known, known)
	var written bytes.Buffer
	if err := serializer.Encode(object, &written); err != nil {
		return record{}, err
	}
	read, _, err := serializer.Decode(written.Bytes(), nil, nil)
	if err != nil {
		return record{}, err
	}
	text, err := json.Marshal(read)
	if err != nil {
		return record{}, err
	}
	apiVersion, name := kind.ToAPIVersionAndKind()
	return record{APIVersion: apiVersion, Kind: name, Protobuf: written.Bytes(), JSON: text}, nil
}

// recordEvents writes the frames of a watch, each as a server sends it.
func recordEvents(known *runtime.Scheme) ([]record, error) {
	var records []record
	filler := newFiller(plain{}, 1)
	for _, event := range []string{"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"} {
		kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
		if event == "ERROR" {
			kind.Kind = "Status"
		}
		object, err := known.New(kind)
		if err != nil {
			return nil, err
		}
		filler.object(object)
		line, err := recordOne(known, kind, object)
		if err != nil {
			return nil, err
		}
		var frame bytes.Buffer
		sent := &metav1.WatchEvent{Type: event, Object: runtime.RawExtension{Raw: line.Protobuf}}
		raw := protobuf.NewRawSerializer(known, known)
		if err := raw.Encode(sent, protobuf.LengthDelimitedFramer.NewFrameWriter(&frame)); err != nil {
			return nil, err
		}
		line.Event, line.Protobuf = event, frame.Bytes()
		records = append(records, line)
	}
	return records, nil
}

func save(path string, records []record) error {
	var packed bytes.Buffer
	lines, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(lines)
	for _, line := range records {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	if err := lines.Close(); err != nil {
		return err
	}
	fmt.Printf("%s: %d objects, %d bytes\n", path, len(records), packed.Len())
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}
