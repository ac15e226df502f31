// Package cluster starts real Redis topologies on this machine and owns every link inside them.
//
// Host h of a cluster listens on 127.X.1.h and announces 127.X.2.h, where the fabric listens (see harness/cluster/fabric); client
// group g dials from 127.X.10.(g+1), through [fabric.Fabric.Dial] and so straight to h while their link is clear. All of 127.0.0.0/8 is local on Linux, so no root and no name spaces are needed, and
// several clusters live side by side under different X.
//
// A [Cluster] is a harness.System. It also hands out clients ([Cluster.Connect]) and is what nemeses act on
// (control.go, links.go). Nodes run as processes or in containers. Nothing outlives the harness, whatever ends it: processes
// are killed by the kernel, containers and folders removed by a watchdog.
package cluster
