// Command cbor records what Kubernetes' own code makes of CBOR, so that the server's reading and
// writing of it can be held against that without Go:
//
//	go run . ../..
//
// The objects are those that the program beside it has recorded as protobuf and JSON.
package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor"
	"k8s.io/apimachinery/pkg/runtime/serializer/cbor/direct"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/kubernetes/scheme"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// object is one object of a kind that Go has a type for.
type object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	CBOR       []byte `json:"cbor"`
}

// item is what becomes of bytes that somebody sends.
type item struct {
	CBOR  string          `json:"cbor"`
	JSON  json.RawMessage `json:"json,omitempty"`
	Error string          `json:"error,omitempty"`
}

// text is what becomes of an object that Go has no type for.
type text struct {
	JSON json.RawMessage `json:"json"`
	CBOR string          `json:"cbor"`
	// Event is the same object as it stands in a watch.
	Event string `json:"event"`
}

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: cbor REPOSITORY"))
	}
	pure := filepath.Join(os.Args[1], "crates/api/src/cbor/recorded")
	kinds := filepath.Join(os.Args[1], "crates/server/tests/data")
	known := scheme.Scheme
	for _, add := range []func(*runtime.Scheme) error{
		apiextensions.AddToScheme, apiregistration.AddToScheme, metav1.AddMetaToScheme,
	} {
		if err := add(known); err != nil {
			fail(err)
		}
	}
	objects, err := recordObjects(known, filepath.Join(kinds, "protobuf/full.jsonl.gz"))
	if err != nil {
		fail(err)
	}
	texts, err := recordTexts()
	if err != nil {
		fail(err)
	}
	for path, lines := range map[string][]any{
		filepath.Join(kinds, "cbor.jsonl.gz"): objects,
		filepath.Join(pure, "texts.jsonl"):    texts,
		filepath.Join(pure, "items.jsonl"):    recordItems(),
	} {
		if err := save(path, lines); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// recordObjects writes what was recorded as JSON as CBOR.
func recordObjects(known *runtime.Scheme, path string) ([]any, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	packed, err := gzip.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, err
	}
	serializer := cbor.NewSerializer(known, known)
	var lines []any
	for decoder := json.NewDecoder(packed); decoder.More(); {
		var line struct {
			APIVersion string          `json:"apiVersion"`
			Kind       string          `json:"kind"`
			JSON       json.RawMessage `json:"json"`
		}
		if err := decoder.Decode(&line); err != nil {
			return nil, err
		}
		kind := schema.FromAPIVersionAndKind(line.APIVersion, line.Kind)
		typed, err := known.New(kind)
		if err != nil {
			return nil, err
		}
		if err := kjson.Unmarshal(line.JSON, typed); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		typed.GetObjectKind().SetGroupVersionKind(kind)
		var written bytes.Buffer
		if err := serializer.Encode(typed, &written); err != nil {
			return nil, fmt.Errorf("%s: %w", kind, err)
		}
		lines = append(lines, object{line.APIVersion, line.Kind, written.Bytes()})
	}
	return lines, nil
}

func recordTexts() ([]any, error) {
	serializer := cbor.NewSerializer(nil, nil)
	var lines []any
	for _, written := range texts {
		var content map[string]any
		if err := kjson.Unmarshal([]byte(written), &content); err != nil {
			return nil, fmt.Errorf("%s: %w", written, err)
		}
		var encoded bytes.Buffer
		if err := serializer.Encode(&unstructured.Unstructured{Object: content}, &encoded); err != nil {
			return nil, err
		}
		event, err := recordEvent(encoded.Bytes())
		if err != nil {
			return nil, err
		}
		line := text{json.RawMessage(written), hex.EncodeToString(encoded.Bytes()), event}
		lines = append(lines, line)
	}
	return lines, nil
}

func recordEvent(object []byte) (string, error) {
	event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: object}}
	var encoded bytes.Buffer
	if err := cbor.NewSerializer(nil, nil).Encode(&event, &encoded); err != nil {
		return "", err
	}
	return hex.EncodeToString(encoded.Bytes()), nil
}

func recordItems() []any {
	var lines []any
	for _, written := range items() {
		raw, err := hex.DecodeString(written)
		if err != nil {
			fail(fmt.Errorf("%s: %w", written, err))
		}
		line := item{CBOR: written}
		var content any
		if err := direct.Unmarshal(raw, &content); err != nil {
			line.Error = err.Error()
		} else if line.JSON, err = json.Marshal(content); err != nil {
			fail(err)
		}
		lines = append(lines, line)
	}
	return lines
}

func save(path string, lines []any) error {
	var written bytes.Buffer
	encoder := json.NewEncoder(&written)
	encoder.SetEscapeHTML(false)
	for _, line := range lines {
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	if strings.HasSuffix(path, ".gz") {
		return pack(path, written.Bytes())
	}
	return os.WriteFile(path, written.Bytes(), 0o644)
}

func pack(path string, content []byte) error {
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := writer.Write(content); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return os.WriteFile(path, packed.Bytes(), 0o644)
}
