// Command go lets client-go's informers follow a server that is filled, changed, restarted and
// crashed under them, and checks that they end with exactly what a fresh list says.
//
// Nothing is configured but the address: dynamic clients speak JSON, typed ones protobuf. With the argument `tell` it prints what one informer
// tells, while others look after the servers.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/klog/v2"
)

const (
	configMaps      = 8_000
	pods            = 2_000
	scenarioTimeout = 4 * time.Minute
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), scenarioTimeout)
	defer cancel()
	// client-go tells of every lost connection, and losing them is what this is about.
	klog.SetLogger(klog.Logger{})
	task := run
	if len(os.Args) > 1 && os.Args[1] == "tell" {
		task = tell
	}
	if err := task(ctx); err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	owner := &harness{url: os.Getenv("LISTWATCH_SERVER"), answers: bufio.NewReader(os.Stdin)}
	scenarios := []struct {
		name string
		run  func(context.Context, *harness) error
	}{
		{"discovery names every resource used here", discoveryNamesResources},
		{"watch-list informers follow 10,000 creations through a restart", followCreations},
		{"list and watch informers follow changes through a crash", followChanges},
		{"a list in pages of 500 is one state", pagesAreOneState},
		{"a watch goes on from a bookmark", watchGoesOnFromBookmark},
		{"typed clients speak protobuf both ways", typedClientsSpeakProtobuf},
		{"metadata clients speak protobuf", metadataClientsSpeakProtobuf},
		{"custom kinds are protobuf in their metadata only", customKindsAreProtobufInTheirMetadata},
		{"the OpenAPI document in protobuf is the one in JSON", openapiIsTheSameInProtobuf},
		{"a table is never protobuf", tablesAreNotProtobuf},
		{"clients that prefer CBOR speak nothing else", clientsSpeakCBOR},
	}
	for _, scenario := range scenarios {
		begun := time.Now()
		if err := scenario.run(ctx, owner); err != nil {
			return fmt.Errorf("%s: %w", scenario.name, err)
		}
		fmt.Printf("%s (%.1f s)\n", scenario.name, time.Since(begun).Seconds())
	}
	return nil
}

// harness is the other end of standard input and output: it owns the server.
type harness struct {
	url     string
	answers *bufio.Reader
}

// restart ends the server in good order and starts it again on the same data.
func (h *harness) restart() error { return h.ask("restart") }

// crash kills the server and starts it again on the same data.
func (h *harness) crash() error { return h.ask("crash") }

func (h *harness) ask(what string) error {
	fmt.Println(what)
	if _, err := h.answers.ReadString('\n'); err != nil {
		return fmt.Errorf("no answer to %s: %w", what, err)
	}
	return nil
}
