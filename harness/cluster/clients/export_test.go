package clients

// Nodes lists the known Redis nodes and Sentinels, in no order. A node that the deployment did not name is among them
// once it has been dialed.
func (c *Set) Nodes() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []string
	for _, p := range c.nodes {
		out = append(out, p.name)
	}
	return out
}
