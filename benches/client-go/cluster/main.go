// Program cluster is the Go side of the benchmark on a cluster: it loads the pods, touches them, and is client-go as it is
// measured.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	wire := flag.String("wire", "protobuf", "protobuf or json")
	pods := flag.Int("pods", 30_000, "pods that the cluster has")
	count := flag.Int("count", 1, "how many pods to touch")
	rate := flag.Int("rate", 0, "touches in a second; zero for as many as the server takes")
	orphaned := flag.Bool("orphaned", false, "load pods without owners, where a garbage collector runs")
	flag.Parse()
	fleet := fleet{pods: *pods, orphaned: *orphaned}
	if err := run(flag.Arg(0), *wire, fleet, *count, *rate); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(task, wire string, fleet fleet, count, rate int) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	config.WarningHandler = rest.NoWarnings{}
	// It is the server that is to be the limit.
	config.QPS = -1
	config.ContentType = runtime.ContentTypeJSON
	if wire == "protobuf" {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	}
	ctx := context.Background()
	switch task {
	case "load", "touch":
		client, err := kubernetes.NewForConfig(config)
		if err != nil {
			return err
		}
		if task == "load" {
			return load(ctx, client, fleet)
		}
		return touch(ctx, client, fleet, count, rate)
	case "sync":
		return newSubject(config).run(ctx)
	default:
		return fmt.Errorf("there is no task %q, but load, touch, sync", task)
	}
}

// say prints a line for the one who runs the benchmark.
func say(line map[string]any) { _ = json.NewEncoder(os.Stdout).Encode(line) }
