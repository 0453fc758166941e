// SPDX-License-Identifier: BSD-3-Clause

// What topograph makes of the output of ibnetdiscover, as its provider for
// machines without a cloud and its Slurm engine do it: topology.conf on
// standard output.
//
//	by_topograph tree|block IBNETDISCOVER NODES [DOMAINS]
//
// NODES: a file of nodes' names, one a line.  DOMAINS: a file of lines "NAME
// NODE.." (NVLink).  It is built in topograph's sources, with its modules:
//
//	mkdir cmd/by_topograph
//	cp by_topograph.go cmd/by_topograph/main.go
//	go build ./cmd/by_topograph
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/NVIDIA/topograph/pkg/ib"
	"github.com/NVIDIA/topograph/pkg/topology"
	"github.com/NVIDIA/topograph/pkg/translate"
)

func fail(err any) {
	fmt.Fprintln(os.Stderr, "by_topograph:", err)
	os.Exit(1)
}

func read(path string) []byte {
	data, err := os.ReadFile(path)
	if err != nil {
		fail(err)
	}
	return data
}

func domains(path string) topology.DomainMap {
	m := topology.NewDomainMap()
	for _, line := range strings.Split(string(read(path)), "\n") {
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			m.AddHost(words[0], words[i], words[i])
		}
	}
	return m
}

func main() {
	if len(os.Args) < 4 {
		fail("usage: by_topograph tree|block IBNETDISCOVER NODES [DOMAINS]")
	}
	nodes := make(map[string]string)
	for _, name := range strings.Fields(string(read(os.Args[3]))) {
		nodes[name] = name
	}
	roots, _, err := ib.GenerateTopologyConfig(read(os.Args[2]),
		[]topology.ComputeInstances{{Region: "local", Instances: nodes}})
	if err != nil {
		fail(err)
	}
	top := &topology.Vertex{Vertices: make(map[string]*topology.Vertex)}
	for _, v := range topology.NewMerger(roots).TopTier() {
		top.Vertices[v.ID] = v
	}
	graph := &topology.Graph{Tiers: top}
	if len(os.Args) > 4 {
		graph.Domains = domains(os.Args[4])
	}
	net, err := translate.NewNetworkTopology(graph, &translate.Config{
		Plugin: "topology/" + os.Args[1]})
	if err != nil {
		fail(err)
	}
	if err := net.Generate(os.Stdout); err != nil {
		fail(err.Error())
	}
}
