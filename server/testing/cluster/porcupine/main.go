// Judges a history of registers with porcupine: is there an order of the operations, within the
// times at which they were called and answered, that one register a key would have followed?
//
// Usage: porcupine SECONDS FILE. The file has a line of JSON for each operation. Prints one
// line, `linearizable`, `violated KEY` or `undecided KEY`, and ends with 0, 1 or 2.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"time"

	"github.com/anishathalye/porcupine"
)

// operation is one line of the history. Version and found value are those that the answer told;
// an operation with an unknown outcome has no answer and may take effect at any later time.
type operation struct {
	Client   int    `json:"client"`
	Key      string `json:"key"`
	Kind     string `json:"kind"`
	Value    int64  `json:"value"`
	Expected int64  `json:"expected"`
	Outcome  string `json:"outcome"`
	Applied  bool   `json:"applied"`
	Found    int64  `json:"found"`
	Version  int64  `json:"version"`
	Call     int64  `json:"call"`
	Return   int64  `json:"return"`
}

// register is the state of one key: every write that takes effect adds one to the version.
type register struct {
	value   int64
	version int64
}

func step(state, input, output any) (bool, any) {
	before := state.(register)
	asked := input.(operation)
	answer := output.(operation)
	known := answer.Outcome == "ok"
	switch asked.Kind {
	case "read":
		return answer.Found == before.value && answer.Version == before.version, before
	case "write":
		after := register{asked.Value, before.version + 1}
		return !known || answer.Version == after.version, after
	case "compare":
		after := register{asked.Value, before.version + 1}
		matches := before.value == asked.Expected
		if !known {
			if matches {
				return true, after
			}
			return true, before
		}
		if !answer.Applied {
			return !matches, before
		}
		return matches && answer.Version == after.version, after
	}
	return false, before
}

var model = porcupine.Model{
	Init: func() any { return register{} },
	Step: step,
	DescribeOperation: func(input, output any) string {
		asked := input.(operation)
		answer := output.(operation)
		return fmt.Sprintf("%s %d (expected %d) -> %s found %d version %d applied %t", asked.Kind,
			asked.Value, asked.Expected, answer.Outcome, answer.Found, answer.Version, answer.Applied)
	},
}

// readHistory gives the operations by key. What certainly did nothing is left out, and so is a
// read without an answer.
func readHistory(path string) (map[string][]porcupine.Operation, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	keys := map[string][]porcupine.Operation{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one operation
		if err := json.Unmarshal(lines.Bytes(), &one); err != nil {
			return nil, err
		}
		if one.Outcome == "failed" || (one.Outcome == "unknown" && one.Kind == "read") {
			continue
		}
		answered := one.Return
		if one.Outcome == "unknown" {
			answered = math.MaxInt64
		}
		keys[one.Key] = append(keys[one.Key], porcupine.Operation{
			ClientId: one.Client, Input: one, Output: one, Call: one.Call, Return: answered,
		})
	}
	return keys, lines.Err()
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: porcupine SECONDS FILE")
		os.Exit(64)
	}
	seconds, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(64)
	}
	keys, err := readHistory(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(65)
	}
	names := make([]string, 0, len(keys))
	for name := range keys {
		names = append(names, name)
	}
	sort.Strings(names)
	deadline := time.Now().Add(time.Duration(seconds) * time.Second)
	undecided := ""
	for _, name := range names {
		left := max(time.Until(deadline), time.Millisecond)
		switch porcupine.CheckOperationsTimeout(model, keys[name], left) {
		case porcupine.Illegal:
			fmt.Println("violated", name)
			os.Exit(1)
		case porcupine.Unknown:
			undecided = name
		}
	}
	if undecided != "" {
		fmt.Println("undecided", undecided)
		os.Exit(2)
	}
	fmt.Println("linearizable")
}
