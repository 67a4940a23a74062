// Seeding must work, so that a script is answered with the same log each time.
//go:debug randseednop=0

// Command informer_oracle runs scripts of server events, faults and clock steps on client-go's own
// shared informer and prints what its handlers were told.
//
// It reads a script up to a line `end`, answers with the log and a line `end`, and waits for the
// next. Time is virtual, so a script of hours takes milliseconds. SCRIPTS.md tells the language.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"os"
	"testing"
	"testing/synctest"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// seed is what client-go's jitter follows from.
const seed = 1

func main() {
	// client-go tells of every lost connection, and losing them is what this is about.
	klog.SetLogger(klog.Logger{})
	// The default handlers wait for a time that a virtual clock is decades away from.
	utilruntime.ErrorHandlers = nil
	// Virtual time is offered to tests alone, so this is one.
	matchAll := func(_, _ string) (bool, error) { return true, nil }
	testing.Main(matchAll, []testing.InternalTest{{Name: "oracle", F: answerScripts}}, nil, nil)
}

func answerScripts(t *testing.T) {
	input := bufio.NewReader(os.Stdin)
	for {
		text, err := readScript(input)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		script, err := parseScript(text)
		if err != nil {
			fmt.Printf("error: %v\nend\n", err)
			continue
		}
		var log string
		rand.Seed(seed)
		synctest.Test(t, func(t *testing.T) { log = run(t.Context(), script) })
		fmt.Printf("%send\n", log)
	}
}

func readScript(input *bufio.Reader) ([]string, error) {
	var lines []string
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			return nil, err
		}
		if line == "end\n" {
			return lines, nil
		}
		lines = append(lines, line[:len(line)-1])
	}
}
