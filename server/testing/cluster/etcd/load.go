// Puts of fresh keys by clients that each wait for their answer, over gRPC as etcd's own client
// speaks it: the fair way to etcd, whose JSON gateway costs it more than its writes do.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

type job struct {
	Endpoints   []string `json:"endpoints"`
	Clients     int      `json:"clients"`
	Connections int      `json:"connections"`
	Millis      int      `json:"millis"`
	Start       int64    `json:"start"`
	Stride      int64    `json:"stride"`
	ValueBytes  int      `json:"valueBytes"`
}

type outcome struct {
	Operations           int     `json:"operations"`
	Errors               int     `json:"errors"`
	FirstError           string  `json:"firstError"`
	Seconds              float64 `json:"seconds"`
	PerSecond            float64 `json:"perSecond"`
	P50Millis            float64 `json:"p50Millis"`
	P99Millis            float64 `json:"p99Millis"`
	ClientCPUMicrosPerOp float64 `json:"clientCpuMicrosPerOp"`
}

// worker is one client; its counts are read when it has ended.
type worker struct {
	latencies  []time.Duration
	failed     int
	firstError string
}

func (w *worker) work(client *clientv3.Client, deadline time.Time, next int64, value string) {
	for time.Now().Before(deadline) {
		sent := time.Now()
		_, err := client.Put(context.Background(), fmt.Sprintf("%012d", next), value)
		next++
		if err != nil {
			w.failed++
			if w.firstError == "" {
				w.firstError = err.Error()
			}
			continue
		}
		w.latencies = append(w.latencies, time.Since(sent))
	}
}

func load(in io.Reader, out io.Writer) error {
	var asked job
	if err := json.NewDecoder(in).Decode(&asked); err != nil {
		return err
	}
	connections := make([]*clientv3.Client, asked.Connections)
	for index := range connections {
		client, err := clientv3.New(clientv3.Config{
			Endpoints:   []string{asked.Endpoints[index%len(asked.Endpoints)]},
			DialTimeout: 5 * time.Second,
		})
		if err != nil {
			return err
		}
		defer client.Close()
		if _, err := client.Get(context.Background(), "warm"); err != nil {
			return err
		}
		connections[index] = client
	}
	workers := make([]worker, asked.Clients)
	value := strings.Repeat("x", asked.ValueBytes)
	began, cpu := time.Now(), cpuMicros()
	deadline := began.Add(time.Duration(asked.Millis) * time.Millisecond)
	var running sync.WaitGroup
	for index := range workers {
		first := asked.Start + int64(index)*asked.Stride
		running.Go(func() {
			workers[index].work(connections[index%len(connections)], deadline, first, value)
		})
	}
	running.Wait()
	return json.NewEncoder(out).Encode(sum(workers, time.Since(began), cpuMicros()-cpu))
}

func sum(workers []worker, took time.Duration, cpu float64) outcome {
	var latencies []time.Duration
	total := outcome{Seconds: took.Seconds()}
	for _, one := range workers {
		latencies = append(latencies, one.latencies...)
		total.Errors += one.failed
		if total.FirstError == "" {
			total.FirstError = one.firstError
		}
	}
	slices.Sort(latencies)
	total.Operations = len(latencies)
	total.PerSecond = float64(len(latencies)) / total.Seconds
	total.P50Millis = quantile(latencies, 0.5)
	total.P99Millis = quantile(latencies, 0.99)
	total.ClientCPUMicrosPerOp = cpu / float64(max(1, len(latencies)))
	return total
}

func quantile(sorted []time.Duration, share float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	at := int(share * float64(len(sorted)-1))
	return float64(sorted[at].Microseconds()) / 1000
}

func cpuMicros() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Sec+usage.Stime.Sec)*1e6 + float64(usage.Utime.Usec+usage.Stime.Usec)
}
