// Package cluster starts real Redis topologies on this machine and owns every link inside them.
//
// Importing it changes nothing, and a test that uses it needs no TestMain. Starting a cluster turns off go-redis's
// logger for the whole process, since there is not one for each client: it would report every dial that a fault makes
// fail. [fabric.New] also adds six toxics to toxiproxy's table.
//
// Nothing outlives the harness, whatever ends it: the kernel kills processes with us, and a shell, the watchdog,
// removes the folder. Where there is no shell, a program that calls [Watchdog] does without. If the watchdog was
// killed, too, the next start removes the folder. Containers need more, since the kernel does not end them with us and
// a shell cannot reach them: see harness/cluster/docker.
//
// Host h of a cluster listens on 127.X.1.h and announces 127.X.2.h, where the fabric listens (see
// harness/cluster/fabric). Client group g dials from 127.X.10.(g+1), through [fabric.Fabric.Dial], and so straight to h
// while their link is clear. All of 127.0.0.0/8 is local on Linux, so no root and no name spaces are needed, and
// several clusters live side by side under different X.
//
// A [Cluster] is a harness.System. It also hands out clients ([Cluster.Connect]), and nemeses act on it (control.go,
// links.go). Nodes run as processes or on a [Platform].
package cluster
