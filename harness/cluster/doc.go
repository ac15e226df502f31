// Package cluster starts real Redis topologies on this machine and controls every link inside them.
//
// Importing it changes nothing, and a test that uses it needs no TestMain. Starting a cluster turns off go-redis's
// logger for the whole process: there is no logger for each client, and it would report every dial that a fault makes
// fail. [fabric.New] also adds six toxics to toxiproxy's table.
//
// Nothing outlives the harness, however it ends. The kernel kills node processes with it. A shell, the watchdog,
// removes the folder. Where there is no shell, a second process of a program that calls [Watchdog] does so. If the
// watchdog was killed as well, the next start removes the folder. Containers need more, since the kernel does not end
// them with the harness and a shell cannot reach them: see harness/cluster/docker.
//
// Host h of a cluster listens on 127.X.1.h and announces 127.X.2.h, where the fabric listens (see
// harness/cluster/fabric). Client group g dials from 127.X.10.(g+1), through [fabric.Fabric.Dial], which connects
// straight to h while their link has no fault. All of 127.0.0.0/8 is local on Linux, so neither root nor name spaces
// are needed, and several clusters can run at once, each with its own X.
//
// A [Cluster] is a harness.System. It also provides clients ([Cluster.Connect]), and nemeses act on it (control.go,
// links.go). Nodes run as processes or on a [Platform].
package cluster
