// Asks the expression language of Kubernetes what expressions mean: one case per line on standard input, one answer per
// line on standard output. A line with variables and no expression gives them to all lines after it. With the argument
// "functions" it lists every function it declares instead.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "functions" {
		listFunctions()
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 16<<20)
	answers := json.NewEncoder(os.Stdout)
	answers.SetEscapeHTML(false)
	shared := map[string]Variable{}
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var question Case
		if err := json.Unmarshal(lines.Bytes(), &question); err != nil {
			fmt.Fprintf(os.Stderr, "bad case %s: %v\n", lines.Text(), err)
			os.Exit(1)
		}
		if question.Expression == "" && question.Variables != nil {
			shared = question.Variables
			if err := answers.Encode(Given{Variables: shared}); err != nil {
				panic(err)
			}
			continue
		}
		answer := ask(question.Expression, shared)
		if err := answers.Encode(Recorded{Expression: question.Expression, Answer: answer}); err != nil {
			panic(err)
		}
	}
}
