// Package cluster starts real Redis topologies on this machine and controls every link inside them.
//
// Importing it changes nothing, and a test that uses it needs no TestMain. Starting a cluster turns off go-redis's
// logger for the whole process: the logger would report every dial that a fault makes fail, and no client can have a
// logger of its own. [fabric.New] also adds six toxics to toxiproxy's table.
//
// Nothing outlives the harness, however it ends. The kernel kills node processes with it. A watchdog, which is a shell,
// removes the folder. On a machine without a shell the watchdog is a second process of the same program, if the program
// calls [Watchdog]. If the watchdog was killed as well, the next start removes the folder. Containers need more, since
// the kernel does not end them with the harness and a shell cannot reach them: see harness/cluster/docker.
//
// Host h of a cluster listens on 127.X.1.h and announces 127.X.2.h, where the fabric listens (see
// harness/cluster/fabric). Client group g dials from 127.X.10.(g+1), through [fabric.Fabric.DialFrom], which connects
// straight to h while their link has no fault. All of 127.0.0.0/8 is local on Linux, so neither root nor name spaces
// are needed, and several clusters can run at once, each with its own X.
//
// A [Cluster] is a harness.System. It also provides clients ([Cluster.Connect]), and nemeses act on it (control.go,
// links.go). Nodes run as processes or on a [Platform].
package cluster
