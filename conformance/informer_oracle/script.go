package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// settleTime lets every retry happen that a script may provoke at once, and the backoff forget it.
const settleTime = 3 * time.Minute

// never is the resync period of a handler that asks for none.
const never = time.Duration(0)

// script is what a source and an informer are made to do.
type script struct {
	// watchList says whether the source can send its state as events.
	watchList bool
	// pageSize bounds the pages of a list; 0 means that a list is one page.
	pageSize int
	// expiredAtStart says that a watch too old is refused instead of ended by its first event.
	expiredAtStart bool
	// bookmarkAfterState says that a streamed state is followed by one more bookmark.
	bookmarkAfterState bool
	// resync is the period of handlers that name none.
	resync time.Duration
	steps  []step
}

// step is one line: actions at one moment, or the passing of time.
type step struct {
	text    string
	actions []action
}

// action is a verb with its words.
type action struct {
	verb  string
	words []string
}

func parseScript(lines []string) (*script, error) {
	script := &script{}
	for number, line := range lines {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		var err error
		if name, value, isHeader := strings.Cut(line, ": "); isHeader {
			err = script.setHeader(name, value)
		} else {
			err = script.addStep(line)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d, `%s`: %w", number+1, line, err)
		}
	}
	return script, nil
}

func (s *script) setHeader(name, value string) error {
	var err error
	switch name + ": " + value {
	case "source: list", "expired: in stream", "queue: in order", "queue: compressing":
		return nil
	case "source: watch-list":
		s.watchList = true
		return nil
	case "bookmark: after state":
		s.bookmarkAfterState = true
		return nil
	case "expired: at start":
		s.expiredAtStart = true
		return nil
	}
	switch name {
	case "page":
		s.pageSize, err = strconv.Atoi(value)
	case "resync":
		s.resync, err = time.ParseDuration(value)
	default:
		err = fmt.Errorf("no such header")
	}
	return err
}

// arity has the number of words that each verb takes, at least and at most.
var arity = map[string][2]int{
	"start": {0, 0}, "stop": {0, 0}, "settle": {0, 0}, "step": {1, 1},
	"add": {1, 1}, "modify": {1, 1}, "delete": {1, 1}, "repeat": {1, 1}, "lose": {2, 2},
	"bookmark": {0, 0}, "reset": {0, 0}, "break": {0, 0}, "expire": {0, 0}, "restore": {1, 1},
	"error": {1, 1}, "refuse": {2, 3}, "short": {1, 2}, "cut": {1, 1}, "hold": {0, 0}, "release": {0, 0},
	"handler": {1, 3}, "remove": {1, 1}, "block": {1, 1}, "unblock": {1, 1},
}

func (s *script) addStep(line string) error {
	step := step{text: line}
	for _, part := range strings.Split(line, ";") {
		words := strings.Fields(part)
		if len(words) == 0 {
			return fmt.Errorf("an action is missing")
		}
		action := action{verb: words[0], words: words[1:]}
		bounds, known := arity[action.verb]
		if !known {
			return fmt.Errorf("there is no `%s`", action.verb)
		}
		if len(action.words) < bounds[0] || len(action.words) > bounds[1] {
			return fmt.Errorf("`%s` takes %d to %d words", action.verb, bounds[0], bounds[1])
		}
		step.actions = append(step.actions, action)
	}
	s.steps = append(s.steps, step)
	return nil
}

// word is the word at a place, or what stands for none.
func (a action) word(place int, otherwise string) string {
	if place < len(a.words) {
		return a.words[place]
	}
	return otherwise
}

// times reads `x3`.
func (a action) times(place int) int {
	count, err := strconv.Atoi(strings.TrimPrefix(a.word(place, "x1"), "x"))
	if err != nil {
		panic(fmt.Sprintf("`%s` is not a number of times", a.words[place]))
	}
	return count
}

// duration reads `30s`, or `never`.
func (a action) duration(place int) time.Duration {
	if a.words[place] == "never" {
		return never
	}
	duration, err := time.ParseDuration(a.words[place])
	if err != nil {
		panic(err)
	}
	return duration
}

// number reads `7` or `@7`.
func (a action) number(place int) int {
	number, err := strconv.Atoi(strings.TrimPrefix(a.words[place], "@"))
	if err != nil {
		panic(err)
	}
	return number
}
