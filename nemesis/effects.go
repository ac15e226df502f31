package nemesis

import "github.com/doublegrant/doublegrant/harness"

// What each fault does to its targets, as it is recorded with the fault. See [harness.Effects].

func (downNodes) Effects() harness.Effects        { return harness.EndsProcess }
func (restartAtOnce) Effects() harness.Effects    { return harness.EndsProcess | harness.StartsProcess }
func (pause) Effects() harness.Effects            { return harness.StopsProcess }
func (nodeSleep) Effects() harness.Effects        { return harness.StopsProcess }
func (sentinelFailover) Effects() harness.Effects { return harness.MovesPrimary }
func (sentinelCrash) Effects() harness.Effects    { return harness.MovesPrimary | harness.EndsProcess }
func (scriptFlush) Effects() harness.Effects      { return harness.DropsScripts }
func (clientKill) Effects() harness.Effects       { return harness.EndsConnections }
func (memoryPressure) Effects() harness.Effects   { return harness.DropsKeys }
func (clockStep) Effects() harness.Effects        { return harness.ShiftsClock }
func (skewClients) Effects() harness.Effects      { return harness.ShiftsClock }
func (crashClients) Effects() harness.Effects     { return harness.EndsClients }
func (freezeClients) Effects() harness.Effects    { return harness.StopsClients }
func (p partition) Effects() harness.Effects      { return p.fault.Effects() }
func (d degradation) Effects() harness.Effects    { return d.fault.Effects() }

func (p clientPause) Effects() harness.Effects {
	if p.onlyWrites {
		return harness.DefersWrites
	}
	return harness.DefersCommands
}
