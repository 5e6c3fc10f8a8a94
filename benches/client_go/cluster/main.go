// Program cluster is the Go part of the benchmark on a cluster: it loads and updates the pods, and measures
// client-go.
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
	pods := flag.Int("pods", 30_000, "number of pods")
	count := flag.Int("count", 1, "number of pods to update")
	rate := flag.Int("rate", 0, "updates per second; zero for as many as the server allows")
	orphaned := flag.Bool("orphaned", false, "load pods without owners, for servers with a garbage collector")
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
	// The server must be the limit, not the client.
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
		return fmt.Errorf("unknown task %q: expected one of load, touch, sync", task)
	}
}

// say prints a line for the benchmark driver.
func say(line map[string]any) { _ = json.NewEncoder(os.Stdout).Encode(line) }
