// An ordinary client-go program, to show that the embedded server supports it like a real server does.
//
// It reads commands from standard input, one per line: a name, then an argument in JSON if the command has
// one. The response is a line of JSON, {"ok": result} or {"error": text}. The program ends with its input.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// patience is the timeout of a command.
const patience = 60 * time.Second

type program struct {
	namespace string
	config    *rest.Config
	typed     kubernetes.Interface
	dynamic   dynamic.Interface
	metadata  metadata.Interface
	ledgers   ledgers
}

type command func(context.Context, *program, json.RawMessage) (any, error)

var commands = map[string]command{
	"informers": startInformers,
	"stores":    compareStores,
	"follow":    follow,
	"accounts":  accounts,
	"churn":     churn,
	"queue":     reconcile,
	"elect":     elect,
	"apply":     apply,
	"scale":     scaleDeployment,
	"evict":     evict,
	"discover":  discover,
	"pages":     listInPages,
	"failures":  failures,
	"events":    recordEvents,
	"until":     watchUntil,
	"custom":    customResource,
	"metadata":  metadataOnly,
	"collect":   deleteCollection,
}

func main() {
	kubeconfig := flag.String("kubeconfig", "", "the server and its credentials")
	namespace := flag.String("namespace", "", "the namespace to work in")
	contentType := flag.String("content-type", "", "the content type of requests; empty for client-go's own choice")
	flag.Parse()
	program, err := connect(*kubeconfig, *namespace, *contentType)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	serve(program)
}

func connect(kubeconfig, namespace, contentType string) (*program, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.ContentType = contentType
	config.QPS = -1
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	partial, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	return &program{namespace: namespace, config: config, typed: typed, dynamic: untyped, metadata: partial}, nil
}

func serve(program *program) {
	answers := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		word, argument, _ := strings.Cut(lines.Text(), " ")
		result, err := program.run(word, argument)
		if err != nil {
			_ = answers.Encode(map[string]any{"error": err.Error()})
			continue
		}
		_ = answers.Encode(map[string]any{"ok": result})
	}
}

func (p *program) run(word, argument string) (any, error) {
	command, known := commands[word]
	if !known {
		return nil, fmt.Errorf("there is no command %q", word)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return command(ctx, p, json.RawMessage(argument))
}
